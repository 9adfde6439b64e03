"""The dead letters of a namespace, for the commands that work on them."""

from collections.abc import Iterator

from mnemosyne.domain.memory import DeadLetter
from mnemosyne.ports import MemoryStore

PAGE = 10
"""Messages in memory at a time: one may have ten megabytes."""


def all_dead_letters(memories: MemoryStore, namespace: str) -> Iterator[DeadLetter]:
    """Every dead letter stored so far, oldest first.

    Letters that are stored during the iteration are left out, so that `redrive` ends even where every message fails
    again at once.
    """
    newest = memories.dead_letter_summaries(namespace, 1)
    after: DeadLetter | None = None
    while newest and (page := memories.dead_letters(namespace, PAGE, after=after)):
        for letter in page:
            if (letter.dead_lettered_at, letter.message_id) > (newest[0].dead_lettered_at, newest[0].message_id):
                return
            yield letter
        after = page[-1]
