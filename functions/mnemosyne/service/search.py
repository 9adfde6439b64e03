"""Search memories. The database finds candidates, and Python ranks them."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mnemosyne.domain import ranking
from mnemosyne.domain.candidates import Candidates, RankedCandidate
from mnemosyne.domain.confidence import Confidence, confidence
from mnemosyne.domain.memory import embedded_text, to_nfc
from mnemosyne.domain.ranking_weights import DEFAULT_WEIGHTS, Weights
from mnemosyne.domain.search import Hit, SearchMode, SearchQuery, last_word
from mnemosyne.errors import InvalidRequest, ServiceError
from mnemosyne.observability import EventLog, milliseconds
from mnemosyne.ports.candidates import CandidateSource
from mnemosyne.ports.embedder import Embedder, Reranker, Vector

if TYPE_CHECKING:
    from mnemosyne.adapters.database.memories import MemoryStore

log = EventLog(__name__)

WAIT_FOR_EMBEDDER = "wait for the service; if it cannot be reached, check the egress of the network (vpc_egress)"
WAIT_FOR_RERANKER = 'wait for the service, or set reranking_model = "" and run `make deploy`'
CANDIDATES = 100
"""A search that uses words or the quality of memories looks up at least this number of candidates by vector, and at
least this number by words. If three times the limit of the query is more, it looks up three times the limit. In the
benchmark "many turns" (docs/benchmarks.md), recall@10 was .59 with 100 candidates, .57 with 75 and .53 with 40."""
MOST_CANDIDATES = 2_000
"""Maximum number of candidates of a repeated look-up. Each repetition looks up twice as many candidates as the look-up
before it, but not more than this number. A look-up of 2,000 candidates takes five times as long as one of 100."""
COMPLETIONS = 8
"""Maximum number of words that complete the last word of a query."""
RERANKED = 50
"""Minimum number of hits that the reranker reads. The number is higher than the usual limit, because the reranker may
move a low-ranked hit to the top."""
RERANKED_CHARACTERS = 2_000
"""Maximum mean number of characters of the texts in one call of the reranker. Reranking models read 512 or 1,024 tokens
of a text and ignore the rest."""


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """The hits of a search, best first, and how they were found. Durations are in milliseconds."""

    hits: Sequence[Hit]
    strategy: str
    """How the hits were found: the newest memories (`newest`), a search for a text (`substring`), or a comparison of
    vectors without or with an index (`exact`, `hnsw`). `+fulltext` and `+reranked` are appended if words and the
    reranker were used."""
    considered: int
    """Number of matching candidates that the last look-up in the database returned."""
    left_out: int = 0
    """Number of hits that were removed, because their confidence is below the minimum of the query."""
    close: int = 0
    """Number of candidates whose confidence is not `weak`. Candidates beyond the query's limit are counted, too."""
    degraded: str | None = None
    """The reason why the search is degraded, for example a failure of the embedder. None if the search is complete."""
    has_more: bool = False
    """Whether more memories match than the limit allows. Always false for a search by relevance, to which every memory
    is more or less relevant (see `has_every_match`)."""
    completions: Sequence[str] = ()
    """Words that complete the last word of a query that is still being typed."""
    embed_ms: float = 0.0
    database_ms: float = 0.0
    rerank_ms: float | None = None
    """Duration of reranking. None if there was no reranking."""


