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
    """Up to 20 memories that the deleted memory superseded. These memories stay superseded and hidden from searches."""


@dataclass(frozen=True, kw_only=True)
class DeletedMemories:
    """Result of deleting several memories: the ids of the memories that existed."""

    ids: tuple[UUID, ...]
    superseded: tuple[UUID, ...] = ()
    """Up to 100 memories that the deleted memories superseded. These memories stay superseded and hidden from
    searches."""


NO_TAGS = "none"
"""Value that removes all tags. An empty list would leave the tags unchanged."""


def removes_tags(tags: Sequence[str]) -> bool:
    """Whether a list of new tags has only the word `none`, which removes all tags. Case is ignored.

    If the list has other tags, too, `none` is an ordinary tag, because a tag may have any name.
    """
    return len(tags) == 1 and tags[0].strip().casefold() == NO_TAGS


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
    """Whether to remove the expiry that the publisher chose."""
    pinned: bool | None = None

    @property
    def changes_expiry(self) -> bool:
        """Whether the change affects the memory's expiry, which must then be computed again."""
        return self.no_expiry or self.expires_at is not None or self.pinned is not None


@dataclass(frozen=True, kw_only=True)
class Rating:
    """Result of rating a memory: its quality (0 to 1) before and after, and the numbers of ratings of 1 and -1."""

    before: float
    after: float
    helped: int
    misled: int


@dataclass(frozen=True, kw_only=True)
class GivenRating:
    """The rating that a principal (an authenticated caller) gives to a memory. A rating of None withdraws the earlier
    rating."""

    rated_by: str
    rater_name: str
    rating: int | None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class ChangedTags:
    """Result of changing tags: the ids of the memories that exist, and the number of memories that were changed."""

    found: Sequence[UUID]
    changed: int


@dataclass(frozen=True, kw_only=True)
class ChangedTag:
    """Result of one call to replace a tag: the number of changed memories, and the number of memories that still have
    the old tag. Further calls change these remaining memories."""

    changed: int
    remaining: int
