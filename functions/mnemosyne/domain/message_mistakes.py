"""Recognise common mistakes in the data of a message, and say how to fix them. Pure."""

import base64
import codecs
from collections.abc import Mapping
from itertools import islice
from typing import Any

from mnemosyne.domain.argument_rules import closest_name
from mnemosyne.domain.text_checks import excerpt

_GZIP = b"\x1f\x8b"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, b"{\x00", b"\x00{")
_FIELDS: dict[str, tuple[type, ...]] = {"memories": (list,), "content": (str,), "timestamp": (str, int, float)}
"""Fields by which an object is recognised as a message, with the types of their values. One of the fields is enough."""
_SEARCHED_FIELDS = 100
_NO_MEMORIES = ("before", "metadata")
"""Fields in which no memory is looked for: `before` has the earlier state of a row in change events."""


def fix_of_bytes(data: bytes) -> str:
    """Return advice on how to fix message data that is not JSON; empty if the mistake is not a known one."""
    if data.startswith(_GZIP):
        return "it is compressed with gzip: publish it uncompressed"
    if data.startswith(_UTF_16):
        return "it is in UTF-16: publish it in UTF-8"
    if _is_json_in_base64(data):
        return "it is in base64: publish the JSON itself, because the client library encodes it"
    line, _, rest = data.strip().partition(b"\n")
    if line.startswith(b"{") and line.rstrip().endswith(b"}") and rest.lstrip().startswith(b"{"):
        return "it has several lines of JSON: publish each line as a message, or an object with the array memories"
    return ""


def _is_json_in_base64(data: bytes) -> bool:
    try:
        decoded = base64.b64decode(b"".join(data.split()).strip(b'"'), validate=True)
    except ValueError:
        return False
    return decoded.lstrip().startswith((b"{", b"[", _GZIP))


def fix_of_value(value: object) -> str:
    """Return advice on how to fix message data that is JSON, but not an object; empty if the mistake is not known."""
    return "publish an object with the array memories" if isinstance(value, list) else fix_of_text(value)


def fix_of_text(value: object) -> str:
    """Return how to fix a JSON string that should be an object or array; empty if the mistake is unknown."""
    if not isinstance(value, str):
        return ""
    if value.lstrip().startswith(("{", "[")):
        return "it is JSON in a JSON string: encode it only once"
    return fix_of_bytes(value.encode(errors="replace"))


def fix_of_fields(body: Mapping[str, Any]) -> str:
    """Return how to fix an object without any field of a memory; empty if the mistake is unknown."""
    messages = body.get("messages")
    envelopes = (body.get("message"), *(messages[:1] if isinstance(messages, list) else ()))
    if any(isinstance(envelope, Mapping) and "data" in envelope for envelope in envelopes):
        return "publish the memory itself, and not the JSON around it of Pub/Sub's REST API or of a push"
    if fix := fix_of_envelope(body):
        return fix
    names = ((name, closest_name(name, _FIELDS)) for name in islice(body, _SEARCHED_FIELDS))
    similar = ((name, field) for name, field in names if field and isinstance(body[name], _FIELDS[field]))
    return "; ".join(f"{excerpt(name)} is not read: rename it to {field}" for name, field in similar)


def fix_of_envelope(record: Mapping[Any, Any]) -> str:
    """Return how to fix an object that contains memories in its fields, as a change event does.

    The result is empty if the object contains no memories.
    """
    if isinstance(record.get("memories"), list):
        return "send each of the memories as a record"
    place = _memory_place(record, depth=2)
    return f"send the object in {excerpt(place)} alone" if place else ""


def _memory_place(record: Mapping[Any, Any], depth: int) -> str:
    """Return the path of the first object with a text `content`, such as `payload.after`; empty if there is none."""
    for name, value in islice(record.items(), _SEARCHED_FIELDS):
        if isinstance(value, Mapping) and name not in _NO_MEMORIES:
            if isinstance(value.get("content"), str):
                return str(name)
            if depth > 1 and (place := _memory_place(value, depth - 1)):
                return f"{name}.{place}"
    return ""


def with_fix(problem: str, fix: str) -> str:
    """Return the text of an error: the problem and, if the fix is not empty, how to fix it."""
    return f"{problem}; {fix}" if fix else problem
