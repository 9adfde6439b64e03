"""Write memories in formats that `import` can read. Pure."""

import json
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

from mnemosyne.domain.archive import EXTRAS
from mnemosyne.domain.memory import ExportedMemory
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.formats.front_matter import CHARACTERS

_YAML_BREAKS = {"\x85", "\u2028", "\u2029"}


def to_record(memory: ExportedMemory) -> dict[str, Any]:
    """Return a memory as a JSON object, from which `import` restores it. Fields without a value are left out."""
    fields: dict[str, Any] = {
        name: _to_json_value(value) for name, value in memory.fields.items() if value not in (None, False)
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
    front = {name: value for name, value in record.items() if name not in ("id", "content", EXTRAS)}
    name = f"{record['timestamp'][:10]}-{record['content_hash'][:12]}.md"
    block = _to_yaml(front, on_one_line=False)
    if len(block) > CHARACTERS:
        block = _to_yaml(front, on_one_line=True)
    return name, f"---\n{block}---\n{record['content']}"


def _to_yaml(front: Mapping[str, Any], *, on_one_line: bool) -> str:
    """Return front matter in YAML. With `on_one_line`, it has one line and no indentation, so it is shorter."""
    import yaml  # slow to import, and only needed here

    block: str = yaml.dump(
        front,
        Dumper=_build_dumper(),
        allow_unicode=True,
        sort_keys=False,
        default_flow_style=on_one_line,
        width=float("inf") if on_one_line else None,
    )
    return block


@cache
def _build_dumper() -> Any:
    """Build a safe dumper of PyYAML that escapes line breaks in texts, because YAML would read them as spaces."""
    import yaml

    def represent(dumper: Any, text: str) -> Any:
        style = None if _YAML_BREAKS.isdisjoint(text) else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    class Dumper(yaml.SafeDumper):
        pass

    Dumper.add_representer(str, represent)  # type: ignore[no-untyped-call]
    return Dumper


def _to_json_value(value: object) -> object:
    """Convert a value to a JSON type: a time to RFC 3339 text, a tuple to a list, and a mapping to a dict."""
    if isinstance(value, datetime):
        return rfc3339(value)
    return list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
