"""Choose the format by the name, unpack gzip, and read."""

import gzip
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from mnemosyne.errors import InvalidRequest
from mnemosyne.formats import chronicle, jsonl, markdown
from mnemosyne.formats.item import Item

FORMATS = ("jsonl", "chronicle", "markdown")
_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "chronicle",
    ".chronicle": "chronicle",
}
GZIP = ".gz"


def format_of(name: str) -> str | None:
    """The format that a name's ending says, a `.gz` after it left aside; None where it says none."""
    return _SUFFIXES.get(PurePosixPath(name.removesuffix(GZIP)).suffix.lower())


def read(
    stream: BinaryIO, name: str, format_: str, *, modified: datetime | None = None, packed: bool | None = None
) -> Iterator[Item]:
    """Every memory of the stream, in order, while none is held for longer; `packed` where the name does not say.

    Raises InvalidRequest where the reading must stop: what is packed is damaged.
    """
    if name.endswith(GZIP) if packed is None else packed:
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=stream))
    try:
        match format_:
            case "jsonl":
                yield from jsonl.read(stream, name)
            case "chronicle":
                yield from chronicle.read(stream, name)
            case "markdown":
                yield markdown.read(stream, name, modified)
    except (EOFError, gzip.BadGzipFile, zlib.error) as exc:
        raise InvalidRequest(f"{name} is no whole gzip file: {exc}") from exc
