"""Move all memories to another embedding space. Meanwhile, memories can be stored and searched.

Batches fill a second column and a second table of chunks with the new embeddings. An interrupted run can be continued.
At the end, one short transaction replaces the old embeddings by the new ones. The move needs the rights of the schema's
owner.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Final

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memory_database import read_embedding_space
from mnemosyne.adapters.database.rows import chunk_row, json_text
from mnemosyne.adapters.database.statements import Row
from mnemosyne.domain.chunking import embed_whole
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.memory import embedded_text
from mnemosyne.errors import Conflict, InvalidRequest, ItemUnavailable
from mnemosyne.observability import EventLog
from mnemosyne.ports.embedder import Embedder

log = EventLog(__name__)

STRAGGLERS = 50
"""The switch to the new embeddings is made if at most this number of memories have no new embedding. The switch embeds
these memories itself, and searches may have to wait for it. If more memories have no new embedding, another batch is
embedded before the switch is tried again."""

_UNDER_WAY: Final = "SELECT next_provider, next_model, next_dimension FROM embedding_space FOR UPDATE"
_BEGIN: Final = """
UPDATE embedding_space SET next_provider = :provider, next_model = :model, next_dimension = :dimension
"""
_PREPARE: Final = """
DO $$
BEGIN
    EXECUTE format('ALTER TABLE memories ADD COLUMN IF NOT EXISTS embedding_next halfvec(%s)',
        (SELECT next_dimension FROM embedding_space));
    ALTER TABLE memories ALTER COLUMN embedding_next SET STORAGE PLAIN;
    ALTER TABLE memories ADD COLUMN IF NOT EXISTS embedding_model_next text;
    IF to_regclass('memory_chunks_next') IS NULL THEN
        CREATE TABLE memory_chunks_next (LIKE memory_chunks INCLUDING CONSTRAINTS) WITH (toast_tuple_target = 8160);
        ALTER TABLE memory_chunks_next DROP COLUMN embedding;
        EXECUTE format('ALTER TABLE memory_chunks_next ADD COLUMN embedding halfvec(%s) NOT NULL',
            (SELECT next_dimension FROM embedding_space));
        ALTER TABLE memory_chunks_next
            ALTER COLUMN embedding SET STORAGE PLAIN,
            ADD CONSTRAINT memory_chunks_next_pkey PRIMARY KEY (memory_id, chunk_index),
            ADD CONSTRAINT memory_chunks_next_memory_id_fkey
                FOREIGN KEY (memory_id) REFERENCES memories ON DELETE CASCADE;
        CREATE INDEX memory_chunks_next_namespace ON memory_chunks_next (namespace);
        ALTER TABLE memory_chunks_next ENABLE ROW LEVEL SECURITY;
        CREATE POLICY namespace_isolation ON memory_chunks_next
            TO mnemosyne_runtime, mnemosyne_ingest, mnemosyne_dead_letter
            USING (namespace = current_setting('mnemosyne.namespace', true));
        GRANT SELECT, INSERT ON memory_chunks_next TO mnemosyne_runtime;
    END IF;
    GRANT INSERT ON memory_chunks_next TO mnemosyne_ingest, mnemosyne_dead_letter;
END
$$
"""
_INDEX_MISSING: Final = (
    "CREATE INDEX CONCURRENTLY IF NOT EXISTS memories_not_reembedded ON memories (id) WHERE embedding_next IS NULL"
)
_MISSING: Final = "SELECT count(*) AS missing FROM memories WHERE embedding_next IS NULL"
_BATCH: Final = """
SELECT id, namespace, title, tags, content FROM memories
WHERE embedding_next IS NULL ORDER BY id LIMIT CAST(:limit AS integer)
"""
_FILL: Final = """
WITH filled AS (
    UPDATE memories m SET embedding_next = CAST(v.embedding AS halfvec), embedding_model_next = :model
    FROM jsonb_to_recordset(CAST(:vectors AS jsonb)) AS v (memory_id uuid, chunk_index integer, embedding text)
    WHERE m.id = v.memory_id AND v.chunk_index = 0
    RETURNING m.id, m.namespace
)
INSERT INTO memory_chunks_next (memory_id, chunk_index, namespace, embedding)
SELECT v.memory_id, v.chunk_index, filled.namespace, CAST(v.embedding AS halfvec)
FROM jsonb_to_recordset(CAST(:vectors AS jsonb)) AS v (memory_id uuid, chunk_index integer, embedding text)
JOIN filled ON filled.id = v.memory_id
WHERE v.chunk_index > 0
ON CONFLICT (memory_id, chunk_index) DO UPDATE SET embedding = EXCLUDED.embedding
"""
_INDEX_MEMORIES: Final = """
CREATE INDEX CONCURRENTLY IF NOT EXISTS memories_embedding_next ON memories
    USING hnsw (embedding_next halfvec_cosine_ops) WITH (m = 16, ef_construction = 200)
