"""Deprecated tools that existing clients still call. The tools are not listed, and run memory_search."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from mnemosyne.domain import rate_limit
from mnemosyne.domain.event_time import zone
from mnemosyne.domain.parsing import Filled, Input, Text
from mnemosyne.domain.principal import Principal
from mnemosyne.domain.search import SearchMode
from mnemosyne.domain.time.question import split_question
from mnemosyne.domain.time.window import bounds
from mnemosyne.errors import InvalidRequest
from mnemosyne.mcp.tool import Reply, Tool
from mnemosyne.mcp.tools.search import (
    EXACT_LENGTH,
    Query,
    RequiredQuery,
    SearchArguments,
    SearchResponse,
    search_response,
)
from mnemosyne.ports.services import Services

Results = Annotated[int, Field(ge=1, le=100)]


class RetrieveMemory(Input):
    """Arguments of `retrieve_memory(query, n_results=5)` and `debug_retrieve(query, n_results=5)`."""

    query: RequiredQuery
    n_results: Results = 5


class RecallMemory(Input):
    """Arguments of `recall_memory(query?, time_expr?, timezone="UTC", n_results=5)`."""

    query: Query | None = None
    time_expr: Text | None = None
    timezone: Text = "UTC"
    n_results: Results = 5


class RecallByTimeframe(Input):
    """Arguments of `recall_by_timeframe(start_date?, end_date?, timezone="UTC", n_results=5)`."""

    start_date: Text | None = None
    end_date: Text | None = None
    timezone: Text = "UTC"
    n_results: Results = 5


class RetrieveWithQualityBoost(Input):
    """Arguments of `retrieve_with_quality_boost(query, n_results=10, quality_weight=0.3)`."""

    query: RequiredQuery
    n_results: Results = 10
    quality_weight: Annotated[float, Field(ge=0, le=1)] = 0.3


class ExactMatchRetrieve(Input):
    """Arguments of `exact_match_retrieve(content)`."""

    content: Annotated[Filled, Field(max_length=EXACT_LENGTH)]


def _recall_arguments(old: RecallMemory, services: Services) -> SearchArguments:
    query, expression = old.query, old.time_expr
    zone(old.timezone)
    if expression is None and not (query and query.strip()):
        raise InvalidRequest("give query, time_expr or both")
    if query and expression is None:
        parts = split_question(query, now=services.clock(), timezone=old.timezone)
        expression, query = parts or (None, query)
    return SearchArguments(query=query, time_expr=expression, timezone=old.timezone, limit=old.n_results)


def _timeframe_arguments(old: RecallByTimeframe, services: Services) -> SearchArguments:
    bounds(old.start_date, old.end_date, timezone=old.timezone, names=("start_date", "end_date"))
    if old.start_date is None and old.end_date is None:
        raise InvalidRequest("give start_date, end_date or both")
    return SearchArguments(after=old.start_date, before=old.end_date, timezone=old.timezone, limit=old.n_results)


def _deprecated_tool(
    name: str, arguments: type[Any], instead: str, translate: Callable[[Any, Services], SearchArguments]
) -> Tool[Any]:
    note = f"{name} is deprecated: call {instead} instead."

    def run(old: Any, principal: Principal, services: Services) -> Reply:
        response = search_response(translate(old, services), principal, services)
        # The note is not added to the reply's text, because this text is JSON.
        return Reply(response, notes=(note,), has_stored_text=bool(response.memories))

    return Tool(
        name=name,
        title=name,
        description=note,
        arguments=arguments,
        result=SearchResponse,
        units=lambda arguments: rate_limit.SEARCH["exact" if name == "exact_match_retrieve" else "hybrid"],
        run=run,
        read_only=True,
        deprecated=note,
    )


DEPRECATED_TOOLS: tuple[Tool[Any], ...] = (
    _deprecated_tool(
        "retrieve_memory", RetrieveMemory, "memory_search(query, limit)",
        lambda old, _: SearchArguments(query=old.query, limit=old.n_results),
    ),
    _deprecated_tool(
        "recall_memory", RecallMemory, "memory_search(query, time_expr, timezone, limit)", _recall_arguments
    ),
    _deprecated_tool(
        "recall_by_timeframe", RecallByTimeframe, "memory_search(after, before, timezone, limit)", _timeframe_arguments
    ),
    _deprecated_tool(
        "retrieve_with_quality_boost", RetrieveWithQualityBoost,
        "memory_search(query, mode='hybrid', quality_boost, limit)",
        lambda old, _: SearchArguments(query=old.query, quality_boost=old.quality_weight, limit=old.n_results),
    ),
    _deprecated_tool(
        "exact_match_retrieve", ExactMatchRetrieve, "memory_search(query=content, mode='exact')",
        lambda old, _: SearchArguments(query=old.content, mode=SearchMode.EXACT),
    ),
    _deprecated_tool(
        "debug_retrieve", RetrieveMemory, "memory_search(query, limit, include_debug=true)",
        lambda old, _: SearchArguments(query=old.query, limit=old.n_results, include_debug=True),
    ),
)  # fmt: skip
