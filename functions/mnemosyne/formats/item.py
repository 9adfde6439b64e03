"""One record as a file has it. The rules for its fields are in `domain.memory_input`."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from mnemosyne.domain import chronicle
from mnemosyne.domain.memory import IngestRequest, Origin, Reading, Unstored
from mnemosyne.domain.memory_input import Defaults, MemoryInput, read, refused
from mnemosyne.domain.parsing import KEY_LIMIT
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.ids import note_version_id

FAILURE = "import_failure"
"""Field of a record in a file of failures: its place and the error, of the import that it failed in."""
OURS = ("id", "content_hash", "created_at", "superseded_by_hash", FAILURE)
"""Fields that an export of ours, or a file of failures, adds. An import makes new ones or restores them otherwise."""
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
    """Names of its unknown fields, and of a note the properties that could not be read."""
    path: str | None = None
    """Of a note: its path in its folder or bucket, which is its key there."""
    modified: datetime | None = None
    """Of a note: when its file was written."""
    time_name: str = "timestamp"
    """What the file calls the timestamp."""
    raw: str | None = None
    """The text of a record that has no fields."""

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


def read_item(item: Item, defaults: Defaults, *, vault: str = "") -> Reading:
    """Read the record: its request, or why it is refused.

    A note without a name of its own is what the source `vault` calls by the note's path. Each state of its file, its
    content, properties and time, is a request, so that changed labels are taken too.
    """
    if item.path is not None and vault:
        defaults = replace(defaults, source=vault, key=key_of_path(item.path))
    if item.fields is None:
        return refused(item.problem, defaults)
    reading = read(item.fields, defaults)
    if isinstance(reading, Unstored) and item.time_name != "timestamp":
        return replace(reading, error=re.sub(r"(^|; )timestamp\b", rf"\1{item.time_name}", reading.error))
    if item.path is not None and isinstance(reading, IngestRequest) and reading.origin:
        return replace(reading, request_id=_note_version(reading, reading.origin, item.modified))
    return reading


def key_of_path(path: str) -> str:
    """Return the key of a note: its path; of a path that is longer than a key, its end after a digest of the whole."""
    path = _printable(path, len(path))
    digest = hashlib.sha256(path.encode()).hexdigest()[:16]
    return path if len(path) <= KEY_LIMIT else f"{digest}…{path[-(KEY_LIMIT - len(digest) - 1) :]}"


def _note_version(reading: IngestRequest, origin: Origin, modified: datetime | None) -> Any:
    said = [reading.content_hash, reading.title, reading.tags, reading.metadata, rfc3339(reading.timestamp)]
    state = json.dumps([*said, rfc3339(modified)], sort_keys=True, default=str)
    return note_version_id(origin.source, origin.key, hashlib.sha256(state.encode()).hexdigest())


def left_out(names: Iterable[object], *known: str) -> tuple[str, ...]:
    """Return the names that are no fields of a record, sorted, except the known ones."""
    return tuple(sorted(_printable(name) for name in {*map(str, names)} - {*MemoryInput.model_fields, *known}))


def _printable(name: str, characters: int = 100) -> str:
    """Return the name in characters that can be stored."""
    return name[:characters].encode(errors="replace").decode().replace("\x00", "?")
