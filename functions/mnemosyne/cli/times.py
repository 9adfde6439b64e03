"""Times, durations and time zones on the command line."""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from mnemosyne.cli.terminal import say
from mnemosyne.domain.event_time import zone
from mnemosyne.domain.time.window import resolve
from mnemosyne.errors import InvalidRequest

_UNITS: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_LONGEST: Final = 999_999 * _UNITS["d"]
"""The longest duration, in seconds. It replaces each longer one, because PostgreSQL could not subtract a longer
duration from the current time."""
_SECONDS: Final = re.compile(r"([0-9]{1,6}) ?[sS]")


def duration(value: str) -> int:
    """Return the seconds of a duration such as 90m. This is a type for click. Raises BadParameter."""
    number, unit = value[:-1], value[-1:]
    if not (number.isascii() and number.isdigit() and len(number) <= 6) or unit not in _UNITS:
        raise click.BadParameter(
            f"must be a number of at most six digits and m, h, d or w, such as 90m, 12h, 7d or 2w; got {value!r}"
        )
    return min(int(number) * _UNITS[unit], _LONGEST)


F = TypeVar("F", bound=Callable[..., Any])
LOCALTIME: Final = Path("/etc/localtime")
"""Path of a link into the time zone database, on Linux and macOS."""
NAME: Final = Path("/etc/timezone")
"""Path of the file with the time zone's name on Debian. It is needed in Debian's container images, in which
/etc/localtime is a copy of a file and not a link."""
_DATABASE: Final = "zoneinfo/"


def machine_zone(localtime: Path = LOCALTIME, name: Path = NAME) -> str:
    """Return the IANA name of this machine's time zone: from the variable TZ or, without TZ, from the system's files.

    If they contain no IANA name, return UTC. If TZ has another form, such as CET-1CEST, also print a message.
    """
    candidates = [str(localtime.resolve()), *(name.read_text().split() if name.is_file() else [])]
    if variable := os.environ.get("TZ", "").removeprefix(":"):
        candidates = [variable]
        with suppress(OSError):  # the path is relative, and the working directory was deleted
            candidates.append(str(Path(variable).resolve()))
    for candidate in candidates:
        zone_name = candidate.partition(_DATABASE)[2] or candidate
        if _is_zone(zone_name):
            return zone_name
    if variable not in ("", "UTC0"):
        say(f"TZ has no IANA name, got {variable!r}: times are in UTC; --timezone names a zone.", err=True)
    return "UTC"


def _is_zone(name: str) -> bool:
    try:
        zone(name)
    except InvalidRequest:
        return False
    return True


def timezone_option(default: str | Callable[[], str], *, help: str) -> Callable[[F], F]:  # noqa: A002 - as click's own
    """Return a decorator that adds the option --timezone."""
    default_text = default if isinstance(default, str) else "this machine's"
    return click.option(
        "--timezone", metavar="ZONE", default=default, show_default=default_text, callback=_check_zone, help=help
    )


def _check_zone(context: click.Context, parameter: click.Parameter, value: str) -> str:
    try:
        zone(value)
    except InvalidRequest as exc:
        raise click.BadParameter(str(exc).removeprefix("timezone ")) from exc
    return value


def local_time(timestamp: str, timezone: str) -> datetime:
    """Convert an RFC 3339 time to a time zone.

    If the year in this zone would not be between 1 and 9999, the time is not converted: it keeps its offset.
    """
    moment = datetime.fromisoformat(timestamp)
    try:
        return moment.astimezone(zone(timezone))
    except OverflowError:  # such as 9999-12-31T23:59:59Z ("never" in many systems) in a zone east of UTC
        return moment


def local_date(timestamp: str, timezone: str) -> str:
    """Return the date of an RFC 3339 time, as it is in a time zone."""
    return local_time(timestamp, timezone).date().isoformat()


def age(value: str, timezone: str) -> timedelta:
    """Convert the value of an option to an age: a duration, or the time since a day or week began.

    Examples are 30s, 90m, 12h, 7d, 2w, yesterday, last week and 2026-05-20. Raises BadParameter for any other value.
    """
    if seconds := _SECONDS.fullmatch(value):  # `resolve` would read 30s as the decade from 1930 to 1939
        return timedelta(seconds=int(seconds[1]))
    with suppress(click.BadParameter):
        return timedelta(seconds=duration(value))
    now = datetime.now(UTC)
    try:
        window = resolve(value, now=now, timezone=timezone)
    except InvalidRequest as exc:
        raise click.BadParameter(
            f"must be an age such as 30s, 90m, 12h, 7d or 2w, or a time such as yesterday, 'last week' or 2026-05-20; "
            f"got {value[:60]!r}",
            param_hint="'--since'",
        ) from exc
    if window.after is None or window.after > now:
        raise click.BadParameter(f"must be in the past, got {value[:60]!r}", param_hint="'--since'")
    return now - window.after


def minute(time: str) -> str:
    """Return the date, hour and minute of an RFC 3339 time, such as `2026-05-20 14:30`."""
    return f"{time[:10]} {time[11:16]}"
