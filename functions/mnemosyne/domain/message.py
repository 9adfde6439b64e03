"""The versioned message from a publisher to `ingest`: what it may hold, and how it is read. Pure.

`docs/ingestion.md` is the contract in words, `message_schema` its JSON Schema; both are made from the types here.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any
from uuid import UUID

import orjson
from pydantic import BeforeValidator, ConfigDict, Field

from mnemosyne.domain.memory import BATCH_LIMIT, Deletion, IngestRequest, Origin, Unstored
from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.domain.parsing import (
    KEY_LIMIT,
    SOURCE_LIMIT,
    Id,
    Key,
    Source,
    parse,
    shown,
    uuid,
)
from mnemosyne.domain.published import Published, Unwrapped, storable_name, unwrap
from mnemosyne.errors import InvalidRequest
from mnemosyne.ids import derived_id

SCHEMA_VERSION = 1
MESSAGE_BYTES = 9_000_000
"""Pub/Sub refuses 10,000,000; the rest is for attributes and the envelope."""
ANSWERED = 10_000
"""Memories of one message that are answered for each by itself; what has more is kept whole as a dead letter."""
_TRANSPORT = "//pubsub.googleapis.com/"


def _numbered(value: object) -> object:
    """Return a key as text: warehouses number their rows."""
    return storable_name(value, characters=KEY_LIMIT) or value if isinstance(value, int | float) else value


class PublishedMemory(MemoryInput):
    """One memory as a publisher hands it over. Fields that are not named here are left out of what is stored."""

    model_config = ConfigDict(extra="ignore")

    request_id: Annotated[
        Id | None, Field(description="The request's id, under which its outcome is told; otherwise derived.")
    ] = None
    source: Annotated[
        Source | None,
        Field(description="What the key is unique in, best a URI; otherwise the message's source."),
    ] = None
    key: Annotated[
        Key | None,
        BeforeValidator(_numbered, json_schema_input_type=str | int | None),
        Field(
            description="What the source calls this memory. The request's id is then uuid5(uuid5(NAMESPACE_URL, "
            "source), key), so that publishing it again stores it once."
        ),
    ] = None


@dataclass(frozen=True)
class IngestMessage:
    """What one message asks for, memory by memory; and what is to be said where it cannot be had."""

    namespace: str
    """Empty where the message names none."""
    requests: tuple[IngestRequest, ...]
    rejected: tuple[Unstored, ...] = ()
    """Requests that can never be stored."""
    lost: str = ""
    """Why the message must be kept as a dead letter: something in it can be answered for in no other way."""
    postponed: str = ""
    """Why it must be delivered again: it is newer than its reader."""
    deletions: tuple[Deletion, ...] = ()
    """Records to delete. They are deleted before the message's memories are stored."""

    @property
    def request_ids(self) -> list[UUID]:
        """Every request the message carries."""
        asked: Sequence[IngestRequest | Deletion | Unstored] = (*self.requests, *self.deletions, *self.rejected)
        return [one.request_id for one in asked]

    @property
    def contents(self) -> dict[UUID, str]:
        """The content hash of each request that may yet be stored."""
        return {request.request_id: request.content_hash for request in self.requests}

    def waiting(self, error: str) -> list[Unstored]:
        """Return the requests and deletions that may yet be done, each with the error of this attempt."""
        if self.postponed:
            return list(self.rejected)
        undone: Sequence[IngestRequest | Deletion] = (*self.requests, *self.deletions)
        return [Unstored(request_id=one.request_id, error=error, origin=one.origin) for one in undone]


def encode(namespace: str, requests: Sequence[IngestRequest], traceparent: str) -> tuple[bytes, dict[str, str]]:
    """Return the message's data and attributes; raises InvalidRequest where it would be larger than the topic takes."""
    memories = [
        {
            "request_id": request.request_id,
            **request.said,
            # A title taken from control characters alone is blank, which no given one may be; it is taken again.
            "title": request.title if request.title.strip() else None,
            **({"source": request.origin.source, "key": request.origin.key} if request.origin else {}),
        }
        for request in requests
    ]
    data = orjson.dumps({"schema_version": SCHEMA_VERSION, "memories": memories}, option=orjson.OPT_UTC_Z)
    if len(data) > MESSAGE_BYTES:
        raise InvalidRequest(f"one message must be at most {MESSAGE_BYTES:,} bytes, got {len(data):,}: send fewer")
    return data, {
        "schema_version": str(SCHEMA_VERSION),
        "namespace": namespace,
        "request_id": str(requests[0].request_id),
        "traceparent": traceparent,
    }


