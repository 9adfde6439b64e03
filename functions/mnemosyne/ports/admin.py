"""Ports of an operator's operations on API keys, grants, blocked people, quotas, retention, holds and change feeds.

A grant is the access that a person has given to an OAuth client. A hold keeps memories from being deleted or expiring.
A change feed reports the changes of a namespace's memories.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from mnemosyne.domain.audit import AuditEvent, AuditFilter
from mnemosyne.domain.change_feed import ChangeEvent, ChangeFeed
from mnemosyne.domain.forgetting import PlacedHold, Selection
from mnemosyne.domain.principal import ApiKey
from mnemosyne.domain.quota import Quota
from mnemosyne.domain.retention import AppliedRetention, Lifetimes, NamespaceRetention, RetentionCursor


class Blocks(Protocol):
    """People, clients or keys that the operator has locked out."""

    def blocked(self) -> Sequence[dict[str, Any]]:
        """Return the name (`who`) and the time (`blocked_at`) of each lock-out, the earliest first."""

    def unblock(self, who: str) -> bool:
        """Undo a lock-out; return whether there was one."""


class ApiKeyStore(Blocks, Protocol):
    """Creates, lists, revokes and blocks API keys."""

    def create(self, key: ApiKey) -> None:
        """Store a new key."""

    def every(self) -> Sequence[ApiKey]:
        """Return all keys, oldest first."""

    def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key and return it. Raises NotFound."""

    def block(self, key_id: str) -> bool:
        """Block a key until it is unblocked; return whether it exists."""


class GrantStore(Protocol):
    """Lists and revokes grants: the access that people have given to OAuth clients."""

    def every(self, person: str | None) -> Sequence[dict[str, Any]]:
        """Return all active grants, oldest first, or the grants of one person, by e-mail address or subject."""

    def revoke(self, ids: Sequence[UUID], person: str | None) -> Sequence[str]:
        """Revoke the grants with these ids and all grants of the person.

        Returns the ids of the grants that were active.
        """


class PeopleStore(Blocks, Protocol):
    """People or clients whom the operator has blocked."""

    def block(self, who: str) -> Sequence[str]:
        """Block a person by e-mail address or subject, or a client by id. Returns the ids of the revoked grants."""


class AuditLog(Protocol):
    """Reads and writes the audit trail: events that say who read or changed which memories."""

    def page(self, chosen: AuditFilter, limit: int, after: tuple[datetime, int] | None = None) -> Sequence[AuditEvent]:
        """Return the events that match the filter, oldest first, after an event given by time and id."""

    def record(self, fields: Mapping[str, Any]) -> None:
        """Record an event with the fields of `domain.audit.caller`, and namespace, action, outcome, ids and count."""


class RetentionStore(Protocol):
    """Reads and sets the lifetimes of memories per namespace, and removes expired memories."""

    def every(self) -> Sequence[NamespaceRetention]:
        """Return the namespaces with lifetimes of their own or with memories that expire, by name."""

    def set(self, namespace: str, lifetimes: Lifetimes) -> None:
        """Set the lifetimes of a namespace; the empty name means all namespaces without lifetimes of
        their own."""

    def clear(self, namespace: str) -> bool:
        """Remove the lifetimes of a namespace; return whether it had any."""

    def expired_by(self, namespace: str, lifetimes: Lifetimes) -> int:
        """Return how many stored memories would expire at once with these lifetimes."""

    def apply(self, namespace: str, after: RetentionCursor | None = None) -> AppliedRetention:
        """Compute the expiry of a batch of stored memories again, after their lifetimes have changed.

        Returns where to continue.
        """


class HoldStore(Protocol):
    """Lists, places and releases legal holds, which keep memories from being deleted or expiring."""

    def every(self, namespace: str | None = None) -> Sequence[PlacedHold]:
        """Return the holds of a namespace, or all, the oldest first."""

    def place(self, namespace: str, selection: Selection, reason: str, placed_by: str) -> UUID:
        """Place a hold and return its id.

        `suspend` then applies the hold to stored memories that would expire.
        """

    def suspend(self, namespace: str, hold_id: UUID) -> int:
        """Suspend the expiry of a batch of held memories, and return the number of memories: 0 when none is left."""

    def release(self, namespace: str, hold_id: UUID) -> bool:
        """Release a hold; return whether it existed. The memories expire again when retention is applied."""


class Announcer(Protocol):
    """Publishes the events of change feeds, with the exclusive right to do so."""

    def unannounced(self, limit: int) -> Sequence[ChangeEvent]:
        """Return unpublished events of all namespaces. The events of a memory are in the order of its changes."""

    def mark(self, events: Sequence[ChangeEvent]) -> None:
        """Mark events as published."""


class ChangeFeedStore(Protocol):
    """Reads and sets which namespaces have a change feed, and removes old events."""

    def every(self) -> Sequence[ChangeFeed]:
        """Return the settings by namespace; the empty name means all namespaces without a setting."""

    def set(self, feed: ChangeFeed) -> None:
        """Turn a namespace's change feed on or off, with or without contents."""

    def announcer(self) -> AbstractContextManager[Announcer | None]:
        """Yield the right to publish events until the context ends; None if another process has the right."""

    def remove_old(self) -> int:
        """Remove a batch of old events of all namespaces, and return their number."""


class QuotaStore(Protocol):
    """Reads and sets quotas: limits of memories, bytes and embedded texts per namespace."""

    def every(self, namespace: str | None = None) -> Sequence[tuple[str, Quota]]:
        """Return usage and limits of one namespace or all. The empty name has the default limits."""

    def set(self, namespace: str, limits: Mapping[Any, int | None]) -> None:
        """Set one or more limits of a namespace; None restores the default."""
