"""Instants as text and back: https://www.rfc-editor.org/rfc/rfc3339. Pure."""

import re
from datetime import UTC, datetime

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
