"""Results of queries that only the console uses: timeline, history, tags, requests and sessions. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from mnemosyne.domain.memory import Cursor, IngestStatus, MemorySummary
from mnemosyne.domain.preview import label
from mnemosyne.domain.provenance import Provenance

HISTORY_LIMIT = 50
"""Maximum number of earlier versions in a history, and also of later versions and of ratings."""


class BucketLength(StrEnum):
    """Length of the buckets of a timeline. A bucket is a period whose memories are counted together."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """Number of memories in each non-empty bucket (day, week, month or year), oldest bucket first."""

    per: BucketLength
    buckets: Sequence[tuple[date, int]]
    """For each bucket, its first day and its number of memories."""


@dataclass(frozen=True, kw_only=True)
class PastRating:
    """One rating of a memory."""

    rating: int
    reason: str | None
    rated_at: datetime
    rated_by: str
    rater_name: str


@dataclass(frozen=True, kw_only=True)
class ListedMemory(MemorySummary):
    """A memory in a list of memories, with the first characters of its content if the caller has requested them."""

    session: str | None = None
    expires_at: datetime | None = None
    pinned: bool = False
    beginning: str | None = None

    @property
    def label(self) -> str:
        """The title if the publisher chose one, else the beginning of the content, cut after a whole word."""
        return self.title if self.beginning is None else label(self.title, self.beginning)


@dataclass(frozen=True, kw_only=True)
class History:
    """Earlier and later versions of a memory, nearest first, and its ratings.

    An earlier version is a memory that this one has superseded (replaced), directly or indirectly. A later version is a
    memory that has superseded this one.
    """

    supersedes: Sequence[ListedMemory]
    superseded_by: Sequence[ListedMemory]
    ratings: Sequence[PastRating]
    """The ratings of the memory, newest first."""
    more: Sequence[str]
    """Names of those lists of this history that were cut to HISTORY_LIMIT entries."""


@dataclass(frozen=True, kw_only=True)
class ListedRequest(IngestStatus):
    """An ingest request as the console shows it: its status, the beginning of its content, and its provenance."""

    created_at: datetime
    first_words: str | None
    provenance: Provenance
    dead_letter: str | None
    """Message id of the dead letter (a message that could not be stored) that contains the request."""

    @property
    def cursor(self) -> Cursor:
        """Position in a list of requests, directly after this request."""
        return Cursor(timestamp=self.updated_at or self.created_at, id=self.request_id)


COUNTED_REQUESTS = 20_000
"""Maximum number of requests that are counted by state. If there are more requests, only the most recently changed ones
are counted."""


@dataclass(frozen=True, kw_only=True)
class SessionNeighbours:
    """The memories before and after a memory in its session, in order, at most SESSION_NEIGHBOURS on each side."""

    count: int
    """Number of memories in the session."""
    position: int
    """Position of the memory in the session, from 1."""
    before: Sequence[ListedMemory]
    after: Sequence[ListedMemory]


SESSION_NEIGHBOURS = 3


@dataclass(frozen=True, kw_only=True)
class Facet:
    """A tag or session, with the number of its memories and the time of its latest memory."""

    name: str
    memories: int
    last_used: datetime


@dataclass(frozen=True, kw_only=True)
class Facets:
    """The tags and sessions of the memories that match a filter: the most frequent tags and the latest sessions first.

    Only the newest FACETED_MEMORIES memories are counted.
    """

    tags: Sequence[Facet]
    total_tags: int
    sessions: Sequence[Facet]
    memories: int
    complete: bool
    """Whether all memories that match the filter were counted, because there are at most FACETED_MEMORIES."""


FACETED_MEMORIES = 100_000
