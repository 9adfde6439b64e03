"""The status of ingest requests."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from mnemosyne.domain.memory import IngestState, IngestStatus
from mnemosyne.ids import issued_at
from mnemosyne.ports.services import Clock

if TYPE_CHECKING:
    from mnemosyne.adapters.database.memories import MemoryStore

CLOCK_SKEW = timedelta(minutes=1)
"""Assumed maximum difference between the clocks of two machines."""
RETENTION = timedelta(days=7)
"""Time for which the topic keeps an undelivered message. An older request that was not delivered will never be
delivered."""


def status(request_ids: Sequence[UUID], *, memories: "MemoryStore", clock: Clock) -> list[IngestStatus]:
    """Return the status of each request, in the order of the ids.

    The database does not know a request before its first delivery. The state of such a request is `queued` if its id
    was issued for this namespace so recently that the topic may still have its message. Otherwise the state is
    `unknown`.
    """
    statuses = memories.statuses(request_ids)
    now = clock()
    return [
        statuses.get(request_id)
        or IngestStatus(request_id=request_id, state=_state_without_row(request_id, memories.namespace, now))
        for request_id in request_ids
    ]


def _state_without_row(request_id: UUID, namespace: str, now: datetime) -> IngestState:
    issue_time = issued_at(request_id, namespace)
    young = issue_time is not None and issue_time - CLOCK_SKEW <= now < issue_time + RETENTION
    return IngestState.QUEUED if young else IngestState.UNKNOWN
