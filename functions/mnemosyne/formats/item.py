"""One record as a file has it. The rules for its fields are in `domain.memory_input`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mnemosyne.domain import chronicle
from mnemosyne.domain.memory import Reading
from mnemosyne.domain.memory_input import Defaults, MemoryInput, read, refused

OURS = ("id", "content_hash", "created_at", "superseded_by_hash")
"""Fields that an export of ours adds. An import makes new ones, or restores them in another way."""
ITEM_BYTES = 2_000_000
"""At most, of one line or one chronicle. The largest memory takes less, even with all characters escaped."""


@dataclass(frozen=True)
class Item:
    """One record: its fields, or why it has none, and its place in the file."""

    source: str
    fields: Mapping[str, Any] | None
    problem: str = ""
    superseded_by_hash: str | None = None
    exact_tags: tuple[str, ...] | None = None
    """From an export of ours: its exact tags, even if its text names others."""
    line: int = 1
    place: int = 1
    """1 for the first item that begins on its line."""
    left_out: tuple[str, ...] = ()
    """Names of its unknown fields."""

    @property
    def suffix(self) -> str:
        """Distinguishes it from other items that begin on its line."""
        return f".{self.place}" if self.place > 1 else ""

    def tags_to_set(self, content: str) -> tuple[str, ...] | None:
        """Return the tags to set once it is stored, because its text names others; else None."""
        exact = self.exact_tags
        return exact if exact is not None and set(chronicle.tags_of(content)) - {*exact} else None


def item_of(source: str, line: int, fields: Mapping[str, Any]) -> Item:
    """Return the record, with the fields that an export of ours adds."""
    successor, tags = fields.get("superseded_by_hash"), fields.get("tags")
    if successor is not None and not isinstance(successor, str):
        return Item(source, None, "superseded_by_hash must be a string", line=line)
    exact = "content_hash" in fields and isinstance(tags, list)
    return Item(
        source,
        fields,
        superseded_by_hash=successor,
        exact_tags=tuple(map(str, tags)) if exact and tags is not None else None,
        line=line,
        left_out=left_out(fields, *OURS),
    )


def read_item(item: Item, defaults: Defaults) -> Reading:
    """Read the record: its request, or why it is refused."""
    return refused(item.problem, defaults) if item.fields is None else read(item.fields, defaults)


def left_out(names: Iterable[object], *known: str) -> tuple[str, ...]:
    """Return the names that are no fields of a record, sorted, except the known ones."""
    return tuple(sorted(_printable(name) for name in {*map(str, names)} - {*MemoryInput.model_fields, *known}))


def _printable(name: str) -> str:
    """Return the name in characters that can be stored."""
    return name[:100].encode(errors="replace").decode().replace("\x00", "?")
