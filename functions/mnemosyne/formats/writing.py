"""Write memories in formats that `import` can read. Pure."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from mnemosyne.domain.memory import ExportedMemory
from mnemosyne.domain.rfc3339 import rfc3339

_YAML_BREAKS = {"\x85", "\u2028", "\u2029"}


def to_jsonl(memory: ExportedMemory) -> str:
    """Return a memory as a line of JSON, from which `import` restores it."""
    return json.dumps({"id": str(memory.id), **_fields(memory)}, ensure_ascii=False) + "\n"


def to_markdown(memory: ExportedMemory) -> tuple[str, str]:
    """Return the name and text of a Markdown file: front matter, then the unchanged content."""
    import yaml  # slow to import, and only needed here

    front = {name: value for name, value in _fields(memory).items() if name != "content"}
    name = f"{memory.timestamp:%Y-%m-%d}-{memory.content_hash[:12]}.md"
    # YAML would fold these line breaks into spaces if they were not escaped.
    readable = not _YAML_BREAKS & set(json.dumps(front, ensure_ascii=False))
    return name, f"---\n{yaml.safe_dump(front, allow_unicode=readable, sort_keys=False)}---\n{memory.content}"


def _fields(memory: ExportedMemory) -> dict[str, Any]:
    fields: dict[str, Any] = {name: _plain(value) for name, value in memory.fields.items() if value is not None}
    fields |= {"content_hash": memory.content_hash, "created_at": rfc3339(memory.created_at)}
    if memory.superseded_by_hash:
        fields["superseded_by_hash"] = memory.superseded_by_hash
    return fields


def _plain(value: object) -> object:
    """Convert a value to JSON types."""
    if isinstance(value, datetime):
        return rfc3339(value)
    return list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
