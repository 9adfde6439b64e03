"""Dead letters (messages that could not be stored): their kinds, summaries, and filters that select them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from mnemosyne.domain.memory import KeysetCursor
from mnemosyne.domain.pubsub_message import Published


class DeadLetterKind(StrEnum):
    """Why a message became a dead letter."""

    UNREADABLE = "unreadable"
    """The message, or one of the memories in it, could not be parsed."""
    CONFLICT = "conflict"
    """Another request with the same id already has a final outcome."""
    NOTIFICATION = "notification"
    """The notification about an object in a bucket could not be read."""
    OVER_QUOTA = "over_quota"
    NEWER = "newer_version"
    """The schema version of the message is newer than this version of Mnemosyne."""
    UNSTORABLE = "unstorable"
    """The message failed repeatedly, although the services work for other messages."""
    EXPIRED = "expired"
    """The message waited for six days. It became a dead letter because Pub/Sub deletes messages after seven days."""
    CRASHED = "crashed"
    """A bug in Mnemosyne made the processing of the message fail."""

    @property
    def is_of_sender(self) -> bool:
        """Whether only the sender of the message can correct the mistake that made the message a dead letter."""
        return self in (self.UNREADABLE, self.CONFLICT, self.NOTIFICATION)

    @property
    def has_latest_error(self) -> bool:
        """Whether `cause` is the error of the message's last delivery, for dead letters of this kind.

        If not, a request of the message keeps the error that an earlier delivery has recorded for it.
        """
        return self in (self.CRASHED, self.UNSTORABLE, self.NEWER)

    @property
    def meaning(self) -> str:
        """Meaning of this kind of dead letter in one sentence, for the log."""
        return _ABOUT[self][0]

    @property
    def next_step(self) -> str:
        """What an operator must do about a dead letter of this kind, for the log."""
        return _ABOUT[self][1]


RAISE_QUOTA = (
    "raise the quota that the event `quota_exceeded` names, with `mnemosyne quota set --namespace NAMESPACE --memories "
    "NUMBER --project MY-PROJECT`, or with --bytes or --texts-a-day in place of --memories"
)
"""What an operator must do first about memories that exceed a quota, for the log."""
_OF = "--namespace NAMESPACE --project MY-PROJECT`"
_SHOW = f"look at it with `mnemosyne dead-letters show MESSAGE_ID {_OF}"
_REDRIVE = "then run `mnemosyne redrive"
NEXT_STEP_WITHOUT_LETTER = (
    "the message is lost, because the namespace has too many dead letters: delete letters with `mnemosyne dead-letters "
    f"drop --cause CAUSE {_OF}, and ask the publisher to publish corrected messages"
)
"""What an operator must do about a message that was not stored as a dead letter, for the log."""
_ABOUT = {
    DeadLetterKind.UNREADABLE: (
        "the message cannot be parsed, or names no namespace",
        f"{_SHOW}, and tell the publisher",
    ),
    DeadLetterKind.CONFLICT: (
        "another request with the same id already has a final outcome",
        "let the publisher publish the memory or deletion under a new id",
    ),
    DeadLetterKind.NOTIFICATION: (
        "the notification of a bucket cannot be read",
        f"{_SHOW}; remove the other publisher of the bucket's topic, or run `make deploy`, which sets the subscription",
    ),
    DeadLetterKind.OVER_QUOTA: (
        "the namespace has reached its quota",
        f"{RAISE_QUOTA}; {_REDRIVE} --cause quota {_OF}",
    ),
    DeadLetterKind.NEWER: (
        "the message has a newer schema version than this deployment reads",
        f"deploy the newer version, {_REDRIVE} --cause schema_version {_OF}",
    ),
    DeadLetterKind.UNSTORABLE: (
        "the message failed repeatedly, and other messages work",
        f"see the cause with `mnemosyne dead-letters list --by-cause {_OF}; fix it, {_REDRIVE} {_OF}",
    ),
    DeadLetterKind.EXPIRED: (
        "the message waited for six days",
        f"fix the fault that `push_postponed` names, {_REDRIVE} {_OF}",
    ),
    DeadLetterKind.CRASHED: (
        "a bug in Mnemosyne",
        f'roll back or deploy a fix, {_REDRIVE} --cause "a bug in Mnemosyne" {_OF}',
    ),
}


@dataclass(frozen=True, kw_only=True)
class _Letter:
    message_id: str
    dead_lettered_at: datetime
    """Time at which storing the message failed for the first time."""
    cause: str
    """The error with which storing the message failed the last time."""
    attributes: Mapping[str, Any]

    @property
    def cursor(self) -> KeysetCursor:
        """Position in a list of dead letters, directly after this one."""
        return KeysetCursor(timestamp=self.dead_lettered_at, key=self.message_id)


@dataclass(frozen=True, kw_only=True)
class DeadLetterSummary(_Letter):
    """A dead letter without its data."""

    bytes: int
    last_failed_at: datetime
    failures: int
    redrives: int
    redriven_at: datetime | None
    """Time at which the message was published again, if it has no outcome yet (the dead letter is then in flight).
    Otherwise None."""
    due_at: datetime
    """Earliest time to publish the message again."""


@dataclass(frozen=True, kw_only=True)
class DeadLetterCause:
    """A cause of dead letters, with the number and times of the dead letters that have it.

    Causes that differ only in ids and numbers count as the same cause.
    """

    cause: str
    """The cause, with each id and number replaced by #."""
    letters: int
    in_flight: int
    oldest: datetime
    newest: datetime


class Redrivable(StrEnum):
    """Filter that selects the dead letters to redrive, that is, to publish again."""

    DUE = "due"
    """Dead letters that may be published again now. Dead letters in flight (published again, but without an outcome
    yet) and dead letters that wait after a failed redrive are left out."""
    NOW = "now"
    """Dead letters that are not in flight, including dead letters that wait after a failed redrive."""


@dataclass(frozen=True, kw_only=True)
class DeadLetterChoice:
    """Filter for dead letters of a namespace. A dead letter must meet all conditions.

    The age of a dead letter is the time since its first failure, in seconds.
    """

    message_ids: tuple[str, ...] | None = None
    cause: str | None = None
    """Substring of the cause, or of the cause with ids and numbers replaced by #. Case is ignored."""
    younger_than: float | None = None
    older_than: float | None = None
    redrivable: Redrivable | None = None


ALL_DEAD_LETTERS = DeadLetterChoice()


@dataclass(frozen=True, kw_only=True)
class DeadLetter(_Letter):
    """A message that could not be read or stored completely, with unchanged data. `cause` is the reason."""

    data: bytes
    has_unreported_part: bool = False
    """Whether a part of the message has no row in `ingest_requests`. Only the dead letter reports the failure of such a
    part. This field is stored in the column `dead_letters.lost`."""
    letter_id: UUID | None = None
    """Id of the stored dead letter from which the message was redriven. None if the message was not redriven."""
    failures: int = 1
    redrives: int = 0
    last_failed_at: datetime | None = None
    redriven_at: datetime | None = None
    due_at: datetime | None = None
    """Earliest time to publish the message again. `due_at`, `last_failed_at` and `redriven_at` are None before the dead
    letter is stored."""
    kind: DeadLetterKind = field(default=DeadLetterKind.UNSTORABLE, compare=False)
    """Kind of the dead letter. The kind is logged when the dead letter is stored, but is not stored."""
    subscription: str = field(default="", compare=False)
    """Subscription that delivered the message. The name is logged, but not stored."""

    @property
    def published(self) -> Published:
        """The message, without the data about its failure."""
        return Published(message_id=self.message_id, data=self.data, attributes=self.attributes)
