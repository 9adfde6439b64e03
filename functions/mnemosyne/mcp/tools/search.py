"""`memory_search`: find memories by meaning, by words, by time, tags and quality."""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field, WithJsonSchema

from mnemosyne.domain import rate_limit
from mnemosyne.domain.languages import known_languages, language_warning
from mnemosyne.domain.parsing import Text
from mnemosyne.domain.principal import Principal
from mnemosyne.domain.search import HYBRID_QUALITY_WEIGHT, Hit, SearchMode, SearchQuery, TagMatch, Why
from mnemosyne.domain.time.question import named_times
from mnemosyne.domain.time.window import TimeWindow
from mnemosyne.errors import InvalidRequest
from mnemosyne.mcp import hits
from mnemosyne.mcp.record import MemoryRecord, SearchHit, brief
from mnemosyne.mcp.tool import Reply, Result, Tool
from mnemosyne.mcp.tools.filters import FilterArguments, Limit, MinConfidence, WindowShown
from mnemosyne.observability import milliseconds
from mnemosyne.ports.services import Services
from mnemosyne.service import search
from mnemosyne.service.search import SearchResult

QUERY_LENGTH = 10_000
DUPLICATES_SHOWN = 5
"""Most ids of near-duplicates listed for a hit. A note says how many more there are."""
EXACT_LENGTH = 500
"""Comparing a string with a content takes the product of their lengths."""
RESPONSE_CHARACTERS = 9_000
"""Of contents and metadata: with the records around them, and the text for the model, an answer has about 20,000."""
LONGEST_RESPONSE = 400_000
Query = Annotated[Text, Field(max_length=QUERY_LENGTH)]


class SearchArguments(FilterArguments):
    """What to find, and within what."""

    query: Annotated[
        Query | None,
        Field(description="In plain words; without it, the newest within the filters."),
    ] = None
    mode: Annotated[
        SearchMode,
        Field(
            strict=False,
            description="semantic: by meaning alone. exact: a literal substring.",
        ),
    ] = SearchMode.HYBRID
    tag_match: Annotated[TagMatch, Field(strict=False, description="Any or all of the tags.")] = TagMatch.ANY
    quality_boost: Annotated[
        float | None,
        Field(
            ge=0,
            le=1,
            description="How much quality (ratings) counts against relevance: 0 not at all, 1 alone. "
            "Default 0.3 in hybrid, else 0.",
        ),
    ] = None
    limit: Limit = 10
    min_confidence: MinConfidence = None
    max_response_chars: Annotated[
        int,
        Field(
            ge=100,
            description="Cut the longest contents until all fit in this, at most 400,000; none is left out.",
        ),
    ] = RESPONSE_CHARACTERS
    include_superseded: Annotated[bool, Field(description="Also find memories that newer ones replace.")] = False
    include_debug: Annotated[bool, Field(description="Add timings, counts and why each was found.")] = False


class Debug(Result):
    """Timings and decisions of a search."""

    embed_ms: float
    database_ms: float
    rerank_ms: float | None
    total_ms: float
    window: WindowShown | None
    preferred: list[WindowShown]
    tags: list[str]
    tag_match: TagMatch
    quality_weight: float
    strategy: str
    candidates_considered: int
    returned: int
    why: dict[UUID, Why]
    embedding_model: str
    embedding_dimension: int


class Found(Result):
    """The hits, best first, and notes about the search."""

    memories: list[SearchHit]
    total: int
    query: str | None
    window: WindowShown | None = None
    nothing_close: str | None = None
    degraded: str | None = None
    truncated: str | None = None
    folded: str | None = None


class SearchResponse(Found):
    """The result of memory_search."""

    mode: SearchMode
    metadata: list[str] | None = None
    # For people: agents do not need its schema.
    debug: Annotated[Debug | None, WithJsonSchema({"type": "object"})] = None


def memory_search(arguments: SearchArguments, principal: Principal, services: Services) -> SearchResponse:
    """Search memories, for memory_search and the tools derived from it."""
    started = time.perf_counter()
    span = arguments.window(services.clock())
    query = _search_query(arguments, span, services.clock())
    found = searched(query, principal, services)
    memories = shown(found.hits, query.characters or LONGEST_RESPONSE)
    shown_window = WindowShown.of(span, arguments.timezone) if span else None
    return SearchResponse(
        memories=memories,
        total=len(memories),
        query=query.query,
        mode=arguments.mode,
        window=shown_window,
        metadata=[str(one) for one in query.filters.metadata] or None,
        nothing_close=hits.nothing_close(memories, found.left_out, query.min_confidence),
        degraded=found.degraded,
        truncated=said_of_cutting(memories, query.characters or 0),
        folded=said_of_folding(found.hits),
        debug=_debug(query, found, shown_window, arguments.timezone, started, services)
        if arguments.include_debug
        else None,
    )


def searched(query: SearchQuery, principal: Principal, services: Services) -> SearchResult:
    """Search the memories in the caller's namespace. Notes if the embedder does not know their language."""
    found = search.search(
        principal.namespace,
        query,
        memories=services.memories,
        embedder=services.embedder,
        reranker=services.reranker,
    )
    warning = _language_warning(query, principal, services)
    return replace(found, degraded="; ".join(filter(None, (found.degraded, warning)))) if warning else found


def _language_warning(query: SearchQuery, principal: Principal, services: Services) -> str | None:
    provider = services.memories.embedding_space.provider
    if known_languages(provider) is None or query.query is None or query.mode is SearchMode.EXACT:
        return None
    return language_warning(services.memories.languages(principal.namespace, query.query), provider)


