"""A large namespace gets its own vector index, and only its searches use the index."""

from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import orjson
import pytest

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.cli.local import postgres
from mnemosyne.domain.search import SearchMode, SearchQuery
from tests.database_errors import permission_denied
from tests.fakes import FakeEmbedder, memories_in
from tests.searching import VECTOR_INDEX, find

pytestmark = pytest.mark.slow

ROWS = 2_500
"""Number of memories in the large namespace. Without an index, a search would not compare so many memories."""
FEW = 100
"""Number of memories in the other namespace."""
FILL = """
INSERT INTO memories (id, namespace, "timestamp", content, title, content_hash, embedding_model, embedding)
SELECT gen_random_uuid(), :namespace, CAST(:start AS timestamptz) + n * interval '1 s', 'memory ' || n, 'memory',
    encode(sha256(convert_to(:namespace || n, 'UTF8')), 'hex'), 'fake', CAST(e AS halfvec)
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (n integer, e text)
"""

VECTOR_INDEXES = "SELECT indexname FROM pg_indexes WHERE tablename = 'memories' AND indexdef LIKE '%USING hnsw%'"


@pytest.fixture(scope="module")
def filled(cluster: postgres.EmbeddedPostgres, filled_database: str) -> Iterator[Connection]:
    """The owner's connection to a database with two namespaces and without a vector index or words."""
    connection = connection_factory(cluster.url(postgres.OWNER, filled_database), statement_seconds=0)()
    vectors = np.random.default_rng(3).normal(size=(ROWS, FakeEmbedder.dimension)).astype(np.float32)
    texts = [orjson.dumps(vector, option=orjson.OPT_SERIALIZE_NUMPY).decode() for vector in vectors]
    rows = [{"n": n, "e": text} for n, text in enumerate(texts)]
    connection.script("DROP INDEX memories_embedding; ALTER TABLE memories DISABLE TRIGGER collect_words")
    start = datetime(2025, 1, 1, tzinfo=UTC)
    for namespace, count in (("large", ROWS), ("it's other", FEW)):
        connection.run(FILL, namespace=namespace, start=start, rows=orjson.dumps(rows[:count]).decode())
    yield connection
    connection.close()


@pytest.fixture
def owner(filled: Connection) -> Iterator[Connection]:
    """The connection `filled`. Vector indexes that a test creates are dropped afterwards."""
    yield filled
    for (name,) in filled.run(VECTOR_INDEXES):
        filled.script(f'DROP INDEX "{name}"')


@pytest.fixture
def database(filled_database: str) -> str:
    return filled_database


def index(owner: Connection, namespace: str) -> str:
    """Create the index of a namespace as docs/operations.md describes, and return its name."""
    ((statement, name),) = owner.run(
        "SELECT own_index_statement(:namespace), own_index_name(:namespace)", namespace=namespace
    )
    owner.script(statement)
    return str(name)


def search(cluster: postgres.EmbeddedPostgres, database: str, namespace: str) -> tuple[str, int]:
    """Return the strategy and the number of hits of a search by meaning."""
    pool = Pool(connection_factory(cluster.url(postgres.RUNTIME_USER, database)), 1)
    store = memories_in(pool, namespace)
    vector = np.ones(FakeEmbedder.dimension, dtype=np.float32)
    hits = find(store, SearchQuery(query="x", mode=SearchMode.SEMANTIC), vector, model="fake", lexical_weight=0.5)
    with pool.connection() as connection:
        connection.run("SELECT pg_stat_force_next_flush()")
    pool.close()
    return hits.strategy, len(hits.hits)


def scans(owner: Connection, name: str) -> int:
    owner.script("SELECT pg_stat_clear_snapshot()")
    ((count,),) = owner.run("SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = :name", name=name)
    return int(count)


def test_a_search_in_a_namespace_with_its_own_index_reads_only_that_index(
    owner: Connection, cluster: postgres.EmbeddedPostgres, database: str
) -> None:
    names = {namespace: index(owner, namespace) for namespace in ("large", "it's other")}
    assert search(cluster, database, "large") == ("hnsw", 10)
    assert scans(owner, names["large"]) == 1
    assert scans(owner, names["it's other"]) == 0


def test_a_namespace_without_its_own_index_uses_the_index_of_all_memories(
    owner: Connection, cluster: postgres.EmbeddedPostgres, database: str
) -> None:
    name = index(owner, "it's other")
    owner.script(VECTOR_INDEX)
    assert search(cluster, database, "large") == ("hnsw", 10)
    assert scans(owner, "memories_embedding") == 1
    assert scans(owner, name) == 0
    assert owner.run("SELECT has_own_index('large'), has_own_index('it''s other')") == [[False, True]]


def test_only_the_owner_of_the_schema_can_read_the_statement_that_creates_an_index(
    cluster: postgres.EmbeddedPostgres, database: str
) -> None:
    service = connection_factory(cluster.url("mcp", database))()
    with permission_denied("own_index_statement"):
        service.run("SELECT own_index_statement('large')")
    service.close()
