"""Dead letters (messages that could not be stored): summaries, and filters that select them. Pure."""

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
    """When the message was published again; None if it is not in flight (published without an outcome yet)."""
    due_at: datetime
    """Earliest time to publish the message again."""


@dataclass(frozen=True, kw_only=True)
class DeadLetterCause:
    """Dead letters with the same cause, apart from ids and numbers in it."""

    cause: str
    """The cause, with each id and number replaced by #."""
    letters: int
    in_flight: int
    oldest: datetime
    newest: datetime


class Redrivable(StrEnum):
    """Which dead letters may be redriven, that is, published again."""

    DUE = "due"
    """Letters that are neither in flight (published without an outcome yet) nor waiting for their next attempt."""
    NOW = "now"
    """Letters that are not in flight."""


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
