"""Generate the JSON Schema of the message from the types that validate it. Pure."""

from typing import Any, Final

from mnemosyne.domain.chronicle import TAG_COUNT, TAG_LIMIT
from mnemosyne.domain.event_time import BASIC_CLOCK, BASIC_NUMBERS, CLOCK, END_SECOND, FIRST_SECOND, OFFSET, UNITS
from mnemosyne.domain.lifetime import LONGEST
from mnemosyne.domain.memory import BATCH_LIMIT
from mnemosyne.domain.memory_input import SCHEMA_VERSION, MemoryInput
from mnemosyne.domain.message import FIELDS_OF_EACH
from mnemosyne.domain.metadata import METADATA_BYTES, METADATA_DEPTH, METADATA_PATHS
from mnemosyne.domain.names import NAMESPACE_CHARACTERS
from mnemosyne.domain.parsing import KEY_LIMIT
from mnemosyne.domain.rfc3339 import LEAP_SECOND

# The characters that `str.strip` removes. They are listed, because `\s` differs between regular expression engines.
_SPACE = "\\u0009-\\u000d\\u001c-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
_NO_NUL = "^[^\\u0000]*$"
_NOT_BLANK = f"^[^\\u0000]*[^\\u0000{_SPACE}][^\\u0000]*$"
# Invisible characters, except joiners and variation selectors. These two count as visible next to characters whose
# appearance they change (see `domain.visible`).
_INVISIBLE = (
    "\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u200b\\u200e\\u200f\\u2028-\\u202e"
    "\\u2060-\\u206f\\u2800\\u3164\\ue000-\\uf8ff\\ufeff\\uffa0\\ufff0-\\ufffb"
)
_NAME = f"^[^{_INVISIBLE}]*[^{_INVISIBLE}{_SPACE}][^{_INVISIBLE}]*$(?!\\n)"
_NAMESPACE = f"^[^{_INVISIBLE}{_SPACE}](?:[^{_INVISIBLE}]*[^{_INVISIBLE}{_SPACE}])?$(?!\\n)"
_DAY = "(?:0[1-9]|1[0-9]|2[0-8])"
_LEAP_YEAR = "(?:[0-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"


def _date_pattern(hyphen: str) -> str:
    return (
        f"(?:(?!0000)[0-9]{{4}}{hyphen}(?:(?:0[13578]|1[02]){hyphen}(?:{_DAY}|29|30|31)"
        f"|(?:0[469]|11){hyphen}(?:{_DAY}|29|30)|02{hyphen}{_DAY})|(?!0000){_LEAP_YEAR}{hyphen}02{hyphen}29)"
    )


def _numbers_pattern(bound: str, *, larger: bool) -> str:
    """Return a regular expression for numbers that have as many digits as `bound`.

    The numbers are at least `bound` if `larger` is true, and at most `bound` otherwise.
    """
    forms = [bound]
    for place, digit in enumerate(map(int, bound)):
        lowest, highest = (digit + 1, 9) if larger else (int(place == 0), digit - 1)
        if lowest <= highest:
            forms.append(f"{bound[:place]}[{lowest}-{highest}][0-9]{{{len(bound) - place - 1}}}")
    return "|".join(forms)


