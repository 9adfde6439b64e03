"""Memories and ingest requests in PostgreSQL with pgvector. Each statement is constant and stands in `sql`."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from uuid import UUID

import orjson

from mnemosyne.adapters import sql
from mnemosyne.adapters.claim import PostgresClaim, claim_requests
from mnemosyne.adapters.connections import Pool, Session
from mnemosyne.adapters.embedding_space import read_space
from mnemosyne.adapters.ingest_requests import PostgresRequests
from mnemosyne.adapters.known_contents import KnownContents
from mnemosyne.adapters.known_quotas import KnownQuotas
from mnemosyne.adapters.rows import (
    filter_values,
    read_hit,
    read_memory,
    read_quota,
    text_array,
    vector_text,
)
from mnemosyne.domain.chronicle import one_line, tag_key
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.memory import (
    ExportedMemory,
    IngestRequest,
    ListPosition,
    Memory,
    MemoryChange,
    MemoryHead,
    Rating,
    Stats,
)
from mnemosyne.domain.quota import Quota
from mnemosyne.domain.search import Filters, Ranking, SearchQuery
from mnemosyne.errors import Conflict, NotFound, OverQuota, SpaceChanged
from mnemosyne.ports import Vector


class PostgresStore(PostgresRequests):
    """The MemoryStore on PostgreSQL.

    Every transaction first names its namespace; row-level security then confines whatever it runs.
    """

    def __init__(self, pool: Pool, expected: EmbeddingSpace) -> None:
        self._pool = pool
        self._expected = expected
        self._space: EmbeddingSpace | None = None
        self._known = KnownContents()
        self._quotas = KnownQuotas(self.quota)

    @property
    def space(self) -> EmbeddingSpace:
        """The space the memories are in, as last read; raises Misconfigured where it is not the settings'."""
        with self._session():
            pass
        return self._space or self._expected

    @contextmanager
    def _session(self) -> Iterator[Session]:
        if self._space is not None:
            with self._pool.session() as session:
                yield session
            return
        with self._pool.session() as session:
            self._space = read_space(session, self._expected)
            yield session

    @contextmanager
    def _transaction(self, namespace: str) -> Iterator[Session]:
        with self._session() as session, session.transaction():
            session.run(sql.ENTER_NAMESPACE, namespace=namespace)
            yield session

    @contextmanager
    def claim(self, namespace: str, requests: Sequence[IngestRequest]) -> Iterator["PostgresClaim"]:
        """Claim the requests under locks that end with the transaction, whatever becomes of this process."""
        known = self._known.among(namespace, requests)
        with self._session() as session, ExitStack() as transaction:
            claim = claim_requests(session, namespace, requests, known, transaction)
            try:
                yield claim
            except SpaceChanged:
                self._space = None
                raise
        self._known.add(namespace, claim.stored_contents)

    def quota(self, namespace: str) -> Quota:
        """What the namespace holds, and what it may hold."""
        with self._transaction(namespace) as session:
            return _quota(session)

    def known_quota(self, namespace: str) -> Quota | None:
        """What is known of it without waiting for the database."""
        return self._quotas.of(namespace)

    def search(
        self, namespace: str, query: SearchQuery, vector: Vector | None, *, model: str, lexical_weight: float
    ) -> Ranking:
        """The best memories within the filters, in one round trip; by words alone where there is no vector."""
        with self._session() as session:
            rows = session.run(
                sql.SEARCH,
                namespace=namespace,
                mode=query.mode.value,
                query=query.query,
                vector=None if vector is None else vector_text(vector),
                model=model,
                include_superseded=query.filters.include_superseded,
                limit=query.limit,
                quality_weight=query.quality_weight,
                lexical_weight=lexical_weight,
                characters=query.characters,
                **filter_values(query.filters),
            )
        found = rows[0][0]
        if found is None:
            self._space = None
            raise SpaceChanged(f"the memories are no more in the space of {model}")
        return Ranking(
            hits=[read_hit(hit) for hit in found["hits"]],
            strategy=found["strategy"],
            considered=found["considered"],
        )

    def fetch(self, namespace: str, memory_id: UUID, *, counted: bool = True) -> Memory | None:
        """One memory, whole; counted as read, or not."""
        with self._transaction(namespace) as session:
            rows = session.run(sql.FETCH if counted else sql.READ, namespace=namespace, id=memory_id)
        return read_memory(rows[0]) if rows else None

    def list(
        self, namespace: str, filters: Filters, limit: int, *, beyond: ListPosition | None = None
    ) -> Sequence[MemoryHead]:
        """The newest memories within the filters, from beyond a position on."""
        with self._session() as session:
            rows = session.run(
                sql.LIST,
                namespace=namespace,
                limit=limit,
                include_superseded=filters.include_superseded,
                beyond_timestamp=beyond.timestamp if beyond else None,
                beyond_id=beyond.id if beyond else None,
                **filter_values(filters),
            )
        return [
            MemoryHead(
                id=row[0],
                timestamp=row[1],
                title=one_line(row[2]),
                tags=tuple(map(one_line, row[3])),
                superseded_by=row[4],
            )
            for row in rows
        ]

    def delete(self, namespace: str, memory_id: UUID) -> str | None:
        """Delete one memory; its title, or None where there is none."""
        with self._transaction(namespace) as session:
            session.run(sql.LOCK_SUPERSESSION, namespace=namespace)
            session.run(sql.BRIDGE, namespace=namespace, id=memory_id)
            rows = session.run(sql.DELETE, namespace=namespace, id=memory_id)
        return one_line(rows[0][0]) if rows else None

    def update(self, namespace: str, memory_id: UUID, change: MemoryChange) -> Memory | None:
        """The memory after the change, or None where there is none."""
        with self._transaction(namespace) as session:
            if change.superseded_by is not None:
                session.run(sql.LOCK_SUPERSESSION, namespace=namespace)
                _check_supersession(session, namespace, memory_id, change.superseded_by)
            before = _quota(session)
            rows = session.run(
                sql.UPDATE,
                namespace=namespace,
                id=memory_id,
                title=change.title,
                tags=None if change.tags is None else text_array(change.tags),
                tag_keys=None if change.tags is None else text_array([tag_key(tag) for tag in change.tags]),
                metadata=None if change.metadata is None else orjson.dumps(change.metadata).decode(),
                superseded_by=change.superseded_by,
                not_superseded=change.not_superseded,
            )
            if (grown := _quota(session).bytes - before.bytes) > 0 and before.beyond_bytes(grown):
                raise OverQuota(
                    f"{before.refusal(datetime.now(UTC), memories=0, size=grown, texts=0)}; nothing was changed"
                )
        return read_memory(rows[0]) if rows else None

    def rate(self, namespace: str, memory_id: UUID, rating: int, reason: str | None) -> Rating | None:
        """Record a rating; quality before and after, or None where there is no such memory."""
        with self._transaction(namespace) as session:
            rows = session.run(sql.RATE, namespace=namespace, id=memory_id, rating=rating, reason=reason)
        return Rating(before=rows[0][0], after=rows[0][1]) if rows else None

    def export(self, namespace: str, limit: int, *, beyond: ExportedMemory | None = None) -> Sequence[ExportedMemory]:
        """Memories by time and then content hash, whatever their ids, from beyond one on."""
        with self._transaction(namespace) as session:
            rows = session.run(
                sql.EXPORT,
                namespace=namespace,
                limit=limit,
                beyond_timestamp=beyond.timestamp if beyond else None,
                beyond_hash=beyond.content_hash if beyond else None,
            )
        return [
            ExportedMemory(
                id=row[0],
                timestamp=row[1],
                content=row[2],
                title=row[3],
                tags=tuple(row[4]),
                metadata=row[5],
                content_hash=row[6],
                superseded_by_hash=row[7],
                created_at=row[8],
            )
            for row in rows
        ]

    def stats(self, namespace: str) -> Stats:
        """The namespace in figures."""
        with self._transaction(namespace) as session:
            ((oldest, newest, pending, dead_lettered, letters),) = session.run(sql.STATS, namespace=namespace)
            tags = session.run(sql.TOP_TAGS, namespace=namespace)
            quota = _quota(session)
        vectors = 2 * (self._space or self._expected).dimension * quota.memories
        return Stats(
            quota=quota,
            memories=quota.memories,
            tags={one_line(row[0]): row[1] for row in tags},
            pending=pending,
            dead_lettered=dead_lettered,
            dead_letters=letters,
            oldest=oldest,
            newest=newest,
            storage_bytes=quota.bytes + vectors,
        )


def _quota(session: Session) -> Quota:
    (used,) = session.run(sql.USAGE)
    return read_quota(used)


def _check_supersession(session: Session, namespace: str, memory_id: UUID, successor: UUID) -> None:
    chain = [row[0] for row in session.run(sql.SUPERSEDED_CHAIN, namespace=namespace, id=successor)]
    if not chain:
        raise NotFound(f"superseded_by must be the id of a memory, and no memory has the id {successor}")
    if memory_id in chain:
        raise Conflict(f"memory {successor} is itself superseded, in the end by {memory_id}: a circle would hide both")
