"""The audit trail: events that record who read or changed which memories and when, without contents. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from mnemosyne.domain.principal import Principal

ACCESS: Final = "access"
"""Name of the event that records a call in the audit trail. In the log, the events `tool_called` and `audit` record the
call instead."""
IDS: Final = 100
"""Maximum ids that an event lists. The event's `count` also includes the ids that are not listed."""


@dataclass
class Action:
    """A call in progress (of a tool, or of an operator's command), and its caller.

    If the call changes memories, the event about the call is stored in the same transaction as the change.
    """

    principal: Principal
    name: str
    recorded: bool = field(default=False, compare=False)
    """Whether a transaction has stored the event about the call."""
    ids: Sequence[str] = field(default=(), compare=False)
    """The ids in the call's arguments or, after the first change, the ids of the change. The event about a failed call
    has these ids, because the call has no result."""

    @property
    def columns(self) -> dict[str, str]:
        """Values for the columns of the audit event that describe the caller and the action, by column name."""
        return caller(self.principal) | {"action": self.name}


_current: ContextVar[Action | None] = ContextVar("action", default=None)


@contextmanager
def action(principal: Principal, name: str) -> Iterator[Action]:
    """Yield a new Action, which `current_action` returns until the end of the `with` block."""
    new_action = Action(principal, name)
    token = _current.set(new_action)
    try:
        yield new_action
    finally:
        _current.reset(token)


def current_action() -> Action | None:
    """Return the current action, or None outside of an audited call."""
    return _current.get()


def caller(principal: Principal) -> dict[str, str]:
    """Return the fields that identify a caller: principal, credential and client."""
    return {"principal": principal.id, "credential": principal.credential, "client": principal.client}


def logged_caller(principal: Principal) -> dict[str, str]:
    """Return the fields of `caller` for a log event. Empty fields and fields that repeat the principal are left out."""
    return {
        name: value
        for name, value in caller(principal).items()
        if value and (name == "principal" or value != principal.id)
    }


def ids_of(result: Mapping[str, Any]) -> list[str]:
    """Return the ids in a tool's result, including the ids of the objects in its lists."""
    ids: dict[str, None] = {}
    for name, value in result.items():
        if name == "id" or name.endswith("_id"):
            ids[str(value)] = None
        elif name == "ids" or name.endswith("_ids"):
            ids.update(dict.fromkeys(map(str, value or ())))
        elif isinstance(value, list):
            ids.update({str(item["id"]): None for item in value if isinstance(item, Mapping) and "id" in item})
    ids.pop("None", None)
    return list(ids)


@dataclass(frozen=True, kw_only=True)
class EventCursor:
    """Position in the audit trail: time and id of the last event of a page. The time alone is not a position, because
    all events of a transaction have the same time."""

    at: datetime
    id: int


@dataclass(frozen=True, kw_only=True)
class AuditEvent:
    """An event of the audit trail: a recorded call that read or changed memories."""

    id: int
    at: datetime
    principal: str
    credential: str
    client: str
    namespace: str
    action: str
    outcome: str
    ids: Sequence[str]
    count: int

    @property
    def cursor(self) -> EventCursor:
        """Position in the audit trail after this event."""
        return EventCursor(at=self.at, id=self.id)


@dataclass(frozen=True, kw_only=True)
class ListedEvent(AuditEvent):
    """An event of the audit trail, with the names that the console shows."""

    name: str | None
    """Address of the person, or name of the API key; None if the credential has been deleted or has no name."""
    client_name: str | None
    memories: Sequence[UUID]
    """The ids in `ids` whose memories still exist."""
