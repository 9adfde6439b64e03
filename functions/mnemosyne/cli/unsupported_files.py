"""Recognise files that cannot be imported, and say what to do with each kind of file."""

import json
import re
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from mnemosyne.cli import whatsapp
from mnemosyne.errors import InvalidRequest
from mnemosyne.formats.chronicle import START
from mnemosyne.formats.decoding import SAMPLE_BYTES, encoding_of, is_text
from mnemosyne.formats.item import ITEM_BYTES
from mnemosyne.formats.reading import GZIP, decompress, format_of, unpacked_name, utf_8_text

_TO_LINES = "write one JSON object a line, with content and timestamp, into a .jsonl file"
_TO_MARKDOWN = "convert it to Markdown"
_UNPACK = "unpack it and import the folder"
_COPY_AGAIN = "download or copy it again"
_TO_OBSIDIAN = "import it into Obsidian with the plugin Importer, and import the Markdown that it writes"
CHAT_EXPORT = "write each message as a JSON line with content, timestamp and session, the id of its conversation"
_KINDS: Final = {
    "csv tsv xlsx xls ods parquet numbers": ("a table", _TO_LINES),
    "html htm mhtml webarchive": ("a web page", f"{_TO_MARKDOWN}, such as with pandoc"),
    "zip tar tgz 7z rar bz2 xz zst": ("an archive", _UNPACK),
    "enex": ("an Evernote export", "import it into Joplin or Obsidian, and import the Markdown that they write"),
    "jex": ("a Joplin archive", "export as Markdown + Front Matter from Joplin, and import that folder"),
    "one": ("a OneNote section", _TO_MARKDOWN),
    "pdf": ("a PDF", f"{_TO_MARKDOWN} or text"),
    "epub": ("an EPUB book", f"{_TO_MARKDOWN}, such as with pandoc"),
    "docx doc odt rtf pages": ("a document of a word processor", f"{_TO_MARKDOWN}, such as with pandoc"),
    "key ppt pptx": ("a presentation", _TO_MARKDOWN),
    "org rst adoc tex typ": ("text in another markup", f"{_TO_MARKDOWN}, such as with pandoc"),
    "db sqlite sqlite3 kdbx": ("a database", f"query it, and {_TO_LINES}"),
    "png jpg jpeg gif webp svg heic bmp tif tiff avif ico": ("an image", "describe it in a text file"),
    "mp3 m4a wav ogg flac opus webm mp4 mov mkv avi": ("a recording", "import a transcript"),
    "canvas excalidraw drawio": ("a drawing", "describe it in a text file"),
    "eml mbox msg": ("an e-mail or a mailbox", _TO_LINES),
    "xml yaml yml toml opml ics vcf": ("structured text", _TO_LINES),
    "base ini cfg conf lock css js ts py sh edn": ("settings or code", "leave it out"),
}
_BY_EXTENSION: Final = {extension: kind for extensions, kind in _KINDS.items() for extension in extensions.split()}
_BY_BEGINNING: Final = (
    (b"%PDF-", "pdf"), (b"SQLite format 3\x00", "sqlite"), (b"\x89PNG", "png"), (b"\xff\xd8\xff", "jpg"),
    (b"GIF8", "gif"), (b"7z\xbc\xaf", "7z"), (b"Rar!", "rar"), (b"BZh", "bz2"),
    (b"\xfd7zXZ", "xz"), (b"\x28\xb5\x2f\xfd", "zst"), (b"PAR1", "parquet"), (b"OggS", "ogg"), (b"ID3", "mp3"),
    (b"fLaC", "flac"), (b"\xd0\xcf\x11\xe0", "doc"), (b"RIFF", "wav"),
)  # fmt: skip
_OF_SEVERAL_KINDS: Final = (b"\xd0\xcf\x11\xe0", b"RIFF")
"""Beginnings that files of several kinds have, such as .doc and .xls. The extension says which kind a file is."""
_JOPLIN_NAME = re.compile(r"[0-9a-f]{32}\.md")
_JOPLIN_END = re.compile(rb"\ntype_: \d+\s*\Z")
"""Pattern of the end of a file in Joplin's RAW format. Joplin also synchronises its notes as files of this format."""
_IS_NOTION = re.compile(r" [0-9a-f]{32}(\.md|/|\.csv|$)")
_IS_CHAT = re.compile(r"(^|/)conversations(-\d+)?\.json$")
"""Pattern of the names of files with conversations. ChatGPT writes a large export as `conversations-000.json`,
`conversations-001.json`, …"""
CHAT_BYTES = 100_000
"""Bytes at the beginning of a JSON file that are searched for a field name of chat exports. The number is large,
because a long `summary` may precede this name in an export of Claude."""
_GRAPH_ADVICE = "write each entity as a JSON line, with its name and observations as content, and with a timestamp"
_EXPORTS_OF_LINES: Final = (
    (rb'^\{"type":\s*"entity",.*"observations":', ("the knowledge graph of an MCP memory server", _GRAPH_ADVICE)),
    (rb'^\{.*"parentuuid":', ("a transcript of Claude Code", CHAT_EXPORT)),
)
"""Patterns of lines, in lower case, by which JSON lines are recognised as the file of another program."""
_EXPORTS: Final = (
    (r'"conversations_memory"\s*:', ("the memory of Claude", "save its text as a .md file")),
    (r'"memory"\s*:\s*"(?:[^"\\]|\\.)*+",\s*"(hash|user_id|agent_id|metadata)"', ("an export of mem0", _TO_LINES)),
    (r'"userEditedTimestampUsec"\s*:', ("a note of Google Keep", _TO_OBSIDIAN)),
    (r'"(create|edit)-time"\s*:', ("a Roam export", _TO_OBSIDIAN)),
    (r'"date_unixtime"\s*:', ("a Telegram export", CHAT_EXPORT)),
    (r'"guild"\s*:\s*\{', ("a Discord export", CHAT_EXPORT)),
    (r'"ts"\s*:\s*"\d{10}\.\d{6}"', ("a Slack export", CHAT_EXPORT)),
    (r'"sender_name"\s*:', ("an Instagram or Facebook export", CHAT_EXPORT)),
)
"""Patterns of fields by which a JSON file without memories is recognised as an export of another program."""
_MEMORY_FIELDS = {("item.content", "string"), ("memories", "start_array"), ("content", "string")}
"""Fields by which a JSON file with memories is recognised, as pairs of a prefix and an event of the parser ijson."""
_OPERATIONS = ("upsert", "delete")
_KINDLE_CLIPPING = rb"[^\n]+\n- [^\n]+\|[^\n]+\r?\n"


