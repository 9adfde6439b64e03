"""Candidates of a search: memories that the database finds and the ranking scores. Pure."""

import heapq
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mnemosyne.domain.confidence import Confidence


class Candidate(NamedTuple):
    """A memory that may be a result of a search, with its raw scores. Scores that were not computed are None."""

    id: str
    timestamp: int
    """Time of the memory, in microseconds since 1970."""
    session: int | None
    """Digest of the session's name."""
    quality: float
    vector_score: float | None
    """Vector score: the cosine of the angle between the vectors of the memory and the query."""
    lexical_score: float | None
    """Lexical score: BM25 score of the memory's whole text for the query's words."""
    speaker: str | None
    """Name of the speaker: the text before the first ": ", if this is near the start of the content."""
    statement: str | None
    """Key of a group of near-duplicates; None if the memory has no near-duplicate among the candidates."""
    eligible: bool
    """Whether the memory may be a result of the search. Other candidates only add to the scores of their neighbours in
    the session."""
    length: int = 0
    """Length of the content in bytes."""
    passage_score: float | None = None
    """Lexical score of the best passage of 100 words. None if the memory has only one passage, or if the search is not
    by words."""
    words_share: float | None = None
    """Share of the query's words that the memory contains in any inflected form, from 0 to 1. Rare words count more.
    The share of a long memory is reduced, because a long text contains more words by chance. None if not computed."""
    lacks_name: bool = False
    """Whether the memory lacks a name (of a person or thing) that the query has."""


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """The memories that one query of the database finds for a search.

    The first `listed` memories in `rows` match the search. The others are neighbours: memories near a matching
    memory in the same session. An entry (head, offset, row) of `neighbours` means that `rows[row]` is `offset` places
    after `rows[head]` in the session, or before `rows[head]` if `offset` is negative. `full` is true if the database
    may have more candidates for the search than it has returned.
    """

    rows: Sequence[Candidate]
    listed: int
    neighbours: Sequence[tuple[int, int, int]] = ()
    strategy: str
    full: bool

    @property
    def best_share(self) -> float:
        """The mean of the three largest shares (`Candidate.words_share`) of the memories that match the search.

        The share of a memory is the fraction of the query's words that the memory contains.
        """
        return statistics.fmean(self._largest_shares(3) or [0.0])

    @property
    def lead(self) -> float:
        """How far the largest share (`Candidate.words_share`) exceeds the mean of the next nine largest shares.

        Only the shares of memories that match the search count. The share of a memory is the fraction of the query's
        words that the memory contains.
        """
        first, *others = self._largest_shares(10) or [0.0]
        return first - statistics.fmean(others or [0.0])

    def _largest_shares(self, count: int) -> list[float]:
        return heapq.nlargest(count, (row.words_share or 0.0 for row in self.rows[: self.listed]))


@dataclass(slots=True)
class RankedCandidate:
    """A candidate with its relevance (from 0 to 1) and its final score.

    The relevance includes the bonuses `neighbours`, `time` and `speaker`, and the penalty `redundancy`. The ranking
    sets these fields one after the other. A bonus or penalty that was not computed is None.
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
    """Ids of the near-duplicates of this candidate, best first. The results leave out these near-duplicates."""
