"""Retention: how long the memories of a namespace are stored before they expire. Pure."""

from dataclasses import dataclass

from mnemosyne.domain.parsing import Id, Input, Text


@dataclass(frozen=True, kw_only=True)
class NamespaceRetention:
    """The lifetimes of a namespace's memories in seconds, and the number of its memories with an expiry time.

    A memory's lifetime begins when a publisher last sent the memory. A lifetime of None means no limit.
    """

    namespace: str
    """Name of the namespace. Empty for the default lifetimes, which apply to all namespaces without their own
    lifetimes."""
    default: int | None
    """Lifetime of memories that are not pinned and whose publisher gave no expiry."""
    maximum: int | None
    """Longest lifetime of all memories, pinned or not."""
    expiring: int
    """Number of the namespace's memories that have an expiry time."""


class RetentionCursor(Input):
    """Position after a batch of memories whose expiry was computed again.

    After an operator has changed lifetimes, the expiry of the stored memories is computed again in batches. The
    position is a namespace, and the id of the last processed memory in it (None if no memory in it was processed).
    """

    namespace: Text
    memory_id: Id | None = None


@dataclass(frozen=True, kw_only=True)
class AppliedRetention:
    """Result of computing the expiry of a batch of memories again: the number of memories whose expiry has changed, and
    the position at which to continue. The position is None after the last batch."""

    changed: int
    after: RetentionCursor | None = None
