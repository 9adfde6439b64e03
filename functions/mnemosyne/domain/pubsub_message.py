"""Pub/Sub messages, the limits of their attributes, and CloudEvents in their data. Pure.

If the data of a message is invalid, `unwrap` does not raise an error. Instead, its result contains the error.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson

from mnemosyne.domain.message_mistakes import fix_of_bytes, fix_of_value, with_fix
from mnemosyne.domain.parsing import KEY_LIMIT, SOURCE_LIMIT, excerpt, read_json
from mnemosyne.domain.text_checks import surrogate_problem
from mnemosyne.errors import InvalidRequest

COUNT_LIMIT = 100
NAME_BYTES = 256
VALUE_BYTES = 1024
"""Pub/Sub's limits of attributes: https://cloud.google.com/pubsub/quotas#resource_limits."""


def check_attributes(attributes: Mapping[str, str]) -> None:
    """Raise InvalidRequest, with the names of the attributes, if Pub/Sub would reject them."""
    if len(attributes) > COUNT_LIMIT:
        raise InvalidRequest(f"a message must have at most {COUNT_LIMIT} attributes, got {len(attributes)}")
    problems = [problem for name, value in sorted(attributes.items()) if (problem := _attribute_problem(name, value))]
    if problems:
        raise InvalidRequest("; ".join(problems[:10]))


def _attribute_problem(name: str, value: str) -> str:
    excerpt = repr(name if len(name) <= 60 else f"{name[:60]}…")
    if not name:
        return "an attribute must have a name"
    if name.startswith("goog"):
        return f"the attribute {excerpt} begins with goog, which is reserved"
    if (size := len(name.encode(errors="surrogatepass"))) > NAME_BYTES:
        return f"the name of the attribute {excerpt} must have at most {NAME_BYTES} bytes, got {size:,}"
    if (size := len(value.encode(errors="surrogatepass"))) > VALUE_BYTES:
        return f"the attribute {excerpt} must have at most {VALUE_BYTES:,} bytes, got {size:,}"
    return ""


NAMESPACE_CHARACTERS = 200
"""Maximum characters of a namespace, as in the credentials that read it."""
PUBSUB_ATTRIBUTES = ("CloudPubSubDeadLetter", "goog")
"""Prefixes of attributes that Pub/Sub adds to messages that it forwards to a dead-letter topic, and to messages of
topics with a schema."""
LETTER_ID = "dead_letter_id"
"""Attribute of a redriven message: the id of its dead letter."""
_SOURCE_PUBLISH_TIME = "CloudPubSubDeadLetterSourceTopicPublishTime"
FIRST_PUBLISHED = "first_published"
"""Attribute of a redriven message: when it was first published."""
_REQUEST_ID = re.compile(rb'"request_id"\s*:\s*"([0-9A-Fa-f-]{32,36})"')


def _in_utc(time: str) -> str:
    """Return the time in UTC with milliseconds; empty if the text is not a time. Without an offset, UTC is assumed."""
    try:
        moment = datetime.fromisoformat(time)
        in_utc = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        return in_utc.isoformat(timespec="milliseconds")
    except (ValueError, OverflowError):
        return ""


@dataclass(frozen=True, kw_only=True)
class Published:
    """A published message: data, attributes, and the id and time from Pub/Sub."""

    message_id: str
    data: bytes
    attributes: Mapping[str, str]
    publish_time: str = ""

    @property
    def first_published(self) -> str:
        """Time at which the message was first published, in RFC 3339 with milliseconds.

        This time stays the same when Pub/Sub forwards the message to a dead-letter topic, or when an operator publishes
        its dead letter again. The result is the earliest of three times: Pub/Sub's publish time, and the times in two
        attributes. A time in an attribute that is later than Pub/Sub's time comes from a fast clock. If it were the
        result, the message would seem to be later than a deletion that in fact followed the message. Attributes that
        are not times are ignored. If such an attribute were the result, the time would be unknown, and each delivery of
        the message would count as published at the time of the delivery.
        """
        attributes = self.attributes
        times = (attributes.get(FIRST_PUBLISHED, ""), attributes.get(_SOURCE_PUBLISH_TIME, ""), self.publish_time)
        return min(filter(None, map(_in_utc, times)), default=next(filter(None, times), ""))

    @property
    def first_published_at(self) -> datetime | None:
        """The time of `first_published` as a datetime; None if it is unknown."""
        try:
            return datetime.fromisoformat(self.first_published).astimezone(UTC)
        except (ValueError, OverflowError):
            return None

    @property
    def kept_attributes(self) -> dict[str, str]:
        """The attributes to store with the dead letter of the message.

        A redrive publishes the message again with these attributes, so that its requests keep their ids.
        """
        attributes = {
            k: v for k, v in self.attributes.items() if k != LETTER_ID and not k.startswith(PUBSUB_ATTRIBUTES)
        }
        attributes |= {FIRST_PUBLISHED: self.first_published} if self.first_published else {}
        return {name.replace("\x00", "\ufffd"): value.replace("\x00", "\ufffd") for name, value in attributes.items()}

    @property
    def letter_id(self) -> UUID | None:
        """Id of the dead letter from which the message was published again (redriven). None for other messages."""
        try:
            return UUID(self.attributes.get(LETTER_ID, ""))
        except ValueError:
            return None

    @property
    def visible_request_ids(self) -> list[UUID]:
        """The request ids in the attributes and in the data. Data that is not valid JSON is searched, too."""
        in_data = [match.decode() for match in _REQUEST_ID.findall(self.data)]
        ids: dict[UUID, None] = {}
        for text in [*in_data, self.attributes.get("request_id", "")]:
            try:
                ids[UUID(text)] = None
            except ValueError:
                continue
        return list(ids)


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
    """Source and key of the message, for memories that have none. Empty if absent or invalid."""
    key_problem: str = ""
    """Error for memories without a key, if the key of the message is invalid; else empty."""

    def destination(self, allowed_namespace: str | None) -> tuple[str, str]:
        """Return the namespace that the message is for, and an error. The error is empty if there is no problem.

        If `allowed_namespace` is given, it is the only namespace that the publisher is allowed to write to. The result
        is then this namespace, even if the message names none, and it is an error if the message names another.
        Without `allowed_namespace`, the message must name a valid namespace; else the returned namespace is empty. It
        is also an error if the message names two different namespaces.
        """
        if not allowed_namespace and not self.namespaces:
            return "", "attribute namespace is required"
        namespace = allowed_namespace or storable_name(self.namespaces[0], characters=NAMESPACE_CHARACTERS)
        if not namespace:
            return "", f"namespace cannot be {excerpt(self.namespaces[0])}"
        return namespace, next(filter(None, (namespace_problem(name, namespace) for name in self.namespaces)), "")


