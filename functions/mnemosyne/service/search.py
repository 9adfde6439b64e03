"""Find memories, and say how they were found."""

import time
from dataclasses import dataclass, replace

from mnemosyne.domain.memory import embedded_text
from mnemosyne.domain.search import Ranking, SearchMode, SearchQuery
from mnemosyne.errors import InvalidRequest, ServiceError
from mnemosyne.observability import EventLog, milliseconds
from mnemosyne.ports import Embedder, MemoryStore, Reranker, Vector

log = EventLog(__name__)

RERANKED = 50
"""How many of what is found are read by the reranker, at least: what it pushes up may stand far behind."""
RERANKED_CHARACTERS = 2_000
"""Of each, on average: its models read 512 or 1,024 tokens and cut the rest."""


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """What a search found; `degraded` says why it is not what was asked for, times are in milliseconds."""

    ranking: Ranking
    degraded: str | None
    embed_ms: float
    database_ms: float
    rerank_ms: float | None
    """None where nothing was to be reranked."""


def search(
    namespace: str,
    query: SearchQuery,
    *,
    memories: MemoryStore,
    embedder: Embedder,
    reranker: Reranker | None = None,
) -> SearchResult:
    """Return the best memories for the query. One of several that state the same names the others.

    Raises a ServiceError if the database does not answer, EmbeddingModelChanged if the memories have moved to another
    embedding space.

    If the embedder or the reranker fails, for whatever reason, the search uses words only or keeps the order in which
    the memories were found; `degraded` says so.
    """
    started = time.perf_counter()
    by_meaning = query.query is not None and query.mode is not SearchMode.EXACT
    vector, away = _embedded(namespace, query.query, embedder) if query.query and by_meaning else (None, None)
    embed_ms, embedded = milliseconds(started), time.perf_counter()
    ranking = memories.search(
        namespace,
        _widened(query) if reranker and by_meaning else query,
        vector,
        model=embedder.model,
        lexical_weight=embedder.lexical_weight,
    )
    database_ms, ranked = milliseconds(embedded), time.perf_counter()
    unread, rerank_ms = None, None
    if reranker and by_meaning and ranking.hits:
        ranking, unread = _reranked(namespace, query, ranking, memories, reranker)
        rerank_ms = milliseconds(ranked)
    degraded = "; ".join(said for said in (away, unread) if said) or None
    if degraded:
        log.warning("search_degraded", namespace=namespace, error=degraded)
    log.info(
        "searched",
        namespace=namespace,
        mode=query.mode,
        hits=len(ranking.hits),
        strategy=ranking.strategy,
        embed_ms=embed_ms,
        database_ms=database_ms,
        **({} if rerank_ms is None else {"rerank_ms": rerank_ms}),
    )
    return SearchResult(
        ranking=ranking, degraded=degraded, embed_ms=embed_ms, database_ms=database_ms, rerank_ms=rerank_ms
    )


def _embedded(namespace: str, text: str, embedder: Embedder) -> tuple[Vector | None, str | None]:
    """Return the text's vector, or what to say if there is none."""
    try:
        return embedder.for_namespace(namespace).embed_query(text), None
    except ServiceError as exc:
        log.fault("embedder_failed", exc, namespace=namespace)
        return None, f"searched by words only: {exc.cause}"
    except InvalidRequest as exc:
        log.warning("query_refused", namespace=namespace, error=str(exc))
        return None, "searched by words only: the embedding model refuses this query"


def _widened(query: SearchQuery) -> SearchQuery:
    """Return the search for what the reranker is to read."""
    limit = max(query.limit, RERANKED)
    return replace(query, limit=limit, characters=limit * RERANKED_CHARACTERS)


def _reranked(
    namespace: str, query: SearchQuery, found: Ranking, memories: MemoryStore, reranker: Reranker
) -> tuple[Ranking, str | None]:
    """Return what the query asks for of what was found, and what to say where it is in the order found."""
    strategy, unread = f"{found.strategy}+reranked", None
    try:
        texts = [embedded_text(hit.title, hit.tags, hit.content) for hit in found.hits]
        relevances = reranker.score(query.query or "", texts)
    except ServiceError as exc:
        log.fault("reranker_failed", exc, namespace=namespace)
        relevances = [hit.relevance or 0.0 for hit in found.hits]
        strategy, unread = found.strategy, f"not reranked: {exc.cause}"
    ids = [hit.id for hit in found.hits]
    ranking = memories.rerank(namespace, query, dict(zip(ids, relevances, strict=True)))
    before = {hit.id: hit for hit in found.hits}
    hits = [
        replace(hit, why=before[hit.id].why, near_duplicates=before[hit.id].near_duplicates) for hit in ranking.hits
    ]
    return Ranking(hits=hits, strategy=strategy, considered=found.considered), unread
