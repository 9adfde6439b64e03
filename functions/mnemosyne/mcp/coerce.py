"""Convert arguments of the wrong JSON type, before the tool validates them. Pure.

Models write numbers, lists and objects as strings. Some vendors require that models give every argument:
https://platform.openai.com/docs/guides/structured-outputs (all fields must be required). A value is converted only if
the tool's schema allows exactly one interpretation. Other values are left unchanged, so that the validation rejects
them with an error that names the argument.
"""

import re
from collections.abc import Mapping
from typing import Any

import orjson

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?")
_BRACKETED = re.compile(r"\[([0-9a-fA-F-]{32,36})\]")
"""Pattern of an id in brackets, as the texts of answers show ids."""
IDS = ("id", "request_id", "request_ids", "superseded_by")
_BOOLEAN = {"true": True, "false": False}


def plain(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the arguments to the types of an object's schema.

    Null values are dropped. Empty texts and lists (`""` and `[]`) of optional arguments are dropped, too.
    """
    properties, required = schema.get("properties", {}), schema.get("required", ())
    return {
        name: _plain(value, properties.get(name, {}), name)
        for name, value in arguments.items()
        if value is not None and (value not in ("", []) or name in required or name not in properties)
    }


def _plain(value: Any, schema: Mapping[str, Any], name: str) -> Any:
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    if isinstance(value, str):
        value = _parse_text(value, kinds, schema, name)
    if "integer" in kinds and isinstance(value, float) and value.is_integer():
        return int(value)
    if "array" in kinds and isinstance(value, dict) and schema["items"].get("type") == "object":
        value = [value]
    if "array" in kinds and isinstance(value, list):
        return [_plain(item, schema.get("items", {}), name) for item in value]
    if "object" in kinds and isinstance(value, dict) and "properties" in schema:
        return plain(value, schema)
    return value


def _parse_text(text: str, kinds: tuple[str, ...], schema: Mapping[str, Any], name: str) -> Any:
    """Parse a text as one of the JSON types that the schema accepts."""
    if "string" in kinds:
        if name in IDS and (bracketed := _BRACKETED.fullmatch(text.strip())):
            return bracketed[1]
        lowered = text.strip().lower()
        return lowered if lowered in schema.get("enum", ()) else text
    if "integer" in kinds and _INTEGER.fullmatch(text.strip()):
        return int(text)
    if "number" in kinds and _NUMBER.fullmatch(text.strip()):
        return float(text)
    if "boolean" in kinds:
        return _BOOLEAN.get(text.strip().lower(), text)
    if "array" in kinds or "object" in kinds:
        value = _parse_json(text)
        if isinstance(value, list if "array" in kinds else dict):
            return value
        if memory := _memory_with_content(text, schema if "object" in kinds else schema.get("items", {})):
            return memory if "object" in kinds else [memory]
        if "array" in kinds and schema.get("items", {}).get("type") == "string":
            # Tags are separated by commas, as in a TAGS: line. Other texts may contain commas.
            return [tag.strip() for tag in text.split(",") if tag.strip()] if name == "tags" else [text]
    return text


def _memory_with_content(text: str, schema: Mapping[str, Any]) -> dict[str, str] | None:
    """Return a memory with the text as its content, if the schema describes a memory and the text is not JSON."""
    wants_memory = "content" in schema.get("required", ())
    return {"content": text} if wants_memory and not text.lstrip().startswith(("[", "{")) and text.strip() else None


def _parse_json(text: str) -> Any:
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
