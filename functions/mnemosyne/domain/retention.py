"""Retention: how long the memories of a namespace are stored before they expire. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from mnemosyne.errors import InvalidRequest


@dataclass(frozen=True, kw_only=True)
class Lifetimes:
    """Lifetimes of a namespace's memories in seconds; None means no limit.

    A memory's lifetime begins when the memory was last sent.
    """

    default: int | None = None
    """Lifetime of memories that are not pinned and whose publisher gave no expiry."""
    maximum: int | None = None
    """Longest lifetime of all memories, pinned or not."""


@dataclass(frozen=True, kw_only=True)
class NamespaceRetention:
    """The lifetimes of a namespace, and how many of its memories expire."""

    namespace: str
    """Name of the namespace. Empty for the default lifetimes, which apply to all namespaces without their own
    lifetimes."""
    default: int | None
    maximum: int | None
    """Its own lifetimes; see Lifetimes."""
    expiring: int
    """Number of the namespace's memories that will expire."""


@dataclass(frozen=True)
class RetentionCursor:
    """Position at which a change of lifetimes continues: a namespace, and the last memory that was processed."""

    namespace: str
    memory_id: UUID | None = None

    @property
    def fields(self) -> list[str | None]:
        """The cursor as a JSON array: the namespace, and the id of the last memory or null."""
        return [self.namespace, None if self.memory_id is None else str(self.memory_id)]

    @classmethod
    def read(cls, fields: Sequence[object]) -> "RetentionCursor":
        """Read a cursor from its JSON array (`fields`). Raises InvalidRequest."""
        try:
            namespace, memory_id = fields
            return cls(str(namespace), None if memory_id is None else UUID(str(memory_id)))
        except ValueError as exc:
            raise InvalidRequest(f"after must be the `after` of the page before, got {fields!r}") from exc


@dataclass(frozen=True, kw_only=True)
class AppliedRetention:
    """The number of memories whose expiry has changed, and the position at which to continue; None at the end."""

    changed: int
    after: RetentionCursor | None = None