def _search_query(arguments: SearchArguments, span: TimeWindow | None, now: datetime) -> SearchQuery:
    text = (arguments.query or "").strip()
    filters = arguments.filters(span)
    if not text and not filters.narrow:
        raise InvalidRequest("give a query, or a filter instead: tags, session, metadata, after, before or time_expr")
    if len(arguments.query or "") > EXACT_LENGTH and arguments.mode is SearchMode.EXACT:
        raise InvalidRequest(
            f"query must be at most {EXACT_LENGTH} characters long in mode exact, got {len(arguments.query or ''):,}: "
            "a part of it will do"
        )
    hybrid = bool(text) and arguments.mode is SearchMode.HYBRID
    weight = arguments.quality_boost
    if weight is None:
        weight = HYBRID_QUALITY_WEIGHT if hybrid else 0.0
    # An exact search matches white space around the words too.
    exact = arguments.query if text and arguments.mode is SearchMode.EXACT else text or None
    return SearchQuery(
        query=exact,
        mode=arguments.mode,
        filters=filters,
        limit=arguments.limit,
        quality_weight=weight,
        preferred=named_times(text, now=now, timezone=arguments.timezone) if hybrid and span is None else (),
        characters=min(arguments.max_response_chars, LONGEST_RESPONSE),
        min_confidence=arguments.min_confidence,
        explain=arguments.include_debug,
    )


def shown(found: Sequence[Hit], characters: int) -> list[SearchHit]:
    """Convert hits to results whose contents have at most this many characters."""
    return hits.fitted([_shown(hit) for hit in found], characters)


def _shown(hit: Hit) -> SearchHit:
    title, tags = brief(hit.title, hit.tags)
    cut = hit.truncated or (title, tags) != (hit.title, tuple(hit.tags))
    return SearchHit.model_validate({
        **vars(hit), "title": title, "tags": tags, "truncated": cut or None,
        "near_duplicates": hit.near_duplicates[:DUPLICATES_SHOWN] or None,
    })  # fmt: skip


def said_of_cutting(memories: Sequence[SearchHit], budget: int) -> str | None:
    """Return a note about truncated memories, or None if there are none."""
    count = sum(memory.truncated is True for memory in memories)
    if not count:
        return None
    return f"{count} of {len(memories)} memories were cut to fit {budget:,} characters: get_memory returns them whole"


def said_of_folding(found: Sequence[Hit]) -> str | None:
    """Return a note about near-duplicates that were left out, or None if there are none."""
    folded = [f"{_listed(hit.near_duplicates)} (the same as {hit.id})" for hit in found if hit.near_duplicates]
    if not folded:
        return None
    return (
        "Left out, because only white space or a final full stop differs: "
        f"{'; '.join(folded)}. get_memory reads each; mode exact lists all."
    )


def _listed(ids: Sequence[UUID]) -> str:
    more = len(ids) - DUPLICATES_SHOWN
    return ", ".join(map(str, ids[:DUPLICATES_SHOWN])) + (f" and {more} more" if more > 0 else "")


def _debug(
    query: SearchQuery,
    found: SearchResult,
    shown_window: WindowShown | None,
    timezone: str,
    started: float,
    services: Services,
) -> Debug:
    return Debug(
        embed_ms=found.embed_ms,
        database_ms=found.database_ms,
        rerank_ms=found.rerank_ms,
        total_ms=milliseconds(started),
        window=shown_window,
        preferred=[WindowShown.of(one, timezone) for one in query.preferred],
        tags=list(query.filters.tags),
        tag_match=query.filters.tag_match,
        quality_weight=query.quality_weight,
        strategy=found.strategy,
        candidates_considered=found.considered,
        returned=len(found.hits),
        why={hit.id: hit.why for hit in found.hits if hit.why},
        embedding_model=services.memories.embedding_space.model,
        embedding_dimension=services.memories.embedding_space.dimension,
    )


def said_of(result: Found) -> tuple[str, ...]:
    """Return the notes about a search."""
    searched = result.window and f"Searched from {result.window.after or '…'} to {result.window.before or '…'}."
    versions = said_of_versions(result.memories)
    notes = (result.nothing_close, searched, result.degraded, result.truncated, result.folded, versions)
    return tuple(note for note in notes if note)


def said_of_versions(memories: Sequence[SearchHit | MemoryRecord]) -> str | None:
    """Return a note about memories that supersede others or are superseded, or None if there are none."""
    said = [f"{one.id} replaces {', '.join(map(str, one.supersedes))}" for one in memories if one.supersedes]
    said += [f"{one.id} is replaced by {one.superseded_by}" for one in memories if one.superseded_by]
    return f"Versions: {'; '.join(said)}." if said else None


def _memory_search(arguments: SearchArguments, principal: Principal, services: Services) -> Reply:
    found = memory_search(arguments, principal, services)
    return Reply(found, text=hits.passages(found.memories, found.query or ""), notes=said_of(found))


MEMORY_SEARCH = Tool(
    name="memory_search",
    title="Search memories",
    description=(
        "Find memories: id, date, confidence and matching passage of each. Superseded ones are left out. "
        'Example: {"query": "release decisions", "time_expr": "last month"}'
    ),
    arguments=SearchArguments,
    result=SearchResponse,
    gives_stored=True,
    has_view=True,
    units=rate_limit.cost_of_search,
    unlisted=("tag_match", "quality_boost", "max_response_chars", "include_superseded", "include_debug"),
    run=_memory_search,
    read_only=True,
    idempotent=True,
)
