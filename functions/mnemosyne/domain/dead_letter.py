"""Dead letters: what is known of one, and which ones a command means. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, kw_only=True)
class DeadLetterSummary:
    """A dead letter without its data."""

    message_id: str
    dead_lettered_at: datetime
    """When it failed first."""
    cause: str
    """Of the last failure."""
    attributes: dict[str, Any]
    bytes: int
    last_failed_at: datetime
    failures: int
    redrives: int
    redriven_at: datetime | None
    """When it was published again; None unless it is in flight."""
    due_at: datetime
    """From when on it may be redriven."""


@dataclass(frozen=True, kw_only=True)
class DeadLetterCause:
    """Dead letters whose causes differ in ids and numbers only."""

    cause: str
    """The cause with # in the place of each id and number."""
    letters: int
    in_flight: int
    oldest: datetime
    newest: datetime


class Redrivable(StrEnum):
    """Which letters may be redriven."""

    DUE = "due"
    """Neither in flight nor backing off."""
    NOW = "now"
    """Not in flight."""


@dataclass(frozen=True, kw_only=True)
class DeadLetterChoice:
    """Which dead letters of a namespace are meant: all that meet each condition.

    Ages are measured from the first failure.
    """

    message_ids: tuple[str, ...] | None = None
    cause: str | None = None
    """A part of the cause, or of the cause with # in the place of ids and numbers; case is ignored."""
    younger_than: timedelta | None = None
    older_than: timedelta | None = None
    redrivable: Redrivable | None = None


ALL_DEAD_LETTERS = DeadLetterChoice()
