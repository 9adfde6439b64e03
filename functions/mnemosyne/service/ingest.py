"""Accept requests, and store their memories. A memory is stored once, even if its message is delivered repeatedly."""

import math
import time
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from mnemosyne.domain.chunking import embed_whole
from mnemosyne.domain.memory import FailedRequest, IngestRequest, IngestStatus, Reading
from mnemosyne.domain.message import FORGOTTEN, IngestMessage, as_failed, without_text
from mnemosyne.domain.provenance import Publisher
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.errors import InvalidRequest, ItemUnavailable, OverQuota, ServiceError, TextTooLong, Unavailable
from mnemosyne.observability import EventLog, milliseconds
from mnemosyne.ports.embedder import Embedder, Vector
from mnemosyne.ports.services import Services
from mnemosyne.service.forgetting import without_old_texts
from mnemosyne.service.group_commit import GroupCommit, slices
from mnemosyne.service.rejection import OVER_QUOTA, log_over_quota, reject, reject_invalid, within_quota

if TYPE_CHECKING:
    from mnemosyne.adapters.database.memories import MemoryStore

log = EventLog(__name__)
_V = TypeVar("_V")


def accept(namespace: str, readings: Sequence[Reading], services: Services, by: Publisher | None = None) -> None:
    """Publish the requests in one message.

    Raises OverQuota, before publishing, if the namespace's quota has no room for another memory. Raises Unavailable if
    publishing fails, or UncertainPublication if publishing fails but the requests may have been published nevertheless.
    """
    takes_room = any(isinstance(reading, IngestRequest) for reading in readings)
    quota = services.known_quota(namespace)
    if takes_room and quota and (full := quota.refusal(services.clock())):
        raise OverQuota(f"{full}; nothing was accepted")
    services.queue.publish(namespace, readings, by)
    log.debug("ingest_accepted", namespace=namespace, request_id=readings[0].request_id, count=len(readings))


@dataclass
class Stored:
    """The result of each request of a message in one delivery of the message."""

    outcomes: dict[UUID, IngestStatus] = field(default_factory=dict)
    busy: set[UUID] = field(default_factory=set)
    """Requests that must wait, because another delivery is storing a request with the same id, key or content."""
    conflicting: list[UUID] = field(default_factory=list)
    """Requests whose id already belongs to different content, or to another record."""
    invalid: Sequence[FailedRequest] = ()
    """Invalid requests whose id already belongs to another request with an outcome."""
    undeleted: Sequence[UUID] = ()
    """Deletions that were not carried out, because their request id already belongs to another request with an
    outcome."""
    over_quota: dict[UUID, str] = field(default_factory=dict)
    """Requests that exceeded the quota, each with the reason. They may fit later."""
    postponed: dict[UUID, str] = field(default_factory=dict)
    """Requests that could not be stored now, although other requests could, each with the reason."""
    progress: bool = False
    """Whether this delivery has stored a memory. As long as it has not, the deadline is ignored, so that each delivery
    makes progress."""

    def of(self, request_ids: Collection[UUID]) -> "Stored":
        """Return only the results of the requests with these ids."""

        def only(values: Mapping[UUID, _V]) -> dict[UUID, _V]:
            return {request_id: value for request_id, value in values.items() if request_id in request_ids}

        return Stored(
            only(self.outcomes),
            self.busy.intersection(request_ids),
            [request_id for request_id in self.conflicting if request_id in request_ids],
            over_quota=only(self.over_quota),
            postponed=only(self.postponed),
            progress=self.progress,
        )

    def add(self, other: "Stored") -> None:
        """Add the results in `other`, which belong to further requests of the same message."""
        self.outcomes |= other.outcomes
        self.busy |= other.busy
        self.conflicting += other.conflicting
        self.over_quota |= other.over_quota
        self.postponed |= other.postponed
        self.progress |= other.progress

    @property
    def dead_letter_reason(self) -> str:
        """The reason to keep the message as a dead letter; empty if there is none.

        There is a reason if a memory or deletion in the message has the request id of another request. The failure of
        the memory or deletion cannot be recorded under this id, so only the dead letter reports the failure.
        """

        def name(ids: Sequence[object]) -> str:
            return f"(request {ids[0]}" + (f" and {len(ids) - 1} more)" if len(ids) > 1 else ")")

        conflicts = []  # each reason ends with the ids, so that reasons with the same beginning can be grouped
        if ids := self.conflicting:
            conflicts.append(f"another content or record has this request's id: publish it under a new id {name(ids)}")
        if ids := list(self.undeleted):
            conflicts.append(f"another request has this deletion's id: publish it under a new id {name(ids)}")
        if self.invalid:
            about = f"{self.invalid[0].error} {name([request.request_id for request in self.invalid])}"
            conflicts.append(
                "another request has the id of an invalid memory or deletion: correct it, and publish it under a new "
                f"id; error: {about}"
            )
        return "; ".join(conflicts)


