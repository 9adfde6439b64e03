"""Summaries of dead letters, and filters that select them. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, kw_only=True)
class DeadLetterSummary:
    """A dead letter without its data."""

    message_id: str
    dead_lettered_at: datetime
    """Time of the first failure."""
    cause: str
    """Cause of the last failure."""
    attributes: dict[str, Any]
    bytes: int
    last_failed_at: datetime
    failures: int
    redrives: int
    redriven_at: datetime | None
    """When it was published again. None if it is not in flight."""
    due_at: datetime
    """Earliest time for the next redrive."""


@dataclass(frozen=True, kw_only=True)
class DeadLetterCause:
    """Group of dead letters whose causes differ only in ids and numbers."""

    cause: str
    """The cause, with each id and number replaced by #."""
    letters: int
    in_flight: int
    oldest: datetime
    newest: datetime


class Redrivable(StrEnum):
    """Which dead letters may be redriven."""

    DUE = "due"
    """Neither in flight nor backing off."""
    NOW = "now"
    """Not in flight."""


@dataclass(frozen=True, kw_only=True)
class DeadLetterChoice:
    """Filter for dead letters of a namespace. All conditions must hold.

    Age is the time since the first failure.
    """

    message_ids: tuple[str, ...] | None = None
    cause: str | None = None
    """Substring of the cause, or of the cause with ids and numbers replaced by #. Case is ignored."""
    younger_than: timedelta | None = None
    older_than: timedelta | None = None
    redrivable: Redrivable | None = None


ALL_DEAD_LETTERS = DeadLetterChoice()
