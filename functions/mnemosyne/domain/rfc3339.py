"""Instants as text and back: https://www.rfc-editor.org/rfc/rfc3339. Pure."""

import re
from datetime import UTC, datetime, tzinfo

_LOCAL = re.compile(r"\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?)?", re.ASCII)
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def rfc3339(moment: datetime | None) -> str | None:
    """Return the instant in RFC 3339, in UTC, without a fraction where there is none."""
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def instant(text: str) -> datetime:
    """Return the instant an RFC 3339 string names, in UTC.

    Raises ValueError for any other form, or without an offset.
    """
    problem = f"must be RFC 3339 with an offset, such as 2026-05-20T14:30:00Z, got {text[:60]!r}"
    if not _RFC_3339.fullmatch(text):
        raise ValueError(problem)
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise ValueError(f"{problem}: {exc}") from exc


def moment(text: str, here: tzinfo) -> datetime:
    """Return the instant that RFC 3339, or a date or time of day in the zone `here`, names, in UTC.

    A date is its midnight; of a time that comes twice, as clocks are set back, the first. Raises ValueError for any
    other form.
    """
    if not _LOCAL.fullmatch(text):
        try:
            return instant(text)
        except ValueError:
            form = "such as 2026-05-20T14:30:00Z, 2026-05-20T14:30 or 2026-05-20"
            raise ValueError(f"must be RFC 3339, or a date or local time, {form}, got {text[:60]!r}") from None
    try:
        return datetime.fromisoformat(text.upper()).replace(tzinfo=here).astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise ValueError(f"must be a date or time that there is, got {text[:60]!r}: {exc}") from exc
