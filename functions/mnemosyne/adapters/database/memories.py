"""Memories in PostgreSQL with pgvector. The statements are in `memories_sql`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from uuid import UUID

from mnemosyne.adapters.database import memories_sql, rows
from mnemosyne.adapters.database.bulk_changes import PostgresBulkChanges, check_growth, usage
from mnemosyne.adapters.database.claim import PostgresClaim, claim_requests
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.console_queries import PostgresConsoleQueries
from mnemosyne.adapters.database.content_cache import ContentCache
from mnemosyne.adapters.database.dead_letters import PostgresDeadLetters
from mnemosyne.adapters.database.embedding_space import read_embedding_space
from mnemosyne.adapters.database.ingest_requests import PostgresRequests
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.database.quota_cache import QuotaCache
from mnemosyne.domain.candidates import Candidates, Ranked
from mnemosyne.domain.chronicle import tag_key
from mnemosyne.domain.console_queries import ListedMemory
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.languages import Languages
from mnemosyne.domain.memory import (
    EXPORT_BYTES,
    Cursor,
    ExportedMemory,
    IngestRequest,
    KeysetCursor,
    Memory,
    MemorySummary,
    Stats,
)
from mnemosyne.domain.memory_changes import DeletedMemory, GivenRating, MemoryChange, Rating
from mnemosyne.domain.quota import Quota
from mnemosyne.domain.search import EVERY_MEMORY, Filters, Hit, SearchQuery
from mnemosyne.domain.visible import one_line
from mnemosyne.errors import Conflict, EmbeddingModelChanged, NotFound
from mnemosyne.ports.embedder import Vector

BYTES_OF_COORDINATE = 2
"""Of a halfvec: https://github.com/pgvector/pgvector#halfvec-type."""


