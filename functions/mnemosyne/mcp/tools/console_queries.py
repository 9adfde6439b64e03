"""Tools of the console's pages: memories over time, tags, and the versions and ratings of a memory."""

from datetime import date, datetime
from typing import Annotated
from uuid import UUID

from pydantic import ConfigDict, Field

from mnemosyne.domain import rate_limit
from mnemosyne.domain.console_queries import Per
from mnemosyne.domain.memory import MemorySummary
from mnemosyne.domain.parsing import Id, Input
from mnemosyne.domain.principal import Principal
from mnemosyne.mcp.record import brief
from mnemosyne.mcp.tool import Reply, Result, Tool
from mnemosyne.mcp.tools.filters import Limit, ListFilterArguments, WindowShown
from mnemosyne.ports.services import Services
from mnemosyne.service import console_queries


class TimelineArguments(ListFilterArguments):
    """Which memories to count, and by what."""

    per: Annotated[
        Per | None, Field(strict=False, description="What to count by; else what suits the time from first to last.")
    ] = None


class Bucket(Result):
    """One day, week, month or year that has memories, by its first day."""

    start: date
    memories: int


class TimelineShown(Result):
    """Number of memories in each bucket, oldest first: the newest 1,000 buckets."""

    per: Per
    buckets: list[Bucket]
    window: WindowShown | None = None


def _memory_timeline(arguments: TimelineArguments, principal: Principal, services: Services) -> Reply:
    span = arguments.window(services.clock())
    filters = arguments.filters(span)
    found = services.memories.timeline(principal.namespace, filters, arguments.per, arguments.timezone)
    buckets = [Bucket(start=start, memories=count) for start, count in found.buckets]
    window = WindowShown.of(span, arguments.timezone) if span else None
    return Reply(TimelineShown(per=found.per, buckets=buckets, window=window))


MEMORY_TIMELINE = Tool(
    name="memory_timeline",
    title="Memories over time",
    description="How many memories there are of each day, week, month or year, within the filters of memory_search.",
    arguments=TimelineArguments,
    result=TimelineShown,
    units=lambda arguments: rate_limit.COUNTING,
    run=_memory_timeline,
    read_only=True,
    idempotent=True,
)


class FacetArguments(ListFilterArguments):
    """Which memories' tags to count."""

    limit: Limit = 20


class Facet(Result):
    """A tag, and how many memories have it."""

    tag: str
    memories: int


class FacetsShown(Result):
    """The commonest tags among the newest 5,000 memories within the filters."""

    tags: list[Facet]


def _memory_facets(arguments: FacetArguments, principal: Principal, services: Services) -> Reply:
    filters = arguments.filters(arguments.window(services.clock()))
    found = services.memories.facets(principal.namespace, filters, arguments.limit)
    return Reply(FacetsShown(tags=[Facet(tag=tag, memories=count) for tag, count in found]))


MEMORY_FACETS = Tool(
    name="memory_facets",
    title="Tags within filters",
    description="The commonest tags of the newest 5,000 memories within the filters of memory_search.",
    arguments=FacetArguments,
    result=FacetsShown,
    gives_stored=True,
    units=lambda arguments: rate_limit.COUNTING,
    run=_memory_facets,
    read_only=True,
    idempotent=True,
)


class HistoryArguments(Input):
    """Which memory."""

    id: Annotated[Id, Field(description="Its id.")]


class RelatedMemory(Result):
    """One line about a memory."""

    id: UUID
    timestamp: datetime
    title: str


class RatingShown(Result):
    """One rating, as it was given."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    rating: int
    reason: str | None
    rated_at: datetime


class HistoryShown(Result):
    """A memory's earlier and later versions, nearest first, similar memories, and ratings, latest first."""

    id: UUID
    supersedes: list[RelatedMemory]
    superseded_by: list[RelatedMemory]
    similar: list[RelatedMemory]
    ratings: list[RatingShown]


def _memory_history(arguments: HistoryArguments, principal: Principal, services: Services) -> Reply:
    found, similar = console_queries.history(principal.namespace, arguments.id, memories=services.memories)
    return Reply(
        HistoryShown(
            id=arguments.id,
            supersedes=list(map(_related, found.supersedes)),
            superseded_by=list(map(_related, found.superseded_by)),
            similar=list(map(_related, similar)),
            ratings=[RatingShown.model_validate(one) for one in found.ratings],
        )
    )


def _related(one: MemorySummary) -> RelatedMemory:
    return RelatedMemory(id=one.id, timestamp=one.timestamp, title=brief(one.title, ())[0])


MEMORY_HISTORY = Tool(
    name="memory_history",
    title="A memory's history",
    description="The memories that a memory supersedes, those that supersede it, similar memories, and its ratings.",
    arguments=HistoryArguments,
    result=HistoryShown,
    gives_stored=True,
    units=lambda arguments: rate_limit.SEARCH["semantic"],
    run=_memory_history,
    read_only=True,
    idempotent=True,
)
