"""See what is remembered, and what became of what was published."""

from collections.abc import Sequence
from uuid import UUID

from mnemosyne.domain.memory import Cursor, IngestState, IngestStatus, KeysetCursor, MemorySummary
from mnemosyne.domain.overview import DeadLetterSummary, History
from mnemosyne.errors import NotFound
from mnemosyne.ports import IngestQueue, MemoryStore
from mnemosyne.service import dead_letters as letters


def history(namespace: str, memory_id: UUID, *, memories: MemoryStore) -> tuple[History, Sequence[MemorySummary]]:
    """Return what stands around one memory, and those that nearly say the same; raises NotFound."""
    found = memories.history(namespace, memory_id)
    if found is None:
        raise NotFound(f"no memory has the id {memory_id}")
    return found, memories.similar(namespace, memory_id)


def requests(
    namespace: str, state: IngestState | None, limit: int, *, after: Cursor | None, memories: MemoryStore
) -> tuple[Sequence[IngestStatus], Cursor | None]:
    """Return the requests that changed last, and where the list goes on, if it does."""
    found = memories.ingest_requests(namespace, state, limit + 1, after=after)
    last = found[limit - 1] if len(found) > limit else None
    return found[:limit], Cursor(timestamp=last.updated_at, id=last.request_id) if last and last.updated_at else None


def dead_letters(
    namespace: str, limit: int, *, after: KeysetCursor | None, memories: MemoryStore
) -> tuple[Sequence[DeadLetterSummary], KeysetCursor | None]:
    """Return the latest dead letters, and where the list goes on, if it does."""
    found = memories.dead_letter_summaries(namespace, limit + 1, after=after)
    last = found[limit - 1] if len(found) > limit else None
    return found[:limit], KeysetCursor(timestamp=last.dead_lettered_at, key=last.message_id) if last else None


def redrive(namespace: str, message_id: str, *, memories: MemoryStore, queue: IngestQueue) -> Sequence[UUID]:
    """Put one dead letter back on the queue and return its requests; raises NotFound, InvalidRequest, Unavailable."""
    dead_letter = memories.dead_letter(namespace, message_id)
    if dead_letter is None:
        raise NotFound(f"no dead letter has the message id {message_id[:100]!r}; it may have been redriven already")
    asked = letters.request_ids_in(namespace, dead_letter)
    letters.redrive(namespace, dead_letter, memories=memories, queue=queue)
    return asked
