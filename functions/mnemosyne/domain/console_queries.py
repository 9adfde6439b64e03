"""What people look at to see what is remembered, and what became of what was published. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import TypeAlias

from mnemosyne.domain.memory import MemorySummary

HISTORY_LIMIT = 50
"""Memories of a history in each direction, and ratings, at most."""


class Per(StrEnum):
    """How long a bucket of a timeline is."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """How many memories fall into each bucket that has any, oldest first."""

    per: Per
    buckets: Sequence[tuple[date, int]]
    """The first day of each, and its memories."""


@dataclass(frozen=True, kw_only=True)
class GivenRating:
    """One rating of a memory, as it was given."""

    rating: int
    reason: str | None
    rated_at: datetime


@dataclass(frozen=True, kw_only=True)
class History:
    """What stands around one memory: what it replaces and what replaces it, nearest first; and its ratings."""

    supersedes: Sequence[MemorySummary]
    superseded_by: Sequence[MemorySummary]
    ratings: Sequence[GivenRating]
    """The latest first."""


Facets: TypeAlias = Sequence[tuple[str, int]]
"""Tags and how many memories have each, the commonest first."""
