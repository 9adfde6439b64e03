"""Interface to find the candidates of a search (memories to rank). A benchmark has its own implementation."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from mnemosyne.domain.candidates import Candidates
from mnemosyne.domain.search import SearchQuery
from mnemosyne.ports.embedder import Vector


class CandidateSource(Protocol):
    """The database queries of a search: find candidates, and compare candidates with each other."""

    def find_candidates(
        self,
        query: SearchQuery,
        vector: Vector | None,
        *,
        model: str,
        count: int,
        excluded: Mapping[str, Collection[str]],
    ) -> Candidates:
        """Find up to `count` memories by vector, and up to `count` by words.

        If `vector` is None, memories are found only by words.

        Near-duplicates are memories with the same value of `statement`. If an earlier call for the same search has
        found a memory with near-duplicates, this call finds the memory again, but not its near-duplicates. For this,
        `excluded["folded"]` has the values of `statement` to leave out, and `excluded["shown"]` has the ids of memories
        to find nevertheless.

        Raises EmbeddingModelChanged if the database now uses another embedding space than `model`.
        """

    def pairwise_cosines(self, ids: Sequence[str]) -> Sequence[Sequence[float | None]]:
        """Return the cosine of each pair of memories; None if one of the pair was deleted."""
