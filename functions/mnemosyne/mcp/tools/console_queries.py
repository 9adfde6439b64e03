"""Tools of the console's pages: memories over time, tags, and the versions and ratings of a memory."""

from datetime import date, datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from mnemosyne.domain import rate_limit
from mnemosyne.domain.chronicle import TAG_LIMIT
from mnemosyne.domain.console_queries import BucketLength
from mnemosyne.domain.parsing import Id, Input, Text
from mnemosyne.domain.principal import Principal
from mnemosyne.mcp.record import MemoryLine
from mnemosyne.mcp.tool import Reply, Result, tool
from mnemosyne.mcp.tools.filters import Limit, ListFilterArguments, Window
from mnemosyne.mcp.tools.read import no_memory
from mnemosyne.ports.services import Services


class TimelineArguments(ListFilterArguments):
    """The memories to count, and the length of a bucket."""

    per: BucketLength | None = Field(
        None,
        strict=False,
        description="Length of a bucket. By default it depends on the time from the first to the last memory.",
    )


class Bucket(Result):
    """One day, week, month or year with its number of memories. `start` is its first day."""

    start: date
    memories: int


class TimelineResult(Result):
    """Number of memories in each of the newest 1,000 buckets, the oldest bucket first."""

    per: BucketLength
    buckets: list[Bucket]
    window: Window | None = None


@tool(
    title="Memories over time",
    description="How many memories there are of each day, week, month or year, within the filters of memory_search.",
    result=TimelineResult,
    units=lambda arguments: rate_limit.COUNTING,
    read_only=True,
)
def memory_timeline(arguments: TimelineArguments, principal: Principal, services: Services) -> Reply:
    span = arguments.window(services.clock())
    filters = arguments.filters(span)
    timeline = services.memories_of(principal.namespace).timeline(filters, arguments.per, arguments.timezone)
    buckets = [Bucket(start=start, memories=count) for start, count in timeline.buckets]
    window = Window.of(span, arguments.timezone) if span else None
    return Reply(TimelineResult(per=timeline.per, buckets=buckets, window=window), has_stored_text=False)


class FacetArguments(ListFilterArguments):
    """The memories whose tags and sessions are counted."""

    prefix: Text = Field("", max_length=TAG_LIMIT, description="Only tags that begin with this; case is ignored.")
    limit: Limit = 20


class TagFacet(Result):
    """A tag, the number of memories with this tag, and the time of the latest of these memories."""

    tag: str = Field(validation_alias="name")
    memories: int
    last_used: datetime


class SessionFacet(Result):
    """A session, the number of memories in this session, and the time of the latest of these memories."""

    session: str = Field(validation_alias="name")
    memories: int
    last_used: datetime


class FacetsResult(Result):
    """Tags and sessions of the memories that match the filters.

    The most frequent tags and the latest sessions come first.

    `complete` is false if only the newest 100,000 memories were counted.
    """

    tags: list[TagFacet]
    total_tags: int
    sessions: list[SessionFacet]
    memories: int
    complete: bool
    window: Window | None = None


@tool(
    title="Tags and sessions within filters",
    description="The most frequent tags and the latest sessions of the memories within the filters of memory_search.",
    result=FacetsResult,
    units=lambda arguments: rate_limit.COUNTING,
    read_only=True,
)
def memory_facets(arguments: FacetArguments, principal: Principal, services: Services) -> Reply:
    span = arguments.window(services.clock())
    filters = arguments.filters(span)
    facets = services.memories_of(principal.namespace).facets(filters, arguments.limit, prefix=arguments.prefix)
    result = FacetsResult(**vars(facets), window=Window.of(span, arguments.timezone) if span else None)
    return Reply(result, has_stored_text=bool(facets.tags or facets.sessions))


class HistoryArguments(Input):
    """The memory whose history is returned."""

    id: Annotated[Id, Field(description="Its id.")]


class RatingResult(Result):
    """One rating of the memory."""

    rating: int
    reason: str | None
    rated_at: datetime
    by: str
    """Name of the rater's key or client."""
    mine: bool


class HistoryResult(Result):
    """A memory's earlier and later versions, and its ratings.

    Earlier versions are listed backwards from this memory, and later versions forwards. The latest rating is first.
    `similar` has memories with nearly the same meaning. `may_replace` has older memories that this memory possibly
    replaces, because they state another value of the same fact. `more` names the lists that have further entries.
    """

    id: UUID
    supersedes: list[MemoryLine]
    superseded_by: list[MemoryLine]
    similar: list[MemoryLine]
    may_replace: list[MemoryLine]
    ratings: list[RatingResult]
    more: list[str]


@tool(
    title="A memory's history",
    description="The memories that a memory supersedes, those that supersede it, similar memories, and its ratings.",
    result=HistoryResult,
    units=lambda arguments: rate_limit.SEARCH["semantic"],
    read_only=True,
)
def memory_history(arguments: HistoryArguments, principal: Principal, services: Services) -> Reply:
    memories = services.memories_of(principal.namespace)
    history = memories.history(arguments.id)
    if history is None:
        raise no_memory(arguments.id)
    neighbours = memories.neighbours(arguments.id)
    ratings = [
        RatingResult(**vars(rating), by=rating.rater_name, mine=rating.rated_by == principal.id)
        for rating in history.ratings
    ]
    similar, may_replace = neighbours.similar, neighbours.may_replace
    lists = {**vars(history), "similar": similar, "may_replace": may_replace, "ratings": ratings}
    return Reply(HistoryResult(id=arguments.id, **lists), has_stored_text=any(lists.values()))
