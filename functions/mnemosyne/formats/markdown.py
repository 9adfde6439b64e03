"""Read notes: one memory per Markdown or text file (Obsidian, Hugo, Jekyll, Joplin, Logseq, Notesnook, Notion)."""

import re
from dataclasses import replace
from datetime import datetime
from typing import BinaryIO

from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.formats import front_matter, note_fields, note_values
from mnemosyne.formats.decoding import text_of
from mnemosyne.formats.item import ITEM_BYTES, Item, item_of
from mnemosyne.formats.note_dates import NoteTime, time_in_name, time_of
from mnemosyne.formats.properties_yaml import Properties

_HASH = re.compile(r"[0-9a-f]{64}")


def read(stream: BinaryIO, name: str, modified: datetime | None, path: str) -> Item | None:
    """Read a note; None if the file has no text.

    The timestamp is taken from the properties, the file's name or the modification time, in this order. Properties such
    as `title` and `tags` become fields of the memory, and the others become metadata. A property that cannot be read
    is left out, and a notice reports it. There is an exception: if a property that must be a time, such as `updated`,
    is a number that is not a date, the whole note is invalid.
    """
    data = stream.read(ITEM_BYTES + 1)
    if len(data) > ITEM_BYTES:
        return too_large(name, path)
    text = None
    try:
        text, encoding = text_of(data)
        properties, body = front_matter.split(text)
        if not properties.values and note_fields.is_of_notion(path):
            properties = front_matter.notion_properties(text)
        if _is_exported(properties):
            return item_of(name, 1, {**properties.values, "content": body})
        if not note_values.has_text(body) and not properties.values:
            return None
        item = _note_item(name, properties, body, modified, path)
    except ValueError as exc:
        return Item(name, None, str(exc), path=path, modified=modified, raw=text)
    return replace(item, left_out=(*item.left_out, f"{path} (read as {encoding})")) if encoding else item


def too_large(name: str, path: str) -> Item:
    """Return an item with the error that the note is too large."""
    return Item(name, None, f"a note must have at most {ITEM_BYTES:,} bytes", path=path)


def _is_exported(properties: Properties) -> bool:
    """Whether a note with these properties was written by `mnemosyne export`.

    The property `content_hash` alone does not show this, because other programs write such a property, too.
    """
    values = properties.values
    return bool(_HASH.fullmatch(str(values.get("content_hash")))) and {"timestamp", "created_at"} <= values.keys()


def _note_item(name: str, properties: Properties, body: str, modified: datetime | None, path: str) -> Item:
    """Build the item of a note.

    If the note has no valid time, the item has an error and all other fields, so that a person can add the time.
    """
    problem = ""
    dated, rest = time_in_name(note_fields.stem_of(path))
    try:
        time = time_of(properties.values, properties.lines)
    except ValueError as exc:
        time, problem = NoteTime(None, None), str(exc)
    timestamp = time.timestamp or dated or rfc3339(modified)
    if timestamp is None:
        problem = problem or (
            "a note must have a time: add the property timestamp, or a date at the beginning of the file name"
        )
    note = note_fields.fields_of(properties, body, path, rest, used=time.used)
    notices = [f"{path}, {notice}" for notice in (*properties.notices, *time.notices, *note.notices)]
    return Item(
        name,
        note.fields if problem else {**note.fields, "timestamp": timestamp},
        problem,
        left_out=tuple(notices),
        path=path,
        modified=modified,
        time_name=time.used or "timestamp",
    )