_SECONDS = f"{_numbers_pattern(str(FIRST_SECOND), larger=True)}|{_numbers_pattern(str(END_SECOND - 1), larger=False)}"
_UNIX_TIME = f"(?:{_SECONDS})(?:[0-9]{{3}}|[0-9]{{6}})?(?:\\.[0-9]+)?"
_BASIC = f"(?=19|20){_date_pattern('')}(?:{BASIC_CLOCK}|[Tt]{BASIC_CLOCK}(?:{OFFSET})?)?"
_TIMESTAMP = (
    f"^(?:{LEAP_SECOND}|{_date_pattern('-')}(?:[Tt ]{CLOCK}(?: ?(?:{OFFSET}))?)?|{_BASIC}|{_UNIX_TIME})$(?!\\n)"
)
_ZERO_TIME = r"^0001-01-01(?:[Tt ]00:00(?::00(?:\.0+)?)?(?: ?(?:[Zz]|UTC|[+-]00(?::?00)?))?)?$(?!\n)"
"""The time that programs in Go and .NET write for a field without a time."""
_UUID = "^[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$(?!\\n)"
_TTL = (
    r"^(?:[0-9]{1,12}(?:\.[0-9]{1,9})? ?[smhdwSMHDW]?"
    r"|[Pp](?=[0-9Tt])(?:[0-9]+[Ww]|(?:[0-9]+[Dd])?(?:[Tt](?=[0-9])(?:[0-9]+[Hh])?(?:[0-9]+[Mm])?(?:[0-9.]+[Ss])?)?))$(?!\n)"
)
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
_BLANK: dict[str, Any] = {"enum": [None, ""]}
"""Values that count as absent in an optional field."""
_ABSENT: Final[list[Any]] = [None, "", False, 0, [], {}]
"""Values that count as absent in a field that a batch must not have, such as `ttl`. The memories in the batch can have
this field."""
# Rules for fields that are checked by validators in Python. Pydantic cannot generate them, so they are added to its
# schema.
_RULES: dict[str, dict[str, Any]] = {
    "content": {"pattern": _NOT_BLANK},
    "timestamp": {"pattern": _TIMESTAMP},
    "expires_at": {"pattern": _TIMESTAMP},
    "ttl": {"pattern": _TTL},
    "title": {"pattern": _NOT_BLANK},
    "session": {"pattern": _NAME},
    "request_id": {"pattern": _UUID},
    "source": {"pattern": _NAME},
    "key": {"pattern": _NAME},
    "op": {"type": "string", "pattern": "^(?:[Uu][Pp][Ss][Ee][Rr][Tt]|[Dd][Ee][Ll][Ee][Tt][Ee])$(?!\\n)"},
    "namespace": {"maxLength": NAMESPACE_CHARACTERS, "pattern": _NAMESPACE},
    "schema_version": {"enum": [SCHEMA_VERSION, str(SCHEMA_VERSION)]},
}
_NO_ARRAY = "^(?!\\s*(?:\\[|\\{[^\\u0000]*\\}\\s*$))"
_TAG = f"[^\\u0000,]{{0,{TAG_LIMIT}}}"
_NUMERIC_TIMES: list[dict[str, Any]] = [
    *({"type": "number", "minimum": FIRST_SECOND * unit, "exclusiveMaximum": END_SECOND * unit} for unit in UNITS),
    *({"type": "integer", "minimum": first, "maximum": last} for first, last in BASIC_NUMBERS),
]
_WHOLE_NUMBER: dict[str, Any] = {"type": "integer", "minimum": -(2**63), "maximum": 2**64 - 1}
_OTHER_FORMS: dict[str, list[dict[str, Any]]] = {
    "timestamp": _NUMERIC_TIMES,
    "expires_at": _NUMERIC_TIMES,
    "ttl": [{"type": "number", "minimum": 1, "maximum": LONGEST.total_seconds()}],
    "pinned": [
        {"type": "string", "pattern": "^(?:[Tt]([Rr][Uu][Ee])?|[Ff]([Aa][Ll][Ss][Ee])?|[01])$"},
        {"enum": [0, 1]},
    ],
    "tags": [
        # This pattern matches no text that begins with a bracket. The server would parse it as a JSON array, which a
        # pattern cannot validate. The pattern also matches no text in braces, because the server refuses such a text.
        {"type": "string", "pattern": f"{_NO_ARRAY}{_TAG}(?:,{_TAG}){{0,{TAG_COUNT - 1}}}$"}
    ],
    "session": [_WHOLE_NUMBER],
    "key": [_WHOLE_NUMBER],
}
_LARGE_NUMBER = (
    "A number above 2^53 must have no fraction and no exponent; this schema does not express that, because 1e17 is an "
    "integer in JSON Schema."
)
_DESCRIPTIONS = {
    "content": "The memory, stored verbatim.",
    "timestamp": "When it happened: RFC 3339; a date or local time in `timezone`; 20260711 or 202607111430, as text or "
    "number, which must be a date that exists; or seconds, milliseconds or microseconds since 1970, from 1980 to "
    "2099, as text or number. A deletion covers versions up to this time; the default is the time at which it was "
    "published.",
    "tags": "Labels to filter by: an array, or one text with commas between them.",
    "metadata": f"Any JSON object to keep with the memory: {METADATA_BYTES:,} bytes, {METADATA_DEPTH} levels, and "
    f"{METADATA_PATHS:,} bytes of paths at most. This schema does not express these limits.",
    "session": f"The conversation or document it is a part of. {_LARGE_NUMBER}",
    "key": f"Name of the record in the source. Another content or time is a new version of the record. {_LARGE_NUMBER}",
    "op": "`upsert`, the default, or `delete`; upper and lower case are equal.",
    "source": "System in which the key is unique, preferably a URI. Default: the source of the message.",
    "schema_version": "Version of the message format. Default: 1.",
    "namespace": "Namespace to store in. Default: the attribute of this name. Another namespace than the sender's is "
    "refused.",
}
_OF_BATCH = {
    "source": "System in which the keys of the memories are unique, preferably a URI.",
    "key": "Key of the memories without a key, followed by `#` and the place of the memory in `memories`. "
    f"{_LARGE_NUMBER}",
}
_IS_DELETION = {"required": ["op"], "properties": {"op": {"type": "string", "pattern": "^[Dd][Ee][Ll][Ee][Tt][Ee]$"}}}
_HAS_KEY = {"required": ["key"], "properties": {"key": {"not": _BLANK}}}
_DELETION = ("op", "timestamp", "timezone", "source", "key", "request_id", "namespace", "schema_version")
_MESSAGE = ("schema_version", "namespace")


