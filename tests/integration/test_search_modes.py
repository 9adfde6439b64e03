"""Results of each search mode on real PostgreSQL."""

import unicodedata
from typing import Any, Literal

import pytest

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.search import SearchMode, SearchQuery
from mnemosyne.service import ingest, search
from tests.fakes import FakeEmbedder, request


def _store(store: MemoryStore, *contents: str, **fields: Any) -> FakeEmbedder:
    embedder = FakeEmbedder()
    message = IngestMessage("ns", tuple(request(content, **fields) for content in contents))
    ingest.store(message, memories=store, embedder=embedder)
    return embedder


def _search(store: MemoryStore, embedder: FakeEmbedder, query: str, **fields: Any) -> list[str]:
    search_query = SearchQuery(query=query, **{"mode": SearchMode.HYBRID, **fields})
    hits = search.search(search_query, memories=store, embedder=embedder)
    return [hit.content for hit in hits.hits]


def test_a_very_long_memory_with_all_the_words_comes_before_short_ones_with_one(store: MemoryStore) -> None:
    long = " ".join(f"word{n}" for n in range(1500)) + " the greenhouse controller's password"
    embedder = _store(store, long, *(f"the greenhouse has budget {n}" for n in range(20)))
    embedder.away = True
    assert _search(store, embedder, "greenhouse controller password", limit=1) == [long]


@pytest.mark.parametrize(("stored", "asked"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_composed_and_decomposed_letters_give_the_same_embedding(
    store: MemoryStore, stored: Literal["NFC", "NFD"], asked: Literal["NFC", "NFD"]
) -> None:
    text = unicodedata.normalize(stored, "café Zürich")
    embedder = _store(store, text, "coffee Zurich", title=text)
    query = SearchQuery(query=unicodedata.normalize(asked, text), mode=SearchMode.SEMANTIC, limit=1)
    (hit,) = search.search(query, memories=store, embedder=embedder).hits
    assert hit.content == text and hit.relevance == pytest.approx(1.0, abs=0.01)


@pytest.mark.own_database
def test_scores_do_not_depend_on_the_planner_s_statistics(store: MemoryStore, owner: Connection) -> None:
    embedder = _store(store, *(f"Caroline drinks tea number {n}" for n in range(60)), "The zeppelin left")

    def scores() -> list[tuple[str, float]]:
        query = SearchQuery(query="Caroline left tea in a zeppelin", mode=SearchMode.HYBRID, limit=50)
        hits = search.search(query, memories=store, embedder=embedder).hits
        return [(hit.content, hit.score) for hit in hits]

    before = scores()
    owner.script("ANALYZE")
    assert scores() == before


@pytest.mark.parametrize("query", ["a'b\\c", "& | ! ( ) :*", "<->", "foo:*", "the of and", "%_", "🜚", "x" * 3000])
@pytest.mark.parametrize("mode", list(SearchMode))
def test_special_characters_in_a_query_have_no_special_meaning(
    store: MemoryStore, query: str, mode: SearchMode
) -> None:
    embedder = _store(store, "green tea", f"about {query}")
    if mode is SearchMode.EXACT:
        assert _search(store, embedder, query, mode=mode) == [f"about {query}"]
    else:
        assert len(_search(store, embedder, query, mode=mode)) == 2


def test_a_word_after_the_limit_of_weighed_query_words_finds_its_memory(store: MemoryStore) -> None:
    words = [f"w{n}x" for n in range(16_050)]
    embedder = _store(store, " ".join(words))
    embedder.away = True
    assert {tuple(_search(store, embedder, word)) for word in words[::4_000]} == {(" ".join(words),)}


@pytest.mark.parametrize("mode", [SearchMode.SEMANTIC, SearchMode.HYBRID])
def test_without_the_embedder_a_search_uses_words_and_is_marked_degraded(store: MemoryStore, mode: SearchMode) -> None:
    embedder = _store(store, "green tea", "fast cars")
    embedder.away = True
    hits = search.search(SearchQuery(query="tea", mode=mode), memories=store, embedder=embedder)
    assert [hit.content for hit in hits.hits] == ["green tea"]
    assert hits.degraded == "searched by words only: the embedder is away"
    assert hits.strategy == "fulltext"


def test_a_given_title_can_be_searched_for(store: MemoryStore) -> None:
    embedder = _store(store, "hunter2", title="wifi password")
    assert _search(store, embedder, "wifi password", mode=SearchMode.SEMANTIC) == ["hunter2"]
    embedder.away = True
    assert _search(store, embedder, "wifi password") == ["hunter2"]


@pytest.mark.parametrize(
    ("session", "mode", "trips"),
    [(None, SearchMode.HYBRID, 2), ("chat", SearchMode.SEMANTIC, 2), ("chat", SearchMode.HYBRID, 3)],
)
def test_a_search_needs_two_round_trips_and_a_third_to_compare_memories_of_a_session(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, session: str | None, mode: SearchMode, trips: int
) -> None:
    embedder = _store(store, "green tea", "black tea", session=session)
    _search(store, embedder, "tea", mode=mode)
    statements: list[str] = []
    run = Connection.run

    def counted(self: Connection, sql: Any, **parameters: object) -> Any:
        statements.append(sql)
        return run(self, sql, **parameters)

    monkeypatch.setattr(Connection, "run", counted)
    monkeypatch.setattr(Connection, "script", lambda self, sql: statements.append(sql))
    _search(store, embedder, "tea", mode=mode)
    assert len(statements) == trips
