"""A record in an imported file: the fields of a memory, or of a deletion.

The rules for the fields are in `domain.memory_input`.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from mnemosyne.domain import chronicle
from mnemosyne.domain.archive import EXTRAS
from mnemosyne.domain.failed_request import failed_request
from mnemosyne.domain.memory import ExternalId, FailedRequest, IngestRequest, Reading
from mnemosyne.domain.memory_input import Defaults, MemoryInput, read
from mnemosyne.domain.parsing import KEY_LIMIT
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.domain.visible import escape
from mnemosyne.ids import note_version_id

FAILURE = "import_failure"
"""Name of a field that an import adds to each record in its failures file. Its value has the record's location and
error."""
OURS = ("id", "content_hash", "created_at", "superseded_by_hash", EXTRAS, FAILURE)
"""Fields that Mnemosyne adds to records: in an export, or in the failures file of an import. An import does not report
them as unknown fields."""
ITEM_BYTES = 2_000_000
"""Maximum size of a line, chronicle or note. The largest memory fits, even if all its characters are escaped."""


@dataclass(frozen=True)
class Item:
    """A record of a file: the fields of the record, an error, or both, and the place of the record in the file."""

    source: str
    fields: Mapping[str, Any] | None
    problem: str = ""
    superseded_by_hash: str | None = None
    exact_tags: tuple[str, ...] | None = None
    """Tags that an exported memory had. They may differ from the tags in the `TAGS:` line of its content. None for
    other records."""
    line: int = 1
    place: int = 1
    """Position of the item among the items that begin on the same line, from 1."""
    left_out: tuple[str, ...] = ()
    """Names of fields that are ignored: unknown fields, or properties of a note that could not be read."""
    path: str | None = None
    """Path of a note in its folder or bucket. The path is the note's key."""
    modified: datetime | None = None
    """Time at which the file was last modified: the default time of notes and deletions."""
    time_name: str = "timestamp"
    """Name of the timestamp's field in the file, for error messages."""
    raw: str | None = None
    """Text of a record that could not be parsed."""

    @property
    def suffix(self) -> str:
        """Suffix of the item's key, so that several items that begin on one line have different keys."""
        return f".{self.place}" if self.place > 1 else ""

    def tags_to_set(self, content: str) -> tuple[str, ...] | None:
        """Return the exported tags if they must be set again after the memory is stored, otherwise None.

        Storing a memory adds the tags in the `TAGS:` line of its content. If one of these is not an exported tag, the
        memory has too many tags until the exported tags are set.
        """
        exact = self.exact_tags
        return exact if exact is not None and set(chronicle.tags_of(content)) - {*exact} else None


def item_of(source: str, line: int, fields: Mapping[str, Any]) -> Item:
    """Build an item from the fields of a record, including the fields that `export` adds."""
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
    """Validate the record, and return its ingest request, or a failed request with the error.

    A note without source and key gets the source `vault` and its path as the key. The request id of such a note depends
    on content, properties and modification time, so that any change of the file makes a new request.
    """
    if item.path is not None and vault:
        defaults = replace(defaults, source=vault, key=key_of_path(item.path))
    if item.fields is None or item.problem:
        return failed_request(item.problem, defaults, item.fields)
    reading = read(item.fields, defaults)
    if isinstance(reading, FailedRequest) and item.time_name != "timestamp":
        return replace(reading, error=re.sub(r"(^|; )timestamp\b", rf"\1{item.time_name}", reading.error))
    if item.path is not None and isinstance(reading, IngestRequest) and reading.external_id:
        return replace(reading, request_id=_note_request_id(reading, reading.external_id, item.modified))
    return reading


def key_of_path(path: str) -> str:
    """Return the key of a note: its path, in which invisible characters are replaced by code points, such as <U+200B>.

    If the path is too long for a key, the key consists of a digest of the path and of the end of the path.
    """
    path = escape(valid_unicode(path).replace("\x00", "?"))
    digest = hashlib.sha256(path.encode()).hexdigest()[:16]
    if len(path) <= KEY_LIMIT:
        return path
    # Escape again, because the end of the path may begin with a joiner. Without the character before it, a joiner is
    # invisible.
    return escape(f"{digest}…{path[-(KEY_LIMIT - len(digest) - 1) :]}")[:KEY_LIMIT]


def _note_request_id(reading: IngestRequest, external_id: ExternalId, modified: datetime | None) -> Any:
    values = [reading.content_hash, reading.title, reading.tags, reading.metadata, rfc3339(reading.timestamp)]
    state = json.dumps([*values, rfc3339(modified)], sort_keys=True, default=str)
    return note_version_id(external_id.source, external_id.key, hashlib.sha256(state.encode()).hexdigest())


def left_out(names: Iterable[object], *known_names: str) -> tuple[str, ...]:
    """Return the sorted names that are neither fields of a record nor in `known_names`."""
    unknown = {*map(str, names)} - {*MemoryInput.model_fields, *known_names}
    return tuple(sorted(name[:100].encode(errors="replace").decode().replace("\x00", "?") for name in unknown))


def valid_unicode(name: str) -> str:
    r"""Return a file's name as valid Unicode: each byte that is not UTF-8 becomes six characters, such as `\udce9`."""
    return name.encode(errors="backslashreplace").decode()
