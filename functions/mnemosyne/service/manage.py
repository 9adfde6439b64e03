"""Read, list and delete single memories."""

from collections.abc import Sequence
from uuid import UUID

from mnemosyne.domain.memory import Memory, MemoryHead
from mnemosyne.domain.search import Filters
from mnemosyne.errors import NotFound
from mnemosyne.observability import EventLog
from mnemosyne.ports import MemoryStore

log = EventLog(__name__)


def get(namespace: str, memory_id: UUID, *, memories: MemoryStore) -> Memory:
    """One memory, whole; raises NotFound."""
    memory = memories.get(namespace, memory_id)
    if memory is None:
        raise NotFound(f"no memory has the id {memory_id}")
    return memory


def newest(namespace: str, filters: Filters, limit: int, *, memories: MemoryStore) -> Sequence[MemoryHead]:
    """The newest memories within the filters, newest first."""
    return memories.list(namespace, filters, limit)


def delete(namespace: str, memory_id: UUID, *, memories: MemoryStore) -> str:
    """Delete one memory and return its title; raises NotFound where there was none."""
    title = memories.delete(namespace, memory_id)
    if title is None:
        raise NotFound(f"no memory has the id {memory_id}; nothing was deleted")
    log.info("memory_deleted", namespace=namespace, memory_id=memory_id)
    return title
