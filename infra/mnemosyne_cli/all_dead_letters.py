"""The dead letters of a namespace, for the commands that work on them."""

from collections.abc import Iterator

from mnemosyne.domain.memory import DeadLetter
from mnemosyne.ports import MemoryStore

PAGE = 10
"""Messages in memory at a time: one may have ten megabytes."""


def all_dead_letters(memories: MemoryStore, namespace: str) -> Iterator[DeadLetter]:
    """Every dead letter, oldest first."""
    after: DeadLetter | None = None
    while page := memories.dead_letters(namespace, PAGE, after=after):
        yield from page
        after = page[-1]
