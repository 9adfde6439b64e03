"""Find memories, and say how they were found."""

import time
from dataclasses import dataclass, replace

from mnemosyne.domain.search import Ranking, SearchMode, SearchQuery, collapsed
from mnemosyne.errors import Unavailable
from mnemosyne.observability import EventLog, milliseconds
from mnemosyne.ports import Embedder, MemoryStore, Vector

log = EventLog(__name__)


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """What a search found; `degraded` says why it is not what was asked for, times are in milliseconds."""

    ranking: Ranking
    degraded: str | None
    embed_ms: float
    database_ms: float


def search(namespace: str, query: SearchQuery, *, memories: MemoryStore, embedder: Embedder) -> SearchResult:
    """Return the best memories for the query, those that say the same in the same words behind one of them.

    Raises Unavailable where the database is away, EmbeddingModelChanged where the embedder is no more the memories'
    own.

    Where the embedder is away, a search by meaning falls back to words and says so.
    """
    started = time.perf_counter()
    vector: Vector | None = None
    degraded: str | None = None
    if query.query is not None and query.mode is not SearchMode.EXACT:
        try:
            vector = embedder.for_namespace(namespace).embed_query(query.query)
        except Unavailable as exc:
            degraded = f"searched by words only, because the embedding service is away: {exc}"
            log.warning("search_degraded", namespace=namespace, error=str(exc))
    embed_ms, embedded = milliseconds(started), time.perf_counter()
    ranking = memories.search(namespace, query, vector, model=embedder.model, lexical_weight=embedder.lexical_weight)
    if query.query is not None and query.mode is not SearchMode.EXACT:
        ranking = replace(ranking, hits=collapsed(ranking.hits))
    found = SearchResult(ranking=ranking, degraded=degraded, embed_ms=embed_ms, database_ms=milliseconds(embedded))
    log.info(
        "searched",
        namespace=namespace,
        mode=query.mode,
        hits=len(ranking.hits),
        strategy=ranking.strategy,
        embed_ms=found.embed_ms,
        database_ms=found.database_ms,
    )
    return found
