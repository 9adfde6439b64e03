"""Format and parse RFC 3339 timestamps: https://www.rfc-editor.org/rfc/rfc3339. Pure."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

LEAP_SECOND: Final = (
    r"(?!0000|9999)[0-9]{4}-(?:06-30|12-31)[Tt ]23:59:60(?:\.[0-9]+)?(?: ?(?:[Zz]|UTC|[+-]00(?::?00)?))"
)
"""Pattern of leap seconds in UTC. A leap second is added only at the end of June or December."""
_LEAP_SECOND = re.compile(LEAP_SECOND)
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def rfc3339(moment: datetime | None) -> str | None:
    """Format a datetime in UTC. Fractions of a second are omitted if they are zero."""
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def instant(text: str) -> datetime:
    """Parse an RFC 3339 timestamp to a datetime in UTC. Raises ValueError for other formats or without an offset."""
    problem = f"must be RFC 3339 with an offset, such as 2026-05-20T14:30:00Z, got {text[:60]!r}"
    if not _RFC_3339.fullmatch(text):
        raise ValueError(problem)
    earlier, leap = split_leap_second(text)
    try:
        return datetime.fromisoformat(earlier.upper()).astimezone(UTC) + leap
    except (ValueError, OverflowError) as exc:
        raise ValueError(f"{problem}: {exc}") from exc


def split_leap_second(text: str) -> tuple[str, timedelta]:
    """Split a leap second, which Python cannot parse, into the second before it (as text) and a duration of one second.

    The caller adds the duration, so a leap second becomes the following second. If the text is not a leap second, the
    result is the text itself and a duration of zero.
    """
    if _LEAP_SECOND.fullmatch(text):
        return text.replace(":60", ":59", 1), timedelta(seconds=1)
    return text, timedelta()
