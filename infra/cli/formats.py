"""The file formats that memories come from and go to. Readers yield one item per memory, good or not."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import yaml

from mnemosyne.domain.memory import ExportedMemory

FORMATS = ("jsonl", "chronicle", "markdown", "mcp-memory-service")
_START, _END = r"\[\[\[CHRONICLE_START\]\]\]", r"\[\[\[CHRONICLE_END\]\]\]"
_CHRONICLE = re.compile(rf"{_START}(?:(?!{_START}).)*?(?P<end>{_END}|(?={_START})|\Z)", re.DOTALL)
_TS_LINE = re.compile(r"^[ \t]*TS:(.*)$", re.MULTILINE)
_FRONT_MATTER = re.compile(r"---\r?\n(.*?)\r?\n---\r?\n", re.DOTALL)
_YAML_BREAKS = {"\x85", "\u2028", "\u2029"}
_FIELDS = ("content", "timestamp", "title", "tags", "metadata")


@dataclass(frozen=True)
class Item:
    """One memory read: the arguments of `ingest_memory`, or why there are none; and where it stood."""

    source: str
    arguments: Mapping[str, Any] | None
    problem: str = ""
    superseded_by_hash: str | None = None
    exact_tags: tuple[str, ...] | None = None
    """Of an export of ours: all its tags, whatever others its text names."""


def guess(path: Path) -> str:
    """The format a path suggests."""
    if path.is_dir() or path.suffix in (".md", ".markdown"):
        return "markdown"
    return {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "mcp-memory-service"}.get(path.suffix, "chronicle")


def read(path: Path, format_: str) -> Iterator[Item]:
    """Every memory in the file, or in the directory's files, in order."""
    match format_:
        case "jsonl":
            yield from _jsonl(path)
        case "chronicle":
            yield from _chronicles(path)
        case "markdown":
            files = sorted(path.rglob("*.md")) if path.is_dir() else [path]
            yield from (_markdown(file) for file in files)
        case "mcp-memory-service":
            yield from _mcp_memory_service(path)


def _jsonl(path: Path) -> Iterator[Item]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            source = f"{path}:{number}"
            if not line.strip():
                continue
            try:
                fields = json.loads(line.decode())
            except (ValueError, RecursionError) as exc:
                yield Item(source, None, f"not JSON: {exc}")
                continue
            if not isinstance(fields, dict):
                yield Item(source, None, "not a JSON object")
                continue
            yield _item(source, {name: fields[name] for name in _FIELDS if fields.get(name) is not None}, fields)


def _item(source: str, arguments: Mapping[str, Any], fields: Mapping[str, Any]) -> Item:
    """The memory with what an export of ours says beside it."""
    successor, tags = fields.get("superseded_by_hash"), fields.get("tags")
    if successor is not None and not isinstance(successor, str):
        return Item(source, None, "superseded_by_hash must be a string")
    exact = "content_hash" in fields and isinstance(tags, list)
    return Item(
        source,
        arguments,
        superseded_by_hash=successor,
        exact_tags=tuple(map(str, tags)) if exact and tags is not None else None,
    )


def _verbatim(path: Path) -> str:
    """The file's text with its line ends as they are: what is stored is stored exactly."""
    with path.open(encoding="utf-8", newline="") as file:
        return file.read()


def _chronicles(path: Path) -> Iterator[Item]:
    text = _verbatim(path)
    line, counted = 1, 0
    for match in _CHRONICLE.finditer(text):
        line, counted = line + text.count("\n", counted, match.start()), match.start()
        source = f"{path}:{line}"
        when = _TS_LINE.search(match[0])
        if not match["end"]:
            yield Item(source, None, "the chronicle has no [[[CHRONICLE_END]]]")
        elif when is None:
            yield Item(source, None, "the chronicle has no TS: line")
        else:
            yield Item(source, {"content": match[0], "timestamp": _timestamp(when[1].strip())})


