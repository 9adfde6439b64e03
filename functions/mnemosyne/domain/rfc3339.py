"""Format and parse RFC 3339 timestamps: https://www.rfc-editor.org/rfc/rfc3339. Pure."""

import re
from datetime import UTC, datetime

_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def rfc3339(moment: datetime | None) -> str | None:
    """Format a datetime in UTC. Fractions of a second are omitted if they are zero."""
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def instant(text: str) -> datetime:
    """Parse an RFC 3339 timestamp to a datetime in UTC. Raises ValueError for other formats or without an offset."""
    problem = f"must be RFC 3339 with an offset, such as 2026-05-20T14:30:00Z, got {text[:60]!r}"
    if not _RFC_3339.fullmatch(text):
        raise ValueError(problem)
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise ValueError(f"{problem}: {exc}") from exc
