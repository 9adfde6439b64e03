"""`memory_search` and `retrieve_memories`: find memories by meaning, by words, by time, tags and quality."""

import time
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from mnemosyne.domain.memory import CONTENT_LIMIT
from mnemosyne.domain.parsing import Integer, Text
from mnemosyne.domain.search import HYBRID_QUALITY_WEIGHT, Filters, Hit, SearchMode, SearchQuery, TagMatch
from mnemosyne.domain.time_window import TimeWindow, zone
from mnemosyne.errors import InvalidRequest
from mnemosyne.mcp.tool import Caller, Reply, Result, Tool
from mnemosyne.mcp.tools.filters import FilterArguments, Limit, WindowShown, window
from mnemosyne.observability import milliseconds
from mnemosyne.ports import Services
from mnemosyne.service import search
from mnemosyne.service.search import Found as SearchFound

QUERY_LENGTH = 10_000
Query = Annotated[Text, Field(max_length=CONTENT_LIMIT)]


class SearchArguments(FilterArguments):
    """What to find, and within what."""

    query: Annotated[
        Query | None,
        Field(
            description="What to find, in plain words; a question will do. Omit to list by tags or time alone. At most "
            "10,000 characters, in mode exact 100,000."
        ),
    ] = None
    mode: Annotated[
        SearchMode,
        Field(
            strict=False,
            description="semantic: by meaning. exact: the query as a substring, case ignored, newest first. "
            "hybrid: meaning and words together; best for names, codes and rare words in a question.",
        ),
    ] = SearchMode.SEMANTIC
    timezone: Annotated[
        Text, Field(description="IANA name in which dates and time_expr are meant, such as Europe/Berlin.")
    ] = "UTC"
    tag_match: Annotated[TagMatch, Field(strict=False, description="Whether any or all of the tags must be there.")] = (
        TagMatch.ANY
    )
    quality_boost: Annotated[
        float | None,
        Field(
            ge=0,
            le=1,
            description="How much quality (ratings, reads) counts against relevance: 0 not at all, 1 alone. "
            "Default 0.3 in hybrid, else 0.",
        ),
    ] = None
    limit: Limit = 10
    max_response_chars: Annotated[
        Integer | None,
        Field(ge=100, description="Cut contents so that together they are no longer than this; none is left out."),
    ] = None
    include_superseded: Annotated[bool, Field(description="Also find memories that newer ones replace.")] = False
    include_debug: Annotated[bool, Field(description="Add timings, strategy and candidate counts.")] = False


class FoundMemory(Result):
    """One memory found. `score` is what it was ranked by: relevance and quality, as weighted."""

    id: UUID
    timestamp: datetime
    title: str
    content: str
    tags: list[str]
    metadata: dict[str, Any]
    relevance: float | None
    quality: float
    score: float
    superseded_by: UUID | None = None
    truncated: bool | None = None


class Debug(Result):
    """How the search was done."""

    embed_ms: float
    database_ms: float
    total_ms: float
    window: WindowShown | None
    tags: list[str]
    tag_match: TagMatch
    quality_weight: float
    strategy: str
    candidates_considered: int
    returned: int
    embedding_model: str
    embedding_dimension: int


class Found(Result):
    """The memories found, best first."""

    memories: list[FoundMemory]
    total: int
    query: str | None
    mode: SearchMode
    window: WindowShown | None = None
    degraded: str | None = None
    truncated: str | None = None
    debug: Debug | None = None


def memory_search(arguments: SearchArguments, caller: Caller, services: Services) -> Found:
    """The one search behind every tool that searches."""
    started = time.perf_counter()
    zone(arguments.timezone)  # wrong is wrong, whether or not a time is given in it
    span = arguments.window(services.clock(), arguments.timezone)
    query, weight = _search_query(arguments, span)
    found = search.search(caller.namespace, query, memories=services.memories, embedder=services.embedder)
    memories, truncated = _cut([_shown(hit) for hit in found.ranking.hits], arguments.max_response_chars)
    shown_window = WindowShown.of(span, arguments.timezone) if span else None
    return Found(
        memories=memories,
        total=len(memories),
        query=query.query,
        mode=arguments.mode,
        window=shown_window,
        degraded=found.degraded,
        truncated=truncated,
        debug=_debug(arguments, found, shown_window, weight, started, services) if arguments.include_debug else None,
    )


def _search_query(arguments: SearchArguments, span: TimeWindow | None) -> tuple[SearchQuery, float]:
    text = (arguments.query or "").strip()
    filters = Filters(
        after=span.after if span else None,
        before=span.before if span else None,
        tags=tuple(arguments.tags or ()),
        tag_match=arguments.tag_match,
        include_superseded=arguments.include_superseded,
    )
    if not text and not filters.narrow:
        raise InvalidRequest("give a query, or a filter instead: tags, after, before or time_expr")
    if len(text) > QUERY_LENGTH and arguments.mode is not SearchMode.EXACT:
        raise InvalidRequest(f"query must be at most {QUERY_LENGTH:,} characters long, got {len(text):,}")
    weight = arguments.quality_boost
    if weight is None:
        weight = HYBRID_QUALITY_WEIGHT if text and arguments.mode is SearchMode.HYBRID else 0.0
    # An exact search is for the very words, white space around them included.
    exact = arguments.query if text and arguments.mode is SearchMode.EXACT else text or None
    query = SearchQuery(query=exact, mode=arguments.mode, filters=filters, limit=arguments.limit, quality_weight=weight)
    return query, weight


