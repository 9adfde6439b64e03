"""Claim ingest requests: lock them in a database session until their memories are stored."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
import orjson

from mnemosyne.adapters.database import ingest_sql, memories_sql, rows
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.forgetting import check_forgettings, forgotten_requests
from mnemosyne.adapters.database.insertion import insert_memories
from mnemosyne.domain.labels import differing_labels
from mnemosyne.domain.memory import IngestRequest, IngestState, IngestStatus
from mnemosyne.domain.quota import Quota
from mnemosyne.errors import Broken, InvalidRequest, ItemUnavailable, StatementTimeout, Unavailable
from mnemosyne.ids import new_id
from mnemosyne.ports.embedder import Vector


def claim_requests(
    connection: Connection,
    namespace: str,
    requests: Sequence[IngestRequest],
    cached: Sequence[IngestRequest],
    locks: ExitStack,
    *,
    immutable_sources: Collection[str] = (),
) -> "Claim":
    """Lock the delivered requests that must be stored. `locks.close()` releases the locks.

    `cached` are the requests whose content is in the cache of recently stored contents. These requests probably need
    not be stored, so the function first looks them up without locks. Then it locks and looks up all other requests, and
    those requests in `cached` that must be stored after all. If the second look-up finds that some of the locked
    requests need not be stored, the function releases all locks, and then locks only the requests that must be
    stored. Otherwise other deliveries would find requests locked that this delivery is not going to store.
    """

    def look_up(batch: Sequence[IngestRequest], *, to_store: bool, delete_old: bool = True) -> _LookUp:
        encoded = rows.requests_json(batch, immutable_sources)
        return _look_up(connection, namespace, encoded, to_store=to_store, delete_old=delete_old)

    # Delete outcomes older than 90 days only in the last look-up. An earlier deletion could remove an outcome that a
    # later look-up must find.
    result = look_up(cached, to_store=False, delete_old=len(cached) == len(requests)) if cached else _LookUp()
    while remaining := [request for request in requests if request.request_id not in result.already_final]:
        _prepare_to_store(connection)
        locks.callback(_release_locks, connection)
        locked = look_up(remaining, to_store=True)
        result = replace(
            locked,
            already_final=result.already_final | locked.already_final,
            conflicting=result.conflicting | locked.conflicting,
        )
        claim = Claim(connection, namespace, requests, result)
        if not (locked.already_final and claim.new):
            return claim
        locks.close()
    return Claim(connection, namespace, requests, replace(result, busy=frozenset()))


@dataclass(frozen=True)
class _LookUp:
    """Result of a look-up of requests in the database. Requests in neither `already_final` nor `busy` are new."""

    already_final: dict[UUID, IngestStatus] = field(default_factory=dict)
    """Outcomes of the requests that need not be stored."""
    busy: frozenset[UUID] = frozenset()
    """Ids of the requests whose id, record key or content another delivery has locked."""
    conflicting: frozenset[UUID] = frozenset()
    """Request ids that were used earlier for another content or record."""
    quota: Quota = field(default_factory=Quota)
    """Usage and limits of the namespace. Only set if the look-up also locks the requests to store."""
    forgettings: int = 0
    """Number of forgettings (deletions of selected memories). Only set if the look-up also locks the requests."""
    forgotten_before: datetime | None = None
    """Time at which the latest forgetting of the namespace began."""


def _prepare_to_store(connection: Connection) -> None:
    """Create the staging table for COPY, and let the connection reuse query plans.

    The caller must not have begun a transaction, because its rollback would undo both changes.
    """
    if not connection.has_incoming:
        connection.script(ingest_sql.CREATE_INCOMING)
        connection.has_incoming = True


def _release_locks(connection: Connection) -> None:
    """Release the locks of the claim. The pool closes a broken connection, which also releases its locks."""
    if not connection.broken:
        try:
            connection.script(ingest_sql.RELEASE)
        except Unavailable:
            connection.broken = True


def _look_up(connection: Connection, namespace: str, requests: str, *, to_store: bool, delete_old: bool) -> _LookUp:
    """Look up which requests need not be stored, and which cannot be stored now.

    A request cannot be stored now if another delivery has locked it. If `to_store` is true, the function also locks the
    remaining requests in this session. If `delete_old` is true, the function then deletes a batch of outcomes older
    than 90 days.
    """
    row = connection.one(ingest_sql.CLAIM, namespace=namespace, requests=requests, to_store=to_store, forget=delete_old)
    answer = orjson.loads(row["answer"])
    return _LookUp(
        rows.read_outcomes(answer["already_final"]),
        frozenset(map(UUID, answer["busy"])),
        frozenset(map(UUID, answer["conflicting"])),
        Quota(**answer.get("quota", {})),
        answer.get("forgettings", 0),
        datetime.fromisoformat(before) if (before := answer.get("forgotten_before")) else None,
    )


class _RollbackError(Exception):
    """Raised inside a transaction to roll it back."""


class Claim:
    """The ingest requests of a delivery. New requests are locked, so that no other delivery stores them.

    The database session holds locks on the ids, record keys and contents of the new requests, until the `with` block of
    `MemoryStore.claim` ends.
    """

    def __init__(
        self, connection: Connection, namespace: str, requests: Sequence[IngestRequest], result: _LookUp
    ) -> None:
        self._connection = connection
        self._namespace = namespace
        self.already_final = dict(result.already_final)
        """Status of the requests for which nothing has to be stored.

        These requests had a final state already, or this claim has recorded them as duplicates.
        """
        self.quota = result.quota
        """Usage and limits of the namespace. Only set if there are `new` requests."""
        self.conflicting = [request.request_id for request in requests if request.request_id in result.conflicting]
        """Request ids that were used earlier for another content or record."""
        remaining = [request for request in requests if request.request_id not in result.already_final]
        self.busy = [request for request in remaining if request.request_id in result.busy]
        """Requests whose id, record key or content another delivery has locked."""
        self.new = [request for request in remaining if request.request_id not in result.busy]
        self._forgettings = result.forgettings
        self.forgotten = self._find_forgotten(result.forgotten_before)
        """Requests whose memories were forgotten (deleted for good). They must not be stored, and are not in `new`."""
        self.new = [request for request in self.new if request not in self.forgotten] if self.forgotten else self.new
        """Requests whose memories must be embedded and stored."""
        self.stored_contents = {
            request.content_hash
            for request in requests
            if (outcome := self.already_final.get(request.request_id))
            and outcome.memory_id is not None
            and request.request_id not in result.conflicting
        }
        """Hashes of the contents that the database has already, including the contents that this claim has stored."""

    def _find_forgotten(self, before: datetime | None) -> Sequence[IngestRequest]:
        """Return the new requests that must not be stored, because their memories were forgotten (deleted for good).

        `before` is the time at which the latest forgetting (a deletion of selected memories) began. Only requests that
        were published before this time are looked up.
        """
        older = [request for request in self.new if before and not (request.published and request.published >= before)]
        if not older:
            return []
        ids = forgotten_requests(self._connection, self._namespace, older)
        return [request for request in older if request.request_id in ids]

    def store(
        self, fitting: Sequence[IngestRequest], embeddings: Sequence[Sequence[Vector]], model: str
    ) -> Mapping[UUID, IngestStatus]:
        """Store the memories of some new requests, each with one vector per chunk, and record the outcomes.

        If several requests have the same content, the memory of the first request is stored, and the other requests are
        recorded as duplicates.

        After an error, the method tries to store an unrelated memory. If the database accepts the unrelated memory, the
        given memories are the cause, and the method raises InvalidRequest or ItemUnavailable. Raises
        EmbeddingModelChanged if the database no longer uses the embedding space of `model`.
        """
        try:
            return self._store(fitting, embeddings, model)
        except InvalidRequest as exc:
            self._try_unrelated_memory(model, len(embeddings[0][0]), exc)
            raise
        except StatementTimeout as exc:
            self._try_unrelated_memory(model, len(embeddings[0][0]), exc)
            raise ItemUnavailable(
                "the database reached its time limit for this memory, although it stored another one"
            ) from exc

    def _try_unrelated_memory(self, model: str, dimension: int, error: InvalidRequest | StatementTimeout) -> None:
        """Store an unrelated memory and roll back, to find out whether an error concerns all memories.

        Raises Unavailable or Broken if the unrelated memory cannot be stored either. Otherwise the caller raises
        an error about its own memories.
        """
        memory_id = new_id()
        request = IngestRequest.of(new_id(), content=f"memory {memory_id}", timestamp=datetime.now(UTC))
        vector: Vector = np.full(dimension, dimension**-0.5, dtype=np.float32)
        row = {
            "request_id": request.request_id,
            "memory_id": memory_id,
            "event": IngestState.STORED.value,
            "content_hash": request.content_hash,
        }
        try:
            with suppress(_RollbackError), self._connection.transaction():
                self._connection.run(memories_sql.ENTER_NAMESPACE, namespace=self._namespace)
                incoming = [(memory_id, request, [vector, vector])]
                insert_memories(self._connection, self._namespace, incoming, [row], model, dimension)
                raise _RollbackError
        except StatementTimeout as exc:
            raise Unavailable(
                "the database takes too long to store any memory",
                next_step="look for its load and for long transactions in Query Insights",
            ) from exc
        except InvalidRequest as exc:
            raise Broken(
                "the database refuses every memory",
                next_step="run `mnemosyne migrate --project MY-PROJECT`, which restores the schema, then "
                "`mnemosyne doctor --project MY-PROJECT`",
                detail=str(error),
            ) from exc

    def _store(
        self, fitting: Sequence[IngestRequest], embeddings: Sequence[Sequence[Vector]], model: str
    ) -> Mapping[UUID, IngestStatus]:
        first: dict[str, tuple[UUID, IngestRequest, Sequence[Vector]]] = {}
        for request, vectors in zip(fitting, embeddings, strict=True):
            if request.content_hash not in first:
                first[request.content_hash] = (new_id(), request, vectors)
        ids = {content: memory_id for content, (memory_id, _, _) in first.items()}
        requests, versions = [], []
        for request in fitting:
            _, first_request, _ = first[request.content_hash]
            row = {
                "request_id": request.request_id,
                "memory_id": ids[request.content_hash],
                "event": (IngestState.STORED if request is first_request else IngestState.DUPLICATE).value,
                "content_hash": request.content_hash,
                "provenance": rows.provenance_fields(request.provenance),
            }
            if request.external_id:
                versions.append({**row, **rows.version_values(request, request.external_id)})
            else:
                requests.append({**row, "differing": differing_labels(request, first_request)})
        with self._connection.transaction():
            check_forgettings(self._connection, self._namespace, self._forgettings)
            dimension = len(embeddings[0][0])
            incoming = list(first.values())
            recorded = insert_memories(self._connection, self._namespace, incoming, requests, model, dimension)
            if extended := [
                request
                for request in fitting
                if _expiry_fields(request) != _expiry_fields(first[request.content_hash][1])
            ]:
                lifetimes = [{"content_hash": request.content_hash, **_expiry_fields(request)} for request in extended]
                self._connection.run(
                    ingest_sql.EXTEND_EXPIRY, namespace=self._namespace, sent=rows.json_text(lifetimes)
                )
            if versions:
                recorded = [*recorded, *self._record_versions(versions)]
        self.stored_contents |= first.keys()
        return rows.read_outcomes(recorded)

    def _record_versions(self, versions: Sequence[Mapping[str, object]]) -> Sequence[Mapping[str, Any]]:
        """Record the outcomes of requests that store versions of records, and return these outcomes.

        A record is a text that a publisher has named by a source and key. Its versions are stored as memories.
        """
        answer = self._connection.one(
            ingest_sql.RECORD_VERSIONS, namespace=self._namespace, versions=rows.json_text(versions)
        )["recorded"]
        recorded: Sequence[Mapping[str, Any]] = orjson.loads(answer)
        return recorded


def _expiry_fields(request: IngestRequest) -> dict[str, object]:
    return {"expires_at": request.expires_at, "pinned": request.pinned}
