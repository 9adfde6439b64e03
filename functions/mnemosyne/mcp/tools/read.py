"""`get_memory` and `list_memories`: read one memory, or list memories."""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from pydantic import Field

from mnemosyne.domain import preview, rate_limit
from mnemosyne.domain.console_queries import ListedMemory
from mnemosyne.domain.forgetting import Hold
from mnemosyne.domain.memory import Memory
from mnemosyne.domain.parsing import Id, Input, Text
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.domain.time.window import past_time
from mnemosyne.errors import InvalidRequest, NotFound
from mnemosyne.mcp import cursors
from mnemosyne.mcp.record import MemoryLine, MemoryRecord, Pinned, brief
from mnemosyne.mcp.tool import Reply, Result, tool
from mnemosyne.mcp.tools.filters import LIST_FILTERS, AsOf, Limit, ListFilterArguments, PageCursor, Window
from mnemosyne.mcp.tools.notes import state_note, successors_note, window_note
from mnemosyne.ports.services import Services

if TYPE_CHECKING:
    from mnemosyne.adapters.database.memories import MemoryStore


class GetArguments(Input):
    """The memory to read."""

    instead = {  # noqa: RUF012 - a constant of the class
        "query": "find the memory with memory_search and give its id",
        "ids": "give one id, and call get_memory for each",
    }

    id: Annotated[Id, Field(description="Its id.")]
    neighbours: Annotated[bool, Field(description="Also the memories before and after it in its session.")] = False
    as_of: AsOf = None
    timezone: Annotated[Text, Field(description="IANA name, for a date in as_of; else UTC.")] = "UTC"


class SessionMemories(Result):
    """Number of memories in the session, the position of this memory, and up to three memories on each side."""

    count: int
    position: int
    before: list[MemoryLine]
    after: list[MemoryLine]


class ReadMemory(MemoryRecord):
    """One memory. With the argument `neighbours`, the result also has `hold` and `session_memories`.

    `hold` is the memory's legal hold, which keeps the memory from being deleted. `session_memories` has the memories
    before and after this memory in its session.
    """

    as_of: datetime | None = None
    title_given: bool | None = None
    session_memories: SessionMemories | None = None
    hold: Hold | None = None


def no_memory(memory_id: UUID) -> NotFound:
    """Return the error about an id that belongs to no memory."""
    return NotFound(f"no memory has the id {memory_id}")


def read_memory(memory_id: UUID, memories: "MemoryStore", as_of: datetime | None = None) -> Memory:
    """Return one memory with all fields, as it is now or as it was at the time `as_of`.

    Raises NotFound, and InvalidRequest if the state of the memory at `as_of` is not known.
    """
    memory = memories.fetch(memory_id, as_of)
    if memory is None and as_of:
        raise NotFound(f"no memory had the id {memory_id} at {rfc3339(as_of)}: omit as_of to read the present state")
    if memory is None:
        raise no_memory(memory_id)
    return memory


@tool(
    title="Read a memory",
    description="One memory: its content as text, its record structured.",
    result=ReadMemory,
    unlisted=("neighbours", "as_of", "timezone"),
    has_view=True,
    read_only=True,
)
def get_memory(arguments: GetArguments, principal: Principal, services: Services) -> Reply:
    as_of = past_time(arguments.as_of, now=services.clock(), timezone=arguments.timezone)
    if as_of and arguments.neighbours:
        raise InvalidRequest("neighbours are always the current ones: omit as_of or neighbours")
    memories = services.memories_of(principal.namespace)
    memory = read_memory(arguments.id, memories, as_of)
    record = ReadMemory.model_validate(memory).model_copy(update={"as_of": as_of})
    notes = (as_of and f"As of {rfc3339(as_of)}.", state_note([record]))
    if arguments.neighbours:
        around = memories.session_neighbours(arguments.id)
        # Only callers that may delete the memory see its legal hold with the reason. These callers can see the reason
        # anyway, because the error names it if they try to delete the memory.
        hold = memories.hold(arguments.id) if principal.may(Scope.WRITE) else None
        record = record.model_copy(
            update={
                "title_given": preview.is_given(memory.title, memory.content),
                "session_memories": around and SessionMemories.model_validate(around),
                "hold": hold,
            }
        )
    return Reply(record, text=memory.content, notes=tuple(note for note in notes if note))


class Order(StrEnum):
    """Order of a list, by the memories' timestamps."""

    NEWEST = "newest"
    OLDEST = "oldest"


class ListArguments(ListFilterArguments):
    """The memories to list."""

    instead = {"query": "memory_search takes {one}"} | dict.fromkeys(("tag_match", "as_of"), "memory_search takes {it}")

    limit: Limit = 10
    cursor: PageCursor = None
    order: Annotated[Order, Field(strict=False, description="newest or oldest first.")] = Order.NEWEST
    preview: Annotated[bool, Field(description="Also about 200 characters of each content, and all tags.")] = False


class ListedMemoryResult(Result):
    """One line of the list."""

    id: UUID
    date: str
    timestamp: datetime
    title: str
    tags: tuple[str, ...]
    superseded_by: UUID | None = None
    truncated: bool | None = None
    preview: str | None = None
    title_given: bool | None = None
    session: str | None = None
    expires_at: datetime | None = None
    pinned: Pinned = None


class Listing(Result):
    """Memories in the order of their timestamps. `next_cursor` is set if there are more."""

    memories: list[ListedMemoryResult]
    next_cursor: str | None
    window: Window | None = None


@tool(
    title="Latest memories",
    description="Newest memories by page, with superseded ones. Takes the filters of memory_search.",
    unlisted=(*LIST_FILTERS, "order", "preview"),
    result=Listing,
    units=rate_limit.cost_of_list,
    read_only=True,
)
def list_memories(arguments: ListArguments, principal: Principal, services: Services) -> Reply:
    span = arguments.window(services.clock())
    filters = arguments.filters(span)
    rows = services.memories_of(principal.namespace).list(
        filters,
        arguments.limit + 1,
        after=cursors.read_id(arguments),
        oldest_first=arguments.order is Order.OLDEST,
        beginning=preview.READ_CHARACTERS if arguments.preview else None,
    )
    page, next_cursor = cursors.page(rows, arguments.limit, arguments)
    memories = list(map(_to_list_line, page))
    listing = Listing(
        memories=memories, next_cursor=next_cursor, window=Window.of(span, arguments.timezone) if span else None
    )
    lines = "".join(f"[{memory.id}] [{memory.date}] {memory.title}\n" for memory in memories)
    # The note names the tool, because clients that read the resource `memory://recent` get the same note, although they
    # have not called the tool.
    more = next_cursor and f"There are more: call list_memories with the same filters and cursor {next_cursor}"
    notes = tuple(filter(None, (window_note(listing.window), successors_note(memories), more)))
    return Reply(listing, text=lines or arguments.nothing_found(), notes=notes, has_stored_text=bool(memories))


def _to_list_line(memory: ListedMemory) -> ListedMemoryResult:
    beginning = memory.beginning
    title, short_tags = brief(memory.title, memory.tags)
    tags = short_tags if beginning is None else tuple(memory.tags)
    cut = (title, tags) != (memory.title, tuple(memory.tags))
    values = {**vars(memory), "title": title, "tags": tags, "truncated": cut or None}
    if beginning is None:
        values |= {"session": None, "expires_at": None, "pinned": None}
    else:
        values["preview"] = preview.preview(memory.title, beginning)
        values["title_given"] = preview.is_given(memory.title, beginning)
    return ListedMemoryResult(date=memory.timestamp.date().isoformat(), **values)
