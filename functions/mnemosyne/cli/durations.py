"""Parse durations on the command line: 90m, 12h, 7d."""

from datetime import timedelta

import click

_UNITS = {"m": 60, "h": 3600, "d": 86_400}


def duration(context: click.Context, parameter: click.Parameter, value: str | None) -> timedelta | None:
    """Parse the value of an option that is a duration. A callback for click."""
    if value is None:
        return None
    number, unit = value[:-1], value[-1:]
    if not (number.isascii() and number.isdigit() and len(number) <= 6) or unit not in _UNITS:
        raise click.BadParameter(
            f"must be a number of at most six digits and m, h or d, such as 90m, 12h or 7d; got {value!r}"
        )
    return timedelta(seconds=int(number) * _UNITS[unit])
