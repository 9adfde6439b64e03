"""Read, list, change, rate, count and delete memories."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from mnemosyne.domain.memory import Deletion, ExternalId, IngestState, IngestStatus, Memory
from mnemosyne.domain.memory_changes import (
    ChangedTag,
    ChangedTags,
    DeletedMemories,
    DeletedMemory,
    GivenRating,
    MemoryChange,
    Rating,
)
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.errors import Conflict, NotFound
from mnemosyne.ids import deletion_id
from mnemosyne.observability import EventLog
from mnemosyne.ports.services import Clock

if TYPE_CHECKING:
    from mnemosyne.adapters.database.memories import MemoryStore

log = EventLog(__name__)

TAGGED_AT_ONCE = 200
"""Number of memories whose tags one transaction changes. The number is low because each changed memory is indexed
again."""


def get(memory_id: UUID, *, memories: "MemoryStore", as_of: datetime | None = None) -> Memory:
    """Return one memory with all fields, as it is now or as it was at the time `as_of`.

    Raises NotFound, and InvalidRequest if the state of the memory at `as_of` is not known.
    """
    memory = memories.fetch(memory_id, as_of)
    if memory is None and as_of:
        raise NotFound(f"no memory had the id {memory_id} at {rfc3339(as_of)}: omit as_of to read the present state")
    if memory is None:
        raise _missing(memory_id)
    return memory


def delete(memory_id: UUID, *, memories: "MemoryStore") -> DeletedMemory:
    """Delete one memory and return it. Raises NotFound."""
    deleted = memories.delete(memory_id)
    if deleted is None:
        raise NotFound(f"no memory has the id {memory_id}; nothing was deleted")
    log.info("memory_deleted", namespace=memories.namespace, memory_id=memory_id)
    return deleted


def delete_by_key(external_id: ExternalId, *, memories: "MemoryStore", clock: Clock) -> IngestStatus:
    """Delete all versions of a record that were published up to now, and return the outcome.

    Raises Conflict if the deletion fails.
    """
    now = clock()
    request_id = deletion_id(external_id.source, external_id.key, now)
    deletion = Deletion(request_id=request_id, external_id=external_id, timestamp=now, published=now)
    outcome = memories.delete_records([deletion]).outcomes[request_id]
    if outcome.state is IngestState.FAILED:
        raise Conflict(outcome.error)
    log.info("record_deleted", namespace=memories.namespace, request_id=request_id, memory_id=outcome.memory_id)
    return outcome


def update(memory_id: UUID, change: MemoryChange, *, memories: "MemoryStore") -> Memory:
    """Change a memory, and return it after the change.

    Raises NotFound, and Conflict if the supersession would form a cycle.
    """
    memory = memories.update(memory_id, change)
    if memory is None:
        raise _missing(memory_id)
    log.info("memory_updated", namespace=memories.namespace, memory_id=memory_id)
    return memory


def rate(memory_id: UUID, rating: GivenRating, *, memories: "MemoryStore") -> Rating:
    """Set the rating of a rater to -1, 0 or 1, or withdraw it. Raises NotFound."""
    rated = memories.rate(memory_id, rating)
    if rated is None:
        raise _missing(memory_id)
    log.info("memory_rated", namespace=memories.namespace, memory_id=memory_id, rating=rating.rating)
    return rated


def delete_many(memory_ids: Sequence[UUID], *, memories: "MemoryStore") -> DeletedMemories:
    """Delete memories. Unknown ids are ignored."""
    deleted = memories.delete_many(memory_ids)
    log.info("memories_deleted", namespace=memories.namespace, count=len(deleted.ids))
    return deleted


def change_tags(
    memory_ids: Sequence[UUID], *, added: Sequence[str], removed: Sequence[str], memories: "MemoryStore"
) -> ChangedTags:
    """Add and remove tags of memories: either all memories are changed or none.

    Raises OverQuota, and InvalidRequest if a memory would have too many tags.
    """
    changed = memories.change_tags(memory_ids, added=added, removed=removed)
    log.info("tags_changed", namespace=memories.namespace, count=changed.changed)
    return changed


def change_tag(tag: str, new_tag: str | None, *, memories: "MemoryStore") -> ChangedTag:
    """Rename a tag in up to TAGGED_AT_ONCE memories, or remove it if `new_tag` is None. Raises OverQuota."""
    changed = memories.change_tag(tag, new_tag, TAGGED_AT_ONCE)
    log.info("tag_changed", namespace=memories.namespace, count=changed.changed)
    return changed


def _missing(memory_id: UUID) -> NotFound:
    return NotFound(f"no memory has the id {memory_id}")