def unsupported_kind(path: Path) -> tuple[str, str] | None:
    """Describe an unsupported file, such as "an archive", and say how to import its contents.

    A `.gz` file is described by its contents. Returns None if the file may be supported.
    """
    name = unpacked_name(path.name)
    is_packed = name != path.name
    extension = Path(name).suffix.lower().removeprefix(".")
    beginning = _beginning(path, SAMPLE_BYTES)
    if extension in _BY_EXTENSION and not path.stat().st_size:
        return "an empty file", _COPY_AGAIN
    if beginning.startswith(b"PK\x03\x04"):
        return _BY_EXTENSION["zip"] if is_packed else _zip_kind(path)
    if beginning.startswith(b"\x1f\x8b") and extension not in _BY_EXTENSION and not is_packed:
        return "a gzip file without the extension .gz", "add .gz to its name"
    for mark, kind in _BY_BEGINNING:
        if beginning.startswith(mark) and not (mark.isascii() and _is_note(path, beginning)):
            has_kind = mark in _OF_SEVERAL_KINDS and extension in _BY_EXTENSION
            return _BY_EXTENSION[extension if has_kind else kind]
    if beginning.startswith(b"{\\rtf1\\"):
        return _BY_EXTENSION["rtf"]
    if beginning[257:262] == b"ustar":
        return _BY_EXTENSION["jex" if extension == "jex" else "tar"]
    start = beginning.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<?xml", b"<!doctype en-export")) and b"<en-export" in beginning:
        return _BY_EXTENSION["enex"]
    if extension not in ("md", "markdown") and start.startswith((b"<!doctype html", b"<html")):
        return _BY_EXTENSION["html"]
    if name.lower().endswith(".excalidraw.md") or re.match(rb"---\r?\n(?:(?!---).*\n)*?excalidraw-plugin:", start):
        return _BY_EXTENSION["excalidraw"]
    if _JOPLIN_NAME.fullmatch(path.name) and _JOPLIN_END.search(_beginning(path, ITEM_BYTES)):
        return "an item of Joplin's RAW format", _BY_EXTENSION["jex"][1]
    packed = GZIP if is_packed else ""
    if (extension in ("txt", "text", "") or format_of(path.name) == "jsonl") and re.match(rb"\[\s*\{\s*\"", start):
        return "a JSON array", f"name it .json{packed}, or write one JSON object a line"
    if format_of(path.name) == "jsonl" and re.match(rb"\{\r?\n", start):
        return "JSON of several lines", "write each object on one line, such as with jq -c"
    if start.startswith(b"{") and format_of(path.name) != "markdown" and not _begins_with_memory(path):
        for pattern, kind_of_lines in _EXPORTS_OF_LINES:
            if re.search(pattern, start, re.MULTILINE):
                return kind_of_lines
    if extension in ("txt", "text", "json", "") and _is_json_lines(path, 2 if extension == "json" else 1):
        return "JSON lines", f"name it .jsonl{packed}, or import it alone with --format jsonl"
    if extension in ("txt", "text", "") and (kind_of_text := _text_export_kind(path, start)):
        return None if is_chronicle(path) else kind_of_text
    if extension == "json":
        return None if _begins_with_memories(path) else _chat_export_kind(_decode(_beginning(path, CHAT_BYTES)))
    return _BY_EXTENSION.get(extension)


