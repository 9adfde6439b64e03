"""`get_memory` and `list_memories`: read one memory, or look around."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from mnemosyne.domain.memory import MemorySummary
from mnemosyne.domain.parsing import Id, Input, Text
from mnemosyne.domain.principal import Principal
from mnemosyne.mcp import cursors, hits
from mnemosyne.mcp.record import MemoryRecord, brief
from mnemosyne.mcp.tool import Reply, Result, Tool
from mnemosyne.mcp.tools.filters import FilterArguments, Limit, WindowShown
from mnemosyne.mcp.tools.search import said_of_versions
from mnemosyne.ports.services import Services
from mnemosyne.service import manage


class GetArguments(Input):
    """Which memory."""

    instead = {  # noqa: RUF012 - a constant of the class
        "query": "find the memory with memory_search and give its id",
        "ids": "give one id, and call get_memory for each",
    }

    id: Annotated[Id, Field(description="Its id.")]


def _get_memory(arguments: GetArguments, principal: Principal, services: Services) -> Reply:
    memory = manage.get(principal.namespace, arguments.id, memories=services.memories)
    record = MemoryRecord.model_validate(memory)
    versions = said_of_versions([record])
    return Reply(record, text=memory.content, notes=(versions,) if versions else ())


GET_MEMORY = Tool(
    name="get_memory",
    title="Read a memory",
    description="One memory: its content as text, its record structured.",
    arguments=GetArguments,
    result=MemoryRecord,
    gives_stored=True,
    has_view=True,
    run=_get_memory,
    read_only=True,
    idempotent=True,
)


class ListArguments(FilterArguments):
    """Which memories to list."""

    instead = {"query": "memory_search takes one"}  # noqa: RUF012 - a constant of the class

    limit: Limit = 10
    cursor: Annotated[Text | None, Field(description="`next_cursor` of the page before.")] = None


class ListedMemory(Result):
    """One line of the list."""

    id: UUID
    date: str
    timestamp: datetime
    title: str
    tags: tuple[str, ...]
    superseded_by: UUID | None = None
    truncated: bool | None = None


class Listing(Result):
    """Newest first; `next_cursor` where there are more."""

    memories: list[ListedMemory]
    next_cursor: str | None
    window: WindowShown | None = None


def _list_memories(arguments: ListArguments, principal: Principal, services: Services) -> Reply:
    span = arguments.window(services.clock())
    filters = arguments.filters(span, include_superseded=True)
    summaries, after = manage.newest(
        principal.namespace,
        filters,
        arguments.limit,
        after=cursors.read_id(arguments.cursor or None),
        memories=services.memories,
    )
    memories = [_listed(summary) for summary in summaries]
    listing = Listing(
        memories=memories,
        next_cursor=cursors.written(after),
        window=WindowShown.of(span, arguments.timezone) if span else None,
    )
    lines = "".join(f"[{one.id}] [{one.date}] {one.title}\n" for one in memories)
    more = (f"There are more: cursor {listing.next_cursor}",) if listing.next_cursor else ()
    return Reply(listing, text=lines or hits.NOTHING_FOUND, notes=more)


def _listed(summary: MemorySummary) -> ListedMemory:
    title, tags = brief(summary.title, summary.tags)
    cut = (title, tags) != (summary.title, tuple(summary.tags))
    date = summary.timestamp.date().isoformat()
    return ListedMemory(date=date, **{**vars(summary), "title": title, "tags": tags}, truncated=cut or None)


LIST_MEMORIES = Tool(
    name="list_memories",
    title="Latest memories",
    description="Newest memories by page, with superseded ones. Takes the filters of memory_search.",
    arguments=ListArguments,
    unlisted=("tags", "after", "before", "time_expr", "timezone", "session", "metadata"),
    result=Listing,
    gives_stored=True,
    run=_list_memories,
    read_only=True,
    idempotent=True,
)
