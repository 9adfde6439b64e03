"""Parse the timestamp of a record, in every accepted format. Pure."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mnemosyne.domain.rfc3339 import split_leap_second
from mnemosyne.domain.text_checks import excerpt
from mnemosyne.errors import InvalidRequest

DATE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
CLOCK: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?"
OFFSET: Final = r"[Zz]|UTC|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?"
"""Pattern of UTC offsets in RFC 3339 and in exports of BigQuery (`UTC`), PostgreSQL (`+00`) and Snowflake (`+0000`)."""
_TEXT = re.compile(f"({DATE})(?:[Tt ]({CLOCK})(?: ?({OFFSET}))?)?")
BASIC_CLOCK: Final = r"(?:[01][0-9]|2[0-3])[0-5][0-9](?:[0-5][0-9])?"
_BASIC = re.compile(
    rf"((?:19|20)[0-9]{{2}})([0-9]{{2}})([0-9]{{2}})(?:({BASIC_CLOCK})|[Tt]({BASIC_CLOCK})({OFFSET})?)?"
)
"""Basic format of ISO 8601 (20260711, 20260711T143000Z) and Zettelkasten ids (202607111430, 20260711143005)."""
_UNIX_TIME = re.compile(r"([1-9][0-9]{8,15})(?:\.([0-9]+))?")
"""Unix time as text: int64 in the JSON of protobuf, INT64 in exports of BigQuery."""
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
# Matches names of files in the operating system's directory of time zones that PostgreSQL does not accept as time
# zones.
_NO_ZONE = re.compile(r"localtime|posixrules|Factory|(posix|right)/.*")

FIRST_SECOND: Final = 315_532_800
"""Start of the Unix times that are parsed: 1980-01-01, in seconds since 1970. An earlier Unix time could be mistaken
for a date in digits, such as 20260711 (see BASIC_NUMBERS)."""
END_SECOND: Final = 4_102_444_800
"""End of the Unix times that are parsed (exclusive): 2100-01-01, in seconds since 1970."""
UNITS: Final = (1, 1_000, 1_000_000)
"""Number of units per second, for Unix times in seconds, milliseconds and microseconds. No number is ambiguous,
because the numbers for the years 1980 to 2099 in one unit are never in the range of another unit."""
BASIC_NUMBERS: Final = (
    (19_000_101, 20_991_231),
    (190_001_010_000, 209_912_312_359),
    (19_000_101_000_000, 20_991_231_235_959),
)
"""Smallest and largest number that is parsed as a date, for each format: YYYYMMDD, YYYYMMDDhhmm, YYYYMMDDhhmmss."""

_FORMS = "RFC 3339, or a date or local time, such as 2026-05-20T14:30:00Z, 2026-05-20T14:30 or 2026-05-20"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def event_time(value: object) -> datetime:
    """Parse a time from text or a number. The result is naive (without a time zone) if the time has no UTC offset.

    A date means midnight. A leap second in UTC means the following second. A number, or a number in a text, is a date
    from 1900 to 2099, with or without a time of day (20260711, 202607111430), or a Unix time from 1980 to 2099 in
    seconds, milliseconds or microseconds. Raises ValueError for anything else, such as a year alone.
    """
    if isinstance(value, str):
        text, leap = split_leap_second(value)
        return _parse_text(text) + leap
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _parse_number(value)
    raise ValueError(f"must be {_FORMS}, got {excerpt(value)}")


def zone(name: str) -> tzinfo:
    """Return the time zone with this IANA name. Raises InvalidRequest if it does not exist."""
    try:
        if _NO_ZONE.fullmatch(name):
            raise ZoneInfoNotFoundError(name)
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise InvalidRequest(f"timezone must be an IANA name such as UTC or Europe/Berlin, got {name[:60]!r}") from exc


def in_zone(moment: datetime, local: tzinfo) -> datetime:
    """Convert a time to UTC.

    A naive time is taken as a time in the zone `local`. If this time occurs twice in the zone, the first occurrence is
    used.

    Raises ValueError if the result is outside the years 1 to 9999.
    """
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=local)).astimezone(UTC)
    except OverflowError as exc:
        raise ValueError(f"must be between the years 1 and 9999, got {moment.isoformat()} in {local}") from exc


def _parse_text(text: str) -> datetime:
    if match := _TEXT.fullmatch(text):
        return _build_time(text, match[1], match[2] or "00:00", match[3] or "")
    if match := _BASIC.fullmatch(text):
        clock = match[4] or match[5] or "0000"
        parts = [clock[at : at + 2] for at in range(0, len(clock), 2)]
        return _build_time(text, f"{match[1]}-{match[2]}-{match[3]}", ":".join(parts), match[6] or "")
    if (match := _UNIX_TIME.fullmatch(text)) and (unit := _unit_of(int(match[1]))):
        return _EPOCH + timedelta(microseconds=int(f"{match[1]}{(match[2] or '')[:6]:0<6}") // unit)
    if _NUMBER.fullmatch(text):
        raise _not_a_date_error(text)
    raise ValueError(f"must be {_FORMS}, got {excerpt(text)}")


def _build_time(text: object, date: str, clock: str, offset: str) -> datetime:
    if offset in ("Z", "z", "UTC"):
        offset = "+00:00"
    elif len(offset) == len("+00"):
        offset += ":00"
    try:
        moment = datetime.fromisoformat(f"{date}T{clock}{offset}")
        return moment.astimezone(UTC) if offset else moment
    except (ValueError, OverflowError) as exc:
        raise ValueError(f"must be a date or time that exists, got {excerpt(text)}: {exc}") from exc


def _parse_number(number: float) -> datetime:
    if unit := _unit_of(number):
        return _EPOCH + timedelta(microseconds=round(number * (UNITS[-1] // unit)))
    if any(first <= number <= last for first, last in BASIC_NUMBERS) and number == int(number):
        try:
            return _parse_text(str(int(number)))
        except ValueError as exc:
            raise ValueError(f"must be a date or time that exists, got {excerpt(number)}") from exc
    raise _not_a_date_error(number)


def _not_a_date_error(number: object) -> ValueError:
    return ValueError(
        f"must be a date, got {excerpt(number)}, which may be a year, a count or a row's number: write a date such as "
        "2026-07-11 or 20260711, or seconds, milliseconds or microseconds since 1970 of a time from 1980 to 2099"
    )


def _unit_of(number: float) -> int:
    """Return the units per second of a Unix time; 0 if the number is not a Unix time from 1980 to 2099."""
    return next((unit for unit in UNITS if FIRST_SECOND * unit <= number < END_SECOND * unit), 0)