def without_memories(path: Path, *, is_alone: bool) -> tuple[str, str] | None:
    """Describe a JSON file without memories, such as package.json in a folder of notes; None if it has memories.

    A file has memories in two cases: it is an array in which an object has a text `content` or a valid `op`, or it is
    an object with a text `content` or an array `memories`. The function also returns None if the import itself reports
    better what is wrong: for damaged compressed data, for invalid JSON that has an array of objects or a field
    `content`, and, if the file is imported alone (`is_alone`), for any array of objects of an unknown program.
    """
    from ijson import parse
    from ijson.common import JSONError

    has_objects, text = False, _decode(_beginning(path, CHAT_BYTES))
    try:
        with path.open("rb") as file:
            for prefix, event, value in parse(utf_8_text(file, path.name)):
                has_objects = has_objects or (prefix, event) == ("item", "start_map")
                is_operation = prefix == "item.op" and str(value).lower() in _OPERATIONS
                if (prefix, event) in _MEMORY_FIELDS or is_operation:
                    return None
    except InvalidRequest:
        return None
    except (JSONError, ValueError, RecursionError):
        if has_objects or '"content"' in text:
            return None
    if kind := next((kind for pattern, kind in _EXPORTS if re.search(pattern, text)), None):
        return kind
    return None if is_alone and has_objects else ("JSON without memories", _TO_LINES)


def _is_note(path: Path, beginning: bytes) -> bool:
    """Whether a file has the name of a note and is text, even if the text begins with the mark of a binary format."""
    return format_of(path.name) is not None and is_text(beginning)


def unknown_extension(path: Path) -> tuple[str, str]:
    """Describe a file without a known extension, and say how to import it."""
    beginning = _beginning(path, SAMPLE_BYTES)
    if b"\x00" in beginning:
        return "a binary file", "import text"
    end = GZIP if unpacked_name(path.name) != path.name else ""
    names = f".md{end}, .txt{end} or .jsonl{end}"
    return "a file without a known extension", f"name it {names}, or import it alone with its --format"


def _beginning(path: Path, size: int) -> bytes:
    """Return the first `size` bytes of a file after decompression; b"" if the compressed data is damaged."""
    with path.open("rb") as file, suppress(InvalidRequest):
        return decompress(file, path.name).read(size)
    return b""


def is_chronicle(path: Path) -> bool:
    """Whether a file is in the chronicle format, in which each memory is a block that begins with a start mark.

    The function looks for the mark in the first million bytes of the file after decompression.
    """
    with path.open("rb") as file, suppress(InvalidRequest):
        return START.encode() in decompress(file, path.name).read(1_000_000)
    return False


