"""Read records from a stream: detect the format, decompress and parse."""

import gzip
import io
import unicodedata
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from mnemosyne.errors import InvalidRequest
from mnemosyne.formats import chronicle, jsonl, markdown
from mnemosyne.formats.decoding import ReadStream, as_utf_8
from mnemosyne.formats.item import ITEM_BYTES, Item

FORMATS = ("jsonl", "chronicle", "markdown")
_SUFFIXES = {
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd"), "markdown"),
    **dict.fromkeys((".txt", ".text", ".chronicle"), "chronicle"),
}
GZIP = ".gz"
TEXT = (".txt", ".text")
"""Extensions of text files. Such a file contains chronicles, or is a note."""
UNPACKED_BYTES = 8 * 1024**3
"""Maximum decompressed size: eight times the maximum size of an imported object."""


def format_of(name: str) -> str | None:
    """Return the format that the extension of a file name indicates, without `.gz`; None for an unknown extension."""
    return _SUFFIXES.get(PurePosixPath(unpacked_name(name)).suffix.lower())


def unpacked_name(name: str) -> str:
    """Remove the extension `.gz`, in upper or lower case."""
    return name[: -len(GZIP)] if name.lower().endswith(GZIP) else name


def note_path(path: str) -> str:
    """Return the path of a note in the form of the note's key: without the extension `.gz`, in Unicode NFC.

    On macOS, letters of file names are decomposed. Without NFC, a note would have another key there than elsewhere.
    """
    return unicodedata.normalize("NFC", unpacked_name(path))


def read(
    stream: BinaryIO,
    name: str,
    format_: str,
    *,
    modified: datetime | None = None,
    packed: bool | None = None,
    skip: int = 0,
    path: str | None = None,
) -> Iterator[Item]:
    """Yield the records of the stream in order, except the first `skip` records. An empty note yields nothing.

    `packed` says whether the data is compressed with gzip. By default the extension of the name decides. `path` is the
    path of a note, relative to the imported folder; by default it is the name. A text file without chronicles (blocks
    from CHRONICLE_START to CHRONICLE_END) is one note. Raises InvalidRequest if the gzip data is damaged or larger than
    UNPACKED_BYTES.
    """
    stream = decompress(stream, name, packed=packed)
    if format_ == "chronicle" and unpacked_name(name).lower().endswith(TEXT):
        stream, is_note = _detect_note(stream)
        format_ = "markdown" if is_note else format_
    match format_:
        case "jsonl":
            yield from jsonl.read(as_utf_8(stream), name, skip=skip)
        case "chronicle":
            yield from islice(_read_chronicles(as_utf_8(stream), name, note_path(path or name)), skip, None)
        case "markdown" if not skip:
            if note := markdown.read(stream, name, modified, note_path(path or name)):
                yield note


def _read_chronicles(stream: BinaryIO, name: str, path: str) -> Iterator[Item]:
    """Yield the chronicles of a stream.

    If a text file has no chronicles, yield the error that it is too large to be a note. A smaller text file without
    chronicles is not passed to this function, because `read` reads it as a note.
    """
    has_chronicles = False
    for item in chronicle.read(stream, name):
        has_chronicles = True
        yield item
    if not has_chronicles and path.lower().endswith(TEXT):
        yield markdown.too_large(name, path)


def decompress(stream: BinaryIO, name: str, *, packed: bool | None = None) -> BinaryIO:
    """Return the stream, decompressed if it is gzip.

    `packed` says whether the data is compressed with gzip. By default the extension of the name decides. Reading the
    result raises InvalidRequest if the data is damaged or larger than UNPACKED_BYTES.
    """
    if not (unpacked_name(name) != name if packed is None else packed):
        return stream
    return cast(BinaryIO, io.BufferedReader(_gunzip(stream, name), io.DEFAULT_BUFFER_SIZE * 8))


def utf_8_text(stream: BinaryIO, name: str) -> BinaryIO:
    """Return the whole text of a file as a stream: decompressed, in UTF-8, without a byte order mark."""
    stream.seek(0)
    text = as_utf_8(decompress(stream, name))
    if cast(io.BufferedReader, text).peek(len(BOM_UTF8)).startswith(BOM_UTF8):
        text.read(len(BOM_UTF8))
    return text


def _detect_note(stream: BinaryIO) -> tuple[BinaryIO, bool]:
    """Find out whether the stream is a note: small enough to be one memory, and without chronicles.

    Return a new stream with all bytes of the given stream, and whether the stream is a note.
    """
    beginning = stream.read(ITEM_BYTES + 1)
    start = io.BytesIO(beginning)
    rest = cast(BinaryIO, io.BufferedReader(ReadStream(lambda size: start.read(size) or stream.read(size))))
    mark = chronicle.START.encode()
    is_chronicles = mark in beginning or chronicle.START.encode("utf-16-le") in beginning
    return rest, len(beginning) <= ITEM_BYTES and not is_chronicles


def _gunzip(stream: BinaryIO, name: str) -> ReadStream:
    """Decompress a gzip stream. The result has a limit, because a small file can decompress to any size."""
    file = gzip.GzipFile(fileobj=stream)
    count = 0

    def read(size: int) -> bytes:
        nonlocal count
        try:
            data = file.read1(size)
        except (EOFError, gzip.BadGzipFile, zlib.error) as exc:
            raise InvalidRequest(f"{name} must be a complete gzip file: {exc}") from exc
        count += len(data)
        if count > UNPACKED_BYTES:
            raise InvalidRequest(f"{name} must contain at most {UNPACKED_BYTES:,} bytes unpacked: split it")
        return data

    return ReadStream(read)
