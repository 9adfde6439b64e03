"""Data types of forgetting: selections, holds, dry runs and forgettings. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemosyne.domain.memory import Cursor, KeysetCursor
from mnemosyne.domain.search import EVERY_MEMORY, Filters
from mnemosyne.errors import InvalidRequest

IDS_AT_ONCE = 1_000
"""Most ids in a selection."""
BEGINNING = 80
"""Characters of a memory that a dry run shows."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Memories of a namespace: by ids, by filters, or all. Superseded and expired memories are selected, too."""

    ids: tuple[UUID, ...] = ()
    filters: Filters = EVERY_MEMORY

    @classmethod
    def of(cls, ids: Sequence[UUID] | None, filters: Filters, *, everything: bool) -> "Selection":
        """Build a selection from exactly one of ids, filters and everything.

        Raises InvalidRequest.
        """
        if sum((bool(ids), filters.narrow, everything)) != 1:
            raise InvalidRequest("give either ids, or filters (tags, session, after, before, metadata), or all=true")
        return cls(ids=tuple(ids or ()), filters=replace(filters, include_superseded=True))


@dataclass(frozen=True, kw_only=True)
class Hold:
    """A legal hold."""

    id: UUID
    reason: str


@dataclass(frozen=True, kw_only=True)
class PlacedHold(Hold):
    """A legal hold with all its fields."""

    namespace: str
    selection: Mapping[str, Any]
    placed_by: str
    placed_at: datetime


@dataclass(frozen=True, kw_only=True)
class SelectedMemory:
    """A memory that would be forgotten."""

    id: UUID
    timestamp: datetime
    beginning: str


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What a forgetting would delete. The token confirms exactly this set of memories."""

    token: str
    memories: int
    page: Sequence[SelectedMemory]
    holds: Sequence[Hold]
    """The holds that keep some of the memories. While there is one, nothing can be forgotten."""
    after: Cursor | None = None
    """Where the next page begins; None if there is none."""


@dataclass(frozen=True, kw_only=True)
class Forgetting:
    """A forgetting that has begun. It is finished when `finished_at` is set."""

    id: UUID
    namespace: str
    selection: Mapping[str, Any]
    requested_by: str
    started_at: datetime
    finished_at: datetime | None
    counts: Mapping[str, int]
    """Removed or cleared rows by table."""
    memories: int
    """Number of its memories."""
    left: int
    """Number of those that are not deleted yet."""
    letter: KeysetCursor | None = None
    """The last dead letter that was looked at."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """The forgettings of a namespace that concern requests which are not stored yet."""

    covered: Collection[UUID] = ()
    """Requests that must not be stored or kept."""
    forgettings: int = 0
    """Number of forgettings at that time."""
    latest: datetime | None = None
    """When the latest forgetting began."""
    all_before: datetime | None = None
    """When the latest forgetting of all memories began."""
