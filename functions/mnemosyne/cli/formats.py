"""Read the memories in a file or folder for `mnemosyne import`.

A file can have any of the supported formats, and can be compressed.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from mnemosyne.cli.listing import JSON_LIST, Listing, list_files
from mnemosyne.domain.memory_input import object_of_text
from mnemosyne.domain.nesting import check_depth
from mnemosyne.domain.text_checks import excerpt
from mnemosyne.errors import InvalidRequest
from mnemosyne.formats import reading
from mnemosyne.formats.item import FAILURE, Item, left_out, valid_unicode

FORMATS = (*reading.FORMATS, JSON_LIST)
_FOREIGN = {"memory_type", "created_at", "created_at_iso", "content_hash", "updated_at", "updated_at_iso", FAILURE}
_TIMES = ("timestamp", "created_at", "created_at_iso")
"""Names of the time in an export of mcp-memory-service, the preferred one first. `created_at` is a number of seconds,
but `created_at_iso` may be a local time without an offset."""
EMPTY = "files without a memory"


def read(path: Path, format_: str | None = None) -> Iterator[Item]:
    """Yield every memory of a file, or of a folder's files."""
    return read_files(list_files(path, format_))


def read_files(listing: Listing) -> Iterator[Item]:
    """Yield every memory of the files, in order. An unreadable file in a folder counts as one failure."""
    for file, format_ in listing.files:
        relative_path = listing.relative_path(file)
        try:
            yield from _read_file(listing, file, format_, relative_path)
        except (OSError, ValueError, InvalidRequest) as exc:
            if not listing.is_folder:
                raise
            path = relative_path if format_ == "markdown" else None
            yield Item(valid_unicode(str(file)), None, f"it cannot be read: {exc}", path=path)


def _read_file(listing: Listing, file: Path, format_: str, relative_path: str) -> Iterator[Item]:
    name = valid_unicode(str(file))
    with file.open("rb") as stream:
        modified = _modification_time(file)
        if format_ == JSON_LIST:
            items = _mcp_memory_service(lambda: reading.utf_8_text(stream, name), name)
        else:
            items = reading.read(stream, name, format_, modified=modified, path=relative_path)
        has_items = False
        for item in items:
            has_items = True
            yield replace(item, modified=modified)
        if not has_items and listing.is_folder:
            listing.skip(file, EMPTY)


def _modification_time(file: Path) -> datetime | None:
    """Return the time at which the file was last modified, or None if the year is not between 1 and 9999.

    Some programs set such a time by mistake, for example by writing milliseconds instead of seconds.
    """
    try:
        return datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _mcp_memory_service(open_text: Callable[[], BinaryIO], name: str) -> Iterator[Item]:
    """Yield the memories of an export of mcp-memory-service.

    The export is a JSON object `{"memories": [{"content", "tags", "created_at", …}]}`, or only the array of memories.
    `open_text` returns a stream of the export in UTF-8. Each call returns a stream that starts at the beginning.
    """
    import ijson
    from ijson.common import JSONError

    path = "item" if open_text().read(1000).lstrip().startswith(b"[") else "memories.item"
    has_memories = False
    try:
        for number, memory in enumerate(ijson.items(open_text(), path, use_float=True)):
            has_memories = True
            yield _parse_memory(memory, f"{name}:memories[{number}]", number + 1)
    except (JSONError, RecursionError) as exc:
        raise ValueError(_describe_json_error(exc)) from exc
    if not has_memories and not _has_memory_list(open_text(), path):
        problem = 'it must be a JSON array of memories, or an object with such an array as "memories"'
        yield Item(name, None, f"{problem}: write [ and ] around a single memory")


def _describe_json_error(error: Exception) -> str:
    """Return the text of the parser's error on one line: the problem, and the place in the data, its second line."""
    # The text is in bytes if it quotes data that are not valid UTF-8.
    text = error.args[0] if error.args else ""
    lines = (text.decode(errors="replace") if isinstance(text, bytes) else str(text)).split("\n")
    problem = ", near ".join(part for line in lines[:2] if (part := line.strip(" .")))
    return f"it is not valid JSON in UTF-8 ({problem}): write one array, or one object a line into a .jsonl file"


def _has_memory_list(stream: BinaryIO, path: str) -> bool:
    """Whether a JSON text has an array of memories. `path` is ijson's path of the memories, such as `memories.item`."""
    import ijson

    prefix = path.removesuffix("item").removesuffix(".")
    return any(event == "start_array" and where == prefix for where, event, _ in ijson.parse(stream))


def _parse_memory(memory: Any, source: str, line: int) -> Item:
    try:
        check_depth(memory, of="a memory")
    except InvalidRequest as exc:
        return Item(source, None, str(exc), line=line)
    if not isinstance(memory, dict):
        problem = f"a memory must be a JSON object, got {excerpt(memory)}"
        return Item(source, None, problem, line=line, raw=json.dumps(memory))
    metadata = object_of_text(memory.get("metadata") or {})
    if memory.get("memory_type") and isinstance(metadata, dict):
        metadata = metadata | {"memory_type": memory["memory_type"]}
    time_name = next((name for name in _TIMES if memory.get(name)), "timestamp")
    fields = {**memory, "timestamp": memory.get(time_name), "metadata": metadata}
    return Item(source, fields, line=line, left_out=left_out(memory, *_FOREIGN), time_name=time_name)
