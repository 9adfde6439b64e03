"""Who calls, and what they may do. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Self


class Scope(StrEnum):
    """What a principal may do."""

    READ = "read"
    WRITE = "write"
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


LOCAL = Principal(id="local", namespace="default", scopes=frozenset({Scope.READ, Scope.WRITE}))
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


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A token bucket: full it holds `per_minute` tokens, and fills at that rate.

    https://en.wikipedia.org/wiki/Token_bucket
    """

    per_minute: int
    tokens: float
    at: float

    @classmethod
    def full(cls, per_minute: int, now: float) -> Self:
        """A bucket nobody has taken from."""
        return cls(per_minute=per_minute, tokens=float(per_minute), at=now)

    def take(self, now: float, cost: float = 1, paid: float = 0) -> tuple[Self, float]:
        """The bucket afterwards, and how many seconds too early this was: 0 where the tokens were there.

        What costs more than a full bucket holds, with what was `paid` for it before, needs a full one, and the rest is
        owed. Who comes too early pays all of it once more.
        """
        filled, full = self._filled(now), float(self.per_minute)
        if filled.tokens >= min(cost, max(0.0, full - paid)):
            return replace(filled, tokens=filled.tokens - cost), 0.0
        return filled, (min(cost + paid, full) - filled.tokens) / (full / 60)

    def owing(self, now: float, cost: float) -> Self:
        """The bucket after tokens were taken that may not have been there; nobody owes more than two full ones."""
        filled = self._filled(now)
        return replace(filled, tokens=max(-2.0 * self.per_minute, filled.tokens - cost))

    def _filled(self, now: float) -> Self:
        tokens = self.tokens + (now - self.at) * self.per_minute / 60
        return replace(self, tokens=min(float(self.per_minute), tokens), at=now)


def scopes_of(names: Iterable[str]) -> frozenset[Scope]:
    """The scopes among those names, with or without `mnemosyne:` before them; the others are somebody else's."""
    plain = {name.removeprefix("mnemosyne:") for name in names}
    return frozenset(scope for scope in Scope if scope.value in plain)
