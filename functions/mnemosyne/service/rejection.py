"""Record and log requests that can never be stored, and find requests that exceed the quota."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from mnemosyne.domain.chunking import ChunkLimit, chunks
from mnemosyne.domain.dead_letter import RAISE_QUOTA
from mnemosyne.domain.memory import FailedRequest, IngestRequest
from mnemosyne.domain.message import FORGOTTEN, IngestMessage, as_failed, without_text
from mnemosyne.domain.outcome import FINAL
from mnemosyne.domain.quota import Quota
from mnemosyne.observability import EventLog
from mnemosyne.service.forgetting import is_before, without_old_texts

if TYPE_CHECKING:
    from mnemosyne.adapters.database.memories import MemoryStore

log = EventLog(__name__)

INVALID_RECORD: Final = "the record is invalid"
OVER_QUOTA: Final = "the namespace has reached its quota"
_RAISE_QUOTA: Final = (
    f"{RAISE_QUOTA}; then do the `next_step` of the event `beyond_quota`, which says whether the message is kept"
)
_SEE_STATUS: Final = (
    "none for an operator: the sender reads the error in the status of the request, and sends a corrected memory"
)


def reject(requests: Sequence[FailedRequest], *, memories: "MemoryStore", cause: str) -> None:
    """Record requests as failed, because they can never be stored. Each gets its error. Log the number of requests.

    `cause` is logged, so it must not quote the contents of requests.
    """
    if not requests:
        return
    memories.record_failures(requests)
    # Do not log the errors, because they may quote the requests. The status of each request has its error.
    about = {"namespace": memories.namespace, "request_id": requests[0].request_id, "count": len(requests)}
    log.warning("ingest_failed", **about, cause=cause, next_step=_SEE_STATUS)


def reject_invalid(message: IngestMessage, *, memories: "MemoryStore") -> Sequence[FailedRequest]:
    """Record the invalid requests of a message as failed, and return the failures that cannot be recorded.

    The failure of a request cannot be recorded if another request with the same id already has a final outcome. The
    caller reports such a failure in a dead letter. The failure is not returned in two cases:

    - The final outcome is later than the publication of the message. The other request is then probably the correction
      of the invalid one.
    - The message has a `dead_letter_reason`. It then becomes a dead letter anyway.

    If all memories of the namespace were forgotten (deleted for good) after the message was published, record the
    requests as deleted instead.
    """
    if not message.rejected:
        return ()
    effects = memories.forgetting_effects([])
    if is_before(message.published, effects.all_before):
        memories.record_deleted([without_text(as_failed(request, FORGOTTEN)) for request in message.rejected])
        return ()
    failures = without_old_texts(message.rejected, message.published, effects.latest)
    reject(failures, memories=memories, cause=INVALID_RECORD)
    if message.dead_letter_reason:
        return ()
    statuses = memories.statuses([request.request_id for request in failures])
    return [
        request
        for request in failures
        if request.error != FORGOTTEN
        and (status := statuses.get(request.request_id))
        and status.state in FINAL
        and not (message.published and is_before(message.published, status.updated_at))
        and not status.belongs_to(request)
    ]


def log_over_quota(namespace: str, count: int, reason: str) -> None:
    """Log that requests exceeded the quota. `reason` is the error that the sender of the requests gets."""
    limit = reason.partition(":")[0]
    about = {"namespace": namespace, "count": count}
    log.error("quota_exceeded", **about, cause=OVER_QUOTA, error=f"{namespace}: {limit}", next_step=_RAISE_QUOTA)


def within_quota(
    quota: Quota, requests: Sequence[IngestRequest], now: datetime, chunk_limit: ChunkLimit
) -> tuple[list[IngestRequest], list[tuple[IngestRequest, str]]]:
    """Return a list of the requests that fit the quota, and a list of the others, each with the reason.

    Both lists are in the order of `requests`. Requests with equal content count as one memory. Each chunk counts as one
    embedded text.
    """
    fitting: list[IngestRequest] = []
    refusals: list[tuple[IngestRequest, str]] = []
    reasons: dict[str, str | None] = {}
    for request in requests:
        if request.content_hash not in reasons:
            size, texts = request.size, len(chunks(request.embedded_text, chunk_limit))
            reason = reasons[request.content_hash] = quota.refusal(now, size=size, texts=texts)
            if reason is None:
                quota = quota.with_memory(size, texts)
        reason = reasons[request.content_hash]
        if reason is None:
            fitting.append(request)
        else:
            refusals.append((request, reason))
    return fitting, refusals
