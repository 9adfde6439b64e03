"""The files that `mnemosyne import` reads: any format, packed or not, and folders of notes."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import ijson
from ijson.common import JSONError

from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.domain.parsing import shown
from mnemosyne.formats import reading
from mnemosyne.formats.item import Item, left_out

FORMATS = (*reading.FORMATS, "mcp-memory-service")
_FOREIGN = {"memory_type", "created_at", "created_at_iso", "content_hash", "updated_at", "updated_at_iso"}


def guess(path: Path) -> str:
    """Return the format a path suggests."""
    if path.is_dir():
        return "markdown"
    if path.name.removesuffix(reading.GZIP).endswith(".json"):
        return "mcp-memory-service"
    return reading.format_of(path.name) or "chronicle"


def read(path: Path, format_: str) -> Iterator[Item]:
    """Every memory in the file, or in the directory's files, in order."""
    files = sorted(path.rglob("*.md")) if path.is_dir() and format_ == "markdown" else [path]
    for file in files:
        try:
            with file.open("rb") as stream:
                if format_ == "mcp-memory-service":
                    yield from _mcp_memory_service(stream, str(file))
                else:
                    modified = datetime.fromtimestamp(file.stat().st_mtime, UTC)
                    yield from reading.read(stream, str(file), format_, modified=modified)
        except OSError as exc:
            if file == path:
                raise
            yield Item(str(file), None, f"it cannot be read: {exc}")


def _mcp_memory_service(stream: BinaryIO, name: str) -> Iterator[Item]:
    """Yield what mcp-memory-service exports: `{"memories": [{"content", "tags", "created_at", …}]}`, or the
    array alone.
    """
    beginning = stream.read(1000).lstrip(b"\xef\xbb\xbf \t\r\n")
    stream.seek(0)
    whole = "item" if beginning.startswith(b"[") else "memories.item"
    found = False
    try:
        for number, one in enumerate(ijson.items(stream, whole, use_float=True)):
            found = True
            yield _memory(one, f"{name}:memories[{number}]", number + 1)
    except (JSONError, RecursionError) as exc:
        raise ValueError(f"it is no JSON from some place on: {exc}") from exc
    if not found and not _has_memories(stream, whole):
        yield Item(name, None, 'no "memories" array in the file')


def _has_memories(stream: BinaryIO, whole: str) -> bool:
    stream.seek(0)
    prefix = whole.removesuffix("item").removesuffix(".")
    return any(event == "start_array" and where == prefix for where, event, _ in ijson.parse(stream))


def _memory(one: Any, source: str, line: int) -> Item:
    if not isinstance(one, dict):
        return Item(source, None, f"a memory must be a JSON object, got {shown(one)}", line=line)
    given = one.get("metadata") or {}
    if not isinstance(given, dict):
        return Item(source, None, "metadata must be an object", line=line)
    metadata = dict(given)
    if one.get("memory_type"):
        metadata["memory_type"] = one["memory_type"]
    fields = {
        **{name: one[name] for name in MemoryInput.model_fields if name in one},
        "timestamp": one.get("created_at_iso") or one.get("created_at") or one.get("timestamp"),
        "metadata": metadata,
    }
    return Item(source, fields, line=line, left_out=left_out(one, *_FOREIGN))
