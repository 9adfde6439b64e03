"""The dead letters that a command works on."""

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
"""Messages in memory at a time: one may have ten megabytes."""

NAMESPACE = click.option(
    "--namespace",
    default=DEFAULT_NAMESPACE,
    show_default=True,
    help='Whose messages; "" is that of messages that name none.',
)
_OPTIONS = (
    click.option(
        "--younger-than", callback=duration, metavar="AGE", help="Only what failed first in the last 90m, 12h or 7d."
    ),
    click.option("--older-than", callback=duration, metavar="AGE", help="Only what failed first longer ago."),
    click.option("--cause", metavar="TEXT", help="Only if the cause, or its group, contains this; case is ignored."),
)


def choice_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose dead letters by age and cause."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def choice(younger_than: timedelta | None, older_than: timedelta | None, cause: str | None) -> DeadLetterChoice:
    """Return the choice that the options of `choice_options` make."""
    return DeadLetterChoice(younger_than=younger_than, older_than=older_than, cause=cause)


def all_dead_letters(memories: MemoryStore, namespace: str, chosen: DeadLetterChoice) -> Iterator[DeadLetter]:
    """Yield the chosen letters whole, oldest first."""
    after: DeadLetter | None = None
    while page := memories.dead_letters(namespace, PAGE, after=after, choice=chosen):
        yield from page
        after = page[-1]
