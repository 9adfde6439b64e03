"""Parse the arguments `ttl`, `expires_at` and `pinned`, which say how long a memory is stored. Pure."""

import re
from datetime import datetime, timedelta
from typing import Final

from pydantic import TypeAdapter, ValidationError

from mnemosyne.domain.text_checks import excerpt
from mnemosyne.errors import InvalidRequest

LONGEST: Final = timedelta(days=36_500)
"""Longest lifetime: a hundred years."""
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_SHORT = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?) ?([smhdw]?)")
_ISO_8601 = re.compile(r"P(?!$)([0-9]+W|([0-9]+D)?(T(?=[0-9])([0-9]+H)?([0-9]+M)?([0-9.]+S)?)?)")
_DURATION: Final = TypeAdapter(timedelta)
_RULE = "must be a number of seconds, or a duration such as 90m, 12h, 30d, 2w or P30D"


def lifetime(value: object) -> timedelta:
    """Parse a lifetime: seconds, a number with a unit (s, m, h, d, w), or an ISO 8601 duration.

    Years and months are not accepted, because their length varies. Raises ValueError if the value is not a lifetime
    between a second and a hundred years.
    """
    seconds: float | None = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value
    elif isinstance(value, str) and (short := _SHORT.fullmatch(value.strip().lower())):
        seconds = float(short[1]) * _UNITS[short[2] or "s"]
    elif isinstance(value, str) and _ISO_8601.fullmatch(value.strip().upper()):
        seconds = _seconds_of_iso(value.strip().upper())
    if seconds is None:
        raise ValueError(f"{_RULE}, got {excerpt(value)}")
    if not 1 <= seconds <= LONGEST.total_seconds():
        raise ValueError(f"must be between one second and {LONGEST.days:,} days, got {excerpt(value)}")
    return timedelta(seconds=seconds)


def _seconds_of_iso(text: str) -> float | None:
    if text.endswith("W"):
        return float(text[1:-1]) * _UNITS["w"]
    try:
        return _DURATION.validate_python(text).total_seconds()
    except ValidationError:
        return None


def parse_boolean(value: object) -> object:
    """Convert texts such as "t" and the numbers 0 and 1 to a bool, because data warehouses export Booleans this way.

    Other values are returned unchanged.
    """
    values = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
    text = str(int(value)) if isinstance(value, int | float) and value in (0, 1) else value
    return values.get(text.strip().lower(), value) if isinstance(text, str) else value


def expiry(sent_at: datetime, ttl: timedelta) -> datetime:
    """Return the expiry of a memory that was sent at `sent_at` with the lifetime `ttl`.

    Raises InvalidRequest if the expiry is after the year 9999.
    """
    try:
        return sent_at + ttl
    except OverflowError as exc:
        raise InvalidRequest("ttl must end by the year 9999") from exc
