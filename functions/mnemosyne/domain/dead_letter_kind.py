"""Kinds of dead letters, which the log counts by. Pure."""

from enum import StrEnum


class DeadLetterKind(StrEnum):
    """Why a message became a dead letter."""

    UNREADABLE = "unreadable"
    """The message, or a part of it, could not be parsed."""
    CONFLICT = "conflict"
    """The id of a request has stored another content before."""
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
        """Whether only the sender can correct the message."""
        return self in (self.UNREADABLE, self.CONFLICT, self.NOTIFICATION)

    @property
    def meaning(self) -> str:
        """What the kind means, for the log."""
        return _ABOUT[self][0]

    @property
    def next_step(self) -> str:
        """What the operator does, for the log."""
        return _ABOUT[self][1]


_ABOUT = {
    DeadLetterKind.UNREADABLE: (
        "the message cannot be parsed, or names no namespace",
        "look at it with `mnemosyne dead-letters show MESSAGE_ID --project MY-PROJECT`, and tell the publisher",
    ),
    DeadLetterKind.CONFLICT: (
        "the id of a request has stored another content",
        "let the publisher publish the change under a new id",
    ),
    DeadLetterKind.NOTIFICATION: (
        "the notification of a bucket cannot be read",
        "look at it with `mnemosyne dead-letters show MESSAGE_ID --project MY-PROJECT`; remove the other publisher of "
        "the bucket's topic, or run `make deploy`, which sets the subscription",
    ),
    DeadLetterKind.OVER_QUOTA: (
        "the namespace has reached its quota",
        "raise the quota with `mnemosyne quota set --namespace NAME --project MY-PROJECT`, then run "
        "`mnemosyne redrive --cause quota --project MY-PROJECT`",
    ),
    DeadLetterKind.NEWER: (
        "the message has a newer schema version than this deployment reads",
        "deploy the newer version, then run `mnemosyne redrive --cause schema_version --project MY-PROJECT`",
    ),
    DeadLetterKind.UNSTORABLE: (
        "the message failed repeatedly, and other messages work",
        "see the cause with `mnemosyne dead-letters list --by-cause --project MY-PROJECT`; fix it, then run "
        "`mnemosyne redrive --project MY-PROJECT`",
    ),
    DeadLetterKind.EXPIRED: (
        "the message waited for six days",
        "fix the fault that `push_postponed` names, then run `mnemosyne redrive --project MY-PROJECT`",
    ),
    DeadLetterKind.CRASHED: (
        "a bug in Mnemosyne",
        'roll back or deploy a fix, then run `mnemosyne redrive --cause "a fault of our own" --project MY-PROJECT`',
    ),
}
