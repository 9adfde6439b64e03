"""The JSON Schema of the published message, made from the types that read it. Pure."""

from typing import Any

from mnemosyne.domain.memory import BATCH_LIMIT
from mnemosyne.domain.message import SCHEMA_VERSION, PublishedMemory
from mnemosyne.domain.parsing import KEY_LIMIT, METADATA_BYTES, METADATA_DEPTH
from mnemosyne.domain.published import NAMESPACE_CHARACTERS

# What Python takes for white space: the classes of regular expressions differ between languages.
_SPACE = "\\u0009-\\u000d\\u001c-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
_NO_NUL = "^[^\\u0000]*$"
_FILLED = f"^[^\\u0000]*[^\\u0000{_SPACE}][^\\u0000]*$"
_DAY = "(?:0[1-9]|1[0-9]|2[0-8])"
_LEAP_YEAR = "(?:[0-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DATE = (
    f"(?:(?!0000)[0-9]{{4}}-(?:(?:0[13578]|1[02])-(?:{_DAY}|29|30|31)|(?:0[469]|11)-(?:{_DAY}|29|30)|02-{_DAY})"
    f"|(?!0000){_LEAP_YEAR}-02-29)"
)
_TIME = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_TIMESTAMP = f"^{_DATE}[Tt ]{_TIME}:[0-5][0-9](?:\\.[0-9]+)?(?:[Zz]|[+-]{_TIME})$(?!\\n)"
_UUID = "^[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$(?!\\n)"
_JSON_VALUE = {
    "anyOf": [
        {"type": ["null", "boolean"]},
        {"type": "string", "pattern": _NO_NUL},
        {"type": "number", "minimum": -(2**63), "exclusiveMaximum": 2**64},
        {"type": "array", "items": {"$ref": "#/$defs/JsonValue"}},
        {"$ref": "#/$defs/JsonObject"},
    ]
}
_JSON_OBJECT = {
    "type": "object",
    "propertyNames": {"pattern": _NO_NUL},
    "additionalProperties": {"$ref": "#/$defs/JsonValue"},
}
_INTEGER = {"minimum": -(2**63), "maximum": 2**64 - 1}
# What the types' own rules say that pydantic does not put into a schema.
_RULES: dict[str, dict[str, Any]] = {
    "content": {"pattern": _FILLED},
    "timestamp": {"pattern": _TIMESTAMP, "format": "date-time"},
    "title": {"pattern": _FILLED},
    "metadata": {
        "$ref": "#/$defs/JsonObject",
        "description": f"Any JSON object to keep beside the memory: {METADATA_BYTES:,} bytes and {METADATA_DEPTH} "
        "levels at most, which this schema cannot say.",
    },
    "session": {"pattern": _FILLED},
    "request_id": {"pattern": _UUID},
    "source": {"pattern": _FILLED},
    "key": {"pattern": _FILLED, "minLength": 1, "maxLength": KEY_LIMIT},
}


_ABOUT = {
    "schema_version": {"enum": [SCHEMA_VERSION, str(SCHEMA_VERSION), None], "description": "1 where it is absent."},
    "namespace": {
        "type": ["string", "null"],
        "maxLength": NAMESPACE_CHARACTERS,
        "pattern": _FILLED,
        "description": "Whose memories, where the attribute of that name does not say it; never another one.",
    },
}
_ONE = {
    "title": "One memory",
    "not": {"required": ["memories"]},
    "allOf": [{"$ref": "#/$defs/Memory"}],
    "properties": _ABOUT,
}
_SEVERAL = {
    "title": "Several memories",
    "type": "object",
    "required": ["memories"],
    "properties": {
        **_ABOUT,
        "memories": {"type": "array", "minItems": 1, "maxItems": BATCH_LIMIT, "items": {"$ref": "#/$defs/Memory"}},
        "source": {"description": "What the keys of the memories are unique in."},
    },
}


def message_schema() -> dict[str, Any]:
    """Return what `ingest` stores all of, as JSON Schema 2020-12; what does not fit is told memory by memory."""
    memory = PublishedMemory.model_json_schema()
    properties = {name: _field(name, field) for name, field in memory["properties"].items()}
    properties["tags"]["anyOf"][0]["items"] |= {"pattern": _FILLED}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:mnemosyne:message:v{SCHEMA_VERSION}",
        "title": f"Mnemosyne's message, version {SCHEMA_VERSION}",
        "description": "The data of a Pub/Sub message to the topic: one memory, or up to 100. Fields that are not "
        "named here may stand in it and are left out of what is stored.",
        "oneOf": [_ONE, _SEVERAL],
        "$defs": {
            "Memory": {
                "type": "object",
                "required": memory["required"],
                "properties": properties,
                "description": memory["description"],
            },
            "JsonObject": _JSON_OBJECT,
            "JsonValue": _JSON_VALUE,
        },
    }


def _field(name: str, field: dict[str, Any]) -> dict[str, Any]:
    """Return the field's schema with the rules that pydantic does not know."""
    rules = _RULES.get(name, {})
    shown = {key: value for key, value in field.items() if key not in ("title", "default")}
    if "anyOf" not in shown:
        return shown | rules
    chosen, *others = shown["anyOf"]
    description = {"description": rules.get("description", shown["description"])}
    of_value = {key: value for key, value in rules.items() if key != "description"}
    if "$ref" in of_value:
        chosen = {}
    others = [one | _INTEGER if one == {"type": "integer"} else one for one in others]
    return {"anyOf": [chosen | of_value, *others], **description}


if __name__ == "__main__":  # docs/message.v1.schema.json
    import json
    import sys

    json.dump(message_schema(), sys.stdout, indent=2)
    sys.stdout.write("\n")
