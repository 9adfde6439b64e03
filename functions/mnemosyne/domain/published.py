"""A message as it lies on the topic, whoever published it, and what wraps it. Pure; reads whatever comes."""

import base64
import json
import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson

from mnemosyne.domain.memory import Origin
from mnemosyne.domain.parsing import KEY_LIMIT, SOURCE_LIMIT, shown, surrogate
from mnemosyne.errors import InvalidRequest

NAMESPACE_CHARACTERS = 300
DEAD_LETTER_ATTRIBUTES = "CloudPubSubDeadLetter"
"""How the attributes begin that Pub/Sub adds on the way to a dead-letter topic."""
_SOURCE_PUBLISH_TIME = "CloudPubSubDeadLetterSourceTopicPublishTime"
FIRST_PUBLISHED = "first_published"
"""The attribute that says when a message was first published, once it is published again as a dead letter."""
_REQUEST_ID = re.compile(rb'"request_id"\s*:\s*"([0-9A-Fa-f-]{32,36})"')


@dataclass(frozen=True, kw_only=True)
class Published:
    """One message: its data and attributes, and what Pub/Sub says of it."""

    message_id: str
    data: bytes
    attributes: Mapping[str, str]
    publish_time: str = ""

    @property
    def first_published(self) -> str:
        """When it was first published, in RFC 3339 to the millisecond, however often it was forwarded since."""
        attributes = self.attributes
        known = attributes.get(FIRST_PUBLISHED) or attributes.get(_SOURCE_PUBLISH_TIME) or self.publish_time
        try:
            return datetime.fromisoformat(known).astimezone(UTC).isoformat(timespec="milliseconds")
        except (ValueError, OverflowError):
            return known

    @property
    def kept_attributes(self) -> dict[str, str]:
        """The attributes under which it can be kept, and published again, and is still the same message."""
        kept = {k: v for k, v in self.attributes.items() if not k.startswith(DEAD_LETTER_ATTRIBUTES)}
        kept |= {FIRST_PUBLISHED: self.first_published} if self.first_published else {}
        return {name.replace("\x00", "\ufffd"): value.replace("\x00", "\ufffd") for name, value in kept.items()}

    @property
    def visible_request_ids(self) -> list[UUID]:
        """The request ids that can be seen of data which cannot be read, in it and in the attribute."""
        seen = [found.decode() for found in _REQUEST_ID.findall(self.data)]
        ids: dict[UUID, None] = {}
        for one in [*seen, self.attributes.get("request_id", "")]:
            try:
                ids[UUID(one)] = None
            except ValueError:
                continue
        return list(ids)


@dataclass(frozen=True, kw_only=True)
class Unwrapped:
    """A message's body, and what is said of it beside: in attributes, in the body, in a CloudEvent's context."""

    body: Mapping[str, Any]
    problem: str
    """Why there is no body."""
    namespaces: tuple[object, ...]
    """As they were said, the attribute's first."""
    version: object
    source: str
    key: str

    @property
    def origin(self) -> Origin | None:
        """What the publisher calls the message as a whole."""
        return Origin(self.source, self.key) if self.source and self.key else None

    def destination(self, only: str | None) -> tuple[str, str]:
        """Return the namespace, empty where none can be told; and what is wrong with what was said of it.

        `only` is the one that the publisher may write to.
        """
        foreign = [one for one in self.namespaces if one != (only or self.namespaces[0])]
        if only:
            wrong = f"namespace must be {shown(only)}, this publisher's, got {shown(foreign[0])}" if foreign else ""
            return only, wrong
        if not self.namespaces:
            return "", "attribute namespace is required"
        namespace = storable_name(self.namespaces[0], characters=NAMESPACE_CHARACTERS)
        if not namespace:
            return "", f"namespace cannot be {shown(self.namespaces[0])}"
        return namespace, f"namespace is {shown(namespace)} and {shown(foreign[0])} at once" if foreign else ""


def unwrap(message: Published) -> Unwrapped:
    """Return the JSON object that a message carries, plain or as a CloudEvent 1.0 in binary or structured mode.

    On Pub/Sub the context attributes of binary mode are message attributes that begin with `ce-`:
    https://github.com/googleapis/google-cloudevents/blob/main/docs/spec/pubsub.md.
    What is no such object has a problem instead of a body.
    """
    attributes = message.attributes
    event: Mapping[str, Any] = {}
    if "ce-specversion" in attributes:
        event = {name.removeprefix("ce-"): value for name, value in attributes.items() if name.startswith("ce-")}
    problem = ""
    try:
        body = _json(message.data)
        if isinstance(body, dict) and "specversion" in body:
            event = body
            body = _event_data(event)
        if not isinstance(body, dict):
            problem = f"message data must be a JSON object, a memory or its memories, got {_kind(body)}"
    except InvalidRequest as exc:
        problem = str(exc)
    if problem or not isinstance(body, dict):
        body = {}
    beside = body if "memories" in body else {}  # of a memory by itself they are the memory's own
    versions = (attributes.get("schema_version"), body.get("schema_version"))
    said = (attributes.get("namespace"), body.get("namespace"), event.get("namespace"))
    return Unwrapped(
        body=body,
        problem=problem,
        namespaces=tuple(one for one in said if one is not None),
        version=next((one for one in versions if one is not None), None),
        source=_first(SOURCE_LIMIT, attributes.get("source"), beside.get("source"), event.get("source")),
        key=_first(KEY_LIMIT, attributes.get("key"), beside.get("key"), event.get("id")),
    )


def _first(characters: int, *given: object) -> str:
    return next((name for one in given if (name := storable_name(one, characters=characters))), "")


def storable_name(value: object, *, characters: int) -> str:
    """Return the text, or the whole number as text, where it can name something; else empty."""
    text = value
    if isinstance(value, float):  # beyond that it is not the number that was written
        text = str(int(value)) if abs(value) <= 2**53 and value.is_integer() else ""
    elif isinstance(value, int) and not isinstance(value, bool):
        text = str(value) if -(2**63) <= value < 2**64 else ""
    if not isinstance(text, str) or not text.strip() or len(text) > characters:
        return ""
    return "" if "\x00" in text or surrogate(text) else text


def _event_data(event: Mapping[str, Any]) -> Any:
    if isinstance(encoded := event.get("data_base64"), str):
        try:
            return _json(base64.b64decode(encoded, validate=True))
        except ValueError as exc:
            raise InvalidRequest(f"the event's data_base64 must be base64: {exc}") from exc
    data = event.get("data")
    return _json(data.encode(errors="surrogatepass")) if isinstance(data, str) else data


def _json(data: bytes) -> Any:
    """Return the JSON value; what is odd in one string of it stays there, for that string to be judged."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        # Takes what orjson does not: lone surrogates, bytes that are no UTF-8, NaN, a byte order mark.
        return json.loads(data.decode("utf-8-sig", errors="surrogateescape"), parse_int=_integer)
    except RecursionError as exc:
        raise InvalidRequest("message data must be JSON that is nested less deeply") from exc
    except ValueError as exc:
        raise InvalidRequest(f"message data must be JSON: {exc}") from exc


def _integer(digits: str) -> int | float:
    """Return the integer, or infinity where Python would refuse to read so many digits, and all around them."""
    return int(digits) if len(digits) < sys.int_info.default_max_str_digits else math.inf


def _kind(value: object) -> str:
    return {list: "an array", str: "a string", type(None): "null", bool: "a boolean"}.get(type(value), "a number")
