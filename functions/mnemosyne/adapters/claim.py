"""The claim on ingest requests: locks on their contents, held by one transaction until their memories are stored."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import orjson

from mnemosyne.adapters import copy_binary, ingest_sql, rows
from mnemosyne.adapters.connections import Session
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.memory import IngestRequest, IngestState, IngestStatus
from mnemosyne.domain.quota import Quota
from mnemosyne.errors import SpaceChanged
from mnemosyne.ids import new_id
from mnemosyne.ports import Vector


def claim_requests(
    session: Session,
    namespace: str,
    requests: Sequence[IngestRequest],
    known: Sequence[IngestRequest],
    transaction: ExitStack,
) -> "PostgresClaim":
    """A claim in a transaction that `transaction` ends; none is begun where nothing is left to store.

    `known` are the requests whose content was lately seen stored: they are tried first, without preparing to store.
    What is settled beside something new is committed at once: nobody waits for it while the new one is embedded.
    """
    found = _settle(session, namespace, known, to_store=False) if known else _Found()
    while rest := [request for request in requests if request.request_id not in found.settled]:
        _prepare(session)
        with ExitStack() as attempt:
            attempt.enter_context(session.transaction())
            more = _settle(session, namespace, rest, to_store=True)
            found = _Found(found.settled | more.settled, more.busy, found.taken | more.taken, more.quota)
            claim = PostgresClaim(session, namespace, requests, found)
            if not (more.settled and claim.new):
                transaction.push(attempt.pop_all())
                return claim
    return PostgresClaim(session, namespace, requests, replace(found, busy=frozenset()))


@dataclass(frozen=True)
class _Found:
    """What the database says of requests to be claimed."""

    settled: dict[UUID, IngestStatus] = field(default_factory=dict)
    """The outcomes of those that need no storing."""
    busy: frozenset[str] = frozenset()
    """The contents that another delivery has locked."""
    taken: frozenset[UUID] = frozenset()
    """Those under whose id another content was stored."""
    quota: Quota = field(default_factory=Quota)
    """What the namespace holds and may hold; known where something may be stored."""


def _prepare(session: Session) -> None:
    """Make the session's table for incoming memories: outside of transactions, which would take it with them."""
    if not session.has_incoming:
        session.script(ingest_sql.CREATE_INCOMING)
        session.has_incoming = True


def _settle(session: Session, namespace: str, requests: Sequence[IngestRequest], *, to_store: bool) -> _Found:
    """What need not be stored, and what cannot; with `to_store` the other contents are this transaction's alone."""
    ((answer,),) = session.run(
        ingest_sql.CLAIM, namespace=namespace, requests=rows.requests_json(requests), to_store=to_store
    )
    found = orjson.loads(answer)
    return _Found(
        rows.read_outcomes(found["settled"]),
        frozenset(found["busy"]),
        frozenset(map(UUID, found.get("taken", ()))),
        Quota(**found.get("quota", {})),
    )


class PostgresClaim:
    """A claim on some requests: locks on the contents of the new ones, held by the transaction it lives in."""

    def __init__(self, session: Session, namespace: str, requests: Sequence[IngestRequest], found: _Found) -> None:
        settled, held = found.settled, found.busy
        self._session = session
        self._namespace = namespace
        self.settled = dict(settled)
        self.quota = found.quota
        self.taken = [request.request_id for request in requests if request.request_id in found.taken]
        unsettled = [request for request in requests if request.request_id not in settled]
        self.busy = [request for request in unsettled if request.content_hash in held]
        self.new = [request for request in unsettled if request.content_hash not in held]
        self.stored_contents = {
            request.content_hash
            for request in requests
            if (outcome := self.settled.get(request.request_id))
            and outcome.memory_id is not None
            and request.request_id not in found.taken
        }
        """The contents that are stored once this transaction has ended well."""

    def store(
        self, fitting: Sequence[IngestRequest], embeddings: Sequence[Sequence[Vector]], model: str
    ) -> Mapping[UUID, IngestStatus]:
        """Store the memories of those of the new requests that there is room for, and record the outcomes.

        Where several requests carry the same content, the first is stored and the others are its duplicates.
        """
        first: dict[str, tuple[UUID, IngestRequest, Sequence[Vector]]] = {}
        for request, vectors in zip(fitting, embeddings, strict=True):
            if request.content_hash not in first:
                first[request.content_hash] = (new_id(), request, vectors)
        ids = {content: memory_id for content, (memory_id, _, _) in first.items()}
        firsts = {request.request_id for _, request, _ in first.values()}
        requests = [
            {
                "request_id": request.request_id,
                "memory_id": ids[request.content_hash],
                "state": (IngestState.STORED if request.request_id in firsts else IngestState.DUPLICATE).value,
                "content_hash": request.content_hash,
                **rows.origin_values(request.origin),
            }
            for request in fitting
        ]
        recorded = self._insert(list(first.values()), requests, EmbeddingSpace(model, len(embeddings[0][0])))
        self.stored_contents |= first.keys()
        return rows.read_outcomes(recorded)

    def _insert(
        self,
        incoming: Sequence[tuple[UUID, IngestRequest, Sequence[Vector]]],
        requests: Sequence[Mapping[str, object]],
        space: EmbeddingSpace,
    ) -> Sequence[Mapping[str, Any]]:
        """Insert memories and their requests' outcomes, and return the latter as recorded."""
        data = copy_binary.memories((memory_id, request, vectors[0]) for memory_id, request, vectors in incoming)
        self._session.copy(ingest_sql.COPY_INCOMING, data)
        ((answer,),) = self._session.run(
            ingest_sql.STORE,
            namespace=self._namespace,
            model=space.model,
            dimension=space.dimension,
            requests=orjson.dumps(requests).decode(),
        )
        stored = orjson.loads(answer)
        current = EmbeddingSpace(stored["model"], stored["dimension"])
        if current != space:
            raise SpaceChanged(f"the memories are in the space {current}, not {space} as embedded")
        chunks = [
            {"memory_id": memory_id, "chunk_index": index, "embedding": rows.vector_text(vector)}
            for memory_id, _, vectors in incoming
            for index, vector in enumerate(vectors[1:], 1)
        ]
        if chunks:
            self._session.run(ingest_sql.INSERT_CHUNKS, namespace=self._namespace, chunks=orjson.dumps(chunks).decode())
        recorded: Sequence[Mapping[str, Any]] = stored["recorded"]
        return recorded
