"""What a publisher is told of what it published, as a CloudEvent. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self
from uuid import UUID

import orjson

from mnemosyne.domain.attributes import VALUE_BYTES
from mnemosyne.domain.memory import DeadLetter, IngestState, IngestStatus
from mnemosyne.domain.rfc3339 import rfc3339

EVENT_TYPE = "mnemosyne.ingest.outcome.v1"


NO_REQUEST = UUID(int=0)
"""Before the id of every request."""


@dataclass(frozen=True, kw_only=True)
class OutcomeCursor:
    """Where outcomes go on. Outcomes are read in passes, each of which returns what the pass before could not see.

    What a pass sees is a snapshot of the database, so that neither clocks nor late commits matter.
    """

    since: timedelta | None = None
    """How old the outcomes of the first pass may be; None for all."""
    seen: str | None = None
    """The snapshot of the pass before; None in the first pass."""
    until: str | None = None
    """The snapshot of this pass; None at its beginning."""
    begin: datetime | None = None
    """The time from which the first pass begins, by the database's clock."""
    transaction: str = "0"
    request_id: UUID = NO_REQUEST
    """The last outcome that this pass has returned, and the transaction that it is from."""


@dataclass(frozen=True, kw_only=True)
class OutcomePage:
    """Some outcomes, and where they go on."""

    outcomes: Sequence[IngestStatus]
    lost: Sequence[DeadLetter]
    """Messages of which something has no request, without their data; on the last page of a pass."""
    after: OutcomeCursor

    @property
    def is_last(self) -> bool:
        """Whether the pass ends with this page."""
        return self.after.until is None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The final state of a request; or of a message, where something in it has no request."""

    namespace: str
    message_id: str
    """Of the delivery that the outcome was told of."""
    status: IngestStatus | None
    dead_letter: DeadLetter | None = None

    @classmethod
    def of_dead_letter(cls, namespace: str, dead_letter: DeadLetter) -> Self:
        """Return the outcome of a message that is kept whole."""
        return cls(namespace=namespace, message_id=dead_letter.message_id, status=None, dead_letter=dead_letter)

    @property
    def state(self) -> IngestState:
        """The final state."""
        return self.status.state if self.status else IngestState.DEAD_LETTERED

    def encode(self) -> tuple[bytes, dict[str, str]]:
        """Return the event in binary mode: data and attributes; told twice, it has the same `ce-id`."""
        status, dead_letter = self.status, self.dead_letter
        at = rfc3339(status.updated_at if status else dead_letter.dead_lettered_at if dead_letter else None)
        origin = status.origin if status else None
        data = {
            "namespace": self.namespace,
            "state": self.state.value,
            "request_id": status.request_id if status else None,
            "memory_id": status.memory_id if status else None,
            "message_id": self.message_id,
            "source": origin.source if origin else None,
            "key": origin.key if origin else None,
            "error": status.error if status else dead_letter.cause if dead_letter else None,
            "note": status.note if status else None,
            "updated_at": at,
        }
        attributes = {
            "ce-specversion": "1.0",
            "ce-id": f"{status.request_id if status else self.message_id}/{self.state}",
            "ce-source": "//mnemosyne",
            "ce-type": EVENT_TYPE,
            "ce-time": at,
            "content-type": "application/json",
            "namespace": self.namespace,
            "state": self.state.value,
            "request_id": str(status.request_id) if status else None,
        }
        fitting = {name: one for name, one in attributes.items() if one and len(one.encode()) <= VALUE_BYTES}
        return orjson.dumps(data), fitting
