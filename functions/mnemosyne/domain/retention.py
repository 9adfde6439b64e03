"""How long the memories of a namespace are kept. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from mnemosyne.errors import InvalidRequest


@dataclass(frozen=True, kw_only=True)
class Lifetimes:
    """Lifetimes of the memories of a namespace. They begin when a memory was last sent. None means none."""

    default: timedelta | None = None
    """Lifetime of memories without an expiry of their own that are not pinned."""
    maximum: timedelta | None = None
    """Longest lifetime of all memories, pinned or not."""


@dataclass(frozen=True, kw_only=True)
class NamespaceRetention:
    """The lifetimes of a namespace, and how many of its memories expire."""

    namespace: str
    """Empty for the lifetimes of all namespaces that have none of their own."""
    lifetimes: Lifetimes
    expiring: int
    """Memories that will expire."""


@dataclass(frozen=True)
class RetentionCursor:
    """Where a change of lifetimes continues: a namespace, and the last memory that was processed."""

    namespace: str
    memory_id: UUID | None = None

    @property
    def fields(self) -> list[str | None]:
        """The position as JSON."""
        return [self.namespace, None if self.memory_id is None else str(self.memory_id)]

    @classmethod
    def read(cls, fields: Sequence[object]) -> "RetentionCursor":
        """Read the position from JSON. Raises InvalidRequest."""
        try:
            namespace, memory_id = fields
            return cls(str(namespace), None if memory_id is None else UUID(str(memory_id)))
        except ValueError as exc:
            raise InvalidRequest(f"after must be the `after` of the page before, got {fields!r}") from exc


@dataclass(frozen=True, kw_only=True)
class AppliedRetention:
    """The number of memories whose expiry changed, and where to continue; None at the end."""

    changed: int
    after: RetentionCursor | None = None