def message_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) that a message must match to be stored completely."""
    properties = MemoryInput.model_json_schema()["properties"]
    fields = {name: _optional_field(name, field) for name, field in properties.items()}
    memories = {"type": "array", "minItems": 1, "maxItems": BATCH_LIMIT, "items": {"$ref": "#/$defs/Record"}}
    of_each = {name: {"description": "Only in each memory.", "enum": _ABSENT} for name in FIELDS_OF_EACH}
    names = {name: {**fields[name], "description": text} for name, text in _OF_BATCH.items()}
    key = {"maxLength": KEY_LIMIT - len(f"#{BATCH_LIMIT - 1}")}
    names["key"]["anyOf"] = [form | (key if form.get("type") == "string" else {}) for form in names["key"]["anyOf"]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:mnemosyne:message:v{SCHEMA_VERSION}",
        "title": f"Mnemosyne's message, version {SCHEMA_VERSION}",
        "description": "The data of a Pub/Sub message to the topic: one memory, or up to 100. Other fields are "
        "allowed, but not stored.",
        "oneOf": [
            {"title": "One memory", "properties": {"memories": _BLANK}, "allOf": [{"$ref": "#/$defs/Record"}]},
            {
                "title": "Several memories",
                "type": "object",
                "required": ["memories"],
                "properties": {name: fields[name] for name in _MESSAGE} | {"memories": memories} | names | of_each,
            },
        ],
        "$defs": {
            "Record": {
                "type": "object",
                "if": _IS_DELETION,
                "then": {"$ref": "#/$defs/Deletion"},
                "else": {"$ref": "#/$defs/Memory"},
            },
            "Memory": {
                "required": ["content", "timestamp"],
                "properties": fields
                | {"content": _required_field(fields["content"])}
                | {
                    "timestamp": _required_field(fields["timestamp"])
                    | {"not": {"type": "string", "pattern": _ZERO_TIME}}
                },
                "description": "A memory to store. Optional fields may be null or empty.",
            },
            "Deletion": {
                "allOf": [_HAS_KEY],
                "properties": {name: fields[name] for name in _DELETION},
                "description": "Deletes the record that `source` and `key` name. Other fields are ignored.",
            },
            "JsonObject": _JSON_OBJECT,
            "JsonValue": _JSON_VALUE,
        },
    }


def _optional_field(name: str, field: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an optional field.

    The schema adds two things to pydantic's schema of the field: rules such as patterns, from `_RULES`, and other types
    that the server accepts, from `_OTHER_FORMS`. For example, a timestamp can also be a number.
    """
    description = {"description": _DESCRIPTIONS.get(name, field["description"])}
    if name == "metadata":
        return {"anyOf": [{"$ref": "#/$defs/JsonObject"}, {"enum": [*_BLANK["enum"], []]}], **description}
    (form,) = (option for option in field.get("anyOf", [field]) if option != {"type": "null"})
    if name in ("op", "schema_version"):
        form = {}
    form = {key: value for key, value in form.items() if key not in ("title", "default", "description")}
    if name == "tags":
        form["items"] = form["items"] | {"pattern": _NOT_BLANK}
    return {"anyOf": [form | _RULES.get(name, {}), *_OTHER_FORMS.get(name, []), _BLANK], **description}


def _required_field(field: dict[str, Any]) -> dict[str, Any]:
    return field | {"anyOf": [form for form in field["anyOf"] if form is not _BLANK]}


if __name__ == "__main__":  # `make docs` writes the output to docs/message.v1.schema.json
    import json
    import sys

    json.dump(message_schema(), sys.stdout, indent=2)
    sys.stdout.write("\n")
