"""`get_memory` and `list_memories`: read one memory, or look around."""

import base64
import binascii
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import Field

from mnemosyne.domain.memory import ListPosition, Memory
from mnemosyne.domain.parsing import Id, Input, Text
from mnemosyne.domain.principal import Scope
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
    counted = caller.may(Scope.WRITE)  # quality ranks everybody's searches: who may only read changes nothing
    memory = manage.get(caller.namespace, arguments.id, counted=counted, memories=services.memories)
    return Reply(MemoryRecord.of(memory), text=memory.content)


GET_MEMORY = Tool(
    name="get_memory",
    title="Read a memory",
    description=(
        "One memory in full by its id: the text is the content verbatim, the structured result the whole record. "
        "Read with the scope write, it gains a little quality. An unknown id is an error."
    ),
    arguments=GetArguments,
    result=MemoryRecord,
    gives_stored=True,
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
    gives_stored=True,
    run=_list_memories,
    read_only=True,
    idempotent=True,
)
