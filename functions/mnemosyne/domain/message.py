"""The versioned message between `mcp` and `ingest`: JSON data and string attributes. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

import orjson
from pydantic import BaseModel, ConfigDict, Field

from mnemosyne.domain.memory import BATCH_LIMIT, IngestRequest
from mnemosyne.domain.parsing import Content, Id, Input, Instant, JsonObject, Tags, Title, parse
from mnemosyne.errors import InvalidRequest

SCHEMA_VERSION = 1
MESSAGE_BYTES = 9_000_000
"""Pub/Sub refuses 10,000,000; the rest is for attributes and the envelope."""


class _Item(Input):
    request_id: Id
    content: Content
    timestamp: Instant
    title: Title | None = None
    tags: Tags = Field(default_factory=list)
    metadata: JsonObject = Field(default_factory=dict)


class _Named(BaseModel):
    """An item as far as it can be answered for: its other fields are judged one by one."""

    model_config = ConfigDict(extra="allow", frozen=True)

    request_id: Id


class _Body(Input):
    schema_version: Literal[1]
    memories: list[_Named] = Field(min_length=1, max_length=BATCH_LIMIT)


@dataclass(frozen=True)
class IngestMessage:
    """Memories accepted together for one namespace, on their way to be stored; and those that never can be."""

    namespace: str
    requests: tuple[IngestRequest, ...]
    rejected: Mapping[UUID, str] = field(default_factory=dict)

    @property
    def request_ids(self) -> list[UUID]:
        """Every request the message carries."""
        return [*(request.request_id for request in self.requests), *self.rejected]


def encode(namespace: str, requests: Sequence[IngestRequest], traceparent: str) -> tuple[bytes, dict[str, str]]:
    """The message's data and attributes; raises InvalidRequest where it would be larger than the topic takes."""
    data = orjson.dumps(
        {
            "schema_version": SCHEMA_VERSION,
            "memories": [
                {
                    "request_id": request.request_id,
                    "content": request.content,
                    "timestamp": request.timestamp,
                    "title": request.title,
                    "tags": request.tags,
                    "metadata": request.metadata,
                }
                for request in requests
            ],
        },
        option=orjson.OPT_UTC_Z,
    )
    if len(data) > MESSAGE_BYTES:
        raise InvalidRequest(f"one message must be at most {MESSAGE_BYTES:,} bytes, got {len(data):,}: send fewer")
    return data, {
        "schema_version": str(SCHEMA_VERSION),
        "namespace": namespace,
        "request_id": str(requests[0].request_id),
        "traceparent": traceparent,
    }


def decode(data: bytes, attributes: Mapping[str, str]) -> IngestMessage:
    """The message read back, memory by memory: a bad one does not spoil its neighbours.

    Raises InvalidRequest where the message as a whole cannot be read: redelivering it cannot help.
    """
    version = attributes.get("schema_version", str(SCHEMA_VERSION))
    if version != str(SCHEMA_VERSION):
        raise InvalidRequest(f"schema_version must be {SCHEMA_VERSION}, got {version[:20]!r}")
    namespace = attributes.get("namespace", "")
    if not namespace or "\x00" in namespace:
        raise InvalidRequest("attribute namespace is required")
    body = _body(data)
    ids = [named.request_id for named in body.memories]
    if repeated := next((one for one in ids if ids.count(one) > 1), None):
        raise InvalidRequest(f"each memory must have a request_id of its own, {repeated} is there more than once")
    requests, rejected = [], {}
    for named in body.memories:
        try:
            requests.append(_request(parse(_Item, named.model_dump(), of="a memory")))
        except InvalidRequest as exc:
            rejected[named.request_id] = str(exc)
    return IngestMessage(namespace, tuple(requests), rejected)


def _body(data: bytes) -> _Body:
    try:
        return parse(_Body, orjson.loads(data), of="the message")
    except orjson.JSONDecodeError as exc:
        raise InvalidRequest(f"message data must be JSON: {exc}") from exc


def carried(data: bytes, attributes: Mapping[str, str]) -> list[UUID]:
    """The ids of every request a message carries, as far as it can be read."""
    try:
        return list(dict.fromkeys(named.request_id for named in _body(data).memories))
    except InvalidRequest:
        try:
            return [UUID(attributes.get("request_id", ""))]
        except ValueError:
            return []


def _request(item: _Item) -> IngestRequest:
    return IngestRequest.of(
        item.request_id,
        content=item.content,
        timestamp=item.timestamp,
        title=item.title,
        tags=tuple(item.tags),
        metadata=item.metadata,
    )
