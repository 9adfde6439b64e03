"""Searches among memories of many chunks find the memories with the nearest chunks."""

from collections.abc import Iterator
from contextlib import closing
from uuid import UUID

import numpy as np
import orjson
import pytest

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.memory_database import MemoryDatabase
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.database.rows import vector_text
from mnemosyne.cli.local import postgres
from mnemosyne.domain.search import SearchMode, SearchQuery
from mnemosyne.ports.embedder import Vector
from tests.fakes import FAKE_SPACE
from tests.searching import find, insert

pytestmark = pytest.mark.slow

MEMORIES = 300
QUERIES = 25
INSERT_CHUNKS = """
INSERT INTO memory_chunks (memory_id, namespace, chunk_index, embedding)
SELECT memory_id, :namespace, place, CAST(vector AS halfvec)
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (memory_id uuid, place integer, vector text)
"""


class Chunks:
    """A namespace whose memories all have the same number of chunks. `vectors` has the vectors of the chunks."""

    def __init__(self, database: MemoryDatabase, owner: Connection, namespace: str, count: int) -> None:
        generator = np.random.default_rng(7)
        vectors = generator.normal(size=(MEMORIES, count, FAKE_SPACE.dimension))
        vectors = (vectors / np.linalg.norm(vectors, axis=2, keepdims=True)).astype(np.float16).astype(np.float32)
        self.vectors = vectors / np.linalg.norm(vectors, axis=2, keepdims=True)
        self.store = MemoryStore(database, namespace)
        ids = [str(UUID(int=count * MEMORIES + n)) for n in range(MEMORIES)]
        memories = zip(ids, self.vectors[:, 0], strict=True)
        insert(owner, namespace, ({"id": id_, "content": id_, "vector": vector} for id_, vector in memories))
        rows = [
            {"memory_id": id_, "place": place, "vector": vector_text(vector)}
            for id_, vectors in zip(ids, self.vectors, strict=True)
            for place, vector in enumerate(vectors[1:], 1)
        ]
        owner.run(INSERT_CHUNKS, rows=orjson.dumps(rows).decode(), namespace=namespace)

    def found(self, vector: Vector) -> list[int]:
        """Return the numbers of the ten memories that a search by meaning finds."""
        query = SearchQuery(query="x", mode=SearchMode.SEMANTIC, limit=10)
        return [int(hit.id) % MEMORIES for hit in find(self.store, query, vector).hits]

    def nearest(self, vector: Vector) -> set[int]:
        """Return the numbers of the ten memories with the nearest chunks."""
        return {*np.argsort(-(self.vectors @ vector).max(axis=1))[:10].tolist()}


@pytest.fixture(scope="module")
def filled(cluster: postgres.EmbeddedPostgres, filled_database: str) -> Iterator[dict[int, Chunks]]:
    """Namespaces by the number of chunks that each of their memories has.

    The vector indexes are built after all memories were stored, to save time.
    """
    connect = connection_factory(cluster.url(postgres.OWNER, filled_database), socket_timeout=None, statement_seconds=0)
    with (
        closing(connect()) as owner,
        closing(Pool(connection_factory(cluster.url(postgres.RUNTIME_USER, filled_database)), 1)) as pool,
    ):
        indexes = owner.run("SELECT indexname, indexdef FROM pg_indexes WHERE indexdef LIKE '%USING hnsw%'")
        owner.run_file("; ".join(f"DROP INDEX {name}" for name, _ in indexes))
        database = MemoryDatabase(pool, FAKE_SPACE)
        namespaces = {count: Chunks(database, owner, f"ns {count}", count) for count in (4, 16)}
        # An index with fewer neighbours is built in a third of the time, and has a lower recall.
        owner.run_file("; ".join(statement.replace("'200'", "'64'") for _, statement in indexes))
        yield namespaces


@pytest.fixture(params=[4, 16], ids=["few chunks", "many chunks"])
def chunks(request: pytest.FixtureRequest, filled: dict[int, Chunks]) -> Chunks:
    return filled[request.param]


def test_a_memory_is_found_by_each_of_its_chunks(chunks: Chunks) -> None:
    picks = np.random.default_rng(8).integers((MEMORIES, chunks.vectors.shape[1]), size=(QUERIES, 2))
    assert [chunks.found(chunks.vectors[n, place])[0] for n, place in picks] == picks[:, 0].tolist()


def test_the_memories_with_the_nearest_chunks_are_found(chunks: Chunks) -> None:
    queries = np.random.default_rng(9).normal(size=(QUERIES, FAKE_SPACE.dimension)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    shares = [len(chunks.nearest(query) & {*chunks.found(query)}) / 10 for query in queries]
    assert np.mean(shares) >= 0.99
