"""One memory as it was read, and the rules that all formats share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any

from mnemosyne.domain import chronicle

OURS = ("id", "content_hash", "created_at", "superseded_by_hash")
"""What an export of ours says beside the fields: made anew where it is imported, or restored in another way."""
ITEM_BYTES = 2_000_000
"""Of one line or one chronicle, at most: the largest memory takes less, however its characters are escaped."""


@dataclass(frozen=True)
class Item:
    """One memory read: the arguments of `ingest_memory`, or why there are none; and where it stood."""

    source: str
    arguments: Mapping[str, Any] | None
    problem: str = ""
    superseded_by_hash: str | None = None
    exact_tags: tuple[str, ...] | None = None
    """Of an export of ours: all its tags, whatever others its text names."""
    line: int = 1
    place: int = 1
    """Which of those it is that begin on its line."""
    left_out: tuple[str, ...] = ()
    """Fields that it had and no memory has."""

    def tags_to_set(self, content: str) -> tuple[str, ...] | None:
        """Return its tags where they must be set once it is stored, for its text names others; else None."""
        exact = self.exact_tags
        return exact if exact is not None and set(chronicle.tags_of(content)) - {*exact} else None


def item_of(
    source: str, line: int, fields: Mapping[str, Any], arguments: Mapping[str, Any], known: Iterable[str]
) -> Item:
    """Return the memory with what an export of ours says beside it.

    `known` are the fields that the format has a use for.
    """
    successor, tags = fields.get("superseded_by_hash"), fields.get("tags")
    if successor is not None and not isinstance(successor, str):
        return Item(source, None, "superseded_by_hash must be a string", line=line)
    exact = "content_hash" in fields and isinstance(tags, list)
    return Item(
        source,
        arguments,
        superseded_by_hash=successor,
        exact_tags=tuple(map(str, tags)) if exact and tags is not None else None,
        line=line,
        left_out=tuple(sorted(_printable(name) for name in {*map(str, fields)} - {*known, *OURS})),
    )


def _printable(name: str) -> str:
    """Return the name as anything can keep it."""
    return name[:100].encode(errors="replace").decode().replace("\x00", "?")


def timestamp(value: object) -> object:
    """RFC 3339 of what formats write for it: a date is its midnight, seconds count since 1970, no offset is UTC.

    What is none of these is left for the rules of input to refuse.
    """
    try:
        moment = _moment(value)
        return moment.astimezone(UTC).isoformat().replace("+00:00", "Z") if moment else value
    except (ValueError, OverflowError, OSError):
        return value


def _moment(value: object) -> datetime | None:
    if isinstance(value, str):
        # BigQuery exports `2026-05-20 14:30:00.5 UTC`: https://github.com/googleapis/google-cloud-php/issues/3422.
        value = datetime.fromisoformat(value.strip().removesuffix(" UTC"))
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = datetime.fromtimestamp(value, UTC)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time.min)
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return None


def tags_of(value: object) -> object:
    """Tags as a list: one string is several, separated by commas."""
    return [tag.strip() for tag in value.split(",") if tag.strip()] if isinstance(value, str) else value