"""
_INDEX_CHUNKS: Final = """
CREATE INDEX CONCURRENTLY IF NOT EXISTS memory_chunks_embedding_next ON memory_chunks_next
    USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 200)
"""
# Drop invalid indexes. An interrupted CREATE INDEX CONCURRENTLY leaves such an index.
_DROP_BROKEN_INDEXES: Final = """
DO $$
DECLARE
    broken record;
BEGIN
    FOR broken IN
        SELECT CAST(indexrelid AS regclass) AS name FROM pg_index
        WHERE NOT indisvalid AND indrelid IN (CAST('memories' AS regclass), to_regclass('memory_chunks_next'))
    LOOP
        EXECUTE 'DROP INDEX ' || broken.name;
    END LOOP;
END
$$
"""
# The switch locks the tables in the order in which searches and stores lock them. With a different order, the switch
# could deadlock with a search or a store.
_LOCK: Final = "LOCK TABLE embedding_space, memories, memory_chunks, memory_chunks_next IN ACCESS EXCLUSIVE MODE"
_SWITCH: Final = """
UPDATE embedding_space SET
    previous_provider = provider,
    previous_model = model,
    previous_dimension = (
        SELECT atttypmod FROM pg_attribute
        WHERE attrelid = CAST('memories' AS regclass) AND attname = 'embedding'
    ),
    provider = next_provider, model = next_model,
    next_provider = NULL, next_model = NULL, next_dimension = NULL;