def _shown(hit: Hit) -> FoundMemory:
    return FoundMemory(
        id=hit.id,
        timestamp=hit.timestamp,
        title=hit.title,
        content=hit.content,
        tags=list(hit.tags),
        metadata=dict(hit.metadata),
        relevance=None if hit.relevance is None else round(hit.relevance, 6),
        quality=round(hit.quality, 6),
        score=round(hit.score, 6),
        superseded_by=hit.superseded_by,
    )


def _cut(memories: list[FoundMemory], budget: int | None) -> tuple[list[FoundMemory], str | None]:
    """The memories with their longest contents cut until all fit; and what to say of it, if any was."""
    if budget is None or sum(len(memory.content) for memory in memories) <= budget:
        return memories, None
    left, each = budget, 0
    for place, length in enumerate(sorted(len(memory.content) for memory in memories)):
        each = left // (len(memories) - place)
        if length > each:
            break
        left -= length
    cut = [
        memory.model_copy(update={"content": memory.content[:each], "truncated": True})
        if len(memory.content) > each
        else memory
        for memory in memories
    ]
    count = sum(memory.truncated is True for memory in cut)
    return cut, f"{count} of {len(cut)} contents were cut to fit {budget} characters: get_memory returns them whole"


def _debug(
    arguments: SearchArguments,
    found: SearchFound,
    shown_window: WindowShown | None,
    weight: float,
    started: float,
    services: Services,
) -> Debug:
    return Debug(
        embed_ms=found.embed_ms,
        database_ms=found.database_ms,
        total_ms=milliseconds(started),
        window=shown_window,
        tags=arguments.tags or [],
        tag_match=arguments.tag_match,
        quality_weight=weight,
        strategy=found.ranking.strategy,
        candidates_considered=found.ranking.considered,
        returned=len(found.ranking.hits),
        embedding_model=services.memories.space.model,
        embedding_dimension=services.memories.space.dimension,
    )


def _memory_search(arguments: SearchArguments, caller: Caller, services: Services) -> Reply:
    return Reply(memory_search(arguments, caller, services))


MEMORY_SEARCH = Tool(
    name="memory_search",
    title="Search memories",
    description=(
        "Find memories. Use mode hybrid for most questions, semantic for a vague idea, exact for a literal string.\n"
        'Examples: {"query": "what does Ada like to drink?", "mode": "hybrid"}; {"query": "release decisions", '
        '"time_expr": "last month", "timezone": "Europe/Berlin"}; {"query": "ERR-4012", "mode": "exact"}; '
        '{"tags": ["ada", "decision"], "tag_match": "all"} (no query: newest first).\n'
        "Filters narrow what is searched, so the best matches within them are always found. Memories that newer ones "
        "supersede are left out. `window` says which time was searched. `degraded` says that meaning could not be "
        "used this time. Nothing found is an empty list, not an error; errors name the argument and its allowed values."
    ),
    arguments=SearchArguments,
    result=Found,
    run=_memory_search,
    read_only=True,
    idempotent=True,
)


class Recalled(Result):
    """The memories recalled, best first."""

    memories: list[FoundMemory]
    total: int
    query: str
    window: WindowShown | None = None
    degraded: str | None = None


class RetrieveArguments(FilterArguments):
    """What to recall, and within what."""

    query: Annotated[
        Text,
        Field(min_length=1, max_length=QUERY_LENGTH, description="What to recall, in plain words; a question will do."),
    ]
    limit: Limit = 5
    days_back: Annotated[Integer | None, Field(ge=1, le=36_500, description="Only the last so many days.")] = None


def _retrieve_memories(arguments: RetrieveArguments, caller: Caller, services: Services) -> Reply:
    span = window(arguments.after, arguments.before, arguments.time_expr, services.clock(), "UTC", arguments.days_back)
    if not arguments.query.strip():
        raise InvalidRequest("query must contain at least one character that is not white space")
    filters = Filters(
        after=span.after if span else None, before=span.before if span else None, tags=tuple(arguments.tags or ())
    )
    query = SearchQuery(query=arguments.query.strip(), mode=SearchMode.HYBRID, filters=filters, limit=arguments.limit)
    found = search.search(caller.namespace, query, memories=services.memories, embedder=services.embedder)
    memories = [_shown(hit) for hit in found.ranking.hits]
    text = "".join(f"--- [{m.id}] [{m.timestamp.date()}] ---\n{m.content}\n" for m in memories)
    result = Recalled(
        memories=memories,
        total=len(memories),
        query=arguments.query,
        window=WindowShown.of(span, "UTC") if span else None,
        degraded=found.degraded,
    )
    if found.degraded:
        text += f"({found.degraded})\n"
    return Reply(result, text=text or "No memories found.")


RETRIEVE_MEMORIES = Tool(
    name="retrieve_memories",
    title="Recall, as text",
    description=(
        "Recall the memories that answer a question, by meaning and words together, as plain text to read: each under "
        "a line `--- [<id>] [<YYYY-MM-DD>] ---`, best first. Dates are UTC. Use memory_search for exact strings, "
        "other time zones, tag_match, scores or quality."
    ),
    arguments=RetrieveArguments,
    result=Recalled,
    run=_retrieve_memories,
    read_only=True,
    idempotent=True,
)
