"""Changes of stored memories, and their results. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from mnemosyne.domain.memory import Metadata


@dataclass(frozen=True, kw_only=True)
class DeletedMemory:
    """Result of deleting a memory."""

    title: str
    superseded: tuple[UUID, ...] = ()
    """Up to 20 memories that the deleted memory superseded. They remain superseded and hidden from searches."""


NO_TAGS = "none"
"""Value that removes all tags. An empty list would leave the tags unchanged."""


@dataclass(frozen=True, kw_only=True)
class MemoryChange:
    """Changes to a memory. None leaves a field unchanged. The content cannot be changed."""

    title: str | None = None
    tags: tuple[str, ...] | None = None
    metadata: Metadata | None = None
    superseded_by: UUID | None = None
    not_superseded: bool = False
    expires_at: datetime | None = None
    no_expiry: bool = False
    """Take back the expiry that was given."""
    pinned: bool | None = None

    @property
    def changes_expiry(self) -> bool:
        """Whether the expiry must be computed again."""
        return self.no_expiry or self.expires_at is not None or self.pinned is not None


@dataclass(frozen=True, kw_only=True)
class Rating:
    """Quality of a memory, between 0 and 1, before and after a rating, and the numbers of ratings of 1 and -1."""

    before: float
    after: float
    helped: int
    misled: int


@dataclass(frozen=True, kw_only=True)
class GivenRating:
    """The rating that a principal gives to a memory; None withdraws it."""

    rated_by: str
    rater_name: str
    rating: int | None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class ChangedTags:
    """The memories to change that exist, and the number of changed memories."""

    found: Sequence[UUID]
    changed: int


@dataclass(frozen=True, kw_only=True)
class ChangedTag:
    """Number of memories whose tag was changed, and number of memories that still have it."""

    changed: int
    remaining: int
