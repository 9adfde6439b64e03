"""Search a store with a given vector, without an embedder."""

from typing import TYPE_CHECKING

from mnemosyne.domain.search import SearchQuery
from mnemosyne.ports.embedder import Vector
from mnemosyne.service import search
from mnemosyne.service.search import SearchResult

if TYPE_CHECKING:
    from mnemosyne.adapters.database.memories import MemoryStore

VECTOR_INDEX = """
CREATE INDEX memories_embedding ON memories USING hnsw (embedding halfvec_cosine_ops)
WITH (m = 16, ef_construction = 200)
"""
"""The statement with which the migrations create the vector index. A test that stores thousands of memories drops the
index first and builds it afterwards. This takes a third as long as storing the memories while the index exists."""


def find(
    store: "MemoryStore",
    query: SearchQuery,
    vector: Vector | None,
    *,
    model: str = "fake",
    lexical_weight: float = 0.5,
) -> SearchResult:
    """Rank the query's candidates and read the hits."""
    ranked, candidates = search.rank(query, vector, memories=store, model=model, lexical_weight=lexical_weight)
    hits = store.read_hits(query, ranked[: query.limit])
    return SearchResult(hits=hits, strategy=candidates.strategy, considered=candidates.listed)
