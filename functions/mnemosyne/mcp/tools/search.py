"""`memory_search` and `retrieve_memories`: find memories by meaning."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from mnemosyne.domain.parsing import Input, Tags, Text
from mnemosyne.domain.search import Filters, Hit
from mnemosyne.domain.time_window import bounds
from mnemosyne.mcp.tool import Caller, Reply, Result, Services, Tool
from mnemosyne.mcp.tools.manage import AFTER, BEFORE
from mnemosyne.service import search

Query = Annotated[
    Text,
    Field(min_length=1, max_length=10_000, description="What to find, in plain words; a question will do."),
]


class SearchArguments(Input):
    """What to find, and within what."""

    query: Query
    limit: Annotated[int, Field(ge=1, le=100, description="How many, 1 to 100.")] = 10
    tags: Annotated[Tags | None, Field(description="Only memories with any of these tags; case is ignored.")] = None
    after: Annotated[Text | None, Field(description=AFTER)] = None
    before: Annotated[Text | None, Field(description=BEFORE)] = None


class FoundMemory(Result):
    """One memory found; `relevance` is 1 for the same meaning, 0 for nothing in common."""

    id: UUID
    timestamp: datetime
    title: str
    content: str
    tags: list[str]
    metadata: dict[str, Any]
    relevance: float


class Found(Result):
    """The memories found, best first."""

    memories: list[FoundMemory]
    total: int
    query: str


def _find(
    query: str, window: tuple[str | None, str | None], tags: Sequence[str], limit: int, caller: Caller,
    services: Services,
) -> Found:  # fmt: skip
    span = bounds(*window)
    filters = Filters(after=span.after, before=span.before, tags=tuple(tags))
    hits = search.search(
        caller.namespace, query, filters, limit, memories=services.memories, embedder=services.embedder
    )
    return Found(memories=[_found(hit) for hit in hits], total=len(hits), query=query)


def _found(hit: Hit) -> FoundMemory:
    memory = hit.memory
    return FoundMemory(
        id=memory.id,
        timestamp=memory.timestamp,
        title=memory.title,
        content=memory.content,
        tags=list(memory.tags),
        metadata=dict(memory.metadata),
        relevance=round(hit.relevance, 6),
    )


def _memory_search(arguments: SearchArguments, caller: Caller, services: Services) -> Reply:
    window = (arguments.after, arguments.before)
    return Reply(_find(arguments.query, window, arguments.tags or (), arguments.limit, caller, services))


MEMORY_SEARCH = Tool(
    name="memory_search",
    title="Search memories",
    description=(
        "Find memories by meaning: the query and the memory need not share a word. Filters by time and tags "
        "narrow what is searched, so the best matches within them are always found.\n"
        'Example: {"query": "what does Ada like to drink?", "tags": ["ada"], "after": "2026-01-01"}\n'
        "Nothing found is an empty list, not an error."
    ),
    arguments=SearchArguments,
    result=Found,
    run=_memory_search,
    read_only=True,
    idempotent=True,
)


class RetrieveArguments(SearchArguments):
    """What to find, and within what."""

    limit: Annotated[int, Field(ge=1, le=100, description="How many, 1 to 100.")] = 5


def _retrieve_memories(arguments: RetrieveArguments, caller: Caller, services: Services) -> Reply:
    window = (arguments.after, arguments.before)
    found = _find(arguments.query, window, arguments.tags or (), arguments.limit, caller, services)
    text = "".join(f"--- [{m.id}] [{m.timestamp:%Y-%m-%d}] ---\n{m.content}\n" for m in found.memories)
    return Reply(found, text=text or "No memories found.")


RETRIEVE_MEMORIES = Tool(
    name="retrieve_memories",
    title="Recall, as text",
    description=(
        "The same search as memory_search, answered as plain text to read: each memory under a line "
        "`--- [<id>] [<YYYY-MM-DD>] ---`, best first. Use memory_search for scores and structure."
    ),
    arguments=RetrieveArguments,
    result=Found,
    run=_retrieve_memories,
    read_only=True,
    idempotent=True,
)
