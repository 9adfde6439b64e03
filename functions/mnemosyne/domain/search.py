"""Search queries, filters and results. Pure."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from mnemosyne.domain.confidence import Confidence
from mnemosyne.domain.memory import MemoryFields
from mnemosyne.domain.metadata_filter import MetadataCondition
from mnemosyne.domain.name_words import is_in_word, split_words
from mnemosyne.domain.query_names import names_in_query
from mnemosyne.domain.time.window import TimeWindow


class SearchMode(StrEnum):
    """Search by meaning and words (hybrid), by meaning, or for an exact text."""

    SEMANTIC = "semantic"
    EXACT = "exact"
    HYBRID = "hybrid"


class TagMatch(StrEnum):
    """Whether a memory must have at least one of the tags in a filter, or all of them."""

    ANY = "any"
    ALL = "all"


LAST_WORD_CHARACTERS = (2, 50)
"""Minimum and maximum length of an incomplete word at the end of a query."""
MAXIMUM_LIMIT = 100
"""Maximum `limit` that a caller can give."""
HYBRID_QUALITY_WEIGHT = 0.3
"""Default weight of quality in a hybrid search."""


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Conditions that memories in a search or list must meet. `after` is included, `before` is not. Both are UTC."""

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
    """Time of an earlier state. The search finds the memories that were stored at this time, with their titles, tags,
    metadata and successors (replacements) at this time."""

    @property
    def has_condition(self) -> bool:
        """Whether the filters have a condition on time, tags, session or metadata."""
        return bool(self.after or self.before or self.tags or self.session or self.metadata)


EVERY_MEMORY = Filters(include_superseded=True)


@dataclass(frozen=True, kw_only=True)
class SearchQuery:
    """A search. Without a `query`, the search returns the newest memories that match the filters."""

    query: str | None
    mode: SearchMode = SearchMode.HYBRID
    filters: Filters = field(default_factory=Filters)
    limit: int = 10
    quality_weight: float = 0.0
    preferred: tuple[TimeWindow, ...] = ()
    """Times that the query names. Memories from these times get a bonus. Other memories are not excluded."""
    characters: int | None = None
    """Maximum characters of all contents and metadata in the results. None means no limit."""
    min_confidence: Confidence | None = None
    """Minimum confidence of a hit. Hits with a lower confidence are left out."""
    wanted_confidence: Confidence | None = None
    """Confidence that at least one hit should reach. If none of the best `limit` candidates reaches it, but candidates
    of lower rank do, these candidates (at most `limit`) precede the hits."""
    explain: bool = False
    """Whether the results show for each hit the parts of its relevance (RelevanceParts)."""
    typing: bool = False
    """Whether the query is still being typed. Then the search is by words only, and the last word may be incomplete."""

    @property
    def names(self) -> list[str]:
        """Names of people and things in the query."""
        return names_in_query(self.query or "")

    @property
    def by_meaning(self) -> bool:
        """Whether the search compares embeddings."""
        return self.query is not None and self.mode is not SearchMode.EXACT and not self.typing

    @property
    def has_every_match(self) -> bool:
        """Whether every memory that matches is a hit. A search by relevance has only the best memories as hits."""
        return self.query is None or self.mode is SearchMode.EXACT


def last_word(query: str) -> str:
    """Return the word at the end of a query; empty if the query does not end with a word.

    The word can be incomplete, because the query is still being typed.
    """
    word = split_words(query)[-1] if query and is_in_word(query[-1]) else ""
    shortest, longest = LAST_WORD_CHARACTERS
    return word if shortest <= len(word) <= longest else ""


@dataclass(frozen=True, kw_only=True)
class RelevanceParts:
    """Parts of a hit's relevance, before normalisation to [0, 1]. None means not computed.

    `vector_score` is the cosine similarity to the query. `lexical_score` is the BM25 score of the memory and its best
    passage. `neighbours` is a bonus for neighbours in the session. `time` and `speaker` are bonuses for a time and a
    speaker that the query names. `redundancy` is the cosine similarity to a better hit. One ninth of `redundancy` is
    subtracted from the relevance.
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

    `truncated` is true if the content was cut, or the metadata were left out, to fit `SearchQuery.characters`. Then
    `snippet` is a passage of the omitted content with a word of the query, or None if there is no such passage.
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
    why: RelevanceParts | None = None
    near_duplicates: tuple[UUID, ...] = ()
    """Ids of memories with the same wording as this one (see `domain.wording`), best first. They are left out of the
    results."""
