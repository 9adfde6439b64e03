"""Read the change feed in tests."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from mnemosyne.adapters.database.memories import PostgresMemories
from mnemosyne.domain.change_feed import ChangeCursor, ChangeEvent


class Reader:
    """Follows a feed, pass by pass."""

    def __init__(self, memories: PostgresMemories, *, since: timedelta | None = None, limit: int = 100) -> None:
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


def read_kinds(memories: PostgresMemories, **options: Any) -> list[tuple[str, UUID, tuple[str, ...]]]:
    """Return kind, memory and fields of each event."""
    return [(event.kind.value, event.memory_id, tuple(event.fields)) for event in Reader(memories, **options).read()]
