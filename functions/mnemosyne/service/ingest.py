"""Accept memories, store them exactly once whatever is redelivered, and say what became of each."""

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import chain, islice
from uuid import UUID

from mnemosyne.domain.chunking import chunks
from mnemosyne.domain.memory import DeadLetter, IngestRequest, IngestState, IngestStatus
from mnemosyne.domain.message import IngestMessage
from mnemosyne.errors import InvalidRequest, Unavailable
from mnemosyne.ids import made_at
from mnemosyne.observability import EventLog, milliseconds
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
    """Store each request's memory once; one outcome per request that could be read, in their order.

    What can never be stored is recorded as failed and does not spoil its neighbours. Raises Unavailable where the
    database or the embedder is away, or another delivery of the same content is under way: redeliver.
    """
    try:
        for request_id, cause in message.rejected.items():
            reject(message.namespace, request_id, cause, memories=memories)
        outcomes, busy = _stored(message.namespace, message.requests, memories, embedder)
    except Unavailable as exc:
        _note_attempt(message, str(exc), memories)
        raise
    if busy:
        raise Unavailable("another delivery of the same content is being stored")
    return [outcomes[request.request_id] for request in message.requests]


def _stored(
    namespace: str, requests: Sequence[IngestRequest], memories: MemoryStore, embedder: Embedder
) -> tuple[dict[UUID, IngestStatus], bool]:
    """The outcomes, and whether some requests must wait for another delivery of their content."""
    if not requests:
        return {}, False
    try:
        return _store_together(namespace, requests, memories, embedder)
    except InvalidRequest as exc:
        if len(requests) == 1:
            reject(namespace, requests[0].request_id, str(exc), memories=memories)
            known = memories.statuses(namespace, [requests[0].request_id])
            return dict(known), False
    # One of them can never be stored, and nobody said which: each for itself.
    outcomes: dict[UUID, IngestStatus] = {}
    busy = False
    for request in requests:
        one, waits = _stored(namespace, [request], memories, embedder)
        outcomes |= one
        busy |= waits
    return outcomes, busy


def _store_together(
    namespace: str, requests: Sequence[IngestRequest], memories: MemoryStore, embedder: Embedder
) -> tuple[dict[UUID, IngestStatus], bool]:
    with memories.claim(namespace, requests) as claim:
        outcomes = dict(claim.settled)
        if claim.new:
            outcomes |= claim.store(_embeddings(namespace, claim.new, embedder), embedder.model)
        busy = bool(claim.busy)
    for outcome in outcomes.values():
        log.info(
            "ingest_outcome",
            namespace=namespace,
            request_id=outcome.request_id,
            state=outcome.state,
            memory_id=outcome.memory_id,
            attempts=outcome.attempts,
        )
    return outcomes, busy


def _embeddings(namespace: str, requests: Sequence[IngestRequest], embedder: Embedder) -> list[Sequence[Vector]]:
    """One vector per chunk for each request, all bought in one call, and once where contents are equal."""
    first: dict[str, IngestRequest] = {}
    for request in requests:
        first.setdefault(request.content_hash, request)
    texts = [chunks(request.embedded_text, limit=embedder.chunk_characters) for request in first.values()]
    started = time.perf_counter()
    bought = iter(embedder.embed_documents(list(chain.from_iterable(texts))))
    log.info(
        "ingest_embedded",
        namespace=namespace,
        request_id=requests[0].request_id,
        count=len(first),
        embed_ms=milliseconds(started),
    )
    vectors = {content: list(islice(bought, len(parts))) for content, parts in zip(first, texts, strict=True)}
    return [vectors[request.content_hash] for request in requests]


def _note_attempt(message: IngestMessage, error: str, memories: MemoryStore) -> None:
    """Let the status show why it is still queued; where the database itself is away there is nowhere to."""
    try:
        memories.record_attempt(message.namespace, message.request_ids, error)
    except Unavailable:
        log.warning(
            "ingest_attempt_unrecorded",
            namespace=message.namespace,
            request_id=message.request_ids[0],
            error=error,
        )


def reject(namespace: str, request_id: UUID, cause: str, *, memories: MemoryStore) -> None:
    """Record that a request can never be stored, with the cause."""
    memories.record_outcome(namespace, [request_id], IngestState.FAILED, cause)
    # Not the cause: it may repeat what the request said. It stands in the request's status.
    log.error("ingest_failed", namespace=namespace, request_id=request_id)


def bury(namespace: str, letter: DeadLetter, request_ids: Sequence[UUID], *, memories: MemoryStore) -> None:
    """Keep a message that was given up, so that it can be redriven, and record its requests as dead-lettered."""
    if memories.bury(namespace, letter, request_ids):
        log.error("dead_lettered", namespace=namespace, message_id=letter.message_id, error=letter.cause)


def redrive(
    namespace: str, letter: DeadLetter, request_ids: Sequence[UUID], *, memories: MemoryStore, queue: IngestQueue
) -> None:
    """Put a dead letter back on the queue.

    Its requests wait again before it is published, and it is forgotten after: a crash in between leaves it to be
    redriven once more, which stores nothing twice.
    """
    memories.revive(namespace, request_ids)
    queue.republish(letter.data, letter.attributes)
    memories.forget(namespace, letter.message_id)
    log.info("redriven", namespace=namespace, message_id=letter.message_id, count=len(request_ids))


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
