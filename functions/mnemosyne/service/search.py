"""Find memories."""

from collections.abc import Sequence

from mnemosyne.domain.search import Filters, Hit
from mnemosyne.ports import Embedder, MemoryStore


def search(
    namespace: str, query: str, filters: Filters, limit: int, *, memories: MemoryStore, embedder: Embedder
) -> Sequence[Hit]:
    """The memories nearest in meaning to the query within the filters, best first."""
    return memories.search(namespace, embedder.embed_query(query), filters, limit)
