"""Read, list, change, rate, count and delete memories."""

from collections.abc import Sequence
from uuid import UUID

from mnemosyne.domain.console_queries import ListedMemory
from mnemosyne.domain.memory import (
    Cursor,
    DeletedMemory,
    Deletion,
    ExternalId,
    IngestStatus,
    Memory,
    MemoryChange,
    Rating,
)
from mnemosyne.domain.search import Filters
from mnemosyne.errors import NotFound
from mnemosyne.ids import deletion_id
from mnemosyne.observability import EventLog
from mnemosyne.ports.memories import MemoryStore
from mnemosyne.ports.services import Clock

log = EventLog(__name__)


def get(namespace: str, memory_id: UUID, *, memories: MemoryStore) -> Memory:
    """Return one memory, whole; raises NotFound."""
    memory = memories.fetch(namespace, memory_id)
    if memory is None:
        raise _missing(memory_id)
    return memory


def by_time(
    namespace: str,
    filters: Filters,
    limit: int,
    *,
    after: Cursor | None,
    oldest_first: bool,
    beginning: int | None,
    memories: MemoryStore,
) -> tuple[Sequence[ListedMemory], Cursor | None]:
    """Return the newest or oldest memories that match the filters, and the cursor of the next page."""
    heads = memories.list(namespace, filters, limit + 1, after=after, oldest_first=oldest_first, beginning=beginning)
    if len(heads) <= limit:
        return heads, None
    last = heads[limit - 1]
    return heads[:limit], Cursor(timestamp=last.timestamp, id=last.id)


def delete(namespace: str, memory_id: UUID, *, memories: MemoryStore) -> DeletedMemory:
    """Delete one memory and return it. Raises NotFound."""
    deleted = memories.delete(namespace, memory_id)
    if deleted is None:
        raise NotFound(f"no memory has the id {memory_id}; nothing was deleted")
    log.info("memory_deleted", namespace=namespace, memory_id=memory_id)
    return deleted


def delete_by_key(namespace: str, external_id: ExternalId, *, memories: MemoryStore, clock: Clock) -> IngestStatus:
    """Delete all versions of a record that exist or were published up to now, and return the outcome."""
    now = clock()
    request_id = deletion_id(external_id.source, external_id.key, now)
    deletion = Deletion(request_id=request_id, external_id=external_id, timestamp=now, published=now)
    outcome = memories.delete_records(namespace, [deletion]).outcomes[request_id]
    log.info("record_deleted", namespace=namespace, request_id=request_id, memory_id=outcome.memory_id)
    return outcome


def update(namespace: str, memory_id: UUID, change: MemoryChange, *, memories: MemoryStore) -> Memory:
    """Return the memory after the change.

    Raises NotFound, and Conflict where supersession would go round in a circle.
    """
    memory = memories.update(namespace, memory_id, change)
    if memory is None:
        raise _missing(memory_id)
    log.info("memory_updated", namespace=namespace, memory_id=memory_id)
    return memory


def rate(namespace: str, memory_id: UUID, rating: int, reason: str | None, *, memories: MemoryStore) -> Rating:
    """Record a rating of -1, 0 or 1; raises NotFound."""
    rated = memories.rate(namespace, memory_id, rating, reason)
    if rated is None:
        raise _missing(memory_id)
    log.info("memory_rated", namespace=namespace, memory_id=memory_id, rating=rating)
    return rated


def _missing(memory_id: UUID) -> NotFound:
    return NotFound(f"no memory has the id {memory_id}")
