"""`get_memory`, `list_memories`, `delete_memory`, `update_memory`, `rate_memory` and `memory_stats`."""

import base64
import binascii
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import BeforeValidator, Field, model_validator

from mnemosyne.domain.chronicle import one_line, unite_tags
from mnemosyne.domain.memory import ListPosition, Memory, MemoryChange
from mnemosyne.domain.parsing import Id, Input, JsonObject, Tags, Text, Title, uuid
from mnemosyne.domain.search import Filters
from mnemosyne.errors import InvalidRequest
from mnemosyne.mcp.tool import Caller, Reply, Result, Tool
from mnemosyne.mcp.tools.filters import FilterArguments, Limit, WindowShown
from mnemosyne.ports import Services
from mnemosyne.service import manage


class MemoryRecord(Result):
    """One memory, whole; `quality` in [0, 1] comes from ratings and reads."""

    id: UUID
    timestamp: datetime
    title: str
    content: str
    tags: list[str]
    metadata: dict[str, Any]
    quality: float
    superseded_by: UUID | None
    content_hash: str
    embedding_model: str
    created_at: datetime
    last_seen_at: datetime

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """The memory as answered."""
        return cls(
            id=memory.id,
            timestamp=memory.timestamp,
            title=memory.title,
            content=memory.content,
            tags=list(memory.tags),
            metadata=dict(memory.metadata),
            quality=round(memory.quality, 6),
            superseded_by=memory.superseded_by,
            content_hash=memory.content_hash,
            embedding_model=memory.embedding_model,
            created_at=memory.created_at,
            last_seen_at=memory.last_seen_at,
        )


class GetArguments(Input):
    """Which memory."""

    id: Annotated[Id, Field(description="The memory's id, as search and list answer it.")]


def _get_memory(arguments: GetArguments, caller: Caller, services: Services) -> Reply:
    memory = manage.get(caller.namespace, arguments.id, memories=services.memories)
    return Reply(MemoryRecord.of(memory), text=memory.content)


GET_MEMORY = Tool(
    name="get_memory",
    title="Read a memory",
    description=(
        "One memory in full by its id: the text is the content verbatim, the structured result the whole record. "
        "Reading raises a memory's quality a little. An id that names nothing is an error."
    ),
    arguments=GetArguments,
    result=MemoryRecord,
    run=_get_memory,
    read_only=True,
    idempotent=True,
)


class ListArguments(FilterArguments):
    """Which memories to list."""

    limit: Limit = 10
    cursor: Annotated[
        Text | None, Field(description="`next_cursor` of the page before, with the same filters; opaque.")
    ] = None


class ListedMemory(Result):
    """One line of the list."""

    id: UUID
    date: str
    timestamp: datetime
    title: str
    tags: list[str]
    superseded_by: UUID | None = None


class Listing(Result):
    """Newest first; `next_cursor` where there are more."""

    memories: list[ListedMemory]
    next_cursor: str | None
    window: WindowShown | None = None


def _list_memories(arguments: ListArguments, caller: Caller, services: Services) -> Reply:
    span = arguments.window(services.clock())
    filters = Filters(
        after=span.after if span else None,
        before=span.before if span else None,
        tags=tuple(arguments.tags or ()),
        include_superseded=True,
    )
    heads, beyond = manage.newest(
        caller.namespace,
        filters,
        arguments.limit,
        beyond=_position(arguments.cursor) if arguments.cursor else None,
        memories=services.memories,
    )
    memories = [
        ListedMemory(
            id=head.id,
            date=head.timestamp.date().isoformat(),
            timestamp=head.timestamp,
            title=head.title,
            tags=list(head.tags),
            superseded_by=head.superseded_by,
        )
        for head in heads
    ]
    return Reply(
        Listing(
            memories=memories,
            next_cursor=_cursor(beyond) if beyond else None,
            window=WindowShown.of(span, "UTC") if span else None,
        )
    )


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)


def _cursor(position: ListPosition) -> str:
    ticks = (position.timestamp - _EPOCH) // _TICK
    return base64.urlsafe_b64encode(ticks.to_bytes(8, "big", signed=True) + position.id.bytes).decode()


def _position(cursor: str) -> ListPosition:
    try:
        raw = base64.b64decode(cursor, altchars=b"-_", validate=True)
        if len(raw) != 24:
            raise ValueError("length")
        ticks = int.from_bytes(raw[:8], "big", signed=True)
        return ListPosition(timestamp=_EPOCH + ticks * _TICK, id=UUID(bytes=raw[8:]))
    except (binascii.Error, ValueError, OverflowError) as exc:
        raise InvalidRequest(f"cursor must be the next_cursor of an earlier page, got {cursor[:60]!r}") from exc


LIST_MEMORIES = Tool(
    name="list_memories",
    title="Latest memories",
    description=(
        "The newest memories by when they happened: id, date, title and tags, without contents. Use it to look "
        "around, page by page with `cursor`; use memory_search to find something. Superseded ones are listed too, "
        "with superseded_by. Times are UTC."
    ),
    arguments=ListArguments,
    result=Listing,
    run=_list_memories,
    read_only=True,
    idempotent=True,
)


class DeleteArguments(Input):
    """Which memory to delete."""

    id: Annotated[Id, Field(description="The memory's id.")]


