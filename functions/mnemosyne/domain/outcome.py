"""Outcomes of ingest requests and dead-lettered messages, and their encoding as CloudEvents. Pure."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

from mnemosyne.domain.change_feed import PassCursor
from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.memory import IngestState, IngestStatus
from mnemosyne.domain.parsing import Id, Text
from mnemosyne.domain.pubsub_message import cloud_event
from mnemosyne.domain.rfc3339 import rfc3339

EVENT_TYPE = "mnemosyne.ingest.outcome.v1"

_REPEATABLE = {IngestState.FAILED, IngestState.DEAD_LETTERED}
"""States that a request can get several times, for example if it fails again after a redrive."""
FINAL = (IngestState.STORED, IngestState.DUPLICATE, IngestState.DELETED)
"""States that no later delivery of the request changes."""
NO_REQUEST = UUID(int=0)
"""Smallest UUID. As the last request id of a position, it means that no outcome was returned yet."""


class OutcomeCursor(PassCursor):
    """Position of a client that reads the list of outcomes."""

    transaction: Text = "0"
    request_id: Id = NO_REQUEST
    """Request id of the last outcome that this pass has returned. `transaction` is the database transaction that has
    recorded this outcome."""


@dataclass(frozen=True, kw_only=True)
class OutcomePage:
    """A page of outcomes, and the position after it."""

    outcomes: Sequence[IngestStatus]
    unreported: Sequence[DeadLetter]
    """Dead letters (messages that could not be stored) with a failure that no request reports, without their data. Only
    the last page of a pass has such dead letters."""
    after: OutcomeCursor

    @property
    def is_last(self) -> bool:
        """Whether this is the last page of a pass. A pass (see OutcomeCursor) returns all new outcomes."""
        return self.after.until is None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Outcome of an ingest request, or of a dead-lettered message as a whole."""

    namespace: str
    message_id: str
    """Id of the Pub/Sub message whose delivery led to this outcome."""
    status: IngestStatus | None = None
    dead_letter: DeadLetter | None = None
    delivery: str = ""
    """Id of the message that was delivered, if the outcome is of a dead letter; otherwise empty. After a redrive, it
    differs from `message_id`, because a redrive publishes the dead letter as a new message."""
    ordering_key: ClassVar[str] = ""
    """Ordering key of the outcome's Pub/Sub message. Empty, because outcomes may be delivered in any order."""

    @property
    def state(self) -> IngestState:
        """State of the request. A dead-lettered message as a whole has the state `dead_lettered`."""
        return self.status.state if self.status else IngestState.DEAD_LETTERED

    def encode(self) -> tuple[bytes, dict[str, str]]:
        """Encode the outcome as a CloudEvent in binary mode, and return the message's data and attributes.

        If an outcome is published twice, both messages have the same `ce-id`. Different outcomes have different ids,
        because the id contains the request id, the state, and a digest of three values:

        - The namespace, because two namespaces may have the same request id.
        - The error, because a request may fail with different errors.
        - For a failure, the id of the delivered message, because a request that is published several times can fail
          with error A, then with error B, and then with error A again.
        """
        status, dead_letter = self.status, self.dead_letter
        at = rfc3339(status.updated_at if status else dead_letter.dead_lettered_at if dead_letter else None)
        external_id = status.external_id if status else None
        error = status.error if status else dead_letter.cause if dead_letter else None
        delivery = (self.delivery or self.message_id) if self.state in _REPEATABLE else ""
        digest = hashlib.sha256(f"{self.namespace}\0{error or ''}\0{delivery}".encode()).hexdigest()[:16]
        data = {
            "namespace": self.namespace,
            "state": self.state.value,
            "request_id": status.request_id if status else None,
            "memory_id": status.memory_id if status else None,
            "message_id": self.message_id,
            "source": external_id.source if external_id else None,
            "key": external_id.key if external_id else None,
            "error": error,
            "note": status.note if status else None,
            "updated_at": at,
        }
        id_ = f"{status.request_id if status else self.message_id}/{self.state}/{digest}"
        return cloud_event(EVENT_TYPE, id_, at, data, "namespace", "state", "request_id")


@dataclass(frozen=True, kw_only=True)
class DeletedRecords:
    """Outcomes of requests to delete records by source and key, and ids of the requests that were not carried out."""

    outcomes: Mapping[UUID, IngestStatus]
    busy: frozenset[UUID] = frozenset()
    """Ids of requests that must wait, because another delivery is handling a request with the same id."""
    conflicting: tuple[UUID, ...] = ()
    """Ids of requests that were not carried out, because another request with the same id already has an outcome."""
    memories: int = 0
    """Number of deleted memories."""
