"""Parse and check JSON-RPC messages, for every transport. Pure."""

import json
from typing import Any

from mnemosyne.domain.parsing import check_values, surrogate
from mnemosyne.errors import InvalidRequest

DEPTH = 30
"""Maximum number of levels of nesting in a message. Metadata may have 20 of these levels."""


def read(text: str | bytes) -> Any:
    """Parse JSON. Raises InvalidRequest."""
    check_values(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text, of="a request")
    try:
        return json.loads(text.decode() if isinstance(text, bytes) else text)
    except RecursionError as exc:
        raise InvalidRequest("Parse error: nested too deeply") from exc
    except ValueError as exc:
        raise InvalidRequest(f"Parse error: {exc}") from exc


def problem(posted: Any, *, escaped: bool = True, brackets: int = DEPTH + 1) -> str | None:
    """Return the reason why the JSON is not a valid JSON-RPC message; None if it is valid.

    The arguments `escaped` and `brackets` save time. If the text has no escapes, it cannot contain lone surrogates,
    which UTF-8 cannot encode, so it is not searched for them. If the text has few opening brackets, its depth is not
    measured.
    """
    if isinstance(posted, list):
        return None
    if not isinstance(posted, dict):
        return "it must be a JSON-RPC object"
    if posted.get("jsonrpc") != "2.0":
        return 'jsonrpc must be "2.0"'
    is_answer = bool({"result", "error"} & posted.keys())
    if "id" in posted and id_of(posted) is None and not (is_answer and posted["id"] is None):
        return "id must be a string or an integer"
    if not isinstance(posted.get("method"), str) and not is_answer:
        return "method must be a string"
    params = posted.get("params")
    if reason := _params_problem(posted.get("method"), {} if params is None else params):
        return reason
    if brackets > DEPTH and _depth(posted) > DEPTH:
        return f"it must be nested at most {DEPTH} levels deep"
    return _surrogate_problem(posted) if escaped else None


def _surrogate_problem(posted: Any) -> str | None:
    try:
        json.dumps(posted, ensure_ascii=False).encode()
    except UnicodeEncodeError as exc:
        return f"text must be valid Unicode, found the lone surrogate U+{ord(exc.object[exc.start]):04X}"
    return None


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level and depth <= DEPTH:
        depth += 1
        level = [
            value
            for container in level
            if isinstance(container, dict | list)
            for value in (container.values() if isinstance(container, dict) else container)
        ]
    return depth


def _params_problem(method: Any, params: Any) -> str | None:
    if not isinstance(params, dict):
        return "params must be an object"
    if method == "tools/call":
        if not isinstance(params.get("name"), str):
            return "params.name must be the name of a tool"
        if not isinstance(params.get("arguments") or {}, dict):
            return "params.arguments must be an object, not JSON in a string"
    return None


def drop_null_params(posted: Any) -> bool:
    """Remove `"params": null` from a message or batch, because some clients send it.

    Return whether anything was removed.
    """
    messages = posted if isinstance(posted, list) else [posted]
    nulls = [message for message in messages if isinstance(message, dict) and message.get("params", ...) is None]
    for message in nulls:
        del message["params"]
    return bool(nulls)


def member(posted: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the object at a path of names, or an empty object if it does not exist."""
    value: Any = posted
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def id_of(posted: Any) -> str | int | None:
    """Return the id of a message, or None if the message has no valid id."""
    identifier = posted.get("id") if isinstance(posted, dict) else None
    if isinstance(identifier, str):
        return identifier if identifier.isascii() or not surrogate(identifier) else None
    return identifier if isinstance(identifier, int) and not isinstance(identifier, bool) else None
