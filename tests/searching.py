"""Insert memories and search a store with given vectors, without an embedder."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from mnemosyne.adapters.database import memories_sql, rows
from mnemosyne.domain.candidates import Candidates
from mnemosyne.domain.search import SearchQuery
from mnemosyne.ports.embedder import Vector
from mnemosyne.service import search
from mnemosyne.service.search import SearchResult
from tests.fakes import NOW

if TYPE_CHECKING:
    from mnemosyne.adapters.database.connections import Connection
    from mnemosyne.adapters.database.memories import MemoryStore

VECTOR_INDEX = """
CREATE INDEX memories_embedding ON memories USING hnsw (embedding halfvec_cosine_ops)
WITH (m = 16, ef_construction = 200)
"""
"""The statement with which the migrations create the vector index. A test that stores thousands of memories drops the
index first and builds it afterwards. This takes a third as long as storing the memories while the index exists."""


def find(
    store: "MemoryStore",
    query: SearchQuery,
    vector: Vector | None,
    *,
    model: str = "fake",
    lexical_weight: float = 0.5,
) -> SearchResult:
    """Rank the query's candidates and read the hits."""
    ranked, candidates = search.rank(query, vector, memories=store, model=model, lexical_weight=lexical_weight)
    hits = store.read_hits(query, ranked[: query.limit])
    return SearchResult(hits=hits, strategy=candidates.strategy, considered=candidates.listed)


def candidates(store: "MemoryStore", query: str, vector: Vector | None, **fields: Any) -> Candidates:
    """Look up the candidates of a search, hybrid unless `mode` says otherwise."""
    return store.find_candidates(SearchQuery(query=query, **fields), vector, model="fake", count=100, excluded={})


_INSERT = """
INSERT INTO memories (
    id, namespace, "timestamp", content, title, tags, tag_keys, metadata, content_hash, embedding_model, embedding)
SELECT coalesce(id, gen_random_uuid()), :namespace, CAST(:start AS timestamptz) + coalesce(seconds, 0) * interval '1 s',
    content, content, coalesce(tags, '{}'), coalesce(tags, '{}'), coalesce(metadata, '{}'),
    encode(sha256(convert_to(:namespace || content, 'UTF8')), 'hex'), 'fake', CAST(vector AS halfvec)
FROM jsonb_to_recordset(CAST(:rows AS jsonb))
    AS r (id uuid, content text, seconds integer, tags text[], metadata jsonb, vector text)
"""


def insert(owner: "Connection", namespace: str, memories: Iterable[Mapping[str, object]]) -> None:
    """Insert thousands of memories as the owner of the schema, with the vectors that the test has chosen.

    A memory has `content` and `vector`. It may have `id`, `tags`, `metadata`, and the time in `seconds` after NOW.
    """
    values = [{**memory, "vector": rows.vector_text(memory["vector"])} for memory in memories]  # type: ignore[arg-type]
    owner.run(_INSERT, namespace=namespace, start=NOW, rows=orjson.dumps(values).decode())


_ROWS_READ = """
SELECT CAST(seq_tup_read + idx_tup_fetch AS integer) AS n FROM pg_stat_xact_user_tables WHERE relname = 'memories'
"""


def count_rows_read(owner: "Connection", query: SearchQuery, vector: Vector | None) -> int:
    """Look up the candidates of a search as the owner of the schema, and count the rows of memories that it reads."""
    with owner.transaction():
        owner.run(
            memories_sql.FIND_CANDIDATES,
            names="{}",
            namespace="ns",
            mode=query.mode.value,
            query=query.query,
            vector=None if vector is None else rows.vector_text(vector),
            model="fake",
            filters=rows.filters_json(query.filters),
            limit=query.limit,
            candidates=100,
        )
        read: int = owner.one(_ROWS_READ)["n"]
    return read
