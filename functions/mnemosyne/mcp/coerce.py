"""Convert arguments of the wrong JSON type, before the tool validates them. Pure.

Some models write numbers, lists and objects as strings. Others give null for optional arguments, because their vendors
require all arguments: https://platform.openai.com/docs/guides/structured-outputs (all fields must be required). A value
is converted only if the tool's schema allows exactly one interpretation. Other values are left unchanged, so that the
validation rejects them with an error that names the argument.
"""

import re
from collections.abc import Mapping
from typing import Any

from mnemosyne.domain.parsing import is_like_json, json_of_text

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?")
_WRITTEN_ID = re.compile(r"([\[<`\"'])?(?:memory://)?(?P<id>[0-9a-fA-F-]{32,36})(?(1)[\]>`\"'])")
"""Pattern of an id as models write it: alone, in quotes, in brackets (as in the texts of tools' answers), or in the URI
of a resource."""
_FENCE = "```"
IDS = ("id", "ids", "request_id", "request_ids", "superseded_by")
SEPARATED = ("tags", "add_tags", "remove_tags", "ids", "request_ids")
"""Lists that may be written as one text with commas. In other lists, the text of an item may contain commas."""
_BOOLEAN = {"true": True, "false": False}


def coerce_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the arguments to the types of an object's schema.

    Null values are dropped. Empty texts and lists (`""`, `[]` and `"[]"`) of optional arguments are dropped, too.
    """
    properties, required = schema.get("properties", {}), schema.get("required", ())
    optional = properties.keys() - set(required)
    values = {
        name: _coerce(value, properties.get(name, {}), name)
        for name, value in arguments.items()
        if value is not None and not (value == "" and name in optional)
    }
    return {name: value for name, value in values.items() if value != [] or name not in optional}


def _coerce(value: Any, schema: Mapping[str, Any], name: str) -> Any:
    kind = schema.get("type", "")
    if isinstance(value, str):
        value = _parse_text(value, kind, schema, name)
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind == "array" and isinstance(value, dict) and schema["items"].get("type") == "object":
        value = value[name] if value.keys() == {name} and isinstance(value[name], list) else [value]
    if kind == "array" and isinstance(value, list):
        return [_coerce(item, schema.get("items", {}), name) for item in value]
    if kind == "object" and isinstance(value, dict) and "properties" in schema:
        return coerce_arguments(value, schema)
    return value


def _parse_text(text: str, kind: str, schema: Mapping[str, Any], name: str) -> Any:
    """Parse a text as one of the JSON types that the schema accepts."""
    if kind == "string":
        if name in IDS and (match := _WRITTEN_ID.fullmatch(text.strip())):
            return match["id"]
        word = text.strip().lower()
        return word if word in schema.get("enum", ()) else text
    if kind == "integer" and _INTEGER.fullmatch(text.strip()):
        return int(text)
    if kind == "number" and _NUMBER.fullmatch(text.strip()):
        return float(text)
    if kind == "boolean":
        return _BOOLEAN.get(text.strip().lower(), text)
    if kind in ("array", "object"):
        items = schema.get("items", {})
        value = json_of_text(text)
        if isinstance(value, list if kind == "array" else dict) or (
            isinstance(value, dict) and items.get("type") == "object"
        ):
            return value
        memory_schema = schema if kind == "object" else items
        if (memories := _fenced_memories(text, memory_schema)) and kind == "array":
            return memories
        if memory := _memory_with_content(text, memory_schema):
            return memory if kind == "object" else [memory]
        if kind == "array" and items.get("type") == "string":
            return _split_at_commas(text) if name in SEPARATED else [text]
    return text


def _split_at_commas(text: str) -> list[str] | str:
    """Split a text at commas. Text that looks like JSON, such as `['a', 'b']`, is returned unchanged.

    Text without an item, such as `,`, is returned unchanged, too: as an empty list, it would mean no filter.
    """
    if is_like_json(text) and not _WRITTEN_ID.fullmatch(text.strip()):
        return text
    return [item.strip() for item in text.split(",") if item.strip()] or text


def _memory_with_content(text: str, schema: Mapping[str, Any]) -> dict[str, str] | None:
    """Return a memory whose content is the text.

    Return None if the schema does not describe a memory, or if the text is empty or looks like JSON.
    """
    wants_memory = "content" in schema.get("required", ())
    return {"content": text} if wants_memory and not is_like_json(text) and text.strip() else None


def _fenced_memories(text: str, schema: Mapping[str, Any]) -> list[Any] | None:
    """Return the memories from a Markdown code block that contains JSON, or None if the text is not such a block.

    Other code blocks are not parsed, because they may be the content of a memory.
    """
    opening, line_break, rest = text.strip().partition("\n")
    is_fenced = opening.rstrip() in (_FENCE, f"{_FENCE}json") and bool(line_break) and rest.endswith(_FENCE)
    value = json_of_text(rest.removesuffix(_FENCE)) if is_fenced and "content" in schema.get("required", ()) else None
    memories = value if isinstance(value, list) else [value]
    return memories if all(isinstance(memory, dict) and "content" in memory for memory in memories) else None
