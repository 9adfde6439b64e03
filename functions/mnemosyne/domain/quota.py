"""What a namespace may hold and have embedded, and what to say to one that has no room left. Pure."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta

EVERYBODY = ""
"""The name under which the limits stand of all who have none of their own."""


@dataclass(frozen=True, kw_only=True)
class Quota:
    """What a namespace holds, and what it may hold at most; a limit of None is none.

    Bytes are those of contents, titles, tags and metadata in UTF-8; texts are those embedded since midnight, UTC.
    """

    memories: int = 0
    bytes: int = 0
    texts_today: int = 0
    memories_limit: int | None = None
    bytes_limit: int | None = None
    texts_limit: int | None = None

    def refusal(self, now: datetime, *, memories: int = 1, size: int = 1, texts: int = 1) -> str | None:
        """Why there is no room for so much more; None where there is."""
        if memories and _exceeds(self.memories + memories, self.memories_limit):
            return (
                f"the namespace's quota of {self.memories_limit:,} memories is used up: delete some, or ask the "
                "operator for more, and send it again"
            )
        if self.exceeds_bytes(size):
            return (
                f"the namespace's quota of {self.bytes_limit:,} bytes has no room for {size:,} more: delete "
                "memories, or ask the operator for more, and send it again"
            )
        if texts and _exceeds(self.texts_today + texts, self.texts_limit):
            return (
                f"the namespace's quota of {self.texts_limit:,} embedded texts a day is used up: send it again after "
                f"{midnight(now):%Y-%m-%dT%H:%MZ}, or ask the operator for more"
            )
        return None

    def exceeds_bytes(self, size: int) -> bool:
        """Whether there is no room for so many more bytes."""
        return _exceeds(self.bytes + size, self.bytes_limit)

    def with_more(self, memories: int, size: int, texts: int) -> "Quota":
        """Return what it holds once so much more is stored."""
        return replace(
            self, memories=self.memories + memories, bytes=self.bytes + size, texts_today=self.texts_today + texts
        )


def midnight(now: datetime) -> datetime:
    """When the next day begins, in UTC."""
    return datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), time(), UTC)


def _exceeds(wanted: int, limit: int | None) -> bool:
    return limit is not None and wanted > limit
