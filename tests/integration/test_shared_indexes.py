"""Namespaces share indexes, and a large namespace may have its own vector index.

Memories of one namespace do not make searches of another slower.
"""

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.cli.local import postgres
from mnemosyne.domain.search import Filters, SearchMode, SearchQuery, TagMatch
from mnemosyne.service.search import SearchResult
from tests.database_errors import permission_denied
from tests.fakes import FakeEmbedder, store_of
from tests.searching import VECTOR_INDEX, find, insert
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

MANY, FEW = 2_200, 22
"""Numbers of memories. Without an index, a search would not compare MANY memories."""
SMALL = "it's small"
# An HNSW graph with few neighbours is built in a fifth of the time. Its lower recall does not matter here.
_INDEX = VECTOR_INDEX.replace("200", "32")


@pytest.fixture(scope="module")
def filled(cluster: postgres.EmbeddedPostgres, filled_database: str) -> str:
    """A database with three namespaces: all memories of ada have the common tag, and few of bob. SMALL has few."""
    connect = connection_factory(cluster.url(postgres.OWNER, filled_database), socket_timeout=None, statement_seconds=0)
    vectors = np.random.default_rng(3).random(size=(MANY, FakeEmbedder.dimension), dtype=np.float32)
    with closing(connect()) as connection:
        connection.script("DROP INDEX memories_embedding; ALTER TABLE memories DISABLE TRIGGER collect_words")
        for namespace, count, every in (("ada", MANY, 1), ("bob", MANY, MANY // FEW), (SMALL, FEW, 1)):
            memories = (
                {"content": f"memory {n}", "tags": ["other" if n % every else "common"], "vector": vector}
                for n, vector in enumerate(vectors[:count])
            )
            insert(connection, namespace, memories)
        connection.script(_INDEX)
        connection.script("ANALYZE memories")
    return filled_database


@pytest.fixture
def database(filled: str) -> str:
    """The database of the fixture `store`. All tests share it, because they change no rows."""
    return filled


@pytest.fixture
def owner(cluster: postgres.EmbeddedPostgres, database: str) -> Iterator[Connection]:
    with closing(connection_factory(cluster.url(postgres.OWNER, database), statement_seconds=0)()) as connection:
        connection.script("SELECT pg_stat_reset()")
        yield connection


def _search(store: MemoryStore, filters: Filters, namespace: str = "bob") -> SearchResult:
    """Search by meaning, and let the server count the entries that the search has read."""
    search_query = SearchQuery(query="memory", mode=SearchMode.SEMANTIC, filters=filters, limit=10)
    found = find(store_of(store, namespace), search_query, FakeEmbedder().embed_query("memory"))
    with store.database.pool.connection() as connection:
        connection.run("SELECT pg_stat_force_next_flush()")
    return found


def _counted(owner: Connection, column: str, index: str) -> int:
    """Return how often the server has counted, in the column, a use of the index since the beginning of the test."""
    owner.script("SELECT pg_stat_clear_snapshot()")
    ((count,),) = owner.run(f"SELECT {column} FROM pg_stat_user_indexes WHERE indexrelname = :index", index=index)
    return int(count)


@pytest.mark.parametrize("match", TagMatch)
def test_a_tag_filter_reads_only_index_entries_of_the_caller_s_namespace(
    store: MemoryStore, owner: Connection, match: TagMatch
) -> None:
    assert len(_search(store, Filters(tags=("common",), tag_match=match)).hits) == 10
    wait_until(lambda: _counted(owner, "idx_tup_read", "memories_tags") > 0, "what was read is counted")
    assert _counted(owner, "idx_tup_read", "memories_tags") <= 3 * FEW


@pytest.mark.parametrize(("total", "strategy"), [(2 * MANY, "hnsw"), (2_000_000, "exact")])
def test_a_namespace_that_is_a_small_part_of_the_index_is_searched_exactly(
    store: MemoryStore, owner: Connection, total: int, strategy: str
) -> None:
    set_total = "UPDATE pg_class SET reltuples = :total WHERE oid = CAST('memories' AS regclass)"
    owner.run(set_total, total=total)
    found = _search(store, Filters())
    owner.run(set_total, total=2 * MANY)
    assert found.strategy == strategy


@pytest.fixture
def own_indexes(request: pytest.FixtureRequest, owner: Connection) -> Iterator[dict[str, str]]:
    """The names of own indexes, which are created as docs/operations.md describes, by namespace."""
    names: dict[str, str] = {}
    for namespace in request.param:
        ((statement, name),) = owner.run("SELECT own_index_statement(:n), own_index_name(:n)", n=namespace)
        owner.script(statement)
        names[namespace] = str(name)
    yield names
    for name in names.values():
        owner.script(f'DROP INDEX "{name}"')


@pytest.mark.parametrize("own_indexes", [("ada", SMALL), (SMALL,)], ids=["own index", "none"], indirect=True)
def test_a_search_reads_the_own_index_of_its_namespace_or_else_the_index_of_all_memories(
    store: MemoryStore, owner: Connection, own_indexes: dict[str, str]
) -> None:
    has_own = [namespace in own_indexes for namespace in ("ada", SMALL)]
    assert owner.run("SELECT has_own_index('ada'), has_own_index(:small)", small=SMALL) == [has_own]
    found = _search(store, Filters(), "ada")
    assert (found.strategy, len(found.hits)) == ("hnsw", 10)
    expected = own_indexes.get("ada", "memories_embedding")
    wait_until(lambda: _counted(owner, "idx_scan", expected) == 1, "the scan is counted")
    others = {"memories_embedding", *own_indexes.values()} - {expected}
    assert not any(_counted(owner, "idx_scan", index) for index in others)


def test_only_the_owner_of_the_schema_can_read_the_statement_that_creates_an_index(store: MemoryStore) -> None:
    with store.database.pool.connection() as connection, permission_denied("own_index_statement"):
        connection.run("SELECT own_index_statement('ada')")