def store(
    message: IngestMessage,
    *,
    memories: "MemoryStore",
    embedder: Embedder,
    group_commit: GroupCommit[Stored] | None = None,
    deadline: float = math.inf,
) -> Stored:
    """Store the memory of each request once, and record an outcome for each request.

    The message is stored in slices, each in its own transaction. `group_commit` joins a small slice with slices of
    other messages. A request that can never be stored is recorded as failed, and the other requests are stored.

    Raises Unavailable in the five cases below. The message is then delivered again. Committed slices stay stored.

    - The database or the embedder is unavailable.
    - A single request cannot be stored now, although others can.
    - Another delivery is storing a request with the same id, key or content as a request of this message.
    - The message has a newer format than this version of the server can read.
    - The time `deadline` (of `time.monotonic`) has passed, and some slices are not stored yet.
    """
    if message.namespace != memories.namespace:
        raise ValueError(f"a message for {message.namespace!r} must not be stored in {memories.namespace!r}")
    try:
        if message.retry_reason:
            raise ItemUnavailable(message.retry_reason)
        invalid = reject_invalid(message, memories=memories)
        deleted = memories.delete_records(message.deletions) if message.deletions else None
        result = _store_all(message, memories, embedder, group_commit or GroupCommit(), deadline)
        if result.postponed:
            raise ItemUnavailable(next(iter(result.postponed.values())))
    except ServiceError as exc:
        _note_attempt(message, str(exc), memories)
        raise
    result.invalid = invalid
    if deleted:
        result.outcomes |= deleted.outcomes
        result.busy |= deleted.busy
        result.undeleted = deleted.conflicting
    _log_outcomes(message.namespace, result.outcomes.values())
    if result.busy:
        raise Unavailable("another delivery is storing a request with the same id, key or content")
    return result


def _log_outcomes(namespace: str, outcomes: Iterable[IngestStatus]) -> None:
    for outcome in outcomes:
        log.info(
            "ingest_outcome",
            namespace=namespace,
            request_id=outcome.request_id,
            state=outcome.state,
            memory_id=outcome.memory_id,
            **({"attempts": outcome.attempts} if outcome.attempts > 1 else {}),
        )


def _store_all(
    message: IngestMessage,
    memories: "MemoryStore",
    embedder: Embedder,
    group_commit: GroupCommit[Stored],
    deadline: float,
) -> Stored:
    def store_group(requests: Sequence[IngestRequest]) -> Stored:
        return _Storing(memories, embedder, deadline).store(requests)

    result = Stored()
    for part in slices(message.requests, embedder.chunk_limit):
        if result.progress and time.monotonic() >= deadline:
            raise Unavailable(
                f"{len(result.outcomes)} of the message's {len(message.requests)} requests were stored in the time of "
                "one delivery; the next delivery stores the others"
            )
        group_result = group_commit.store(memories.namespace, part, store_group)
        result.add(group_result.of({request.request_id for request in part.requests}))
    return result


