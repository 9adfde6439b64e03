"""Read the change feed (the events of changed memories) in tests."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.domain.change_feed import ChangeCursor, ChangeEvent


class Reader:
    """Reads the change feed of a store. A pass is one reading: it returns the events since the previous pass."""

    def __init__(self, memories: MemoryStore, *, since: float | None = None, limit: int = 100) -> None:
        self._memories, self._limit = memories, limit
        self.cursor = ChangeCursor(since=since)

    def read(self, *, between_pages: Callable[[], object] = lambda: None) -> list[ChangeEvent]:
        events: list[ChangeEvent] = []
        while True:
            page = self._memories.changes(self._limit, after=self.cursor)
            events += page.events
            self.cursor = page.after
            if page.is_last:
                return events
            between_pages()


def read_kinds(memories: MemoryStore, **options: Any) -> list[tuple[str, UUID, tuple[str, ...]]]:
    """Read the events of one pass, and return the kind, the memory and the changed fields of each event."""
    return [(event.kind.value, event.memory_id, tuple(event.fields)) for event in Reader(memories, **options).read()]