class PostgresMemories(PostgresRequests, PostgresDeadLetters, PostgresConsoleQueries, PostgresBulkChanges):
    """The MemoryStore on PostgreSQL.

    Every transaction first names its namespace; row-level security then confines whatever it runs.
    """

    def __init__(self, pool: Pool, expected: EmbeddingSpace, *, immutable_sources: Collection[str] = ()) -> None:
        self._immutable_sources = frozenset(immutable_sources)
        self._pool = pool
        self._expected = expected
        self._space: EmbeddingSpace | None = None
        self._content_cache = ContentCache()
        self._quotas = QuotaCache(self.quota)

    @property
    def embedding_space(self) -> EmbeddingSpace:
        """The space the memories are in, as last read; raises Misconfigured if it differs from the settings."""
        if self._space is None:  # a known one takes no connection: claims may hold all while they embed
            with self._connection():
                pass
        return self._space or self._expected

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        if self._space is not None:
            with self._pool.connection() as connection:
                yield connection
            return
        with self._pool.connection() as connection:
            self._space = read_embedding_space(connection, self._expected)
            yield connection

    @contextmanager
    def _transaction(self, namespace: str) -> Iterator[Connection]:
        with self._connection() as connection, connection.transaction():
            connection.run(memories_sql.ENTER_NAMESPACE, namespace=namespace)
            yield connection

    @contextmanager
    def claim(self, namespace: str, requests: Sequence[IngestRequest]) -> Iterator["PostgresClaim"]:
        """Claim requests with locks that end with the connection, even if this process is killed."""
        cached = self._content_cache.among(namespace, requests)
        with self._connection() as connection, ExitStack() as locks:
            claim = claim_requests(
                connection, namespace, requests, cached, locks, immutable_sources=self._immutable_sources
            )
            try:
                yield claim
            except EmbeddingModelChanged:
                self._space = None
                raise
        self._content_cache.add(namespace, claim.stored_contents)

    def quota(self, namespace: str) -> Quota:
        """Return the usage and the limits of the namespace."""
        with self._transaction(namespace) as connection:
            return usage(connection)

    def known_quota(self, namespace: str) -> Quota | None:
        """Return the cached quota without waiting for the database; None if there is none."""
        return self._quotas.of(namespace)

    def find_candidates(
        self,
        namespace: str,
        query: SearchQuery,
        vector: Vector | None,
        *,
        model: str,
        count: int,
        excluded: Mapping[str, Collection[str]],
    ) -> Candidates:
        """Find up to `count` memories by vector and as many by words, in one round trip."""
        with self._connection() as connection:
            candidates = connection.one(
                memories_sql.FIND_CANDIDATES,
                namespace=namespace,
                mode=query.mode.value,
                query=query.query,
                vector=None if vector is None else rows.vector_text(vector),
                model=model,
                filters=rows.filters_json(query.filters, excluded),
                limit=query.limit,
                candidates=count,
            )["candidates"]
        if candidates is None:
            self._space = None
            raise EmbeddingModelChanged(f"the memories are no longer in the embedding space of {model}")
        return rows.read_candidates(candidates)

    def pairwise_cosines(self, namespace: str, ids: Sequence[str]) -> Sequence[Sequence[float | None]]:
        """Cosine of each pair of memories; None for a memory that was deleted."""
        with self._connection() as connection:
            cosines: Sequence[Sequence[float | None]] = connection.one(
                memories_sql.PAIRWISE_COSINES, namespace=namespace, ids=rows.uuid_array(ids)
            )["cosines"]
        return cosines

    def read_hits(self, namespace: str, query: SearchQuery, ranked: Sequence[Ranked]) -> Sequence[Hit]:
        """Read the memories in this order, cut to the characters that the query allows; deleted ones are left out."""
        with self._connection() as connection:
            records = connection.one(
                memories_sql.READ_HITS,
                namespace=namespace,
                ids=rows.uuid_array([entry.candidate.id for entry in ranked]),
                query=query.query,
                characters=query.characters,
                explain=query.explain,
            )["hits"]
        by_id = {entry.candidate.id: entry for entry in ranked}
        return [rows.read_hit(record, by_id[record["id"]], query) for record in records]

    def fetch(self, namespace: str, memory_id: UUID) -> Memory | None:
        """Read a memory with all fields."""
        with self._transaction(namespace) as connection:
            memories = connection.run(memories_sql.FETCH, namespace=namespace, id=memory_id)
        return rows.read_memory(memories[0]["record"]) if memories else None

    def list(
        self,
        namespace: str,
        filters: Filters,
        limit: int,
        *,
        after: Cursor | None = None,
        oldest_first: bool = False,
        beginning: int | None = None,
    ) -> Sequence[ListedMemory]:
        """List the newest memories that match the filters, or the oldest, after a cursor."""
        with self._connection() as connection:
            memories = connection.run(
                memories_sql.LIST,
                namespace=namespace,
                limit=limit,
                filters=rows.filters_json(filters),
                cursor_timestamp=after.timestamp if after else None,
                cursor_id=after.id if after else None,
                oldest_first=oldest_first,
                beginning=beginning,
            )
        return [rows.read_listed(row) for row in memories]

    def similar(self, namespace: str, memory_id: UUID) -> Sequence[MemorySummary]:
        """Up to three memories that nearly say the same, nearest first."""
        with self._connection() as connection:
            memories = connection.run(memories_sql.SIMILAR, namespace=namespace, id=memory_id)
        return [rows.read_summary(row) for row in memories]

    def delete(self, namespace: str, memory_id: UUID) -> DeletedMemory | None:
        """Delete a memory and return it; None if it does not exist. Memories that it superseded stay superseded."""
        with self._transaction(namespace) as connection:
            connection.run(memories_sql.LOCK_SUPERSESSION, namespace=namespace)
            connection.run(memories_sql.RELINK_SUPERSEDED, namespace=namespace, id=memory_id)
            deleted = connection.run(memories_sql.DELETE, namespace=namespace, id=memory_id)
        if not deleted:
            return None
        return DeletedMemory(title=one_line(deleted[0]["title"]), superseded=tuple(deleted[0]["superseded"]))

    def update(self, namespace: str, memory_id: UUID, change: MemoryChange) -> Memory | None:
        """Update a memory and return it; None if it does not exist."""
        with self._transaction(namespace) as connection:
            if change.superseded_by is not None:
                connection.run(memories_sql.LOCK_SUPERSESSION, namespace=namespace)
                _check_supersession(connection, namespace, memory_id, change.superseded_by)
            before = usage(connection)
            changed = connection.run(
                memories_sql.UPDATE,
                namespace=namespace,
                id=memory_id,
                title=change.title,
                tags=None if change.tags is None else rows.text_array(change.tags),
                tag_keys=None if change.tags is None else rows.text_array([tag_key(tag) for tag in change.tags]),
                metadata=None if change.metadata is None else rows.json_text(change.metadata),
                superseded_by=change.superseded_by,
                not_superseded=change.not_superseded,
            )
            check_growth(before, usage(connection))
        return rows.read_memory(changed[0]["record"]) if changed else None

    def rate(self, namespace: str, memory_id: UUID, rating: GivenRating) -> Rating | None:
        """Replace the rating of its rater; return the quality, or None if the memory does not exist."""
        with self._transaction(namespace) as connection:
            if not connection.run(memories_sql.LOCK_MEMORY, namespace=namespace, id=memory_id):
                return None
            rated = connection.one(
                memories_sql.RATE,
                namespace=namespace,
                id=memory_id,
                rated_by=rating.rated_by,
                rater_name=rating.rater_name,
                rating=rating.rating,
                reason=rating.reason,
            )
            counts = connection.one(memories_sql.RATINGS_COUNTED, namespace=namespace, id=memory_id)
        return Rating(**rated.named, **counts.named)

    def export(
        self,
        namespace: str,
        limit: int,
        *,
        after: KeysetCursor | None = None,
        filters: Filters = EVERY_MEMORY,
        memory_ids: Sequence[UUID] | None = None,
    ) -> Sequence[ExportedMemory]:
        """List memories after a cursor, by time and then content hash, about EXPORT_BYTES per page."""
        with self._connection() as connection:
            memories = connection.run(
                memories_sql.EXPORT,
                namespace=namespace,
                filters=rows.filters_json(filters),
                ids=None if memory_ids is None else rows.uuid_array(memory_ids),
                limit=limit,
                bytes=EXPORT_BYTES,
                cursor_timestamp=after.timestamp if after else None,
                cursor_hash=after.key if after else None,
            )
        return [rows.read_exported(row["record"], row["superseded_by_hash"]) for row in memories]

    def languages(self, namespace: str, query: str | None = None) -> Languages:
        """Return the languages of the namespace's sampled memories, and of a query."""
        with self._connection() as connection:
            row = connection.one(memories_sql.LANGUAGES, namespace=namespace, text=query)
        return Languages(sampled=row["sampled"] or 0, memories=row["languages"] or {}, query=row["text_in"])

    def stats(self, namespace: str) -> Stats:
        """Return the namespace in figures."""
        with self._transaction(namespace) as connection:
            figures = connection.one(memories_sql.STATS, namespace=namespace)
            tags = connection.run(memories_sql.TOP_TAGS, namespace=namespace)
            quota = usage(connection)
        vectors = BYTES_OF_COORDINATE * (self._space or self._expected).dimension * quota.memories
        return Stats(
            **figures.named,
            quota=quota,
            memories=quota.memories,
            tags={one_line(row["tag"]): row["memories"] for row in tags},
            storage_bytes=quota.bytes + vectors,
        )


def _check_supersession(connection: Connection, namespace: str, memory_id: UUID, successor: UUID) -> None:
    chain = [row["id"] for row in connection.run(memories_sql.SUPERSEDED_CHAIN, namespace=namespace, id=successor)]
    if not chain:
        raise NotFound(f"superseded_by must be the id of a memory, and no memory has the id {successor}")
    if memory_id in chain:
        raise Conflict(f"memory {successor} is itself superseded, in the end by {memory_id}: a circle would hide both")
