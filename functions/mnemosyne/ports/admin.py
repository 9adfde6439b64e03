"""Ports of the operator's endpoints: API keys, grants, blocked people and quotas."""

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
    """Names that the operator has locked out."""

    def blocked(self) -> Sequence[dict[str, Any]]:
        """Return `who` and `blocked_at` of each, the earliest first."""

    def unblock(self, who: str) -> bool:
        """Undo a lock-out; return whether there was one."""


class ApiKeyStore(Blocks, Protocol):
    """API keys, for the operator."""

    def create(self, key: ApiKey) -> None:
        """Store a new key."""

    def every(self) -> Sequence[ApiKey]:
        """Return all keys, oldest first."""

    def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key and return it. Raises NotFound."""

    def block(self, key_id: str) -> bool:
        """Block a key until it is unblocked; return whether it exists."""


class GrantStore(Protocol):
    """Grants of access by OAuth, for the operator."""

    def every(self, person: str | None) -> Sequence[dict[str, Any]]:
        """Return all active grants, oldest first, or the grants of one person, by e-mail address or subject."""

    def revoke(self, ids: Sequence[UUID], person: str | None) -> Sequence[str]:
        """Revoke these grants and all grants of the person; return the ids of the grants that were active."""


class PeopleStore(Blocks, Protocol):
    """People or clients whom the operator has blocked."""

    def block(self, who: str) -> Sequence[str]:
        """Block a person by e-mail address or subject, or a client by id. Returns the ids of the revoked grants."""


class AuditLog(Protocol):
    """The audit trail, for the operator."""

    def page(self, chosen: AuditFilter, limit: int, after: tuple[datetime, int] | None = None) -> Sequence[AuditEvent]:
        """Return the events that match, oldest first, after the time and id of an event."""

    def record(self, fields: Mapping[str, Any]) -> None:
        """Record an event with the fields of `domain.audit.caller`, and namespace, action, outcome, ids and count."""


class RetentionStore(Protocol):
    """Lifetimes of memories, for the operator."""

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
        """Compute the expiry of a batch of stored memories again, and return where to continue."""

    def remove_expired(self) -> int:
        """Remove a batch of expired memories of all namespaces, and return their number."""


class HoldStore(Protocol):
    """Legal holds, for the operator."""

    def every(self, namespace: str | None = None) -> Sequence[PlacedHold]:
        """Return the holds of a namespace, or all, the oldest first."""

    def place(self, namespace: str, selection: Selection, reason: str, placed_by: str) -> UUID:
        """Place a hold and return its id. `suspend` makes it valid for stored memories that expire."""

    def suspend(self, namespace: str, hold_id: UUID) -> int:
        """Suspend the expiry of a batch of held memories, and return their number: 0 when none is left."""

    def release(self, namespace: str, hold_id: UUID) -> bool:
        """Release a hold; return whether it existed. The memories expire again when retention is applied."""


class Announcer(Protocol):
    """The exclusive right to publish the events of change feeds."""

    def unannounced(self, limit: int) -> Sequence[ChangeEvent]:
        """Return unpublished events of all namespaces. The events of a memory are in the order of its changes."""

    def mark(self, events: Sequence[ChangeEvent]) -> None:
        """Mark events as published."""


class ChangeFeedStore(Protocol):
    """Change feeds, for the operator."""

    def every(self) -> Sequence[ChangeFeed]:
        """Return the settings by namespace; the empty name means all namespaces without a setting."""

    def set(self, feed: ChangeFeed) -> None:
        """Set the feed of a namespace."""

    def announcer(self) -> AbstractContextManager[Announcer | None]:
        """Yield the right to publish events until the context ends; None if another process has it."""

    def remove_old(self) -> int:
        """Remove a batch of old events of all namespaces, and return their number."""


class QuotaStore(Protocol):
    """Quotas, for the operator."""

    def every(self, namespace: str | None = None) -> Sequence[tuple[str, Quota]]:
        """Return usage and limits of one namespace or all. The empty name has the default limits."""

    def set(self, namespace: str, limits: Mapping[Any, int | None]) -> None:
        """Set one or more limits of a namespace; None restores the default."""
