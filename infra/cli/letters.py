"""The dead letters of a namespace, for the commands that work on them."""

from collections.abc import Iterator

from mnemosyne.domain.memory import DeadLetter
from mnemosyne.ports import MemoryStore

PAGE = 10
"""Messages in memory at a time: one may have ten megabytes."""


def letters(memories: MemoryStore, namespace: str) -> Iterator[DeadLetter]:
    """Every dead letter, oldest first."""
    beyond: DeadLetter | None = None
    while page := memories.dead_letters(namespace, PAGE, beyond=beyond):
        yield from page
        beyond = page[-1]
