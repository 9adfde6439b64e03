"""Memories and ingest requests in PostgreSQL with pgvector. Each statement is constant and stands in `sql`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from uuid import UUID

import orjson

from mnemosyne.adapters import sql
from mnemosyne.adapters.connections import Pool, Row, Session
from mnemosyne.domain.chronicle import tag_key
from mnemosyne.domain.memory import IngestRequest, IngestState, IngestStatus, Memory, MemoryHead
from mnemosyne.domain.search import Filters, Hit, TagMatch
from mnemosyne.errors import Misconfigured
from mnemosyne.ids import new_id
from mnemosyne.ports import Vector


class PostgresStore:
    """The MemoryStore on PostgreSQL.

    Every transaction first names its namespace; row-level security then confines whatever it runs.
    """

    def __init__(self, pool: Pool, dimension: int) -> None:
        self._pool = pool
        self._dimension = dimension
        self._checked = False

    @contextmanager
    def _transaction(self, namespace: str) -> Iterator[Session]:
        with self._pool.session() as session:
            if not self._checked:
                check_dimension(session, self._dimension)
                self._checked = True
            with session.transaction():
                session.run(sql.ENTER_NAMESPACE, namespace=namespace)
                yield session

    @contextmanager
    def claim(self, namespace: str, requests: Sequence[IngestRequest]) -> Iterator["PostgresClaim"]:
        """Claim the requests under locks that end with the transaction, whatever becomes of this process."""
        with self._transaction(namespace) as session:
            yield PostgresClaim(session, namespace, requests)

    def record_attempt(self, namespace: str, request_ids: Sequence[UUID], error: str) -> None:
        """Note that an attempt failed for a reason that may pass."""
        self.record_outcome(namespace, request_ids, IngestState.QUEUED, error)

    def record_outcome(self, namespace: str, request_ids: Sequence[UUID], state: IngestState, error: str) -> None:
        """Note a state reached without a memory; a request already in a final state keeps it."""
        with self._transaction(namespace) as session:
            session.run(
                sql.RECORD_OUTCOME,
                namespace=namespace,
                request_ids=_uuids(request_ids),
                state=state.value,
                error=error,
            )

    def statuses(self, namespace: str, request_ids: Sequence[UUID]) -> Mapping[UUID, IngestStatus]:
        """What is known of each request; those not yet seen are absent."""
        with self._transaction(namespace) as session:
            rows = session.run(sql.STATUSES, namespace=namespace, request_ids=_uuids(request_ids))
        return _statuses(rows)

    def search(self, namespace: str, vector: Vector, filters: Filters, limit: int) -> Sequence[Hit]:
        """The nearest memories within the filters, best first."""
        with self._transaction(namespace) as session:
            rows = session.run(
                sql.SEARCH, namespace=namespace, vector=_text(vector), limit=limit, **_filter_values(filters)
            )
        return [Hit(memory=_memory(row), relevance=min(1.0, max(0.0, 1.0 - row[-1]))) for row in rows]

    def get(self, namespace: str, memory_id: UUID) -> Memory | None:
        """One memory, whole."""
        with self._transaction(namespace) as session:
            rows = session.run(sql.GET, namespace=namespace, id=memory_id)
        return _memory(rows[0]) if rows else None

    def list(self, namespace: str, filters: Filters, limit: int) -> Sequence[MemoryHead]:
        """The newest memories within the filters."""
        with self._transaction(namespace) as session:
            rows = session.run(sql.LIST, namespace=namespace, limit=limit, **_filter_values(filters))
        return [MemoryHead(id=row[0], timestamp=row[1], title=row[2], tags=tuple(row[3])) for row in rows]

    def delete(self, namespace: str, memory_id: UUID) -> str | None:
        """Delete one memory; its title, or None where there is none."""
        with self._transaction(namespace) as session:
            rows = session.run(sql.DELETE, namespace=namespace, id=memory_id)
        return rows[0][0] if rows else None


class PostgresClaim:
    """A claim on some requests: locks on their contents, held by the transaction it lives in."""

    def __init__(self, session: Session, namespace: str, requests: Sequence[IngestRequest]) -> None:
        self._session = session
        self._namespace = namespace
        hashes = list(dict.fromkeys(request.content_hash for request in requests))
        locked = {row[0] for row in session.run(sql.LOCK_CONTENTS, namespace=namespace, hashes=hashes) if row[1]}
        mine = [request for request in requests if request.content_hash in locked]
        self.busy = [request for request in requests if request.content_hash not in locked]
        self.settled = _statuses(session.run(sql.SETTLE, namespace=namespace, requests=_requests(mine)))
        self.new = [request for request in mine if request.request_id not in self.settled]

    def store(self, vectors: Sequence[Vector], model: str) -> Mapping[UUID, IngestStatus]:
        """Store the new requests' memories and record the outcomes.

        Where several requests carry the same content, the first is stored and the others are its duplicates.
        """
        first: dict[str, tuple[IngestRequest, Vector]] = {}
        for request, vector in zip(self.new, vectors, strict=True):
            first.setdefault(request.content_hash, (request, vector))
        self._session.run(
            sql.INSERT_MEMORIES,
            namespace=self._namespace,
            model=model,
            memories=orjson.dumps([_record(request, vector) for request, vector in first.values()]).decode(),
        )
        rows = self._session.run(
            sql.RECORD_STORED, namespace=self._namespace, requests=_requests(self.new, stored=first)
        )
        return _statuses(rows)


def check_dimension(session: Session, dimension: int) -> None:
    """Raise Misconfigured where the column's dimension, as the catalog has it, is not the embedder's."""
    rows = session.run(sql.EMBEDDING_DIMENSION)
    if not rows:
        raise Misconfigured("the database has no memories table: run `mnemosyne migrate`")
    if rows[0][0] != dimension:
        raise Misconfigured(
            f"the database holds embeddings of dimension {rows[0][0]}, the embedder makes {dimension}: "
            f"set MNEMOSYNE_EMBEDDING_DIMENSION={rows[0][0]} with a model of that dimension"
        )


def _filter_values(filters: Filters) -> dict[str, object]:
    keys = [tag_key(tag) for tag in filters.tags]
    return {
        "after": filters.after,
        "before": filters.before,
        "any_tags": keys if keys and filters.tag_match is TagMatch.ANY else None,
        "all_tags": keys if keys and filters.tag_match is TagMatch.ALL else None,
    }


def _record(request: IngestRequest, vector: Vector) -> dict[str, object]:
    return {
        "id": new_id(),
        "timestamp": request.timestamp,
        "content": request.content,
        "title": request.title,
        "tags": request.tags,
        "tag_keys": [tag_key(tag) for tag in request.tags],
        "metadata": request.metadata,
        "content_hash": request.content_hash,
        "embedding": _text(vector),
    }


def _requests(
    requests: Sequence[IngestRequest], stored: Mapping[str, tuple[IngestRequest, Vector]] | None = None
) -> str:
    firsts = {request.request_id for request, _ in stored.values()} if stored else set()
    return orjson.dumps(
        [
            {
                "request_id": request.request_id,
                "content_hash": request.content_hash,
                "state": (IngestState.STORED if request.request_id in firsts else IngestState.DUPLICATE).value,
            }
            for request in requests
        ]
    ).decode()


def _text(vector: Vector) -> str:
    return orjson.dumps(vector, option=orjson.OPT_SERIALIZE_NUMPY).decode()


def _uuids(ids: Sequence[UUID]) -> str:
    return "{" + ",".join(map(str, ids)) + "}"


def _statuses(rows: Sequence[Row]) -> dict[UUID, IngestStatus]:
    return {
        row[0]: IngestStatus(
            request_id=row[0],
            state=IngestState(row[1]),
            memory_id=row[2],
            attempts=row[3],
            error=row[4],
            updated_at=row[5],
        )
        for row in rows
    }


def _memory(row: Row) -> Memory:
    return Memory(
        id=row[0],
        timestamp=row[1],
        content=row[2],
        title=row[3],
        tags=tuple(row[4]),
        metadata=row[5],
        content_hash=row[6],
        embedding_model=row[7],
        created_at=row[8],
        last_seen_at=row[9],
    )
