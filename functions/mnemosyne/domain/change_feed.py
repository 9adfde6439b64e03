"""The change feed of a namespace: an event for each changed memory, encoded as a CloudEvent. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from mnemosyne.domain.parsing import Input, Instant, Text
from mnemosyne.domain.pubsub_message import cloud_event
from mnemosyne.domain.rfc3339 import rfc3339

EVENT_TYPE: Final = "mnemosyne.memory.change.v1"
EVENT_LIFETIME: Final = timedelta(days=30)
"""Time after which an event is removed from the database."""


class ChangeKind(StrEnum):
    """What happened to a memory."""

    CREATED = "created"
    UPDATED = "updated"
    SUPERSEDED = "superseded"
    RATED = "rated"
    EXPIRED = "expired"
    DELETED = "deleted"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True, kw_only=True)
class ChangeEvent:
    """An event: the changes of a memory by one transaction."""

    namespace: str
    sequence: int
    """Number of the event. A later event of the same memory has a higher number, but not always the next number."""
    memory_id: UUID
    kind: ChangeKind
    fields: Sequence[str]
    """Names of the changed fields. Empty if the memory was created or removed."""
    superseded_by: UUID | None
    """Id of the memory that supersedes (replaces) this one after the change; None if there is none."""
    at: datetime
    contents: Mapping[str, Any] | None = None
    """Content, title, tags and metadata of the memory at the time of reading the event. None if the feed is set up
    without contents, or if the memory no longer exists."""

    @property
    def id(self) -> str:
        """Id of the event. If an event is published twice, both messages have the same id."""
        return f"{self.memory_id}/{self.sequence}"

    @property
    def ordering_key(self) -> str:
        """Pub/Sub's ordering key, the same for all events of a memory.

        The key consists of the namespace and the last hexadecimal digit of the memory's id. All messages of one publish
        request must have the same key. With only 16 keys for a namespace, one request can contain the events of many
        memories.
        """
        return f"{self.namespace}/{str(self.memory_id)[-1]}"

    @property
    def values(self) -> dict[str, Any]:
        """The event's fields as JSON types, by name."""
        values = {
            "namespace": self.namespace,
            "sequence": self.sequence,
            "kind": self.kind.value,
            "memory_id": str(self.memory_id),
            "fields": list(self.fields),
            "superseded_by": None if self.superseded_by is None else str(self.superseded_by),
            "at": rfc3339(self.at),
        }
        return values | ({} if self.contents is None else {"memory": dict(self.contents)})

    def encode(self) -> tuple[bytes, dict[str, str]]:
        """Encode the event as a CloudEvent in binary mode, and return the message's data and attributes."""
        return cloud_event(EVENT_TYPE, self.id, rfc3339(self.at), self.values, "namespace", "kind", "memory_id")


class ChangeCursor(Input):
    """Position of a reader in the change feed. Clients receive and send the position as JSON.

    A reader makes passes. Each pass has one or more pages, and returns the events since the previous pass. A pass reads
    the events between two database snapshots, so that clocks and the order of commits do not matter.
    """

    since: float | None = None
    """Maximum age, in seconds, of the events that the first pass returns. None means no limit."""
    seen: Text | None = None
    """Database snapshot up to which the previous pass has read. None in the first pass."""
    until: Text | None = None
    """Database snapshot up to which this pass reads. None before the first page of the pass."""
    begin: Instant | None = None
    """Start time of the first pass, by the database's clock."""
    sequence: int = 0
    """Sequence number of the last event that this pass has returned."""


@dataclass(frozen=True, kw_only=True)
class ChangePage:
    """A page of events, and the position after it."""

    events: Sequence[ChangeEvent]
    after: ChangeCursor
    is_on: bool
    """Whether the namespace's change feed is on."""

    @property
    def is_last(self) -> bool:
        """Whether this is the last page of a pass. A pass (see ChangeCursor) returns all new events."""
        return self.after.until is None


@dataclass(frozen=True, kw_only=True)
class ChangeFeed:
    """Whether the change feed of a namespace is on, and whether its events have contents."""

    namespace: str
    """Name of the namespace. Empty for the default, which applies to all namespaces without a setting."""
    enabled: bool
    contents: bool
    """Whether events have the content, title, tags and metadata of the memory."""
