"""Choose the format by the name, unpack gzip, and read."""

import gzip
import io
import zlib
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import PurePosixPath
from typing import Any, BinaryIO, cast

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
UNPACKED_BYTES = 8 * 1024**3
"""Of a packed file, at most: eight times the largest object."""


def format_of(name: str) -> str | None:
    """Return the format that a name's ending says, a `.gz` after it left aside; None where it says none."""
    return _SUFFIXES.get(PurePosixPath(name.removesuffix(GZIP)).suffix.lower())


def read(
    stream: BinaryIO,
    name: str,
    format_: str,
    *,
    modified: datetime | None = None,
    packed: bool | None = None,
    skip: int = 0,
) -> Iterator[Item]:
    """Yield every record of the stream without the first `skip`, in order.

    `packed` says whether it is gzip, if the name does not. Raises InvalidRequest if the gzip data is damaged or holds
    more than UNPACKED_BYTES.
    """
    if name.endswith(GZIP) if packed is None else packed:
        stream = cast(BinaryIO, io.BufferedReader(_Unpacked(stream, name), io.DEFAULT_BUFFER_SIZE * 8))
    try:
        match format_:
            case "jsonl":
                yield from jsonl.read(stream, name, skip=skip)
            case "chronicle":
                yield from islice(chronicle.read(stream, name), skip, None)
            case "markdown" if not skip:
                yield markdown.read(stream, name, modified)
    except (EOFError, gzip.BadGzipFile, zlib.error) as exc:
        raise InvalidRequest(f"{name} is no whole gzip file: {exc}") from exc


class _Unpacked(io.RawIOBase):
    """The content of a gzip stream, up to a limit: a small stream may have endless content."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        super().__init__()
        self._file = gzip.GzipFile(fileobj=stream)
        self._name = name
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read1(len(buffer))
        self._count += len(data)
        if self._count > UNPACKED_BYTES:
            raise InvalidRequest(f"{self._name} must hold at most {UNPACKED_BYTES:,} bytes unpacked: split it")
        buffer[: len(data)] = data
        return len(data)
