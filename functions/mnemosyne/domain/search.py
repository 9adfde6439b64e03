"""Search queries, filters and results. Pure."""

import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from mnemosyne.domain.confidence import Confidence
from mnemosyne.domain.memory import MemoryFields
from mnemosyne.domain.metadata_filter import MetadataCondition
from mnemosyne.domain.time.window import TimeWindow


class SearchMode(StrEnum):
    """Search by meaning, by exact words, or both."""

    SEMANTIC = "semantic"
    EXACT = "exact"
    HYBRID = "hybrid"


class TagMatch(StrEnum):
    """Whether a memory must have any or all of a filter's tags."""

    ANY = "any"
    ALL = "all"


_LAST_WORD = re.compile(r"\b\w{2,50}\Z")
HYBRID_QUALITY_WEIGHT = 0.3
"""Default weight of quality in a hybrid search."""


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Conditions that results must meet. `after` is inclusive, `before` exclusive, both in UTC."""

    after: datetime | None = None
    before: datetime | None = None
    tags: tuple[str, ...] = ()
    tag_match: TagMatch = TagMatch.ANY
    session: str | None = None
    not_session: str | None = None
    """Session whose memories are excluded."""
    metadata: tuple[MetadataCondition, ...] = ()
    """Conditions on metadata. All must hold."""
    include_superseded: bool = False
    as_of: datetime | None = None
    """Search the memories as they were at this time: those then stored, with the titles, tags, metadata and versions of
    then."""

    @property
    def narrow(self) -> bool:
        """Whether the filter has a condition on time, tags, session or metadata."""
        return bool(self.after or self.before or self.tags or self.session or self.metadata)


EVERY_MEMORY = Filters(include_superseded=True)


@dataclass(frozen=True, kw_only=True)
class SearchQuery:
    """A search. Without a `query`, it returns the newest memories that match the filters."""

    query: str | None
    mode: SearchMode = SearchMode.HYBRID
    filters: Filters = field(default_factory=Filters)
    limit: int = 10
    quality_weight: float = 0.0
    preferred: tuple[TimeWindow, ...] = ()
    """Times named in the query. Memories from these times get a bonus; other memories are not excluded."""
    characters: int | None = None
    """Maximum characters of all contents and metadata in the results. None means no limit."""
    min_confidence: Confidence | None = None
    """Lowest confidence of a hit: hits that are less close to the query are left out."""
    explain: bool = False
    """Whether each hit has its scores (`Why`)."""
    typing: bool = False
    """Whether the query is still being typed. Then the search is by words only, and the last word may be incomplete."""

    @property
    def by_meaning(self) -> bool:
        """Whether the search compares embeddings."""
        return self.query is not None and self.mode is not SearchMode.EXACT and not self.typing


def last_word(query: str) -> str:
    """Return the word at the end of a query, which may be incomplete; empty if the query does not end with a word."""
    match = _LAST_WORD.search(query)
    return match.group() if match else ""


@dataclass(frozen=True, kw_only=True)
class Why:
    """Parts of a hit's relevance, before normalisation to [0, 1]. None means not computed.

    `vector_score` is the cosine similarity to the query, and `lexical_score` the BM25 score of the
    memory and its best passage. `neighbours`, `time` and `speaker` are bonuses: for neighbours in the session, and for
    a time or speaker named in the query. `redundancy` is the cosine similarity to a better hit; one ninth of it is
    subtracted.
    """

    matched_words: tuple[str, ...]
    vector_score: float | None = None
    lexical_score: float | None = None
    neighbours: float | None = None
    time: float | None = None
    speaker: float | None = None
    redundancy: float | None = None


@dataclass(frozen=True, kw_only=True)
class Hit(MemoryFields):
    """A search result. `relevance` is None without a query.

    `truncated` tells whether content was cut or metadata omitted to fit the requested size. If so, `snippet` is the
    part of the content with the query's words.
    """

    id: UUID
    superseded_by: UUID | None = None
    supersedes: tuple[UUID, ...] = ()
    """Up to five earlier versions, which this memory has superseded (replaced) directly or indirectly, the latest
    first."""
    relevance: float | None = None
    quality: float
    score: float
    confidence: Confidence | None = None
    """How close the memory is to the query. Unlike the score, the confidence does not depend on the other hits. None
    without a query."""
    truncated: bool = False
    snippet: str | None = None
    why: Why | None = None
    near_duplicates: tuple[UUID, ...] = ()
    """Memories with the same wording, which are left out of the results, best first. See `wording`."""
