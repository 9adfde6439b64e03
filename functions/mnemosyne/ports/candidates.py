"""Port of the candidates of a search. A benchmark ranks recorded candidates again."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from mnemosyne.domain.candidates import Candidates
from mnemosyne.domain.search import SearchQuery
from mnemosyne.ports.embedder import Vector


class CandidateSource(Protocol):
    """Queries that the ranking of a search makes."""

    def find_candidates(
        self,
        query: SearchQuery,
        vector: Vector | None,
        *,
        model: str,
        count: int,
        excluded: Mapping[str, Collection[str]],
    ) -> Candidates:
        """Find up to `count` memories by vector, and up to `count` by words. Without a vector, only by words.

        `excluded` leaves out near-duplicates of hits that are known already: all memories with the statements in
        `folded`, except the hits themselves, whose ids are in `shown`. Raises EmbeddingModelChanged if the database now
        uses another embedding space than `model`.
        """

    def pairwise_cosines(self, ids: Sequence[str]) -> Sequence[Sequence[float | None]]:
        """Return the cosine of each pair of memories; None if one of the pair was deleted."""
