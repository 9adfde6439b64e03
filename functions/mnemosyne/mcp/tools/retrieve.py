"""`retrieve_memories`: return the memories that answer a question, as text."""

from typing import Annotated

from pydantic import Field

from mnemosyne.domain import rate_limit
from mnemosyne.domain.parsing import Text
from mnemosyne.domain.principal import Principal
from mnemosyne.domain.search import HYBRID_QUALITY_WEIGHT, SearchMode, SearchQuery
from mnemosyne.domain.time.question import named_times
from mnemosyne.errors import InvalidRequest
from mnemosyne.mcp import hits
from mnemosyne.mcp.tool import Reply, tool
from mnemosyne.mcp.tools.filters import FilterArguments, Limit, MinConfidence, Window
from mnemosyne.mcp.tools.notes import near_duplicates_note, truncation_note
from mnemosyne.mcp.tools.search import (
    QUERY_LENGTH,
    RESPONSE_CHARACTERS,
    SearchHits,
    nothing_found,
    run_search,
    search_hits,
    search_notes,
)
from mnemosyne.ports.services import Services


class RetrieveArguments(FilterArguments):
    """The question, and filters."""

    instead = {"mode": "memory_search takes {one}"} | dict.fromkeys(
        ("tag_match", "quality_boost", "include_superseded", "as_of"), "memory_search takes {it}"
    )

    query: Annotated[Text, Field(min_length=1, max_length=QUERY_LENGTH, description="In plain words.")]
    limit: Limit = 5
    min_confidence: MinConfidence = None
    days_back: Annotated[int | None, Field(ge=1, le=36_500, description="Number of days to look back.")] = None


@tool(
    title="Recall, as text",
    description=(
        "Recall what answers a question: memory_search with whole contents instead of passages, and its filters."
    ),
    result=SearchHits,
    units=lambda arguments: rate_limit.SEARCH["hybrid"],
    unlisted=("min_confidence", "days_back", "tags", "after", "before", "time_expr", "timezone", "session", "metadata"),
    read_only=True,
)
def retrieve_memories(arguments: RetrieveArguments, principal: Principal, services: Services) -> Reply:
    span = arguments.window(services.clock(), days_back=arguments.days_back)
    if not arguments.query.strip():
        raise InvalidRequest("query must contain at least one character that is not white space")
    query = SearchQuery(
        query=arguments.query.strip(),
        mode=SearchMode.HYBRID,
        filters=arguments.filters(span),
        limit=arguments.limit,
        quality_weight=HYBRID_QUALITY_WEIGHT,
        preferred=() if span else named_times(arguments.query, now=services.clock(), timezone=arguments.timezone),
        characters=RESPONSE_CHARACTERS,
        min_confidence=arguments.min_confidence,
    )
    result = run_search(query, principal, services)
    memories = search_hits(result.hits, RESPONSE_CHARACTERS)
    response = SearchHits(
        memories=memories,
        total=len(memories),
        query=arguments.query,
        window=Window.of(span, arguments.timezone) if span else None,
        nothing_close=hits.nothing_close(memories, result.left_out, result.close, query),
        closer_hits=hits.closer_hits(memories, result.close, query),
        degraded=result.degraded,
        truncated=truncation_note(memories, RESPONSE_CHARACTERS),
        folded=near_duplicates_note(result.hits),
    )
    text = hits.whole_contents(memories) if memories else nothing_found(arguments, response)
    return Reply(response, text=text, notes=search_notes(response), has_stored_text=bool(memories))
