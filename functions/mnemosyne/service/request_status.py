"""The status of ingest requests, and memories near to a newly stored one."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from mnemosyne.domain.memory import IngestState, IngestStatus
from mnemosyne.domain.neighbours import NO_NEIGHBOURS, Neighbours
from mnemosyne.ids import issued_at
from mnemosyne.ports.memories import MemoryStore
from mnemosyne.ports.services import Clock

CLOCK_SKEW = timedelta(minutes=1)
"""Maximum difference between the clocks of two machines."""
RETENTION = timedelta(days=7)
"""Time for which the topic keeps an undelivered message. A request that is older and was not delivered will not arrive
any more."""


def status(request_ids: Sequence[UUID], *, memories: MemoryStore, clock: Clock) -> list[IngestStatus]:
    """Return the status of each request, in the order of the ids.

    If the database does not know a request, its state is `queued` in one case: its id was issued for this namespace,
    and the topic may still have its message. An id is issued only for a request that is then published. Otherwise the
    state is `unknown`.
    """
    statuses = memories.statuses(request_ids)
    now = clock()
    return [
        statuses.get(request_id)
        or IngestStatus(request_id=request_id, state=_unseen(request_id, memories.namespace, now))
        for request_id in request_ids
    ]


def neighbours(status: IngestStatus, *, memories: MemoryStore) -> Neighbours:
    """Return the memories nearest to a newly stored memory. The result is empty if the request has another outcome."""
    if status.state is not IngestState.STORED or status.memory_id is None:
        return NO_NEIGHBOURS
    return memories.neighbours(status.memory_id)


def _unseen(request_id: UUID, namespace: str, now: datetime) -> IngestState:
    issued = issued_at(request_id, namespace)
    young = issued is not None and issued - CLOCK_SKEW <= now < issued + RETENTION
    return IngestState.QUEUED if young else IngestState.UNKNOWN
