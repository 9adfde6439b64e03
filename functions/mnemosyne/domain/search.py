"""What is searched for and what is found. Pure."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from mnemosyne.domain.memory import MemoryFields
from mnemosyne.domain.metadata_filter import MetadataCondition
from mnemosyne.domain.time.window import TimeWindow


class SearchMode(StrEnum):
    """By meaning, by exact words, or by both."""

    SEMANTIC = "semantic"
    EXACT = "exact"
    HYBRID = "hybrid"


class TagMatch(StrEnum):
    """Whether a memory must carry any or all of the tags asked for."""

    ANY = "any"
    ALL = "all"


HYBRID_QUALITY_WEIGHT = 0.3
"""How much quality counts in a hybrid search that does not say."""


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What narrows the set that is searched: `after` inclusive, `before` exclusive, both UTC."""

    after: datetime | None = None
    before: datetime | None = None
    tags: tuple[str, ...] = ()
    tag_match: TagMatch = TagMatch.ANY
    session: str | None = None
    not_session: str | None = None
    """Whose memories are left out."""
    metadata: tuple[MetadataCondition, ...] = ()
    """All of them must hold."""
    include_superseded: bool = False

    @property
    def narrow(self) -> bool:
        """Whether time, tags, the session or metadata are filtered."""
        return bool(self.after or self.before or self.tags or self.session or self.metadata)


@dataclass(frozen=True, kw_only=True)
class SearchQuery:
    """One search; without a `query`, the newest memories within the filters."""

    query: str | None
    mode: SearchMode = SearchMode.HYBRID
    filters: Filters = field(default_factory=Filters)
    limit: int = 10
    quality_weight: float = 0.0
    preferred: tuple[TimeWindow, ...] = ()
    """Times that the question names: what is of none of them is found too, behind."""
    characters: int | None = None
    """What contents and metadata may have together; None is any number."""
    explain: bool = False
    """Whether each hit says why it was found."""


@dataclass(frozen=True, kw_only=True)
class Why:
    """Why a memory was found: what its relevance is made of, before it is brought between 0 and 1.

    `vector_score` is the cosine of the angle between it and the query, `lexical_score` BM25's; the others are what its
    neighbours in the session, a time and a speaker that the query names added. `redundancy` is how near it is to a
    better hit: a ninth of that was taken off. None is what was not looked at.
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
    """One memory found; `relevance` is None where nothing was asked but to be within the filters.

    `truncated` says whether the content is cut, or metadata left out, to fit what was asked for; a `snippet` then shows
    where the query's words stand.
    """

    id: UUID
    superseded_by: UUID | None = None
    supersedes: tuple[UUID, ...] = ()
    """Earlier memories that it has superseded, directly or through others, nearest first; five at most."""
    relevance: float | None = None
    quality: float
    score: float
    truncated: bool = False
    snippet: str | None = None
    why: Why | None = None
    near_duplicates: tuple[UUID, ...] = ()
    """Memories left out of the hits because they state the same, best first: see `wording`."""
