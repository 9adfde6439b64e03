"""Who calls, and what they may do. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Scope(StrEnum):
    """What a principal may do."""

    READ = "read"
    WRITE = "write"
    OPERATE = "operate"
    """Put back on the queue what was given up."""
    ADMIN = "admin"


@dataclass(frozen=True, kw_only=True)
class Principal:
    """One caller, known by its credential; its namespace is nobody else's to say."""

    id: str
    namespace: str
    scopes: frozenset[Scope]

    def may(self, scope: Scope) -> bool:
        """Whether it holds the scope; an admin holds all."""
        return scope in self.scopes or Scope.ADMIN in self.scopes


LOCAL = Principal(id="local", namespace="default", scopes=frozenset({Scope.READ, Scope.WRITE, Scope.OPERATE}))
"""Whoever is on this machine, where no credential is asked for."""


@dataclass(frozen=True, kw_only=True)
class ApiKey:
    """A key as it is stored: its secret is known by its hash alone."""

    id: str
    name: str
    namespace: str
    scopes: frozenset[Scope]
    secret_hash: bytes
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def valid(self, now: datetime) -> bool:
        """Whether it opens anything at that time."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    @property
    def principal(self) -> Principal:
        """Who calls with it."""
        return Principal(id=f"key:{self.id}", namespace=self.namespace, scopes=self.scopes)


def scopes_of(names: Iterable[str]) -> frozenset[Scope]:
    """Return the scopes among those names, with or without `mnemosyne:` before them; the others are somebody else's."""
    plain = {name.removeprefix("mnemosyne:") for name in names}
    return frozenset(scope for scope in Scope if scope.value in plain)
