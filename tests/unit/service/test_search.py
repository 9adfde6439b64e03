"""The results of a search, which are computed from the candidates that the store returns."""

import pytest

from mnemosyne.domain.search import Filters, Hit, SearchMode, SearchQuery
from mnemosyne.errors import Broken, InvalidRequest, Misconfigured, MnemosyneError, Unavailable
from mnemosyne.ids import new_id
from mnemosyne.service import search
from mnemosyne.service.search import SearchResult
from tests.fakes import FakeReranker, FakeServices
from tests.memories import store_contents


def _search(services: FakeServices, query: SearchQuery) -> SearchResult:
    return search.search(query, memories=services.memories, embedder=services.embedder, reranker=services.reranker)


def _hits(services: FakeServices, query: SearchQuery) -> list[Hit]:
    return list(_search(services, query).hits)


def test_lists_and_exact_searches_do_not_merge_near_duplicates(services: FakeServices) -> None:
    store_contents(services.memories, "Ada likes green tea.", "Ada likes green tea", tags=("t",))
    assert len(_hits(services, SearchQuery(query="green"))) == 1
    assert len(_hits(services, SearchQuery(query="green", mode=SearchMode.EXACT))) == 2
    assert len(_hits(services, SearchQuery(query=None, filters=Filters(tags=("t",))))) == 2


def _with_reranker(services: FakeServices, preferred: str, *contents: str) -> FakeReranker:
    store_contents(services.memories, *contents, tags=("t",))
    services.reranker = FakeReranker(preferred)
    return services.reranker


TEAS = tuple(f"green tea, cup {n} of many" for n in range(60))


def test_the_best_hit_of_the_reranker_comes_first_whatever_its_rank_before(services: FakeServices) -> None:
    _with_reranker(services, "cup 30 ", *TEAS[:40])
    hits = _search(services, SearchQuery(query="green tea", mode=SearchMode.HYBRID, limit=3))
    assert (len(hits.hits), hits.degraded) == (3, None)
    assert hits.strategy.endswith("+reranked")
    assert (hits.hits[0].content, hits.hits[0].relevance) == (TEAS[30], 1.0)


def test_the_reranker_gets_the_first_fifty_candidates(services: FakeServices) -> None:
    reranker = _with_reranker(services, "cup 30 ", *TEAS)
    _search(services, SearchQuery(query="green tea", mode=SearchMode.HYBRID, limit=3))
    assert len(reranker.read) == 50


def test_if_the_reranker_fails_a_search_keeps_its_ranking_and_is_marked_degraded(services: FakeServices) -> None:
    reranker = _with_reranker(services, "cup 30 ", *TEAS)
    query = SearchQuery(query="green tea cup 7", mode=SearchMode.HYBRID, limit=5, quality_weight=0.3)
    reranker.away = True
    degraded = _search(services, query)
    services.reranker = None
    plain = _search(services, query)
    assert [hit.id for hit in degraded.hits] == [hit.id for hit in plain.hits]
    assert degraded.degraded == "not reranked: the reranker is away"
    assert (plain.degraded, plain.rerank_ms) == (None, None)


def test_the_reranker_gets_the_title_if_the_content_does_not_contain_it(services: FakeServices) -> None:
    services.reranker = FakeReranker("Brewing")
    store_contents(services.memories, "green tea", title="Brewing")
    _hits(services, SearchQuery(query="tea", explain=True))
    assert services.reranker.read == ["Brewing green tea"]


def test_lists_and_exact_searches_do_not_use_the_reranker(services: FakeServices) -> None:
    reranker = _with_reranker(services, "cup 30 ", *TEAS)
    _hits(services, SearchQuery(query="green", mode=SearchMode.EXACT))
    _hits(services, SearchQuery(query=None, filters=Filters(tags=("t",))))
    _hits(services, SearchQuery(query="tea", filters=Filters(session=str(new_id()))))
    assert reranker.read == []


def test_a_reranked_hit_names_its_near_duplicates(services: FakeServices) -> None:
    _with_reranker(services, "cup", "green tea in a cup", "green tea in a cup.", "green tea in a  cup", "black tea")
    (hit, other) = _hits(services, SearchQuery(query="green tea", mode=SearchMode.HYBRID, limit=2))
    assert (len(hit.near_duplicates), other.content) == (2, "black tea")


def test_a_reranked_hit_keeps_the_explanation_of_its_score(services: FakeServices) -> None:
    _with_reranker(services, "cup 30 ", *TEAS)
    (hit, *_) = _hits(services, SearchQuery(query="green tea", mode=SearchMode.HYBRID, explain=True))
    assert hit.why and hit.why.matched_words == ("green", "tea")


FAULTS = [
    Unavailable("the service is away", detail="answered 500: boom"),
    Broken("the service refuses us", next_step="grant the right", detail="answered 403: no"),
    Misconfigured("the model does not exist", next_step="set another", detail="answered 404: no"),
    InvalidRequest("the embedding service answered 400: blocked"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=[type(error).__name__ for error in FAULTS])
def test_a_search_by_words_is_the_fallback_for_every_error_of_the_embedder(
    services: FakeServices, fault: MnemosyneError
) -> None:
    store_contents(services.memories, "green tea", "black coffee", tags=("t",))
    services.embedder.fault = fault
    result = _search(services, SearchQuery(query="tea", mode=SearchMode.HYBRID))
    assert result.hits[0].content == "green tea"
    assert (result.degraded or "").startswith("searched by words only: ")
    assert "answered" not in (result.degraded or "")