def _zip_kind(path: Path) -> tuple[str, str]:
    """Describe a ZIP file by the names of the files in it, and say how to import its contents."""
    extension = path.suffix.lower().removeprefix(".")
    try:
        with zipfile.ZipFile(path) as package:
            names = package.namelist()
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError):
        return "a ZIP archive that may be damaged", f"{_UNPACK}; if that fails, {_COPY_AGAIN}"
    if "META-INF/container.xml" in names:
        return _BY_EXTENSION["epub"]
    if chat := next(filter(_IS_CHAT.search, names), None):
        return "the ZIP of a ChatGPT or Claude export", f"unpack it; from its {Path(chat).name}, {CHAT_EXPORT}"
    if any(_IS_NOTION.search(name) for name in names):
        return "a Notion export", _UNPACK
    is_office = any(name.startswith(("word/", "xl/", "ppt/")) for name in names)
    if is_office or not {"content.xml", "Index/Document.iwa"}.isdisjoint(names):
        is_named = extension in _BY_EXTENSION and extension != "zip"
        return _BY_EXTENSION[extension if is_named else "docx"]
    return "a ZIP archive", _UNPACK


def _text_export_kind(path: Path, start: bytes) -> tuple[str, str] | None:
    """Recognise a text file with records of another program. `start` is its beginning in lower case."""
    if re.match(rb"#(separator|html):", start):
        return "an Anki export", "write each card as a JSON line with content and timestamp"
    if re.match(_KINDLE_CLIPPING + rb"(?:[^=][^\n]*\n|\r?\n)*={10}\r?\n(?:\Z|" + _KINDLE_CLIPPING + b")", start):
        return "clippings of a Kindle", "write each highlight as a JSON line with content and timestamp"
    if whatsapp.is_whatsapp(_decode(_beginning(path, whatsapp.SEARCHED_BYTES))):
        return "a WhatsApp export", CHAT_EXPORT
    if re.match(rb"\{\s*\"", start) and _is_json_object(_beginning(path, ITEM_BYTES).strip()):
        return "a JSON object", f"if it has memories, name it .json; otherwise {_TO_LINES}"
    return None


def _decode(beginning: bytes) -> str:
    """Decode the beginning of a file in UTF-8, UTF-16 or UTF-32. The last character may be incomplete."""
    return beginning.decode(encoding_of(beginning), errors="replace")


def _chat_export_kind(text: str) -> tuple[str, str] | None:
    """Recognise a chat export by field names at the beginning of a JSON file.

    Returns the kind and a text that says what to do instead, or None if the file is not a chat export.
    """
    if not text.lstrip("\ufeff \t\r\n").startswith(("[", "{")):
        return None
    if re.search(r'"chat_messages"\s*:\s*\[', text):
        return "a Claude export", CHAT_EXPORT
    if re.search(r'"mapping"\s*:\s*\{', text) and ('"create_time"' in text or '"message"' in text or '"title"' in text):
        return "a ChatGPT export", CHAT_EXPORT
    return None


def _is_json_lines(path: Path, number: int) -> bool:
    """Whether each of the first `number` lines of a file is a JSON object."""
    with path.open("rb") as file, suppress(InvalidRequest):
        stream = decompress(file, path.name)
        return all(_is_json_object(stream.readline(ITEM_BYTES)) for _ in range(number))
    return False


def _begins_with_memory(path: Path) -> bool:
    """Whether a .json file begins with memories, or another file with a JSON line that has a text `content`."""
    if unpacked_name(path.name).lower().endswith(".json"):
        return _begins_with_memories(path)
    with path.open("rb") as file, suppress(InvalidRequest, ValueError, RecursionError):
        return isinstance(json.loads(decompress(file, path.name).readline(ITEM_BYTES)).get("content"), str)
    return False


def _begins_with_memories(path: Path) -> bool:
    """Whether the beginning of a JSON file has one of the fields of a file with memories."""
    from ijson import parse
    from ijson.common import JSONError

    text = _decode(_beginning(path, CHAT_BYTES)).lstrip("\ufeff").encode()
    with suppress(JSONError, ValueError, RecursionError):
        return any((prefix, event) in _MEMORY_FIELDS for prefix, event, _ in parse(text))
    return False


def _is_json_object(line: bytes) -> bool:
    line = line.removeprefix(b"\xef\xbb\xbf")
    try:
        return line.startswith(b"{") and isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
