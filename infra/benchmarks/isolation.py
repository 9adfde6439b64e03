"""Measure how much longer searches take with row-level security than without it.

The searches without row-level security are made as the owner of the tables. The searched namespace has nine tenths of
all memories.
"""

import time
from collections.abc import Callable
from typing import LiteralString

import numpy as np

from infra.benchmarks.database import new_database, opened, owner_of
from infra.benchmarks.figures import Figure
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.memory_database import MemoryDatabase
from mnemosyne.cli.local import postgres
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.search import Filters, SearchMode, SearchQuery
from mnemosyne.ports.embedder import Vector
from mnemosyne.service import search as search_service

SPACE = EmbeddingSpace("offline", "bench", 64)
REPEATS = 40

FILL = """
INSERT INTO memories (
    id, namespace, "timestamp", content, title, tags, tag_keys, content_hash, embedding_model, embedding
)
SELECT gen_random_uuid(), CASE WHEN n % 10 = 0 THEN 'small' ELSE 'large' END,
    timestamptz '2025-01-01' + n * interval '1 min', text_, left(text_, 50), tags, tags,
    encode(sha256(convert_to(n || text_, 'UTF8')), 'hex'), 'bench', query_vector
FROM (
    SELECT n,
        'memory ' || n || ' about ' || md5(CAST(n % 5000 AS text)) || ' and ' || md5(CAST(n % 50 AS text)) AS text_,
        CASE WHEN n % 500 = 0 THEN ARRAY['rare'] WHEN n % 5 = 0 THEN ARRAY['common'] ELSE '{}' END AS tags,
        (SELECT CAST(array_agg(random() - 0.5 + centre) AS halfvec(64))
         FROM (SELECT sin(n % 150 * g) AS centre FROM generate_series(1, 64) AS g) AS c) AS query_vector
    FROM generate_series(1, CAST(:rows AS integer)) AS n
) AS made
"""

LARGE_INDEXES = """
SELECT indexname AS name, indexdef AS definition FROM pg_indexes
WHERE tablename IN ('memories', 'memory_words') AND (indexdef LIKE '% USING gin %' OR indexdef LIKE '% USING hnsw %')
"""


def prepare(owner: Connection, rows: int, change: LiteralString = "") -> None:
    """Fill the table of memories, and run the SQL in the argument `change`.

    The large indexes (GIN and HNSW) are dropped first, and built after the SQL has run. At the end the statistics are
    updated.
    """
    indexes = owner.run(LARGE_INDEXES)
    owner.script("; ".join(f"DROP INDEX {index['name']}" for index in indexes))
    owner.run(FILL, rows=rows)
    owner.script(change)
    owner.script("; ".join(["SET maintenance_work_mem = '2GB'", *(index["definition"] for index in indexes)]))
    owner.script("VACUUM ANALYZE memories")


def searches(database: MemoryDatabase) -> dict[str, Callable[[], object]]:
    """Return functions by name. Each function runs one kind of search once, or lists the newest memories once."""
    random = np.random.default_rng(7)
    store = MemoryStore(database, "large")

    def vector() -> Vector:
        numbers = random.standard_normal(SPACE.dimension)
        return np.asarray(numbers / np.linalg.norm(numbers), dtype=np.float32)

    def search(query: SearchQuery, query_vector: Vector | None) -> object:
        ranked, _ = search_service.rank(query, query_vector, memories=store, model=SPACE.model, lexical_weight=0.5)
        return store.read_hits(query, ranked[: query.limit])

    words = "what about c4ca4238a0b923820dcc509a6f75849b"
    return {
        "meaning": lambda: search(SearchQuery(query="x", mode=SearchMode.SEMANTIC), vector()),
        "meaning, 20 % tag": lambda: search(
            SearchQuery(query="x", mode=SearchMode.SEMANTIC, filters=Filters(tags=("common",))), vector()
        ),
        "meaning, rare tag": lambda: search(
            SearchQuery(query="x", mode=SearchMode.SEMANTIC, filters=Filters(tags=("rare",))), vector()
        ),
        "words": lambda: search(SearchQuery(query=words, mode=SearchMode.HYBRID), None),
        "hybrid": lambda: search(SearchQuery(query=words, mode=SearchMode.HYBRID), vector()),
        "newest, rare tag": lambda: store.list(Filters(tags=("rare",)), 10),
        "newest": lambda: store.list(Filters(), 10),
    }


def measure_alternately(*databases: MemoryDatabase) -> dict[str, list[list[float]]]:
    """Run each kind of search REPEATS times in each database. Return the seconds of each search, by kind and database.

    The databases alternate, so that changes of the machine's speed affect all equally.
    """
    kinds = [searches(database) for database in databases]
    times: dict[str, list[list[float]]] = {}
    for name in kinds[0]:
        times[name] = [[] for _ in databases]
        for _ in range(REPEATS):
            for kind, durations in zip(kinds, times[name], strict=True):
                started = time.perf_counter()
                kind[name]()
                durations.append(time.perf_counter() - started)
    return times


def figures(rows: int) -> list[Figure]:
    """Measure searches in a namespace that owns nine tenths of `rows` memories, and return the figures."""
    with new_database(SPACE) as (server, _):
        with owner_of(server) as owner:
            prepare(owner, rows)
        with opened(server, SPACE) as isolated, opened(server, SPACE, user=postgres.OWNER) as free:
            measure_alternately(isolated, free)  # warm the caches
            times = measure_alternately(isolated, free)
    return [
        Figure.of(f"{name}, isolated / as the owner, {rows:,}", [a / b for a, b in zip(*pair, strict=True)], 1.2)
        for name, pair in times.items()
    ]
