"""Record and log requests that can never be stored."""

from collections.abc import Sequence
from typing import Final

from mnemosyne.domain.memory import FailedRequest
from mnemosyne.errors import InvalidRequest, TextTooLong
from mnemosyne.observability import EventLog
from mnemosyne.ports.memories import MemoryStore

log = EventLog(__name__)

INVALID_RECORD: Final = "the record is invalid"
OVER_QUOTA: Final = "the namespace has reached its quota"
_RAISE_QUOTA: Final = (
    "raise it with `mnemosyne quota set --namespace NAMESPACE --memories NUMBER --project MY-PROJECT`, then run "
    "`mnemosyne redrive --cause quota --namespace NAMESPACE --project MY-PROJECT`"
)
_SEE_STATUS: Final = (
    "none for an operator: the sender reads the error in the status of the request, and sends a corrected memory"
)


def reject(failed: Sequence[FailedRequest], *, memories: MemoryStore, cause: str) -> None:
    """Record that requests can never be stored, each with its error.

    `cause` is logged, so it must not quote a content.
    """
    if not failed:
        return
    memories.record_failures(failed)
    for request in failed:
        # Leave out the error, because it may quote the request. The status of the request has the error.
        about = {"namespace": memories.namespace, "request_id": request.request_id}
        log.warning("ingest_failed", **about, cause=cause, next_step=_SEE_STATUS)


def cause_of(error: InvalidRequest) -> str:
    """Return the reason why a content was refused, without quoting the content."""
    if isinstance(error, TextTooLong):
        return "the content is too long for the embedding model"
    return "the embedding model or the database refuses the content"


def log_over_quota(namespace: str, count: int, reason: str) -> None:
    """Log that requests exceeded the quota. `reason` is the error that the sender of the requests gets."""
    limit = reason.partition(":")[0]
    about = {"namespace": namespace, "count": count}
    log.error("quota_exceeded", **about, cause=OVER_QUOTA, error=f"{namespace}: {limit}", next_step=_RAISE_QUOTA)
