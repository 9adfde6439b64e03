"""Write memories in formats that `import` can read. Pure."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from mnemosyne.domain.archive import EXTRAS
from mnemosyne.domain.memory import ExportedMemory
from mnemosyne.domain.rfc3339 import rfc3339

_YAML_BREAKS = {"\x85", "\u2028", "\u2029"}


def to_record(memory: ExportedMemory) -> dict[str, Any]:
    """Return a memory as a JSON object, from which `import` restores it. Fields without a value are left out."""
    fields: dict[str, Any] = {
        name: _plain(value) for name, value in memory.fields.items() if value not in (None, False)
    }
    record = {"id": str(memory.id), **fields}
    record |= {"content_hash": memory.content_hash, "created_at": rfc3339(memory.created_at)}
    if memory.superseded_by_hash:
        record["superseded_by_hash"] = memory.superseded_by_hash
    return record


def to_jsonl(record: Mapping[str, Any]) -> str:
    """Return a record as a line of JSON."""
    return json.dumps(record, ensure_ascii=False) + "\n"


def to_markdown(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name and text of a Markdown file: front matter, then the unchanged content."""
    import yaml  # slow to import, and only needed here

    front = {name: value for name, value in record.items() if name not in ("id", "content", EXTRAS)}
    name = f"{record['timestamp'][:10]}-{record['content_hash'][:12]}.md"
    # YAML would fold these line breaks into spaces if they were not escaped.
    readable = not _YAML_BREAKS & set(json.dumps(front, ensure_ascii=False))
    return name, f"---\n{yaml.safe_dump(front, allow_unicode=readable, sort_keys=False)}---\n{record['content']}"


def _plain(value: object) -> object:
    """Convert a value to JSON types."""
    if isinstance(value, datetime):
        return rfc3339(value)
    return list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
