"""Parse and check JSON-RPC messages, for every transport. Pure."""

import json
from typing import Any

from mnemosyne.domain.nesting import check_values, is_too_deep
from mnemosyne.domain.parsing import parse_integer
from mnemosyne.domain.text_checks import excerpt, surrogate_problem
from mnemosyne.errors import InvalidRequest

_REQUIRED_PARAMS = {
    "initialize": ("protocolVersion", "a protocol revision, such as 2025-11-25"),
    "prompts/get": ("name", "the name of a prompt"),
    "resources/read": ("uri", "the URI of a resource"),
    "tools/call": ("name", "the name of a tool"),
}
"""For each method, the name and the description of the string parameter that the method needs."""
_EXACT = 2**53 - 1
"""Integers up to this one are exact as floats. 2^53 is not, because 2^53 + 1 is read as the same float."""
DEPTH = 30
"""Maximum levels of objects and arrays in a message. Metadata may have 20 of these levels."""


def read(text: str | bytes) -> Any:
    """Parse JSON. Raises InvalidRequest.

    A byte order mark, which PowerShell and .NET write into files and streams, is ignored (RFC 8259, section 8.1). An
    integer with too many digits becomes infinity. The argument's validation then rejects it, with an error that names
    the argument.
    """
    check_values(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text, of="a request")
    try:
        return json.loads(text.decode("utf-8-sig") if isinstance(text, bytes) else text, parse_int=parse_integer)
    except RecursionError as exc:
        raise InvalidRequest("Parse error: nested too deeply") from exc
    except ValueError as exc:
        raise InvalidRequest(f"Parse error: {exc}") from exc


def problem(payload: Any, *, escaped: bool = True, brackets: int = DEPTH + 1) -> str | None:
    """Return the reason why the JSON is not a valid JSON-RPC message; None if it is valid.

    `escaped` says whether the JSON text has escapes. Without escapes, the message cannot have lone surrogates, so they
    are not looked for. `brackets` is the number of opening brackets in the text. If the number is at most DEPTH, the
    nesting cannot be too deep, so the depth is not checked.
    """
    if isinstance(payload, list):
        return None
    if not isinstance(payload, dict):
        return "it must be a JSON-RPC object"
    if payload.get("jsonrpc") != "2.0":
        return 'jsonrpc must be "2.0"'
    is_answer = bool({"result", "error"} & payload.keys())
    if "id" in payload and id_of(payload) is None and not (is_answer and payload["id"] is None):
        return "id must be a string or an integer"
    if not isinstance(payload.get("method"), str) and not is_answer:
        return "method must be a string"
    if "id" not in payload and not is_answer and not payload["method"].startswith("notifications/"):
        return 'id is required, such as "id": 1; a request without an id is not run'
    params = payload.get("params")
    if reason := _params_problem(payload.get("method"), {} if params is None else params):
        return reason
    if brackets > DEPTH and is_too_deep(payload, DEPTH):
        return f"it must be nested at most {DEPTH} levels deep"
    return _surrogate_problem(payload) if escaped else None


def _surrogate_problem(payload: Any) -> str | None:
    try:
        json.dumps(payload, ensure_ascii=False).encode()
    except UnicodeEncodeError as exc:
        return f"text must be valid Unicode, found the lone surrogate U+{ord(exc.object[exc.start]):04X}"
    return None


def _params_problem(method: Any, params: Any) -> str | None:
    if not isinstance(params, dict):
        return "params must be an object"
    # A request with _meta belongs to a stateless revision of MCP. These revisions have no method `initialize`, so the
    # error must be about the method and not about its parameters.
    is_known = isinstance(method, str) and not (method == "initialize" and "_meta" in params)
    name, description = _REQUIRED_PARAMS.get(method, ("", "")) if is_known else ("", "")
    if name and not isinstance(params.get(name), str):
        return f"params.{name} must be {description}"
    if method in ("tools/call", "prompts/get") and (arguments := params.get("arguments")) is not None:
        if not isinstance(arguments, dict):
            return f"params.arguments must be an object, got {excerpt(arguments)}"
        wrong = next((key for key, value in arguments.items() if not isinstance(value, str)), None)
        if method == "prompts/get" and wrong is not None:
            return f"params.arguments.{wrong[:100]} must be a string, got {excerpt(arguments[wrong])}"
    return None


def normalize(payload: Any) -> None:
    """Change what the SDK would reject in a message or batch, although some clients send it.

    `"params": null` and `"progressToken": null` are removed. Ids that are integers with a fraction of zero, such as
    1.0, become integers.
    """
    for message in payload if isinstance(payload, list) else [payload]:
        if isinstance(message, dict):
            params, meta = member(message, "params"), member(message, "params", "_meta")
            for container, name in ((message, "params"), (meta, "progressToken")):
                if container.get(name, ...) is None:
                    del container[name]
            for container, name in ((message, "id"), (meta, "progressToken"), (params, "requestId")):
                if name in container:
                    container[name] = _integer(container[name])


def complete_initialize(payload: Any) -> None:
    """Add missing parameters to an `initialize` request, because scripts often omit them."""
    if not isinstance(payload, dict) or payload.get("method") != "initialize":
        return
    present = {name: value for name, value in payload["params"].items() if value is not None}
    client = present.get("clientInfo", {})
    if isinstance(client, dict):
        details = {name: value for name, value in client.items() if value is not None}
        present["clientInfo"] = {"name": "unknown", "version": "0", **details}
    payload["params"] = {"capabilities": {}, **present}


def member(payload: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the nested object under the given names, such as the object `_meta` in the object `params`.

    If there is no such object, return an empty one.
    """
    value: Any = payload
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _integer(value: Any) -> Any:
    """Convert a number such as 1.0 to an integer, as JSON Schema reads it. Return other values unchanged."""
    is_exact = isinstance(value, float) and abs(value) <= _EXACT and value.is_integer()
    return int(value) if is_exact else value


def id_of(payload: Any) -> str | int | None:
    """Return the id of a message, or None if the message has no valid id."""
    identifier = _integer(payload.get("id")) if isinstance(payload, dict) else None
    if isinstance(identifier, str):
        return identifier if identifier.isascii() or not surrogate_problem(identifier) else None
    return identifier if isinstance(identifier, int) and not isinstance(identifier, bool) else None
