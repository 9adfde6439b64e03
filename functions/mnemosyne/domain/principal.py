"""Principals (authenticated callers), their scopes and API keys. Pure."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property


class Scope(StrEnum):
    """Permission of a principal."""

    READ = "read"
    WRITE = "write"
    OPERATE = "operate"
    """Permission to redrive dead letters, forget memories and read the audit trail."""
    ADMIN = "admin"


@dataclass(frozen=True, kw_only=True)
class Principal:
    """An authenticated caller. Its credential determines the namespace."""

    id: str
    namespace: str
    scopes: frozenset[Scope]
    name: str = field(default="", compare=False)
    """Name to show to people: the name of the API key or OAuth client, or the address or subject in a token."""
    expires_at: datetime | None = field(default=None, compare=False)
    """When the key or the grant expires."""
    credential: str = field(default="", compare=False)
    """The credential of the caller: `key:ID` or `grant:ID`. Empty for a token that another issuer has signed."""
    client: str = field(default="", compare=False)
    """Id of the OAuth client, or name of the API key."""
    last_used_at: datetime | None = field(default=None, compare=False)
    """Time of the previous use of the key or the grant; None if there was none."""

    @property
    def kind(self) -> str:
        """Kind of the credential: `key`, `oauth`, `oidc`, `iam` or `local`."""
        return self.id.partition(":")[0]

    def may(self, scope: Scope) -> bool:
        """Whether the principal has the scope. `admin` includes all scopes."""
        return scope in self.scopes or Scope.ADMIN in self.scopes


LOCAL = Principal(
    id="local", namespace="default", scopes=frozenset({Scope.READ, Scope.WRITE, Scope.OPERATE}), name="this machine"
)
"""Principal of every caller on a local system whose authentication is off."""


@dataclass(frozen=True, kw_only=True)
class ApiKey:
    """A stored API key, with the hash of its secret."""

    id: str
    name: str
    namespace: str
    scopes: frozenset[Scope]
    secret_hash: bytes
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    blocked_at: datetime | None = None
    last_used_at: datetime | None = None

    def valid(self, now: datetime) -> bool:
        """Whether the key can be used at the time `now`. False if the key is revoked, blocked or expired."""
        return not (self.revoked_at or self.blocked_at or (self.expires_at and now >= self.expires_at))

    @cached_property
    def principal(self) -> Principal:
        """The principal that the key authenticates."""
        return Principal(
            id=f"key:{self.id}",
            namespace=self.namespace,
            scopes=self.scopes,
            name=self.name,
            expires_at=self.expires_at,
            credential=f"key:{self.id}",
            client=self.name,
            last_used_at=self.last_used_at,
        )


def scopes_of(names: Iterable[str]) -> frozenset[Scope]:
    """Return the supported scopes among the names, with or without the prefix `mnemosyne:`. Other names are ignored."""
    plain = {name.removeprefix("mnemosyne:") for name in names}
    return frozenset(scope for scope in Scope if scope.value in plain)


def hash_secret(secret: str) -> bytes:
    """Hash a key, token, code or cookie with SHA-256.

    These secrets have 256 random bits, so the hash needs no salt and need not be slow. A log-in code has only 40 bits,
    but is valid for only ten minutes.
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
