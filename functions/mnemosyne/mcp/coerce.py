"""Read what a model has written where it can mean one thing only, before the tool's own rules judge it. Pure.

Models fill in every argument where their vendor demands it, and write numbers, lists and objects as strings:
https://platform.openai.com/docs/guides/structured-outputs (all fields must be required). A tool's schema says what its
arguments are; what remains unclear is left as it came, to be refused by name.
"""

import re
from collections.abc import Mapping
from typing import Any

import orjson

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?")
_BRACKETED = re.compile(r"\[([0-9a-fA-F-]{32,36})\]")
"""An id as the texts of our answers show it."""
IDS = ("id", "request_id", "request_ids", "superseded_by")
_BOOLEAN = {"true": True, "false": False}


def plain(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as the schema of an object has them.

    Null is absent; so are `""` and `[]`, where an argument is optional.
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
        value = _of_text(value, kinds, schema, name)
    if "integer" in kinds and isinstance(value, float) and value.is_integer():
        return int(value)
    if "array" in kinds and isinstance(value, dict) and schema["items"].get("type") == "object":
        value = [value]
    if "array" in kinds and isinstance(value, list):
        return [_plain(one, schema.get("items", {}), name) for one in value]
    if "object" in kinds and isinstance(value, dict) and "properties" in schema:
        return plain(value, schema)
    return value


def _of_text(text: str, kinds: tuple[str, ...], schema: Mapping[str, Any], name: str) -> Any:
    """Return what the text spells, where texts are not wanted."""
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
        read = _json(text)
        if isinstance(read, list if "array" in kinds else dict):
            return read
        if (content := _of_content(text, schema if "object" in kinds else schema.get("items", {}))) is not None:
            return content if "object" in kinds else [content]
        if "array" in kinds and schema.get("items", {}).get("type") == "string":
            # As in a TAGS: line; anything else may have commas of its own.
            return [one.strip() for one in text.split(",") if one.strip()] if name == "tags" else [text]
    return text


def _of_content(text: str, schema: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the memory whose content is the text, where memories are wanted and the text is no JSON."""
    wants_memory = "content" in schema.get("required", ())
    return {"content": text} if wants_memory and not text.lstrip().startswith(("[", "{")) and text.strip() else None


def _json(text: str) -> Any:
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