def _markdown(path: Path) -> Item:
    try:
        text = _verbatim(path)
        match = _FRONT_MATTER.match(text)
        front = _json(yaml.safe_load(match[1])) if match else None
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as exc:
        return Item(str(path), None, f"it cannot be read: {exc}")
    if match is None or not isinstance(front, dict):
        return Item(str(path), None, "no front matter: begin the file with ---, timestamp: …, ---")
    when = next((front[name] for name in ("timestamp", "date", "created") if front.get(name)), None)
    arguments = {"content": text[match.end() :], "timestamp": _timestamp(when)}
    arguments |= {name: front[name] for name in ("title", "tags", "metadata") if front.get(name) is not None}
    return _item(str(path), arguments, front)


def _json(value: object) -> object:
    """What YAML has read, in JSON's terms: a date is the text it was written as."""
    if isinstance(value, dict):
        return {str(name): _json(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_json(one) for one in value]
    return value.isoformat() if isinstance(value, date) else value


def _mcp_memory_service(path: Path) -> Iterator[Item]:
    """The JSON that mcp-memory-service exports: `{"memories": [{"content", "tags", "created_at", …}]}`."""
    try:
        posted = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError as exc:
        raise ValueError("it is nested too deeply") from exc
    memories = posted.get("memories") if isinstance(posted, dict) else posted
    if not isinstance(memories, list):
        yield Item(str(path), None, 'no "memories" array in the file')
        return
    for number, one in enumerate(memories):
        source = f"{path}:memories[{number}]"
        if not isinstance(one, dict):
            yield Item(source, None, "not a JSON object")
            continue
        tags = one.get("tags") or []
        given = one.get("metadata") or {}
        if not isinstance(given, dict):
            yield Item(source, None, "metadata must be an object")
            continue
        metadata = dict(given)
        if one.get("memory_type"):
            metadata["memory_type"] = one["memory_type"]
        arguments = {
            "content": one.get("content"),
            "timestamp": _timestamp(one.get("created_at_iso") or one.get("created_at")),
            "tags": [tag.strip() for tag in tags.split(",") if tag.strip()] if isinstance(tags, str) else tags,
            "metadata": metadata,
        }
        yield Item(source, arguments)


def _timestamp(value: object) -> object:
    """RFC 3339 of what formats write for it: a date is its midnight, seconds count since 1970, no offset is UTC.

    What is none of these is left for the rules of input to refuse.
    """
    try:
        moment = _moment(value)
        return moment.astimezone(UTC).isoformat().replace("+00:00", "Z") if moment else value
    except (ValueError, OverflowError, OSError):
        return value


def _moment(value: object) -> datetime | None:
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = datetime.fromtimestamp(value, UTC)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time.min)
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return None


def to_jsonl(memory: ExportedMemory) -> str:
    """One line; `import` of it makes the same memory."""
    return json.dumps({"id": str(memory.id), **_fields(memory)}, ensure_ascii=False) + "\n"


def to_markdown(memory: ExportedMemory) -> tuple[str, str]:
    """A file's name, and its text: front matter, then the content as it is."""
    front = {name: value for name, value in _fields(memory).items() if name != "content"}
    name = f"{memory.timestamp:%Y-%m-%d}-{memory.content_hash[:12]}.md"
    # Line breaks that YAML knows and JSON does not would be folded into spaces, were they not escaped.
    readable = not _YAML_BREAKS & set(json.dumps(front, ensure_ascii=False))
    return name, f"---\n{yaml.safe_dump(front, allow_unicode=readable, sort_keys=False)}---\n{memory.content}"


def _fields(memory: ExportedMemory) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "content": memory.content,
        "timestamp": _timestamp(memory.timestamp),
        "title": memory.title,
        "tags": list(memory.tags),
        "metadata": dict(memory.metadata),
        "content_hash": memory.content_hash,
        "created_at": _timestamp(memory.created_at),
    }
    if memory.superseded_by_hash:
        fields["superseded_by_hash"] = memory.superseded_by_hash
    return fields
