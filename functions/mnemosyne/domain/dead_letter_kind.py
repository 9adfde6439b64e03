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