def namespace_problem(name: object, namespace: str) -> str:
    """Return an error if the message names another namespace than `namespace`; else an empty string."""
    is_same = storable_name(name, characters=NAMESPACE_CHARACTERS) == namespace
    return "" if is_same else f"namespace must be {excerpt(namespace)}, got {excerpt(name)}"


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
        if isinstance(body, dict) and "specversion" in body:
            event = body
            body = _event_data(event)
        if not isinstance(body, dict):
            wrong = f"message data must be a JSON object, a memory or its memories, got {_json_type(body)}"
            problem = with_fix(wrong, fix_of_value(body))
    except InvalidRequest as exc:
        problem = str(exc)
    if problem or not isinstance(body, dict):
        body = {}
    # In a batch (data with `memories`), the fields source and key apply to all its memories. In other data, they are
    # fields of the only memory, and are not read here.
    batch = body if "memories" in body else {}
    versions = (attributes.get("schema_version"), body.get("schema_version"))
    namespaces = (attributes.get("namespace"), body.get("namespace"), event.get("namespace"))
    key, key_problem = _first_key(attributes.get("key"), batch.get("key"), event.get("id"))
    return MessageBody(
        body=body,
        problem=problem,
        namespaces=tuple(name for name in namespaces if name not in (None, "")),
        version=next((version for version in versions if version not in (None, "")), None),
        source=_first_text(SOURCE_LIMIT, attributes.get("source"), batch.get("source"), event.get("source")),
        key=key,
        key_problem=key_problem,
    )


def _first_key(*values: object) -> tuple[str, str]:
    """Return the first value that is not empty as the key, and an empty error. The key is empty if all values are.

    If the first such value is not a valid key, return an empty key and an error. Without the error, the memory would be
    stored without a key, and its next version would become a second memory.
    """
    for value in values:
        if key := storable_name(value, characters=KEY_LIMIT):
            return key, ""
        if value not in (None, ""):
            return "", f"key must have 1 to {KEY_LIMIT} characters, got {excerpt(value)}"
    return "", ""


def _first_text(characters: int, *values: object) -> str:
    return next((name for value in values if (name := storable_name(value, characters=characters))), "")


def cloud_event(
    kind: str, id_: str, at: str | None, data: Mapping[str, Any], *copied: str
) -> tuple[bytes, dict[str, str]]:
    """Encode a CloudEvent of the type `kind` in binary mode, and return the message's data and attributes.

    `copied` has the names of fields of the data that also become attributes, so that subscriptions can filter by these
    attributes. An attribute that is empty or too long is left out.
    """
    attributes = {
        "ce-specversion": "1.0",
        "ce-id": id_,
        "ce-source": "//mnemosyne",
        "ce-type": kind,
        "ce-time": at,
        "content-type": "application/json",
        **{name: data[name] and str(data[name]) for name in copied},
    }
    valid = {name: value for name, value in attributes.items() if value and len(value.encode()) <= VALUE_BYTES}
    return orjson.dumps(data), valid


def storable_name(value: object, *, characters: int) -> str:
    """Return a text or whole number as text; empty if it is blank, too long or cannot be stored."""
    text = value
    if isinstance(value, float):  # above 2**53, a float may differ from the number in the JSON text
        text = str(int(value)) if abs(value) <= 2**53 and value.is_integer() else ""
    elif isinstance(value, int) and not isinstance(value, bool):
        text = str(value) if -(2**63) <= value < 2**64 else ""
    if not isinstance(text, str) or not text.strip() or len(text) > characters:
        return ""
    return "" if "\x00" in text or surrogate_problem(text) else text


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