@dataclass
class _Storing:
    """Stores requests in one transaction, or each half separately if a request makes the transaction fail."""

    memories: "MemoryStore"
    embedder: Embedder
    deadline: float
    embedded: dict[str, list[Vector]] = field(default_factory=dict)
    """Vectors by content hash. After a failed transaction, the contents of its requests are not embedded again."""
    earlier: Stored = field(default_factory=Stored)
    """Requests of the last transaction that already had an outcome, or conflicted. They are not tried again."""
    progress: bool = False
    """Whether any request was stored. As long as none was, the deadline is ignored."""

    def store(self, requests: Sequence[IngestRequest]) -> Stored:
        """Store the requests, and return the results. Raises Unavailable if the deadline passes before the end."""
        result, parts = Stored(), deque([requests])
        while parts:
            part = parts.popleft()
            if self.progress and time.monotonic() >= self.deadline:
                raise Unavailable("the time of one delivery was too short to store the message in smaller parts")
            try:
                result.add(self._store_together(part))
            except (InvalidRequest, ItemUnavailable) as exc:
                if len(part) == 1:
                    result.add(self._result_of_error(part[0], exc))
                    continue
                # The error does not say which request of the part has caused it: store each half separately. The queue
                # has the largest parts first, so that a delivery stores many requests before the deadline.
                result.add(self.earlier)
                left = [request for request in part if request.request_id not in self.earlier.outcomes]
                parts.extend(filter(None, (left[: len(left) // 2], left[len(left) // 2 :])))
        return result

    def _result_of_error(self, request: IngestRequest, error: InvalidRequest | ItemUnavailable) -> Stored:
        if isinstance(error, ItemUnavailable):
            return Stored(postponed={request.request_id: str(error)})
        # The cause is logged, so it must not quote the content.
        cause = "the embedding model or the database refuses the content"
        if isinstance(error, TextTooLong):
            cause = "the content is too long for the embedding model"
        reject([as_failed(request, str(error))], memories=self.memories, cause=cause)
        return Stored(dict(self.memories.statuses([request.request_id])))

    def _store_together(self, requests: Sequence[IngestRequest]) -> Stored:
        self.earlier = Stored()
        with self.memories.claim(requests) as claim:
            outcomes = dict(claim.already_final)
            self.earlier = Stored(dict(outcomes), conflicting=[id_ for id_ in claim.conflicting if id_ in outcomes])
            now, limit = datetime.now(UTC), self.embedder.chunk_limit
            expired_requests = [request for request in claim.new if _has_expired(request, now)]
            new = [request for request in claim.new if not _has_expired(request, now)]
            fitting, refusals = within_quota(claim.quota, new, now, limit)
            if fitting:
                outcomes |= claim.store(fitting, self._embed(fitting), self.embedder.model)
            self.progress |= bool(fitting)
            busy = {request.request_id for request in claim.busy}
            result = Stored(outcomes, busy, list(claim.conflicting), progress=bool(fitting))
            deleted = [
                as_failed(request, f"it had expired at {rfc3339(request.expires_at)}") for request in expired_requests
            ]
            deleted += [without_text(as_failed(request, FORGOTTEN)) for request in claim.forgotten]
        if deleted:
            self.memories.record_deleted(deleted)
            outcomes |= self.memories.statuses([request.request_id for request in deleted])
        if refusals:
            failed = [as_failed(request, reason) for request, reason in refusals]
            reject(failed, memories=self.memories, cause=OVER_QUOTA)
            log_over_quota(self.memories.namespace, len(refusals), refusals[0][1])
            result.over_quota = {request.request_id: reason for request, reason in refusals}
            outcomes |= self.memories.statuses([request.request_id for request in failed])
        return result

    def _embed(self, requests: Sequence[IngestRequest]) -> list[list[Vector]]:
        """Return the vectors of each request, one for each chunk. Requests with equal contents are embedded once."""
        new: dict[str, str] = {}
        for request in requests:
            if request.content_hash not in self.embedded:
                new.setdefault(request.content_hash, request.embedded_text)
        if new:
            started = time.perf_counter()
            embed = self.embedder.for_namespace(self.memories.namespace).embed_documents
            vectors = embed_whole(list(new.values()), self.embedder.chunk_limit, embed)
            self.embedded |= dict(zip(new, vectors, strict=True))
            size = {"count": len(new), "characters": sum(map(len, new.values()))}
            log.info("ingest_embedded", namespace=self.memories.namespace, **size, embed_ms=milliseconds(started))
        return [self.embedded[request.content_hash] for request in requests]


def _has_expired(request: IngestRequest, now: datetime) -> bool:
    """Whether the memory of the request has expired. Always false for a version of a record.

    An expired version must still supersede earlier versions. Therefore it is passed to the SQL functions, which check
    the expiry by the clock of the database. If the version were left out here, an earlier version would stay current.
    """
    return request.external_id is None and request.expires_at is not None and request.expires_at <= now


def _note_attempt(message: IngestMessage, error: str, memories: "MemoryStore") -> None:
    """Record the reason why the requests of a message are still queued. Do nothing if the database does not respond."""
    try:
        latest = memories.forgetting_effects([]).latest
        memories.record_attempt(without_old_texts(message.waiting(error), message.published, latest))
    except ServiceError:
        log.info("ingest_attempt_unrecorded", namespace=message.namespace, request_id=message.request_ids[0])
