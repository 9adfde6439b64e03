"""`memory_search`: find memories by meaning, words, time, tags and quality."""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field, WithJsonSchema

from mnemosyne.domain import graphemes, rate_limit
from mnemosyne.domain.embedding_space import known_languages, language_warning
from mnemosyne.domain.parsing import Filled, Text
from mnemosyne.domain.principal import Principal
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.domain.search import HYBRID_QUALITY_WEIGHT, Hit, RelevanceParts, SearchMode, SearchQuery, TagMatch
from mnemosyne.domain.time.question import named_times
from mnemosyne.domain.time.window import TimeWindow, past_time
from mnemosyne.errors import InvalidRequest
from mnemosyne.mcp import hits
from mnemosyne.mcp.record import SearchHit, brief
from mnemosyne.mcp.tool import Reply, Result, tool
from mnemosyne.mcp.tools import notes
from mnemosyne.mcp.tools.filters import AsOf, FilterArguments, Limit, MinConfidence, Window
from mnemosyne.mcp.tools.matches import with_matches
from mnemosyne.observability import milliseconds
from mnemosyne.ports.services import Services
from mnemosyne.service import search
from mnemosyne.service.search import SearchResult

QUERY_LENGTH = 10_000
EXACT_LENGTH = 500
"""Maximum number of characters of an exact query. The time of a comparison grows with the product of the lengths of
query and content."""
RESPONSE_CHARACTERS = 9_000
"""Maximum number of characters of contents and metadata in an answer. The complete answer, with records and a text for
the model, has about 20,000 characters."""
LONGEST_RESPONSE = 400_000
Query = Annotated[Text, Field(max_length=QUERY_LENGTH)]
RequiredQuery = Annotated[Filled, Field(max_length=QUERY_LENGTH)]


class SearchArguments(FilterArguments):
    """The query, filters and options of a search."""

    instead = {"days_back": "give time_expr, such as 'the past 7 days'"} | dict.fromkeys(
        ("cursor", "order"), "raise limit, or page through list_memories"
    )

    query: Query | None = Field(None, description="In plain words; without it, the newest within the filters.")
    mode: SearchMode = Field(
        SearchMode.HYBRID, strict=False, description="semantic: by meaning alone. exact: a literal substring."
    )
    tag_match: Annotated[TagMatch, Field(strict=False, description="Any or all of the tags.")] = TagMatch.ANY
    quality_boost: float | None = Field(
        None,
        ge=0,
        le=1,
        description="How much quality (ratings) counts against relevance: 0 not at all, 1 alone. "
        "Default 0.3 in hybrid, else 0.",
    )
    limit: Limit = 10
    min_confidence: MinConfidence = None
    max_response_chars: int = Field(
        RESPONSE_CHARACTERS,
        ge=100,
        description="Cut the longest contents until all fit in this, at most 400,000; none is left out.",
    )
    include_superseded: Annotated[bool, Field(description="Also find memories that newer ones replace.")] = False
    include_debug: Annotated[bool, Field(description="Add timings, counts and why each was found.")] = False
    matches: Annotated[bool, Field(description="Add the places of the query's words in each.")] = False
    as_of: AsOf = None
    typing: bool = Field(
        False, description="The query is still being typed: search by words only, and complete the last word."
    )


class Debug(Result):
    """Timings and decisions of a search."""

    embed_ms: float
    database_ms: float
    rerank_ms: float | None
    total_ms: float
    window: Window | None
    preferred: list[Window]
    tags: list[str]
    tag_match: TagMatch
    quality_weight: float
    strategy: str
    candidates_considered: int
    returned: int
    why: dict[UUID, RelevanceParts]
    embedding_model: str
    embedding_dimension: int


class SearchHits(Result):
    """The hits, best first, and notes about the search. `total` is the number of these hits."""

    memories: list[SearchHit]
    total: int
    query: str | None
    window: Window | None = None
    as_of: datetime | None = None
    nothing_close: str | None = None
    closer_hits: str | None = None
    degraded: str | None = None
    truncated: str | None = None
    folded: str | None = None
    more: str | None = None


class SearchResponse(SearchHits):
    """The result of memory_search."""

    mode: SearchMode
    metadata: list[str] | None = None
    # The fields of `debug` are not listed for agents, because only people read them.
    debug: Annotated[Debug | None, WithJsonSchema({"type": "object"})] = None


def search_response(arguments: SearchArguments, principal: Principal, services: Services) -> SearchResponse:
    """Run a search for memory_search and for the tools that are based on it."""
    started = time.perf_counter()
    span = arguments.window(services.clock())
    query = _search_query(arguments, span, services.clock())
    result = run_search(query, principal, services)
    memories = search_hits(result.hits, query.characters or LONGEST_RESPONSE, has_all_tags=arguments.matches)
    if arguments.matches:
        searched_text = " ".join((query.query or "", *result.completions))
        memories = with_matches(memories, searched_text, query.mode, services.memories_of(principal.namespace))
    window = Window.of(span, arguments.timezone) if span else None
    return SearchResponse(
        memories=memories,
        total=len(memories),
        query=query.query,
        mode=arguments.mode,
        window=window,
        as_of=query.filters.as_of,
        metadata=[str(condition) for condition in query.filters.metadata] or None,
        nothing_close=hits.nothing_close(memories, result.left_out, result.close, query),
        closer_hits=hits.closer_hits(memories, result.close, query),
        degraded=result.degraded,
        truncated=notes.truncation_note(memories, query.characters or 0),
        folded=notes.near_duplicates_note(result.hits),
        more=notes.more_note(query) if result.has_more else None,
        debug=_build_debug(query, result, window, arguments.timezone, started, services)
        if arguments.include_debug
        else None,
    )


