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
    """An event of the change feed: the changes that one transaction made to one memory."""

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
        """Id of the event. If an event is published twice, both messages have this id."""
        return f"{self.memory_id}/{self.sequence}"

    @property
    def ordering_key(self) -> str:
        """Ordering key of the event's Pub/Sub message. All events of a memory have the same key.

        The key consists of the namespace and the last hexadecimal digit of the memory's id, so a namespace has only 16
        keys. This number is small, because all messages of one publish request must have the same key. With few keys,
        one request can contain the events of many memories.
        """
        return f"{self.namespace}/{str(self.memory_id)[-1]}"

    @property
    def values(self) -> dict[str, Any]:
        """The names and values of the event's fields. The values have JSON types, such as text for a time."""
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


class PassCursor(Input):
    """Position of a client that reads a list in passes. A pass is a reading of all new rows, in one or more pages.

    A pass returns what was recorded since the previous pass: the rows that are visible in the database snapshot of this
    pass and were not visible in the snapshot of the previous pass. So no row is missed, even if transactions commit in
    another order than they began. The server sends the position as JSON, and the client sends it back.
    """

    since: float | None = None
    """Maximum age, in seconds, of the rows that the first pass returns. None means no limit."""
    seen: Text | None = None
    """Database snapshot up to which the previous pass has read. None in the first pass."""
    until: Text | None = None
    """Database snapshot up to which this pass reads. None before the first page of the pass."""
    begin: Instant | None = None
    """Start time of the first pass, by the database's clock."""


class ChangeCursor(PassCursor):
    """Position of a client in the change feed. The client reads the feed in passes (see PassCursor)."""

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
        """Whether this is the last page of a pass. A pass returns all events since the previous pass."""
        return self.after.until is None


@dataclass(frozen=True, kw_only=True)
class ChangeFeed:
    """Settings of a namespace's change feed: whether it is on, and whether its events include the memory's content."""

    namespace: str
    """Name of the namespace. Empty for the default, which applies to all namespaces without a setting."""
    enabled: bool
    contents: bool
    """Whether events have the content, title, tags and metadata of the memory."""
