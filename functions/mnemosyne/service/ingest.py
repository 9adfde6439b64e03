"""Accept memories, store them exactly once whatever is redelivered, and say what became of each."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from mnemosyne.domain.chunking import embed_whole
from mnemosyne.domain.memory import (
    IngestRequest,
    IngestState,
    IngestStatus,
    MemorySummary,
    Reading,
    Unstored,
)
from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.quota import Quota
from mnemosyne.errors import InvalidRequest, OverQuota, Unavailable
from mnemosyne.ids import issued_at
from mnemosyne.observability import EventLog, milliseconds
from mnemosyne.ports import Clock, Embedder, IngestQueue, MemoryStore, Vector
from mnemosyne.service import quotas
from mnemosyne.service.group_commit import GroupCommit

log = EventLog(__name__)

CLOCK_SKEW = timedelta(minutes=1)
"""How far one machine's clock may be ahead of another's."""
RETENTION = timedelta(days=7)
"""How long the topic keeps an undelivered message: an unseen request older than this is on its way no more."""


def accept(
    namespace: str, readings: Sequence[Reading], *, queue: IngestQueue, quota: Quota | None, clock: Clock
) -> None:
    """Return once the readings are durably published, all or none; `quota` is what is known of the namespace's.

    Raises Unavailable where they could not be published, and OverQuota where there is known to be no room: nothing was
    accepted.
    """
    takes_room = any(isinstance(one, IngestRequest) for one in readings)
    if takes_room and quota and (full := quota.refusal(clock())):
        raise OverQuota(f"{full}; nothing was accepted")
    queue.publish(namespace, readings)
    log.info("ingest_accepted", namespace=namespace, request_id=readings[0].request_id, count=len(readings))


@dataclass
class Stored:
    """What became of a message's requests, as far as this delivery is concerned."""

    outcomes: dict[UUID, IngestStatus] = field(default_factory=dict)
    busy: set[UUID] = field(default_factory=set)
    """Those that must wait for another delivery of their content."""
    conflicting: list[UUID] = field(default_factory=list)
    """Those under whose id another content was stored before."""
    over_quota: dict[UUID, str] = field(default_factory=dict)
    """Why some failed for want of room, which may be there another day."""

    def of(self, request_ids: Collection[UUID]) -> "Stored":
        """Return what became of these."""
        return Stored(
            {one: status for one, status in self.outcomes.items() if one in request_ids},
            self.busy.intersection(request_ids),
            [one for one in self.conflicting if one in request_ids],
            {one: why for one, why in self.over_quota.items() if one in request_ids},
        )

    @property
    def lost(self) -> str:
        """Why the message must be kept as a dead letter: what it says under a conflicting id is told nowhere else."""
        return "; ".join(
            f"the request {one} has stored another content before: publish what has changed under a new key or id"
            for one in self.conflicting[:10]
        )


def store(
    message: IngestMessage,
    *,
    memories: MemoryStore,
    embedder: Embedder,
    group_commit: GroupCommit[Stored] | None = None,
) -> Stored:
    """Store each request's memory once, and record an outcome for each; by `group_commit` with what arrives beside it.

    What can never be stored is recorded as failed and does not spoil its neighbours. Raises Unavailable where the
    database or the embedder is away, another delivery of the same content is under way, or the message is newer than
    this reader: redeliver.
    """
    try:
        if message.postponed:
            raise Unavailable(message.postponed)
        reject(message.namespace, message.rejected, memories=memories)
        deleted = memories.delete_records(message.namespace, message.deletions) if message.deletions else {}
        stored = _store_all(message.namespace, message.requests, memories, embedder, group_commit or GroupCommit())
    except Unavailable as exc:
        _note_attempt(message, str(exc), memories)
        raise
    stored.outcomes |= deleted
    for outcome in stored.outcomes.values():
        log.info(
            "ingest_outcome",
            namespace=message.namespace,
            request_id=outcome.request_id,
            state=outcome.state,
            memory_id=outcome.memory_id,
            attempts=outcome.attempts,
        )
    if stored.busy:
        raise Unavailable("another delivery of the same content is being stored")
    return stored


def _store_all(
    namespace: str,
    requests: Sequence[IngestRequest],
    memories: MemoryStore,
    embedder: Embedder,
    group_commit: GroupCommit[Stored],
) -> Stored:
    if not requests:
        return Stored()
    stored = group_commit.store(namespace, requests, lambda group: _stored(namespace, group, memories, embedder))
    return stored.of({request.request_id for request in requests})


