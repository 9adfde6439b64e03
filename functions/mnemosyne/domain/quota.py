"""Quota of a namespace: usage, limits, and the error when a limit is exceeded. Pure."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta

EVERYBODY = ""
"""Name under which the default limits are stored. They apply to all namespaces without their own limits."""


@dataclass(frozen=True, kw_only=True)
class Quota:
    """Usage and limits of a namespace. A limit of None means no limit.

    `bytes` is the size of contents, titles, tags and metadata in UTF-8. `texts_today` is the number of texts that were
    embedded since midnight UTC.
    """

    memories: int = 0
    bytes: int = 0
    texts_today: int = 0
    memories_limit: int | None = None
    bytes_limit: int | None = None
    texts_limit: int | None = None

    def refusal(self, now: datetime, *, memories: int = 1, size: int = 1, texts: int = 1) -> str | None:
        """Return an error message if adding this many memories, bytes and texts would exceed a limit; else None."""
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
                f"{next_midnight(now):%Y-%m-%dT%H:%MZ}, or ask the operator for more"
            )
        return None

    def exceeds_bytes(self, size: int) -> bool:
        """Whether `size` more bytes would exceed the limit of bytes."""
        return _exceeds(self.bytes + size, self.bytes_limit)

    def with_memory(self, size: int, texts: int) -> "Quota":
        """Return a quota whose usage includes one more memory of this size and number of embedded texts."""
        return replace(self, memories=self.memories + 1, bytes=self.bytes + size, texts_today=self.texts_today + texts)


def next_midnight(now: datetime) -> datetime:
    """Return the next midnight in UTC."""
    return datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), time(), UTC)


def _exceeds(amount: int, limit: int | None) -> bool:
    return limit is not None and amount > limit
