"""Accept memories, store them exactly once whatever is redelivered, and say what became of each."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import chain, islice
from uuid import UUID

from mnemosyne.domain.chunking import chunks
from mnemosyne.domain.memory import IngestRequest, IngestState, IngestStatus
from mnemosyne.domain.message import IngestMessage
from mnemosyne.errors import InvalidRequest, Unavailable
from mnemosyne.ids import made_at
from mnemosyne.observability import EventLog
from mnemosyne.ports import Clock, Embedder, IngestQueue, MemoryStore, Vector

log = EventLog(__name__)

CLOCK_SKEW = timedelta(minutes=1)
"""How far one machine's clock may be ahead of another's."""
RETENTION = timedelta(days=7)
"""How long the topic keeps an undelivered message: an unseen request older than this was not one of ours."""


def accept(namespace: str, requests: Sequence[IngestRequest], *, queue: IngestQueue) -> None:
    """Return once the requests are durably published, all or none.

    Raises Unavailable where they could not be published: nothing was accepted.
    """
    queue.publish(namespace, requests)
    log.info("ingest_accepted", namespace=namespace, request_id=requests[0].request_id, count=len(requests))


def store(message: IngestMessage, *, memories: MemoryStore, embedder: Embedder) -> Sequence[IngestStatus]:
    """Store each request's memory once; the outcomes in the order of the requests.

    Raises Unavailable where the database or the embedder is away, or another delivery of the same content is
    under way: no outcome was recorded, redeliver.
    """
    try:
        outcomes, busy = _store(message, memories, embedder)
    except Unavailable as exc:
        _note_attempt(message, str(exc), memories)
        raise
    if busy:
        raise Unavailable("another delivery of the same content is being stored")
    return [outcomes[request.request_id] for request in message.requests]


def _store(message: IngestMessage, memories: MemoryStore, embedder: Embedder) -> tuple[dict[UUID, IngestStatus], bool]:
    with memories.claim(message.namespace, message.requests) as claim:
        outcomes = dict(claim.settled)
        if claim.new:
            outcomes |= claim.store(_embeddings(claim.new, embedder), embedder.model)
        busy = bool(claim.busy)
    for outcome in outcomes.values():
        log.info(
            "ingest_outcome",
            namespace=message.namespace,
            request_id=outcome.request_id,
            state=outcome.state,
            memory_id=outcome.memory_id,
            attempts=outcome.attempts,
        )
    return outcomes, busy


def _embeddings(requests: Sequence[IngestRequest], embedder: Embedder) -> list[Sequence[Vector]]:
    """One vector per chunk for each request, all bought in one call."""
    texts = [chunks(request.embedded_text, limit=embedder.chunk_characters) for request in requests]
    vectors = iter(embedder.embed_documents(list(chain.from_iterable(texts))))
    return [list(islice(vectors, len(parts))) for parts in texts]


def _note_attempt(message: IngestMessage, error: str, memories: MemoryStore) -> None:
    """Let the status show why it is still queued; where the database itself is away there is nowhere to."""
    try:
        memories.record_attempt(message.namespace, [r.request_id for r in message.requests], error)
    except Unavailable:
        log.warning(
            "ingest_attempt_unrecorded",
            namespace=message.namespace,
            request_id=message.requests[0].request_id,
            error=error,
        )


def reject(namespace: str, request_id: UUID, error: InvalidRequest, *, memories: MemoryStore) -> None:
    """Record that a message can never be stored, with the cause."""
    memories.record_outcome(namespace, [request_id], IngestState.FAILED, str(error))
    log.error("ingest_failed", namespace=namespace, request_id=request_id, error=str(error))


def status(namespace: str, request_ids: Sequence[UUID], *, memories: MemoryStore, clock: Clock) -> list[IngestStatus]:
    """What became of each request, in the order asked.

    A request not yet seen by the subscriber is `queued` while the topic may still hold it, else `unknown`.
    """
    known = memories.statuses(namespace, request_ids)
    now = clock()
    return [
        known.get(request_id) or IngestStatus(request_id=request_id, state=_unseen(request_id, now))
        for request_id in request_ids
    ]


def _unseen(request_id: UUID, now: datetime) -> IngestState:
    made = made_at(request_id)
    young = made is not None and made - CLOCK_SKEW <= now < made + RETENTION
    return IngestState.QUEUED if young else IngestState.UNKNOWN