def _stored(namespace: str, requests: Sequence[IngestRequest], memories: MemoryStore, embedder: Embedder) -> Stored:
    try:
        return _store_together(namespace, requests, memories, embedder)
    except InvalidRequest as exc:
        if len(requests) == 1:
            (one,) = requests
            failed = Unstored(request_id=one.request_id, error=str(exc), origin=one.origin)
            reject(namespace, [failed], memories=memories)
            return Stored(dict(memories.statuses(namespace, [one.request_id])))
    # One of them can never be stored, and nobody said which: each for itself.
    together = Stored()
    for request in requests:
        alone = _stored(namespace, [request], memories, embedder)
        together.outcomes |= alone.outcomes
        together.busy |= alone.busy
        together.conflicting += alone.conflicting
        together.over_quota |= alone.over_quota
    return together


def _store_together(
    namespace: str, requests: Sequence[IngestRequest], memories: MemoryStore, embedder: Embedder
) -> Stored:
    with memories.claim(namespace, requests) as claim:
        outcomes = dict(claim.already_final)
        fitting, refused = quotas.within(claim.quota, claim.new, datetime.now(UTC), embedder.chunk_limit)
        if fitting:
            outcomes |= claim.store(fitting, _embeddings(namespace, fitting, embedder), embedder.model)
        stored = Stored(outcomes, {one.request_id for one in claim.busy}, list(claim.conflicting))
    if refused:
        failed = [Unstored(request_id=one.request_id, error=why, origin=one.origin) for one, why in refused]
        reject(namespace, failed, memories=memories)
        log.warning("quota_exceeded", namespace=namespace, count=len(refused), reason=refused[0][1])
        stored.over_quota = {one.request_id: why for one, why in refused}
        outcomes |= memories.statuses(namespace, [one.request_id for one in failed])
    return stored


def _embeddings(namespace: str, requests: Sequence[IngestRequest], embedder: Embedder) -> list[Sequence[Vector]]:
    """Return one vector per chunk for each request. Equal contents are embedded once."""
    first: dict[str, IngestRequest] = {}
    for request in requests:
        first.setdefault(request.content_hash, request)
    texts = [request.embedded_text for request in first.values()]
    started = time.perf_counter()
    embedded = embed_whole(texts, embedder.chunk_limit, embedder.for_namespace(namespace).embed_documents)
    log.info(
        "ingest_embedded",
        namespace=namespace,
        request_id=requests[0].request_id,
        count=len(first),
        embed_ms=milliseconds(started),
    )
    vectors = dict(zip(first, embedded, strict=True))
    return [vectors[request.content_hash] for request in requests]


def _note_attempt(message: IngestMessage, error: str, memories: MemoryStore) -> None:
    """Let the status show why it is still queued; where the database itself is away there is nowhere to."""
    try:
        memories.record_attempt(message.namespace, message.waiting(error))
    except Unavailable:
        log.warning(
            "ingest_attempt_unrecorded",
            namespace=message.namespace,
            request_id=message.request_ids[0],
            error=error,
        )


def reject(namespace: str, failed: Sequence[Unstored], *, memories: MemoryStore) -> None:
    """Record that requests can never be stored, each with its cause."""
    if not failed:
        return
    memories.record_failures(namespace, failed)
    for one in failed:
        # Not the cause: it may repeat what the request said. It stands in the request's status.
        log.error("ingest_failed", namespace=namespace, request_id=one.request_id)


def status(namespace: str, request_ids: Sequence[UUID], *, memories: MemoryStore, clock: Clock) -> list[IngestStatus]:
    """Return what became of each request, in the order asked.

    A request not yet seen by the subscriber is `queued` if its id was issued here for this namespace, which is said
    only of what the topic has taken, and while the topic may still hold it; else `unknown`.
    """
    known = memories.statuses(namespace, request_ids)
    now = clock()
    return [
        known.get(request_id) or IngestStatus(request_id=request_id, state=_unseen(request_id, namespace, now))
        for request_id in request_ids
    ]


def similar(namespace: str, status: IngestStatus, *, memories: MemoryStore) -> Sequence[MemorySummary]:
    """Return up to three stored memories that nearly say the same as the one that was stored newly; else none."""
    if status.state is not IngestState.STORED or status.memory_id is None:
        return ()
    return memories.similar(namespace, status.memory_id)


def _unseen(request_id: UUID, namespace: str, now: datetime) -> IngestState:
    made = issued_at(request_id, namespace)
    young = made is not None and made - CLOCK_SKEW <= now < made + RETENTION
    return IngestState.QUEUED if young else IngestState.UNKNOWN
