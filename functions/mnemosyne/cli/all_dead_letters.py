"""Options that select dead letters, and the letters that they select."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import click

from mnemosyne.cli.durations import duration
from mnemosyne.cli.open_services import DEFAULT_NAMESPACE
from mnemosyne.domain.dead_letter import DeadLetterChoice
from mnemosyne.domain.memory import DeadLetter
from mnemosyne.ports.memories import MemoryStore

PAGE = 10
"""Letters read at a time: a message can have 10 MB."""

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


def choice(younger_than: timedelta | None, older_than: timedelta | None, cause: str | None) -> DeadLetterChoice:
    """Return the choice for the values of the options of `choice_options`."""
    return DeadLetterChoice(younger_than=younger_than, older_than=older_than, cause=cause)


def all_dead_letters(memories: MemoryStore, chosen: DeadLetterChoice) -> Iterator[DeadLetter]:
    """Yield the chosen letters with their data, oldest first."""
    after: DeadLetter | None = None
    while page := memories.dead_letters(PAGE, after=after, choice=chosen):
        yield from page
        after = page[-1]