def search(
    query: SearchQuery, *, memories: "MemoryStore", embedder: Embedder, reranker: Reranker | None = None
) -> SearchResult:
    """Return the best memories for the query. Near-duplicate memories become one hit, which names the other memories.

    If the embedder fails, the search uses only words. If the reranker fails, the hits keep the order of the ranking.
    `degraded` in the result names the failure. A query that is still being typed is not embedded. For such a query, the
    search also looks for words that begin with the last word of the query. Raises ServiceError if the database does not
    answer, and EmbeddingModelChanged if the memories have moved to another embedding space.
    """
    started = time.perf_counter()
    completions = _complete_last_word(query, memories)
    query = replace(query, query=" ".join((query.query or "", *completions))) if completions else query
    vector, embedder_fault, reranker_fault, rerank_ms = None, None, None, None
    if not query.by_meaning:
        reranker = None
    elif query.query:
        vector, embedder_fault = _embed_query(memories.namespace, query.query, embedder)
    embed_ms, embedded = milliseconds(started), time.perf_counter()
    wider_query = replace(query, limit=max(query.limit, RERANKED) if reranker else query.limit + query.has_every_match)
    all_entries, candidates = rank(
        wider_query, vector, memories=memories, model=embedder.model, lexical_weight=embedder.lexical_weight
    )
    entries, strategy = with_confidence(query, all_entries, embedder.model), candidates.strategy
    left_out = min(query.limit, len(all_entries)) - min(query.limit, len(entries))
    close = sum(entry.confidence is not Confidence.WEAK for entry in entries)
    ranked_entries = entries
    if reranker and entries:
        entries, reranker_fault, rerank_ms = _rerank(query, entries, memories, reranker)
        strategy += "" if reranker_fault else "+reranked"
    hits = memories.read_hits(query, _entries_to_read(query, entries, ranked_entries)) if entries else ()
    result = SearchResult(
        hits=hits,
        strategy=strategy,
        considered=candidates.listed,
        left_out=left_out,
        has_more=query.has_every_match and len(entries) > query.limit,
        close=close,
        degraded="; ".join(fault for fault in (embedder_fault, reranker_fault) if fault) or None,
        completions=completions,
        embed_ms=embed_ms,
        database_ms=milliseconds(embedded) - (rerank_ms or 0.0),
        rerank_ms=rerank_ms,
    )
    _log_search(memories.namespace, query, result)
    return result


def rank(
    query: SearchQuery,
    vector: Vector | None,
    *,
    memories: CandidateSource,
    model: str,
    lexical_weight: float,
    weights: Weights = DEFAULT_WEIGHTS,
) -> tuple[list[RankedCandidate], Candidates]:
    """Look up and rank the candidates of a query.

    Returns the ranked candidates, best first, and the unranked candidates of the last look-up.

    A look-up of candidates is one round trip to the database. If a candidate belongs to a session, a second round trip
    reads the cosines between candidates. Near-duplicates are folded into one hit: the other memories are left out, and
    the hit has their ids. If fewer than `limit` hits remain and the database has more candidates, the look-up is
    repeated without the memories that were left out.
    """
    by_words = query.query is not None and (
        query.mode is SearchMode.HYBRID or (query.mode is SearchMode.SEMANTIC and vector is None)
    )
    folds = query.query is not None and query.mode is not SearchMode.EXACT
    count = 3 * query.limit if folds else query.limit
    if by_words or query.quality_weight > 0:
        count = max(3 * query.limit, CANDIDATES)
    statements: set[str] = set()
    duplicates: dict[str, tuple[str, ...]] = {}
    while True:
        excluded = {"folded": sorted(statements), "shown": sorted(duplicates)} if duplicates else {}
        candidates = memories.find_candidates(query, vector, model=model, count=count, excluded=excluded)
        if by_words and vector is not None:
            entries = ranking.score_hybrid(
                candidates, query.query or "", lexical_weight=lexical_weight, preferred=query.preferred, weights=weights
            )
            if pool := ranking.pool_ids(entries):
                ranking.diversify(entries, memories.pairwise_cosines(pool), weights)
        else:
            entries = ranking.score_plain(candidates)
        ordered_entries = ranking.order(entries, query.quality_weight)
        best = [entry for entry in ordered_entries if entry.folded]
        new_statements = {entry.candidate.statement for entry in best if entry.candidate.statement} - statements
        duplicates |= {entry.candidate.id: duplicates.get(entry.candidate.id, ()) + entry.folded for entry in best}
        if len(ordered_entries) >= query.limit or not candidates.full or not new_statements:
            break
        statements |= new_statements
        count = min(2 * count, max(count, MOST_CANDIDATES))
    for entry in ordered_entries:
        entry.folded = duplicates.get(entry.candidate.id, ())
    return ordered_entries, candidates


