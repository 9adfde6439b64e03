"""Ports of the operator's endpoints: API keys, grants, blocked people and quotas."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

from mnemosyne.domain.principal import ApiKey
from mnemosyne.domain.quota import Quota


class ApiKeyStore(Protocol):
    """API keys, as their keeper sees them."""

    def create(self, key: ApiKey) -> None:
        """Keep a new key."""

    def every(self) -> Sequence[ApiKey]:
        """All keys, oldest first."""

    def revoke(self, key_id: str) -> ApiKey:
        """Return the key, which opens nothing any more; raises NotFound."""


class GrantStore(Protocol):
    """Grants, as their keeper sees them."""

    def every(self, person: str | None) -> Sequence[dict[str, Any]]:
        """All grants that stand, oldest first; of one person by their address or subject."""

    def revoke(self, ids: Sequence[UUID], person: str | None) -> Sequence[str]:
        """End these, and all of the person's; return the ids of those that stood until now."""


class PeopleStore(Protocol):
    """People whom the operator has blocked."""

    def blocked(self) -> Sequence[dict[str, Any]]:
        """List who is blocked, oldest first."""

    def block(self, who: str) -> Sequence[str]:
        """Block a person by their address or subject; return the ids of the grants that this ended."""

    def unblock(self, who: str) -> bool:
        """Let a person log in again; whether they were blocked."""


class QuotaStore(Protocol):
    """Quotas, as their keeper sees them."""

    def every(self, namespace: str | None = None) -> Sequence[tuple[str, Quota]]:
        """Return what each namespace, or that one, holds and may hold; everybody's limits under the empty name."""

    def set(self, namespace: str, limits: Mapping[Any, int | None]) -> None:
        """Set some limits; None is everybody's."""
