"""Options that select dead letters: messages that could not be stored."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import click

from mnemosyne.cli.open_services import DEFAULT_NAMESPACE
from mnemosyne.cli.times import duration

NAMESPACE = click.option(
    "--namespace",
    default=DEFAULT_NAMESPACE,
    show_default=True,
    help='Letters of this namespace; "" selects messages without a namespace.',
)
_OPTIONS = (
    click.option(
        "--younger-than",
        callback=duration,
        metavar="AGE",
        help="Only letters that first failed within this age: 90m, 12h or 7d.",
    ),
    click.option("--older-than", callback=duration, metavar="AGE", help="Only letters that first failed earlier."),
    click.option(
        "--cause", metavar="TEXT", help="Only letters whose cause, or its group, contains this text, in any case."
    ),
)


def choice_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose dead letters by age and cause."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def choice(younger_than: timedelta | None, older_than: timedelta | None, cause: str | None) -> dict[str, Any]:
    """Return the operation's arguments for the values of the options that `choice_options` adds.

    Options without a value are left out.
    """
    ages = {"younger_than": younger_than, "older_than": older_than}
    chosen: dict[str, Any] = {name: age.total_seconds() for name, age in ages.items() if age is not None}
    return chosen if cause is None else chosen | {"cause": cause}


def minute(time: str) -> str:
    """Return an RFC 3339 time without seconds."""
    return f"{time[:10]} {time[11:16]}"
