"""Queries of the console: the history of a memory, requests, dead letters and the audit trail."""

from collections.abc import Sequence
from uuid import UUID

from mnemosyne.domain.audit import EventCursor, ListedEvent
from mnemosyne.domain.console_queries import History, ListedRequest
from mnemosyne.domain.dead_letter import DeadLetterSummary
from mnemosyne.domain.memory import Cursor, IngestState, KeysetCursor
from mnemosyne.domain.neighbours import Neighbours
from mnemosyne.domain.time.window import TimeWindow
from mnemosyne.errors import NotFound
from mnemosyne.ports.memories import MemoryStore


def history(memory_id: UUID, *, memories: MemoryStore) -> tuple[History, Neighbours]:
    """Return the versions and ratings of a memory, and its nearest memories. Raises NotFound."""
    versions = memories.history(memory_id)
    if versions is None:
        raise NotFound(f"no memory has the id {memory_id}")
    return versions, memories.neighbours(memory_id)


def requests(
    state: IngestState | None, limit: int, *, after: Cursor | None, memories: MemoryStore
) -> tuple[Sequence[ListedRequest], Cursor | None]:
    """Return the requests that changed last, and the cursor of the next page."""
    requests = memories.ingest_requests(state, limit + 1, after=after)
    last = requests[limit - 1] if len(requests) > limit else None
    return requests[:limit], Cursor(timestamp=last.updated_at, id=last.request_id) if last and last.updated_at else None


def dead_letters(
    limit: int, *, after: KeysetCursor | None, memories: MemoryStore
) -> tuple[Sequence[DeadLetterSummary], KeysetCursor | None]:
    """Return the latest dead letters, and the cursor of the next page."""
    summaries = memories.dead_letter_summaries(limit + 1, after=after)
    last = summaries[limit - 1] if len(summaries) > limit else None
    return summaries[:limit], KeysetCursor(timestamp=last.dead_lettered_at, key=last.message_id) if last else None


def audit_events(
    within: TimeWindow,
    person: str | None,
    action: str | None,
    limit: int,
    *,
    after: EventCursor | None,
    memories: MemoryStore,
) -> tuple[Sequence[ListedEvent], EventCursor | None]:
    """Return the latest events of the audit trail, and the cursor of the next page."""
    events = memories.audit_events(within, person, action, limit + 1, after=after)
    last = events[limit - 1] if len(events) > limit else None
    return events[:limit], EventCursor(at=last.at, id=last.id) if last else None