def run_search(query: SearchQuery, principal: Principal, services: Services) -> SearchResult:
    """Search the memories in the caller's namespace.

    The result has a warning if the query or many memories are in languages that the embedder does not know.
    """
    result = search.search(
        query,
        memories=services.memories_of(principal.namespace),
        embedder=services.embedder,
        reranker=services.reranker,
    )
    provider = services.embedding_space.provider
    if known_languages(provider) is None or not query.by_meaning:
        return result
    warning = language_warning(services.memories_of(principal.namespace).languages(query.query), provider)
    return replace(result, degraded="; ".join(filter(None, (result.degraded, warning)))) if warning else result


def _search_query(arguments: SearchArguments, span: TimeWindow | None, now: datetime) -> SearchQuery:
    text = (arguments.query or "").strip()
    as_of = past_time(arguments.as_of, now=now, timezone=arguments.timezone)
    filters = arguments.filters(span, as_of=as_of)
    if not text and not filters.has_condition:
        raise InvalidRequest(
            "give a query, or a filter instead: tags, session, metadata, after, before or time_expr; to list all "
            "memories, call list_memories"
        )
    if len(arguments.query or "") > EXACT_LENGTH and arguments.mode is SearchMode.EXACT:
        raise InvalidRequest(
            f"query must be at most {EXACT_LENGTH} characters long in mode exact, got {len(arguments.query or ''):,}: "
            "give a part of it"
        )
    if arguments.typing and arguments.mode is not SearchMode.HYBRID:
        raise InvalidRequest(f"typing needs mode hybrid, got mode {arguments.mode.value}: omit one of them")
    hybrid = bool(text) and arguments.mode is SearchMode.HYBRID
    weight = arguments.quality_boost
    if weight is None:
        weight = HYBRID_QUALITY_WEIGHT if hybrid else 0.0
    # White space at the ends of the query is kept in two cases. An exact search looks for the white space, too. In a
    # query that is being typed, a space shows that the last word is complete.
    keeps_spaces = arguments.mode is SearchMode.EXACT or arguments.typing
    return SearchQuery(
        query=arguments.query if text and keeps_spaces else text or None,
        mode=arguments.mode,
        filters=filters,
        limit=arguments.limit,
        quality_weight=weight,
        preferred=named_times(text, now=now, timezone=arguments.timezone) if hybrid and span is None else (),
        characters=min(arguments.max_response_chars, LONGEST_RESPONSE),
        min_confidence=arguments.min_confidence,
        explain=arguments.include_debug,
        typing=arguments.typing,
    )


def search_hits(found_hits: Sequence[Hit], characters: int, *, has_all_tags: bool = False) -> list[SearchHit]:
    """Convert hits to results. Shorten long contents until all together have about `characters` characters as JSON."""
    return hits.shorten_contents([_to_search_hit(hit, has_all_tags) for hit in found_hits], characters)


def _to_search_hit(hit: Hit, has_all_tags: bool) -> SearchHit:
    title, short_tags = brief(hit.title, hit.tags)
    tags = tuple(hit.tags) if has_all_tags else short_tags
    cut = hit.truncated or (title, tags) != (hit.title, tuple(hit.tags))
    return SearchHit.model_validate({
        **vars(hit), "title": title, "tags": tags, "truncated": cut or None,
        "near_duplicates": hit.near_duplicates[:notes.SHOWN_DUPLICATES] or None,
        "snippet": hit.snippet and graphemes.without_leading_marks(hit.snippet),
    })  # fmt: skip


def _build_debug(
    query: SearchQuery, result: SearchResult, window: Window | None, timezone: str, started: float, services: Services
) -> Debug:
    return Debug(
        **vars(result),
        total_ms=milliseconds(started),
        window=window,
        preferred=[Window.of(window, timezone) for window in query.preferred],
        tags=list(query.filters.tags),
        tag_match=query.filters.tag_match,
        quality_weight=query.quality_weight,
        candidates_considered=result.considered,
        returned=len(result.hits),
        why={hit.id: hit.why for hit in result.hits if hit.why},
        embedding_model=services.embedding_space.model,
        embedding_dimension=services.embedding_space.dimension,
    )


def nothing_found(arguments: FilterArguments, result: SearchHits) -> str:
    """Return the text of an answer without hits.

    If a note already says that no memory is close to the query, the text is short. Otherwise it names the filters.
    """
    return hits.NOTHING_FOUND if result.nothing_close else arguments.nothing_found(has_query=bool(result.query))


def search_notes(result: SearchHits) -> tuple[str, ...]:
    """Return the notes about a search."""
    versions = notes.state_note(result.memories)
    as_of_note = result.as_of and f"As of {rfc3339(result.as_of)}."
    close_note = result.nothing_close or result.closer_hits
    texts = (
        as_of_note, close_note, notes.window_note(result.window), result.degraded, result.truncated, result.folded,
        versions, result.more,
    )  # fmt: skip
    return tuple(text for text in texts if text)


@tool(
    title="Search memories",
    description=(
        "Find memories: id, date, confidence and matching passage of each. Superseded ones are left out. "
        'Example: {"query": "release decisions", "time_expr": "last month"}'
    ),
    result=SearchResponse,
    has_view=True,
    units=rate_limit.cost_of_search,
    unlisted=(
        "tag_match",
        "quality_boost",
        "max_response_chars",
        "include_superseded",
        "include_debug",
        "matches",
        "as_of",
        "typing",
    ),
    read_only=True,
)
def memory_search(arguments: SearchArguments, principal: Principal, services: Services) -> Reply:
    result = search_response(arguments, principal, services)
    text = hits.passages(result.memories, result.query or "") if result.memories else nothing_found(arguments, result)
    return Reply(result, text=text, notes=search_notes(result), has_stored_text=bool(result.memories))
