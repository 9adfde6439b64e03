"""Results of the console's queries: timeline, history and tags. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from mnemosyne.domain.memory import IngestStatus, MemorySummary
from mnemosyne.domain.preview import label
from mnemosyne.domain.provenance import Provenance

HISTORY_LIMIT = 50
"""Maximum memories of a history in each direction, and maximum ratings."""


class Per(StrEnum):
    """Length of a bucket in a timeline."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """Number of memories in each non-empty bucket, oldest first."""

    per: Per
    buckets: Sequence[tuple[date, int]]
    """First day and number of memories."""


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
    """A memory in a listing, with the first characters of its content if requested."""

    session: str | None = None
    expires_at: datetime | None = None
    pinned: bool = False
    beginning: str | None = None

    @property
    def label(self) -> str:
        """The title if it was given, or else the beginning of the content, which ends with a whole word."""
        return self.title if self.beginning is None else label(self.title, self.beginning)


@dataclass(frozen=True, kw_only=True)
class History:
    """Earlier and later versions of a memory, nearest first, and its ratings."""

    supersedes: Sequence[ListedMemory]
    superseded_by: Sequence[ListedMemory]
    ratings: Sequence[PastRating]
    """Newest first."""


@dataclass(frozen=True, kw_only=True)
class ListedRequest(IngestStatus):
    """A request as the console shows it: its status, the beginning of its content, and its provenance."""

    created_at: datetime
    first_words: str | None
    provenance: Provenance
    dead_letter: str | None
    """Message id of the dead letter that has the request."""


COUNTED_REQUESTS = 20_000
"""Number of the most recently changed requests whose states are counted."""


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
    """A tag or session, the number of its memories, and the time of the latest one."""

    name: str
    memories: int
    last_used: datetime


@dataclass(frozen=True, kw_only=True)
class Facets:
    """Tags, the most frequent first, and sessions, the latest first, of the newest FACETED_MEMORIES that match."""

    tags: Sequence[Facet]
    total_tags: int
    sessions: Sequence[Facet]
    memories: int
    complete: bool
    """Whether all memories were counted."""


FACETED_MEMORIES = 100_000