def decode(message: Published, *, only: str | None = None) -> IngestMessage:
    """Return the message read memory by memory: a bad one does not spoil its neighbours, and each gets an id.

    `only` is the one namespace that its publisher may write to. Never raises: what cannot be read is said in the
    answer, with every request id that can be seen.
    """
    unwrapped = unwrap(message)
    namespace, wrong = unwrapped.destination(only)
    items, unreadable = _items(unwrapped)
    if not namespace:
        return IngestMessage("", (), lost="; ".join(filter(None, [wrong, unreadable])))
    if unreadable:
        return IngestMessage(namespace, (), _visible(message, unwrapped, unreadable), lost=unreadable)
    version = _version(unwrapped.version)
    if version < SCHEMA_VERSION:
        wrong = wrong or f"schema_version must be {SCHEMA_VERSION}, got {shown(unwrapped.version)}"
    named = [_named(item, index, unwrapped, message) for index, item in enumerate(items)]
    if wrong:
        named = [replace(one, problem=wrong) for one in named]
    elif version > SCHEMA_VERSION:
        newer = f"schema_version {version} is newer than this reader, which knows {SCHEMA_VERSION}"
        waiting = (Unstored(request_id=one.request_id, error=newer, origin=one.origin) for one in named)
        return IngestMessage(namespace, (), tuple(waiting), postponed=newer)
    requests, rejected, lost = _judged(named)
    return IngestMessage(namespace, requests, rejected, lost=lost)


def _visible(message: Published, unwrapped: Unwrapped, why: str) -> tuple[Unstored, ...]:
    """Return the requests that can be seen of a message that cannot be read, each failed for that reason."""
    seen = [Unstored(request_id=one, error=why) for one in message.visible_request_ids]
    if origin := unwrapped.origin:
        seen.append(Unstored(request_id=derived_id(origin.source, origin.key), error=why, origin=origin))
    return tuple({one.request_id: one for one in seen}.values())


def _version(given: object) -> int:
    """Return the schema's version, of which none named is the first; 0 where it is no number."""
    number = storable_name(SCHEMA_VERSION if given is None else given, characters=20)
    return int(number) if number.isascii() and number.isdigit() and number == str(int(number)) else 0


@dataclass(frozen=True)
class _Named:
    """One memory before it is judged: the fields as they came, its request's id, and what is wrong with its name."""

    fields: object
    request_id: UUID
    origin: Origin | None
    problem: str


def _items(unwrapped: Unwrapped) -> tuple[list[Any], str]:
    """Return the memories of a batch, or the one that the body is; or why there are none."""
    body = unwrapped.body
    if unwrapped.problem:
        return [], unwrapped.problem
    if "memories" not in body:
        if not body.keys() & PublishedMemory.model_fields.keys():
            return [], "message data must be a memory with content and timestamp, or have memories"
        return [body], ""
    items = body["memories"]
    if not isinstance(items, list) or not items:
        return [], "memories must be an array with at least 1 items"
    if len(items) > ANSWERED:
        return [], f"memories must have at most {BATCH_LIMIT} items, got {len(items):,}"
    return items, ""


def _named(item: Any, index: int, unwrapped: Unwrapped, message: Published) -> _Named:
    """Return the item with its request's id: its own, or that of its source and key, or that of its place in
    the message.
    """
    fields = item if isinstance(item, dict) else {}
    problem = "" if isinstance(item, dict) else f"memories[{index}] must be an object"
    if index >= BATCH_LIMIT:
        problem = f"memories must have at most {BATCH_LIMIT} items, and this is number {index + 1:,}"
    source = storable_name(fields.get("source"), characters=SOURCE_LIMIT) or unwrapped.source
    key = storable_name(fields.get("key"), characters=KEY_LIMIT)
    origin = Origin(source, key) if source and key else None
    if fields.get("request_id") is not None:
        try:
            given = uuid(fields["request_id"])
        except ValueError:
            given = None
        if isinstance(given, UUID):
            return _Named(item, given, origin, problem)
        origin, key = None, ""  # the rules of input say what is wrong with it
    place = "" if unwrapped.body is item else f"#{index}"
    if not origin and unwrapped.source and unwrapped.key:
        origin = Origin(unwrapped.source, f"{unwrapped.key}{place}")
    if origin:
        return _Named(item, derived_id(origin.source, origin.key), origin, problem)
    if key:
        problem = problem or "key needs a source beside it: what it is unique in"
    transport = f"{message.first_published}/{hashlib.sha256(message.data).hexdigest()}{place}"
    return _Named(item, derived_id(_TRANSPORT, transport), None, problem)


def _judged(named: Sequence[_Named]) -> tuple[tuple[IngestRequest, ...], tuple[Unstored, ...], str]:
    """Return the requests, those that can never be stored, and why the message must be kept beside them."""
    requests: dict[UUID, IngestRequest] = {}
    bad: list[tuple[str, Unstored]] = []
    lost: list[str] = []
    for index, one in enumerate(named):
        place = f"memories[{index}] has the request_id {one.request_id} of another one"
        try:
            if one.problem:
                raise InvalidRequest(one.problem)
            request = parse(PublishedMemory, one.fields, of="a memory").request(one.request_id, one.origin)
        except InvalidRequest as exc:
            bad.append((place, Unstored(request_id=one.request_id, error=str(exc), origin=one.origin)))
            continue
        if requests.setdefault(one.request_id, request).content_hash != request.content_hash:
            lost.append(place)
    lost += [f"{place}, and {one.error}" for place, one in bad if one.request_id in requests]
    rejected = {one.request_id: one for _, one in reversed(bad) if one.request_id not in requests}
    return tuple(requests.values()), tuple(reversed(rejected.values())), "; ".join(lost[:10])