DROP INDEX memories_not_reembedded;
ALTER TABLE memories DROP COLUMN embedding, DROP COLUMN embedding_model;
ALTER TABLE memories RENAME COLUMN embedding_next TO embedding;
ALTER TABLE memories RENAME COLUMN embedding_model_next TO embedding_model;
ALTER TABLE memories ALTER COLUMN embedding SET NOT NULL, ALTER COLUMN embedding_model SET NOT NULL;
ALTER INDEX memories_embedding_next RENAME TO memories_embedding;
DROP TABLE memory_chunks;
ALTER TABLE memory_chunks_next RENAME TO memory_chunks;
ALTER TABLE memory_chunks RENAME CONSTRAINT memory_chunks_next_pkey TO memory_chunks_pkey;
ALTER TABLE memory_chunks RENAME CONSTRAINT memory_chunks_next_memory_id_fkey TO memory_chunks_memory_id_fkey;
ALTER INDEX memory_chunks_embedding_next RENAME TO memory_chunks_embedding;
ALTER INDEX memory_chunks_next_namespace RENAME TO memory_chunks_namespace;
SELECT fit_rows_to_pages((
    SELECT atttypmod FROM pg_attribute WHERE attrelid = CAST('memories' AS regclass) AND attname = 'embedding'
));
"""
_ABANDON: Final = """
DROP TABLE IF EXISTS memory_chunks_next;
ALTER TABLE memories DROP COLUMN IF EXISTS embedding_next, DROP COLUMN IF EXISTS embedding_model_next;
UPDATE embedding_space SET next_provider = NULL, next_model = NULL, next_dimension = NULL;
"""


class Reembedding:
    """Moves all memories to the embedding space of an embedder.

    After an interruption, a new object with the same embedder continues the move.
    """

    def __init__(self, connection: Connection, embedder: Embedder, target: EmbeddingSpace) -> None:
        self._connection = connection
        self._embedder = embedder
        self._target = target

    def begin(self) -> None:
        """Begin the move: create the columns and the table of the new embeddings.

        Raises Conflict if the memories are already in the embedding space of the embedder, or if a move to a different
        embedding space is in progress.
        """
        current = read_embedding_space(self._connection)
        if current == self._target:
            raise Conflict(f"the memories are already embedded by {current}")
        with self._connection.transaction():
            row = self._connection.one(_UNDER_WAY)
            other = EmbeddingSpace(row["next_provider"], row["next_model"], row["next_dimension"])
            if other.model is not None and other != self._target:
                raise Conflict(f"a move to {other} is in progress: finish it, or abandon it with --abandon")
            self._connection.run(_BEGIN, **asdict(self._target))
            self._connection.script(_PREPARE)
        with self._without_time_limits():
            self._connection.script(_DROP_BROKEN_INDEXES)
            self._connection.script(_INDEX_MISSING)

    def missing(self) -> int:
        """Return the number of memories without a new embedding."""
        return int(self._connection.one(_MISSING)["missing"])

    def fill(self, limit: int) -> int:
        """Embed up to `limit` memories, commit the embeddings, and return the number of embedded memories.

        Raises Unavailable if the embedder fails, and Conflict if the embedder refuses the text of a memory. If the
        embedder fails for one memory but not for others, or refuses one memory, the error names this memory.
        """
        batch = self._connection.run(_BATCH, limit=limit)
        if batch:
            self._connection.run(_FILL, model=self._target.model, vectors=json_text(self._embed_rows(batch)))
        return len(batch)

    def index(self) -> None:
        """Build the indexes of the new embeddings."""
        with self._without_time_limits():
            self._connection.script(_INDEX_MEMORIES)
            self._connection.script(_INDEX_CHUNKS)

    @contextmanager
    def _without_time_limits(self) -> Iterator[None]:
        """Within the `with` block, lift the time limits of statements and locks.

        Creating an index takes minutes, and first waits for open transactions. If a time limit stopped the creation, an
        invalid index would remain, which the next run would have to drop and build again.
        """
        self._connection.script("SET statement_timeout = 0; SET lock_timeout = 0")
        yield
        self._connection.script("RESET statement_timeout; RESET lock_timeout")

    def switch(self) -> bool:
        """Replace the old embeddings by the new ones, and return True.

        If more than STRAGGLERS memories have no new embedding, the method changes nothing and returns False. Otherwise
        it embeds these memories before it locks the tables. Searches and stores wait only for the embedding of memories
        that are stored before the lock, and for the switch itself.
        """
        if (missing := self.missing()) <= STRAGGLERS:
            self.fill(missing)  # before the lock, so that searches do not wait for a model that does not answer
        with self._connection.transaction():
            self._connection.script("SET LOCAL lock_timeout = '5s'")
            self._connection.script(_LOCK)
            missing = self.missing()
            if missing <= STRAGGLERS:
                if missing:
                    self.fill(missing)
                self._connection.script(_SWITCH)
        if missing <= STRAGGLERS:
            self._connection.script("ANALYZE memories")
            log.info("reembedded", model=self._target.model, dimension=self._target.dimension)
        return missing <= STRAGGLERS

    def _embed_rows(self, batch: Sequence[Row]) -> list[dict[str, object]]:
        contents = [embedded_text(row["title"], row["tags"], row["content"]) for row in batch]
        try:
            embeddings = embed_whole(contents, self._embedder.chunk_limit, self._embedder.embed_documents)
        except (InvalidRequest, ItemUnavailable) as exc:
            if len(batch) > 1:
                return [vector_row for row in batch for vector_row in self._embed_rows([row])]
            memory = f"memory {batch[0]['id']} of namespace {batch[0]['namespace']!r}"
            if isinstance(exc, ItemUnavailable):
                problem = f"{self._target.model} fails for {memory}, but not for another text"
                raise ItemUnavailable(problem, next_step="if this lasts, delete it first", detail=str(exc)) from exc
            raise Conflict(f"{self._target.model} refuses {memory}: {exc}; delete it first") from exc
        return [
            chunk_row(row["id"], index, vector)
            for row, vectors in zip(batch, embeddings, strict=True)
            for index, vector in enumerate(vectors)
        ]


def abandon(connection: Connection) -> None:
    """Abandon a move: drop the new embeddings, and keep the old embeddings. Raises Conflict if there is no move."""
    with connection.transaction():
        if connection.one(_UNDER_WAY)["next_model"] is None:
            raise Conflict("no move is in progress, so there is none to abandon")
        connection.script(_ABANDON)
