"""The body of a Pub/Sub message: the parsed JSON object, or the data of a CloudEvent. Pure.

If the data of a message is invalid, `unwrap` does not raise an error. Instead, its result contains the error.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.domain.message_mistakes import fix_of_bytes, fix_of_value, with_fix
from mnemosyne.domain.names import namespace_name, namespace_problem
from mnemosyne.domain.parsing import KEY_LIMIT, parse, read_json
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.domain.text_checks import excerpt
from mnemosyne.errors import InvalidRequest


@dataclass(frozen=True, kw_only=True)
class MessageBody:
    """The parsed data of a message, with the namespaces, schema version, source and key that the message names.

    The message can name them in its attributes or in its data. If it is a CloudEvent, it can also name the namespace
    and the source in attributes of the CloudEvent, and the CloudEvent's id is the key.
    """

    body: Mapping[str, Any]
    problem: str
    """Error if the body could not be parsed; else empty."""
    namespaces: tuple[object, ...]
    """All namespaces that the message names. The namespace in the attribute is first."""
    version: object
    source: str
    key: str
    """`source` and `key` of the message, for memories without their own source and key. Empty if absent or invalid."""
    source_problem: str = ""
    key_problem: str = ""
    """`source_problem` and `key_problem` are errors for memories without their own source or key. They are empty unless
    the source or key of the message is invalid."""

    def key_at(self, place: str) -> tuple[str, str]:
        """Return the key of a memory in the message: the message's key followed by `place`, such as `#2`.

        The second result is an error. Key and error can be empty.
        """
        key = f"{self.key}{place}" if self.key else ""
        if len(key) <= KEY_LIMIT:
            return key, self.key_problem
        longest = KEY_LIMIT - len(place)
        return "", f"key must have at most {longest} characters, because {place} is added, got {len(self.key)}"

    def destination(self, allowed_namespace: str | None) -> tuple[str, str]:
        """Return the namespace in which the message's memories are stored, and an error or an empty text.

        If `allowed_namespace` is given, it is the only namespace that the publisher is allowed to write to. The message
        need not name it, and it is an error if the message names another namespace. Without `allowed_namespace`, the
        message must name a valid namespace. Otherwise the returned namespace is empty. It is also an error if the
        message names two different namespaces.
        """
        if not allowed_namespace and not self.namespaces:
            return "", "attribute namespace is required"
        namespace = allowed_namespace or namespace_name(self.namespaces[0])
        if not namespace:
            return "", f"namespace cannot be {excerpt(self.namespaces[0])}"
        return namespace, next(filter(None, (namespace_problem(name, namespace) for name in self.namespaces)), "")


def unwrap(message: Published) -> MessageBody:
    """Parse the data of a message: a JSON object, or a CloudEvent 1.0 in binary or structured mode.

    In binary mode, the context attributes are message attributes that begin with `ce-`:
    https://github.com/googleapis/google-cloudevents/blob/main/docs/spec/pubsub.md.
    If the data cannot be parsed, the result has a problem and an empty body.
    """
    attributes = message.attributes
    event: Mapping[str, Any] = {}
    if "ce-specversion" in attributes:
        event = {name.removeprefix("ce-"): value for name, value in attributes.items() if name.startswith("ce-")}
    problem = ""
    try:
        body = _read_data(message.data)
        if isinstance(body, dict) and body.get("specversion") is not None:
            event = body
            body = _event_data(event)
        if not isinstance(body, dict):
            wrong = f"message data must be a JSON object, a memory or its memories, got {_json_type(body)}"
            problem = with_fix(wrong, fix_of_value(body))
    except InvalidRequest as exc:
        problem = str(exc)
    if problem or not isinstance(body, dict):
        body = {}
    # In a batch, the fields source and key apply to all its memories. In data with a single memory, they are fields of
    # this memory, and are not read here.
    batch = body if is_batch(body) else {}
    versions = (attributes.get("schema_version"), body.get("schema_version"))
    namespaces = (attributes.get("namespace"), body.get("namespace"), event.get("namespace"))
    source, source_problem = _parse_first("source", attributes.get("source"), batch.get("source"), event.get("source"))
    key, key_problem = _parse_first("key", attributes.get("key"), batch.get("key"), event.get("id"))
    return MessageBody(
        body=body,
        problem=problem,
        namespaces=tuple(name for name in namespaces if name not in (None, "")),
        version=next((version for version in versions if version not in (None, "")), None),
        source=source,
        key=key,
        source_problem=source_problem,
        key_problem=key_problem,
    )


def is_batch(body: Mapping[str, Any]) -> bool:
    """Whether the body of a message has the field `memories`, and so is a batch. Null and "" count as absent."""
    return body.get("memories") not in (None, "")


def _parse_first(name: Literal["source", "key"], *values: object) -> tuple[str, str]:
    """Return the first value that is neither null nor empty as the source or key of a message, and an empty error.

    If all values are null or empty, the returned source or key is empty, too. If the value breaks the rules for the
    source or key of a record, an empty source or key and the error are returned. Without this error, the memory would
    be stored without source and key, and its next version would become a second memory.
    """
    value = next((value for value in values if value not in (None, "")), None)
    try:
        return getattr(parse(MemoryInput, {name: value}), name) or "", ""
    except InvalidRequest as exc:
        return "", str(exc)


def _event_data(event: Mapping[str, Any]) -> Any:
    if isinstance(encoded := event.get("data_base64"), str):
        try:
            return _read_data(base64.b64decode(encoded, validate=True))
        except ValueError as exc:
            raise InvalidRequest(f"the event's data_base64 must be base64: {exc}") from exc
    data = event.get("data")
    return _read_data(data.encode(errors="surrogatepass")) if isinstance(data, str) else data


def _read_data(data: bytes) -> Any:
    try:
        return read_json(data, of="message data")
    except InvalidRequest as exc:
        raise InvalidRequest(with_fix(str(exc), fix_of_bytes(data))) from exc


def _json_type(value: object) -> str:
    return {list: "an array", str: "a string", type(None): "null", bool: "a boolean"}.get(type(value), "a number")
