"""Ports of the operator's endpoints: API keys, grants, blocked people and quotas."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

from mnemosyne.domain.principal import ApiKey
from mnemosyne.domain.quota import Quota


class ApiKeyStore(Protocol):
    """API keys, for the operator."""

    def create(self, key: ApiKey) -> None:
        """Store a new key."""

    def every(self) -> Sequence[ApiKey]:
        """Return all keys, oldest first."""

    def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key and return it. Raises NotFound."""


class GrantStore(Protocol):
    """Grants of access by OAuth, for the operator."""

    def every(self, person: str | None) -> Sequence[dict[str, Any]]:
        """Return all active grants, oldest first, or the grants of one person, by e-mail address or subject."""

    def revoke(self, ids: Sequence[UUID], person: str | None) -> Sequence[str]:
        """Revoke these grants and all grants of the person; return the ids of the grants that were active."""


class PeopleStore(Protocol):
    """People whom the operator has blocked from logging in."""

    def blocked(self) -> Sequence[dict[str, Any]]:
        """Return the blocked people, the earliest block first."""

    def block(self, who: str) -> Sequence[str]:
        """Block a person by e-mail address or subject, revoke their grants, and return the grants' ids."""

    def unblock(self, who: str) -> bool:
        """Unblock a person; return whether they were blocked."""


class QuotaStore(Protocol):
    """Quotas, for the operator."""

    def every(self, namespace: str | None = None) -> Sequence[tuple[str, Quota]]:
        """Return usage and limits of one namespace or all. The empty name has the default limits."""

    def set(self, namespace: str, limits: Mapping[Any, int | None]) -> None:
        """Set some limits of a namespace; None restores the default."""
