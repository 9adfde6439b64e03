"""Candidates of a search: memories that the database finds and the ranking scores. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mnemosyne.domain.confidence import Confidence


class Candidate(NamedTuple):
    """A memory with its raw scores. Scores that were not computed are None."""

    id: str
    timestamp: int
    """Microseconds since 1970."""
    session: int | None
    """Digest of the session's name."""
    quality: float
    vector_score: float | None
    """Vector score: the cosine of the angle to the query's vector."""
    lexical_score: float | None
    """Lexical score: BM25 of the query's words."""
    speaker: str | None
    """Name of the speaker: the text before the first ": ", if this is near the start of the content."""
    statement: str | None
    """Key of a group of near-duplicates; None if the memory has no near-duplicate among the candidates."""
    eligible: bool
    """Whether the memory matches the filters. Other memories only contribute to their neighbours' scores."""
    length: int = 0
    """Bytes of the content."""
    passage_score: float | None = None
    """Lexical score of the best passage of 100 words. None if the memory has only one passage, or if the search is not
    by words."""
    words_share: float | None = None
    """Share of the query's words that the memory contains, in any inflected form, at most 1. Rare words count more, and
    a long memory has a lower share. None if not computed."""
    lacks_name: bool = False
    """Whether the memory lacks a name of the query."""


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """The memories that one query of the database finds for a search.

    The first `listed` elements of `rows` are memories that match the search. The other rows are neighbours of these
    memories in their sessions. Each element of `neighbours` is (head, offset, row): `head` and `row` are indexes of
    `rows`, and `offset` is the distance of the row from the head in the session. `full` is true if further candidates
    may exist.
    """

    rows: Sequence[Candidate]
    listed: int
    neighbours: Sequence[tuple[int, int, int]] = ()
    strategy: str
    full: bool


@dataclass(slots=True)
class RankedCandidate:
    """A candidate with its relevance in [0, 1], the parts of the relevance (None if not computed), and its score.

    The steps of the ranking set these fields one after the other.
    """

    candidate: Candidate
    relevance: float
    neighbours: float | None = None
    time: float | None = None
    speaker: float | None = None
    redundancy: float | None = None
    score: float = 0.0
    confidence: Confidence | None = None
    folded: tuple[str, ...] = ()
    """Ids of the near-duplicates that this candidate represents in the results, best first."""
