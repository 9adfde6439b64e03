"""Kinds of dead letters: why a message could not be stored. The log counts dead letters by kind. Pure."""

from enum import StrEnum


class DeadLetterKind(StrEnum):
    """Why a message became a dead letter."""

    UNREADABLE = "unreadable"
    """The message, or a part of it, could not be parsed."""
    CONFLICT = "conflict"
    """A memory with other content was stored before under the same request id."""
    NOTIFICATION = "notification"
    """The notification of a bucket could not be read."""
    OVER_QUOTA = "over_quota"
    NEWER = "newer_version"
    """The schema version of the message is newer than this version of Mnemosyne."""
    UNSTORABLE = "unstorable"
    """The message failed repeatedly, although the services work for other messages."""
    EXPIRED = "expired"
    """The message waited for six days, and Pub/Sub deletes it after seven days."""
    CRASHED = "crashed"
    """A bug in Mnemosyne."""

    @property
    def is_of_sender(self) -> bool:
        """Whether only the sender of the message can correct it."""
        return self in (self.UNREADABLE, self.CONFLICT, self.NOTIFICATION)

    @property
    def meaning(self) -> str:
        """Meaning of the kind in one sentence, for the log."""
        return _ABOUT[self][0]

    @property
    def next_step(self) -> str:
        """What an operator must do, for the log."""
        return _ABOUT[self][1]


_OF = "--namespace NAMESPACE --project MY-PROJECT`"
_SHOW = f"look at it with `mnemosyne dead-letters show MESSAGE_ID {_OF}"
_REDRIVE = "then run `mnemosyne redrive"
_ABOUT = {
    DeadLetterKind.UNREADABLE: (
        "the message cannot be parsed, or names no namespace",
        f"{_SHOW}, and tell the publisher",
    ),
    DeadLetterKind.CONFLICT: (
        "the id of a request has stored another content",
        "let the publisher publish the change under a new id",
    ),
    DeadLetterKind.NOTIFICATION: (
        "the notification of a bucket cannot be read",
        f"{_SHOW}; remove the other publisher of the bucket's topic, or run `make deploy`, which sets the subscription",
    ),
    DeadLetterKind.OVER_QUOTA: (
        "the namespace has reached its quota",
        f"raise the quota with `mnemosyne quota set {_OF}, {_REDRIVE} --cause quota {_OF}",
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
        f'roll back or deploy a fix, {_REDRIVE} --cause "a fault of our own" {_OF}',
    ),
}
