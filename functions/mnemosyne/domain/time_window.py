"""Resolve what a caller means by a time filter. Pure: no I/O, no clock of its own."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mnemosyne.errors import InvalidRequest

_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class TimeWindow:
    """A half-open span of time in aware UTC: `after` inclusive, `before` exclusive, None where open."""

    after: datetime | None = None
    before: datetime | None = None


def instant(text: str) -> datetime:
    """The instant an RFC 3339 string names, in UTC; raises ValueError for any other form, or without an offset."""
    problem = f"must be RFC 3339 with an offset, such as 2026-05-20T14:30:00Z, got {text[:60]!r}"
    if not _RFC_3339.fullmatch(text):
        raise ValueError(problem)
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise ValueError(f"{problem}: {exc}") from exc


def zone(name: str) -> tzinfo:
    """The time zone of that IANA name; raises InvalidRequest where there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise InvalidRequest(f"timezone must be an IANA name such as UTC or Europe/Berlin, got {name[:60]!r}") from exc


def bounds(after: str | None, before: str | None, *, timezone: str = "UTC") -> TimeWindow:
    """The window between two bounds, each `YYYY-MM-DD` or RFC 3339, both inclusive.

    A date means the whole of that day in `timezone`. Raises InvalidRequest for a bound in another form, and
    where the window would be empty.
    """
    here = zone(timezone)
    start = None if after is None else _bound("after", after, here, end=False)
    stop = None if before is None else _bound("before", before, here, end=True)
    if start and stop and start >= stop:
        raise InvalidRequest(f"after must not be later than before, got after {after!r} and before {before!r}")
    return TimeWindow(after=start, before=stop)


def _bound(name: str, text: str, here: tzinfo, *, end: bool) -> datetime | None:
    """The bound as the first instant inside the window, or (`end`) the first one past it; None past year 9999."""
    try:
        if _DATE.fullmatch(text):
            day = date.fromisoformat(text)
            if end and day == date.max:
                return None
            return _midnight(day + timedelta(days=end), here)
        moment = instant(text)
        return moment + timedelta(microseconds=end)
    except (ValueError, OverflowError) as exc:
        raise InvalidRequest(
            f"{name} must be YYYY-MM-DD or RFC 3339 with an offset (2026-05-20 or 2026-05-20T14:30:00Z), "
            f"got {text[:60]!r}"
        ) from exc


def _midnight(day: date, here: tzinfo) -> datetime:
    return datetime.combine(day, time.min, tzinfo=here).astimezone(UTC)
