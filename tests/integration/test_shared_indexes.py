"""Memories of one namespace do not make searches of another slower, although they share the indexes."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.cli.local import postgres
from mnemosyne.domain.search import Filters, SearchMode, SearchQuery, TagMatch
from mnemosyne.service.search import SearchResult
from tests.fakes import FakeEmbedder, store_of
from tests.searching import VECTOR_INDEX, find
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

MANY, FEW = 2_200, 22
# An HNSW graph with few neighbours is built in a fifth of the time. Its lower recall does not matter here.
_INDEX = VECTOR_INDEX.replace("200", "32")
_FILL = """
INSERT INTO memories (
    id, namespace, "timestamp", content, title, tags, tag_keys, content_hash, embedding_model, embedding)
SELECT gen_random_uuid(), CAST(:namespace AS text), now() - n * interval '1 s', 'memory ' || n, 'memory ' || n, t.tags,
    t.tags, md5(CAST(:namespace AS text) || n) || md5(CAST(n AS text)), 'fake',
    CAST('[' || drawn.numbers || ']' AS halfvec)
FROM generate_series(1, CAST(:count AS integer)) AS n, LATERAL (
    SELECT string_agg(CAST(random() + 0 * (n + i) AS text), ',') AS numbers
    FROM generate_series(1, CAST(:dimension AS integer)) AS i
) AS drawn, LATERAL (
    SELECT CASE WHEN n % CAST(:every AS integer) = 0 THEN ARRAY['common'] ELSE ARRAY['other'] END AS tags
) AS t
"""


@pytest.fixture(scope="module")
def filled(cluster: postgres.EmbeddedPostgres, filled_database: str) -> str:
    """A database with two namespaces of equal size: all memories of ada have the common tag, and few of bob.

    The connection that fills it has no statement timeout.
    """
    url = cluster.url(postgres.OWNER, filled_database)
    with closing(connection_factory(url, socket_timeout=None, statement_seconds=0)()) as connection:
        connection.script("DROP INDEX memories_embedding; ALTER TABLE memories DISABLE TRIGGER collect_words")
        for namespace, every in (("ada", 1), ("bob", MANY // FEW)):
            connection.run(_FILL, namespace=namespace, count=MANY, every=every, dimension=FakeEmbedder.dimension)
        connection.script(_INDEX)
        connection.script("ANALYZE memories")
    return filled_database


@pytest.fixture
def database(filled: str) -> str:
    """The database of the fixture `store`. All tests share it, because they change no rows."""
    return filled


@pytest.fixture
def owner(cluster: postgres.EmbeddedPostgres, database: str) -> Iterator[Connection]:
    with closing(connection_factory(cluster.url(postgres.OWNER, database))()) as connection:
        yield connection


def _search(store: MemoryStore, filters: Filters) -> SearchResult:
    search_query = SearchQuery(query="memory", mode=SearchMode.SEMANTIC, filters=filters, limit=10)
    vector = FakeEmbedder().embed_query("memory")
    return find(store_of(store, "bob"), search_query, vector, model="fake", lexical_weight=0.5)


@pytest.mark.parametrize("match", TagMatch)
def test_a_tag_filter_reads_only_index_entries_of_the_caller_s_namespace(
    store: MemoryStore, owner: Connection, match: TagMatch
) -> None:
    owner.script("SELECT pg_stat_reset()")
    assert len(_search(store, Filters(tags=("common",), tag_match=match)).hits) == 10

    def read() -> int:
        owner.script("SELECT pg_stat_clear_snapshot()")
        (row,) = owner.run("SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE indexrelname = 'memories_tags'")
        return int(row[0])

    with store.database.pool.connection() as connection:
        connection.run("SELECT pg_stat_force_next_flush()")
    wait_until(lambda: read() > 0, "what was read is counted")
    assert read() <= 3 * FEW


@pytest.mark.parametrize(("total", "strategy"), [(2 * MANY, "hnsw"), (2_000_000, "exact")])
def test_a_namespace_that_is_a_small_part_of_the_index_is_searched_exactly(
    store: MemoryStore, owner: Connection, total: int, strategy: str
) -> None:
    set_total = "UPDATE pg_class SET reltuples = :total WHERE oid = CAST('memories' AS regclass)"
    owner.run(set_total, total=total)
    found = _search(store, Filters())
    owner.run(set_total, total=2 * MANY)
    assert found.strategy == strategy
