"""Search on real PostgreSQL: the true top-k under any filter, fusion, plans, and what the database may not reveal."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import orjson
import pytest

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memories import PostgresMemories
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.search import Filters, Ranking, SearchMode, SearchQuery, TagMatch
from mnemosyne.service import ingest, search
from mnemosyne_cli.local import postgres
from tests.fakes import FAKE_SPACE, FakeEmbedder, request
from tests.waiting import wait_until

ROWS = 20_000
DIMENSION = FakeEmbedder.dimension
EXPECTED_INDEXES = {"memories_embedding", "memories_search_text", "memories_tags", "memories_newest"}
START = datetime(2025, 1, 1, tzinfo=UTC)
QUERIES = 25


class Haystack:
    """20,000 memories in clusters, each second in time apart, with tags of known selectivity; and their vectors."""

    def __init__(self, cluster: postgres.EmbeddedPostgres, database: str) -> None:
        generator = np.random.default_rng(7)
        centres = generator.normal(size=(150, DIMENSION))
        noisy = centres[generator.integers(150, size=ROWS)] + 0.6 * generator.normal(size=(ROWS, DIMENSION))
        self.vectors = (noisy / np.linalg.norm(noisy, axis=1, keepdims=True)).astype(np.float16).astype(np.float64)
        self.vectors /= np.linalg.norm(self.vectors, axis=1, keepdims=True)
        picks = generator.integers(QUERIES * 10, size=QUERIES)
        queries = centres[picks % 150] + 0.8 * generator.normal(size=(QUERIES, DIMENSION))
        self.queries = (queries / np.linalg.norm(queries, axis=1, keepdims=True)).astype(np.float32)
        self.tags = {
            "permille": generator.random(ROWS) < 0.001,
            "percent": generator.random(ROWS) < 0.01,
            "tenth": generator.random(ROWS) < 0.1,
            "half": generator.random(ROWS) < 0.5,
        }
        self.store = PostgresMemories(
            Pool(connection_factory(cluster.url(postgres.RUNTIME_USER, database)), 4), FAKE_SPACE
        )
        self._owner = connection_factory(cluster.url(postgres.OWNER, database))()
        self._fill(self._owner)

    def indexes_used(self) -> set[str]:
        """The indexes that any connection has scanned, once the server has counted those that were to be."""
        used: set[str] = set()
        with self.store._pool.connection() as connection:  # else an idle one reports within ten seconds
            connection.run("SELECT pg_stat_force_next_flush()")

        def counted() -> bool:
            self._owner.script("SELECT pg_stat_clear_snapshot()")
            rows = self._owner.run("SELECT indexrelname FROM pg_stat_user_indexes WHERE idx_scan > 0")
            used.update(row[0] for row in rows)
            return used >= EXPECTED_INDEXES

        wait_until(counted, "scans are counted")
        return used

    def _fill(self, owner: Connection) -> None:
        owner.script("DROP INDEX memories_embedding")
        rows = [
            {
                "n": n,
                "tags": [name for name, mask in self.tags.items() if mask[n]],
                "e": orjson.dumps(self.vectors[n].tolist()).decode(),
            }
            for n in range(ROWS)
        ]
        for start in range(0, ROWS, 2000):
            owner.run(
                """
                INSERT INTO memories (id, namespace, "timestamp", content, title, tags, tag_keys, content_hash,
                    embedding_model, embedding)
                SELECT CAST(lpad(to_hex(n), 32, '0') AS uuid), 'ns', CAST(:start AS timestamptz) + n * interval '1 s',
                    'memory ' || n, 'memory ' || n, tags, tags, lpad(to_hex(n), 64, '0'), 'fake', CAST(e AS halfvec)
                FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (n integer, tags text[], e text)
                """,
                start=START,
                rows=orjson.dumps(rows[start : start + 2000]).decode(),
            )
        owner.script(
            "CREATE INDEX memories_embedding ON memories USING hnsw (embedding halfvec_cosine_ops) "
            "WITH (m = 16, ef_construction = 200)"
        )
        owner.script("ANALYZE memories")

    def search(self, query: int, filters: Filters, limit: int = 10) -> Ranking:
        asked = SearchQuery(query="x", filters=filters, limit=limit)
        return self.store.search("ns", asked, self.queries[query], model="fake", lexical_weight=0.5)

    def recall(self, filters: Filters, mask: Any, limit: int = 10) -> float:
        """The share of the true best that is found, over all queries, by brute force over the filtered set."""
        allowed = np.flatnonzero(mask)
        found = wanted = 0
        for number, query in enumerate(self.queries):
            scores = self.vectors[allowed] @ query.astype(np.float64)
            best = np.sort(scores)[::-1][:limit]
            hits = [int(hit.id) for hit in self.search(number, filters, limit).hits]
            assert mask[hits].all()
            assert len(set(hits)) == len(hits) == len(best)
            # Half precision ties: what is as near as the last of the best is one of them.
            found += int((self.vectors[hits] @ query.astype(np.float64) >= best[-1] - 1e-3).sum())
            wanted += len(best)
        return found / wanted


@pytest.fixture(scope="module")
def haystack(cluster: postgres.EmbeddedPostgres) -> Iterator[Haystack]:
    owner = connection_factory(cluster.url(postgres.OWNER, postgres.OWNER))()
    owner.script(f"CREATE DATABASE haystack TEMPLATE {postgres.DATABASE}")
    made = Haystack(cluster, "haystack")
    yield made
    made.store._pool.close()
    made._owner.close()
    owner.script("DROP DATABASE haystack WITH (FORCE)")
    owner.close()


@pytest.mark.parametrize("tag", ["permille", "percent", "tenth", "half"])
def test_a_tag_filter_finds_the_true_best(haystack: Haystack, tag: str) -> None:
    assert haystack.recall(Filters(tags=(tag,)), haystack.tags[tag]) >= 0.99


@pytest.mark.parametrize("share", [0.001, 0.01, 0.1, 0.5])
def test_a_time_filter_finds_the_true_best(haystack: Haystack, share: float) -> None:
    after = START + timedelta(seconds=ROWS * (1 - share))
    mask = np.arange(ROWS) >= ROWS * (1 - share)
    assert haystack.recall(Filters(after=after), mask) >= 0.99


def test_all_filters_together_find_the_true_best(haystack: Haystack) -> None:
    numbers = np.arange(ROWS)
    mask = haystack.tags["half"] & haystack.tags["tenth"] & (numbers >= 4_000) & (numbers < 16_000)
    filters = Filters(
        after=START + timedelta(seconds=4_000),
        before=START + timedelta(seconds=16_000),
        tags=("half", "tenth"),
        tag_match=TagMatch.ALL,
    )
    assert haystack.recall(filters, mask) >= 0.99


def test_no_filter_finds_the_true_best(haystack: Haystack) -> None:
    assert haystack.recall(Filters(), np.ones(ROWS, dtype=bool)) >= 0.99


def test_a_large_limit_is_filled(haystack: Haystack) -> None:
    assert haystack.recall(Filters(), np.ones(ROWS, dtype=bool), limit=100) >= 0.99


def test_the_strategy_fits_the_size_of_the_filtered_set(haystack: Haystack) -> None:
    assert haystack.search(0, Filters()).strategy == "hnsw"
    assert haystack.search(0, Filters(after=START + timedelta(seconds=2_000))).strategy == "hnsw"
    narrow = haystack.search(0, Filters(tags=("percent",)))
    assert narrow.strategy == "exact"


def test_a_filter_that_nothing_passes_finds_nothing(haystack: Haystack) -> None:
    assert haystack.search(0, Filters(tags=("none",))).hits == []


def test_under_isolation_every_index_is_still_used(haystack: Haystack) -> None:
    words = SearchQuery(query="777", mode=SearchMode.HYBRID, limit=10)
    haystack.search(0, Filters())
    haystack.store.search("ns", words, None, model="fake", lexical_weight=0.5)
    haystack.store.list("ns", Filters(tags=("permille",)), 10)
    haystack.store.list("ns", Filters(), 10)
    used = haystack.indexes_used()
    assert used >= EXPECTED_INDEXES


def _stored(store: PostgresMemories, *contents: str, **fields: Any) -> FakeEmbedder:
    embedder = FakeEmbedder()
    message = IngestMessage("ns", tuple(request(content, **fields) for content in contents))
    ingest.store(message, memories=store, embedder=embedder)
    return embedder


def _found(store: PostgresMemories, embedder: FakeEmbedder, query: str, **fields: Any) -> list[str]:
    asked = SearchQuery(query=query, **{"mode": SearchMode.HYBRID, **fields})
    found = search.search("ns", asked, memories=store, embedder=embedder)
    return [hit.content for hit in found.ranking.hits]


def test_words_are_found_by_their_stem_and_need_not_all_be_there(store: PostgresMemories) -> None:
    embedder = _stored(store, "She leases a flat", "The dog sleeps", "Nothing of the kind")
    embedder.away = True
    assert _found(store, embedder, "Who is leasing flats in Lisbon?") == ["She leases a flat"]


def test_a_rare_word_weighs_more_than_a_common_one(store: PostgresMemories, owner: Connection) -> None:
    names = [f"Caroline said thing {n}" for n in range(60)]
    embedder = _stored(store, *names, "The zeppelin left", "Caroline left")
    owner.script("ANALYZE memories")
    embedder.away = True
    assert _found(store, embedder, "Caroline zeppelin", limit=1) == ["The zeppelin left"]


@pytest.fixture
def owner(cluster: postgres.EmbeddedPostgres, database: str) -> Iterator[Connection]:
    connection = connection_factory(cluster.url(postgres.OWNER, database))()
    yield connection
    connection.close()


def test_hybrid_scores_lie_between_none_and_full(store: PostgresMemories) -> None:
    embedder = _stored(store, *(f"tea number {n} of many cups" for n in range(20)), "an exact zeppelin", "cars")
    asked = SearchQuery(query="zeppelin tea", mode=SearchMode.HYBRID, limit=22)
    hits = search.search("ns", asked, memories=store, embedder=embedder).ranking.hits
    relevances = [hit.relevance for hit in hits]
    assert relevances == sorted(relevances, key=lambda value: -(value or 0))
    assert all(value is not None and 0.0 <= value <= 1.0 for value in relevances)
    assert hits[0].content == "an exact zeppelin"


def test_one_only_memory_is_fully_relevant_whatever_the_mode(store: PostgresMemories) -> None:
    embedder = _stored(store, "green tea")
    asked = SearchQuery(query="green tea", mode=SearchMode.HYBRID)
    (hit,) = search.search("ns", asked, memories=store, embedder=embedder).ranking.hits
    assert hit.relevance == 1.0


@pytest.mark.parametrize(
    "query", ["'", "\\", "a'b\\c", "& | ! ( ) :*", "<->", "foo:*", "the of and", "%_", "🜚", "x" * 3000]
)
@pytest.mark.parametrize("mode", list(SearchMode))
def test_any_sign_in_a_query_is_only_text(store: PostgresMemories, query: str, mode: SearchMode) -> None:
    embedder = _stored(store, "green tea", f"about {query}")
    if mode is SearchMode.EXACT:
        assert _found(store, embedder, query, mode=mode) == [f"about {query}"]
    else:
        assert len(_found(store, embedder, query, mode=mode)) == 2


@pytest.mark.parametrize("mode", [SearchMode.SEMANTIC, SearchMode.HYBRID])
def test_without_the_embedder_words_answer_and_the_answer_says_so(store: PostgresMemories, mode: SearchMode) -> None:
    embedder = _stored(store, "green tea", "fast cars")
    embedder.away = True
    found = search.search("ns", SearchQuery(query="tea", mode=mode), memories=store, embedder=embedder)
    assert [hit.content for hit in found.ranking.hits] == ["green tea"]
    assert found.degraded == "searched by words only, because the embedding service is away: the embedder is away"
    assert found.ranking.strategy == "fulltext"


def test_a_given_title_can_be_searched_for(store: PostgresMemories) -> None:
    embedder = _stored(store, "hunter2", title="wifi password")
    assert _found(store, embedder, "wifi password", mode=SearchMode.SEMANTIC) == ["hunter2"]
    embedder.away = True
    assert _found(store, embedder, "wifi password") == ["hunter2"]


def test_a_search_is_one_round_trip(pool: Pool, store: PostgresMemories, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = _stored(store, "green tea")
    _found(store, embedder, "tea")
    sent: list[str] = []
    run = Connection.run

    def counted(self: Connection, sql: Any, **parameters: object) -> Any:
        sent.append(sql)
        return run(self, sql, **parameters)

    monkeypatch.setattr(Connection, "run", counted)
    monkeypatch.setattr(Connection, "script", lambda self, sql: sent.append(sql))
    _found(store, embedder, "tea")
    assert len(sent) == 1


def test_the_runtime_role_cannot_reach_around_the_search_function(pool: Pool) -> None:
    import pg8000.exceptions

    with pool.connection() as connection, pytest.raises(pg8000.exceptions.DatabaseError, match="permission denied"):
        connection.run("SELECT * FROM search_terms('ns', 'x')")


def test_supersession_ends_when_the_newer_memory_is_deleted(
    store: PostgresMemories, new_database: Callable[..., str]
) -> None:
    from mnemosyne.domain.memory import MemoryChange

    embedder = _stored(store, "old tea", "new tea")
    ids = {head.title: head.id for head in store.list("ns", Filters(include_superseded=True), 10)}
    store.update("ns", ids["old tea"], MemoryChange(superseded_by=ids["new tea"]))
    assert _found(store, embedder, "tea") == ["new tea"]
    store.delete("ns", ids["new tea"])
    assert _found(store, embedder, "tea") == ["old tea"]