class Deleted(Result):
    """The memory that is no more."""

    id: UUID
    title: str
    deleted: bool = True


def _delete_memory(arguments: DeleteArguments, caller: Caller, services: Services) -> Reply:
    title = manage.delete(caller.namespace, arguments.id, memories=services.memories)
    return Reply(Deleted(id=arguments.id, title=title), text=f"Deleted memory {arguments.id}: {title}")


DELETE_MEMORY = Tool(
    name="delete_memory",
    title="Forget a memory",
    description=(
        "Delete one memory for good, by its id. There is no undo; to correct a memory, ingest the new one and "
        "supersede the old with update_memory. An id that names nothing is an error, and nothing is deleted."
    ),
    arguments=DeleteArguments,
    result=Deleted,
    run=_delete_memory,
    destructive=True,
)


def _successor(value: object) -> object:
    return value if value == NO_SUCCESSOR else uuid(value)


NO_SUCCESSOR = "none"
Successor = Annotated[UUID | str, BeforeValidator(_successor, json_schema_input_type=str)]


class UpdateArguments(Input):
    """What to change about a memory."""

    id: Annotated[Id, Field(description="The memory's id.")]
    title: Annotated[Title | None, Field(description="The new title.")] = None
    tags: Annotated[Tags | None, Field(description="The new tags, instead of all old ones.")] = None
    metadata: Annotated[JsonObject | None, Field(description="The new metadata, instead of the old.")] = None
    superseded_by: Annotated[
        Successor | None,
        Field(description="The id of the memory that replaces this one; 'none' takes that back."),
    ] = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.model_fields_set <= {"id"}:
            raise ValueError("give at least one of title, tags, metadata and superseded_by")
        if self.superseded_by == self.id:
            raise ValueError("superseded_by must be the id of another memory")
        return self


def _update_memory(arguments: UpdateArguments, caller: Caller, services: Services) -> Reply:
    successor = arguments.superseded_by
    change = MemoryChange(
        title=None if arguments.title is None else one_line(arguments.title),
        tags=None if arguments.tags is None else unite_tags(arguments.tags),
        metadata=arguments.metadata,
        superseded_by=successor if isinstance(successor, UUID) else None,
        not_superseded=successor == NO_SUCCESSOR,
    )
    memory = manage.update(caller.namespace, arguments.id, change, memories=services.memories)
    return Reply(MemoryRecord.of(memory))


UPDATE_MEMORY = Tool(
    name="update_memory",
    title="Change a memory's labels",
    description=(
        "Change title, tags or metadata, or say that a newer memory supersedes this one: searches then leave it out. "
        "The content never changes: to correct it, ingest the corrected memory, take its memory_id from "
        "ingest_status, and set superseded_by here to it."
    ),
    arguments=UpdateArguments,
    result=MemoryRecord,
    run=_update_memory,
    idempotent=True,
)


class RateArguments(Input):
    """A judgement of a memory."""

    id: Annotated[Id, Field(description="The memory's id.")]
    rating: Annotated[int, Field(ge=-1, le=1, description="1 it helped, 0 neutral, -1 it misled.")]
    reason: Annotated[Text | None, Field(max_length=1000, description="Why; kept beside the rating.")] = None


class Rated(Result):
    """The memory's quality in [0, 1] before and after."""

    id: UUID
    quality_before: float
    quality_after: float


def _rate_memory(arguments: RateArguments, caller: Caller, services: Services) -> Reply:
    rated = manage.rate(caller.namespace, arguments.id, arguments.rating, arguments.reason, memories=services.memories)
    return Reply(Rated(id=arguments.id, quality_before=round(rated.before, 6), quality_after=round(rated.after, 6)))


RATE_MEMORY = Tool(
    name="rate_memory",
    title="Rate a memory",
    description=(
        "Say whether a memory helped (1), was neutral (0) or misled (-1). Ratings move its quality, which hybrid "
        "searches and every search with quality_boost rank by. Each call adds one rating."
    ),
    arguments=RateArguments,
    result=Rated,
    run=_rate_memory,
)


class StatsArguments(Input):
    """Nothing to say."""


class StatsShown(Result):
    """The memory in figures."""

    memories: int
    tags: dict[str, int]
    pending: int
    dead_lettered: int
    oldest: datetime | None
    newest: datetime | None
    embedding_model: str
    embedding_dimension: int
    storage_bytes: int


def _memory_stats(arguments: StatsArguments, caller: Caller, services: Services) -> Reply:
    stats = manage.stats(caller.namespace, memories=services.memories)
    return Reply(
        StatsShown(
            memories=stats.memories,
            tags=dict(stats.tags),
            pending=stats.pending,
            dead_lettered=stats.dead_lettered,
            oldest=stats.oldest,
            newest=stats.newest,
            embedding_model=services.embedder.model,
            embedding_dimension=services.embedder.dimension,
            storage_bytes=stats.storage_bytes,
        )
    )


MEMORY_STATS = Tool(
    name="memory_stats",
    title="The memory in figures",
    description=(
        "How many memories there are, the 20 commonest tags, the oldest and newest, how many requests wait for another "
        "attempt after one failed (pending; what was not tried yet is not counted) or were given up (dead_lettered), "
        "the embedding model, and the space taken."
    ),
    arguments=StatsArguments,
    result=StatsShown,
    run=_memory_stats,
    read_only=True,
    idempotent=True,
)