def with_confidence(query: SearchQuery, entries: list[RankedCandidate], model: str) -> list[RankedCandidate]:
    """Set the confidence of each candidate, and leave out candidates below the minimum confidence of the query."""
    if query.query is None:
        return entries
    for entry in entries:
        memory = entry.candidate
        entry.confidence = confidence(model, memory.vector_score, memory.words_share, lacks_name=memory.lacks_name)
    minimum = query.min_confidence
    return entries if minimum is None else _drop_below(entries, minimum)


def _drop_below(entries: Sequence[RankedCandidate], minimum: Confidence) -> list[RankedCandidate]:
    return [entry for entry in entries if entry.confidence and entry.confidence.at_least(minimum)]


def _complete_last_word(query: SearchQuery, memories: "MemoryStore") -> Sequence[str]:
    """Return words of the memories that begin with the last word of a query that is still being typed."""
    start = last_word(query.query or "") if query.typing else ""
    return memories.complete_word(start, query.filters, COMPLETIONS) if start else ()


def _embed_query(namespace: str, text: str, embedder: Embedder) -> tuple[Vector | None, str | None]:
    """Return a pair: the vector of the text, and the reason why embedding failed. One of the two is None."""
    try:
        return embedder.for_namespace(namespace).embed_query(to_nfc(text)), None
    except ServiceError as exc:
        log.fault("embedder_failed", exc, WAIT_FOR_EMBEDDER, namespace=namespace)
        return None, f"searched by words only: {exc.cause}"
    except InvalidRequest as exc:
        log.info("query_refused", namespace=namespace, error=str(exc))
        return None, "searched by words only: the embedding model refuses this query"


def _entries_to_read(
    query: SearchQuery, entries: Sequence[RankedCandidate], ranked_entries: Sequence[RankedCandidate]
) -> list[RankedCandidate]:
    """Return the candidates that become hits: the first candidates, up to the query's limit.

    If the query wants a confidence, and none of these candidates has at least this confidence, then candidates from
    `ranked_entries` that have it precede them. `ranked_entries` has all candidates in the order of the ranking.
    `entries` may have fewer candidates, because the reranker drops some.
    """
    top, wanted = list(entries[: query.limit]), query.wanted_confidence
    if wanted is None:
        return top
    return top if _drop_below(top, wanted) else _drop_below(ranked_entries, wanted)[: query.limit] + top


def _rerank(
    query: SearchQuery, entries: Sequence[RankedCandidate], memories: "MemoryStore", reranker: Reranker
) -> tuple[list[RankedCandidate], str | None, float]:
    """Order the candidates by the relevance that the reranker finds.

    If the reranker fails, return the candidates in their present order, with the reason. The last value is the duration
    in milliseconds.
    """
    started = time.perf_counter()
    top = entries[: max(query.limit, RERANKED)]
    full_query = replace(query, characters=len(top) * RERANKED_CHARACTERS, explain=False)
    hits = memories.read_hits(full_query, top)
    texts = [embedded_text(hit.title, hit.tags, hit.content) for hit in hits]
    try:
        relevances = reranker.score(query.query or "", texts)
    except ServiceError as exc:
        log.fault("reranker_failed", exc, WAIT_FOR_RERANKER, namespace=memories.namespace)
        return list(entries), f"not reranked: {exc.cause}", milliseconds(started)
    by_id = {str(hit.id): relevance for hit, relevance in zip(hits, relevances, strict=True)}
    return ranking.apply_reranker(top, by_id, query.quality_weight), None, milliseconds(started)


def _log_search(namespace: str, query: SearchQuery, result: SearchResult) -> None:
    if result.degraded:
        log.info("search_degraded", namespace=namespace, reason=result.degraded)
    log.info(
        "searched",
        namespace=namespace,
        mode=query.mode,
        hits=len(result.hits),
        strategy=result.strategy,
        embed_ms=result.embed_ms,
        database_ms=result.database_ms,
        **({} if result.rerank_ms is None else {"rerank_ms": result.rerank_ms}),
    )
