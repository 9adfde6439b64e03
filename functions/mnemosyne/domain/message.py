"""The versioned message from a publisher to `ingest`, which docs/ingestion.md describes. Pure."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import orjson

from mnemosyne.domain.failed_request import CONTENT_HASH, failed_request
from mnemosyne.domain.memory import BATCH_LIMIT, FIRST_WORDS, Deletion, FailedRequest, IngestRequest, Reading, Request
from mnemosyne.domain.memory_input import IS_NEWER, SCHEMA_VERSION, Defaults, MemoryInput, read, schema_version
from mnemosyne.domain.message_body import MessageBody, is_batch, unwrap
from mnemosyne.domain.message_mistakes import fix_of_fields, fix_of_text, with_fix
from mnemosyne.domain.provenance import Publisher, read_provenance
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.domain.text_checks import excerpt
from mnemosyne.domain.visible import one_line
from mnemosyne.errors import InvalidRequest
from mnemosyne.ids import derived_id

MESSAGE_BYTES = 9_000_000
"""Maximum bytes of a message's data. Pub/Sub's limit is 10,000,000 bytes; the rest is for attributes and the
envelope."""
MAX_OUTCOMES = 10_000
"""Maximum memories of a message that are read. Only the first BATCH_LIMIT can be stored, and the others fail. A message
with more than MAX_OUTCOMES memories becomes a dead letter, and only MAX_OUTCOMES of its request ids get an outcome."""
FIELDS_OF_EACH = ("op", "timezone", "session", "tags", "expires_at", "ttl", "pinned")
"""Fields that a batch must not have, because they belong to its memories. If they were ignored as unknown fields, the
memories would be stored in another way than the publisher wants, for example without their expiry."""
_TRANSPORT = "//pubsub.googleapis.com/"
REFUSED = "mnemosyne_refused"
"""Field that the importer adds to an invalid record. Its value is the error, and the record's outcome is `failed`."""
_ERROR_CHARACTERS = 1_000
_UNKNOWN_HASH = "00"
FORGOTTEN = "its memory was forgotten: to store it, ingest it again; a record needs a later timestamp"
"""Error of a request that was published before its memory was forgotten."""

ReadingT = TypeVar("ReadingT", bound=Reading)


@dataclass(frozen=True)
class IngestMessage:
    """A decoded message with its requests.

    If the message must become a dead letter or be retried, the decoded message also has the reason. A dead letter is a
    message that is stored unchanged, because it could not be read or stored completely.
    """

    namespace: str
    """Namespace of the message; empty if the message names none."""
    requests: tuple[IngestRequest, ...]
    rejected: tuple[FailedRequest, ...] = ()
    """The invalid requests or, if `retry_reason` is set, all requests of the message."""
    dead_letter_reason: str = ""
    """Reason to store the message as a dead letter. Empty if the failed requests already report every error."""
    retry_reason: str = ""
    """Reason to retry the message: its schema version is too new for this server. Otherwise empty."""
    deletions: tuple[Deletion, ...] = ()
    """Records to delete. They are deleted before the message's memories are stored."""
    published: datetime | None = field(default=None, compare=False)
    """Time at which the message was first published."""

    @property
    def request_ids(self) -> list[UUID]:
        """The ids of all requests, valid or rejected."""
        readings: tuple[Reading, ...] = (*self.requests, *self.deletions, *self.rejected)
        return [reading.request_id for reading in readings]

    @property
    def contents(self) -> dict[UUID, str]:
        """The content hash of each valid request, by request id. The hash is empty for a deletion.

        If the message has a newer schema version than this server knows, all requests get a hash that no content has.
        So none of them is taken for a repetition of an earlier request with the same id.
        """
        if self.retry_reason:
            return dict.fromkeys(self.request_ids, _UNKNOWN_HASH)
        deletions = {deletion.request_id: "" for deletion in self.deletions}
        return {request.request_id: request.content_hash for request in self.requests} | deletions

    def waiting(self, error: str) -> list[FailedRequest]:
        """Return those requests that a retry can still store, as failed requests with the error of this attempt."""
        if self.retry_reason:
            return list(self.rejected)
        requests: tuple[Request, ...] = (*self.requests, *self.deletions)
        return [as_failed(request, error) for request in requests]


def encode(
    namespace: str, readings: Sequence[Reading], traceparent: str, publisher: Publisher | None = None
) -> tuple[bytes, dict[str, str]]:
    """Encode the results of parsing records as a message, and return its data and attributes.

    Each result (`Reading`) is a valid request, or a failed request with the error. Raises InvalidRequest if the data
    would be larger than MESSAGE_BYTES.
    """
    body = {"schema_version": SCHEMA_VERSION, "memories": list(map(encode_record, readings))}
    data = orjson.dumps(body, option=orjson.OPT_UTC_Z)
    if len(data) > MESSAGE_BYTES:
        raise InvalidRequest(f"one message must be at most {MESSAGE_BYTES:,} bytes, got {len(data):,}: send fewer")
    return data, {
        "schema_version": str(SCHEMA_VERSION),
        "namespace": namespace,
        "request_id": str(readings[0].request_id),
        "traceparent": traceparent,
        **(publisher.attributes if publisher else {}),
    }


def encode_record(reading: Reading) -> dict[str, Any]:
    """Encode a valid or failed request as a record. The function `read` decodes the record to an equal request."""
    external_id = {"source": reading.external_id.source, "key": reading.external_id.key} if reading.external_id else {}
    identity = {"request_id": reading.request_id, **external_id}
    match reading:
        case IngestRequest():
            # Leave out a blank title, because `read` rejects blank titles. Only a title that was derived from control
            # characters is blank, and `read` derives the same title again if the record has none.
            return {**identity, **reading.fields, "title": reading.title if reading.title.strip() else None}
        case Deletion():
            return {**identity, "op": "delete", "timestamp": reading.timestamp}
        case FailedRequest():
            words = {"content": reading.first_words, CONTENT_HASH: reading.content_hash} if reading.first_words else {}
            return {**identity, REFUSED: reading.error, **words}


def decode(message: Published, *, allowed_namespace: str | None = None) -> IngestMessage:
    """Decode a message. An invalid memory does not affect the other memories.

    `allowed_namespace` is the only namespace that the publisher may write to. Errors are returned in the result, and
    never raised. The result has up to MAX_OUTCOMES request ids, or none if the message has no valid namespace.
    """
    unwrapped, published = unwrap(message), message.first_published_at
    namespace, wrong = unwrapped.destination(allowed_namespace)
    items, unreadable = _split_items(unwrapped)
    if not namespace:
        return IngestMessage("", (), dead_letter_reason="; ".join(filter(None, [wrong, unreadable])))
    if unreadable:
        return _build_unreadable_message(namespace, message, unwrapped, unreadable)
    version = SCHEMA_VERSION if unwrapped.version is None else unwrapped.version
    if schema_version(version) < SCHEMA_VERSION:
        wrong = wrong or f"schema_version must be {SCHEMA_VERSION}, got {excerpt(version)}"
    provenances = read_provenance(message.attributes, len(items))
    readings = [
        replace(_read_item(item, index, unwrapped, message, namespace), provenance=provenance)
        for index, (item, provenance) in enumerate(zip(items, provenances, strict=True))
    ]
    versions = [version, *(item.get("schema_version") for item in items if isinstance(item, dict))]
    newest = max(map(schema_version, versions))
    if not wrong and newest > SCHEMA_VERSION:
        newer = f"schema_version {newest} {IS_NEWER}"
        unread = tuple(first_of_each_id(as_failed(reading, newer) for reading in readings).values())
        return IngestMessage(namespace, (), unread, retry_reason=newer, published=published)
    wrong = wrong or _misplaced_fields_error(unwrapped.body)
    checked = _build_message(namespace, [as_failed(reading, wrong) for reading in readings] if wrong else readings)
    return replace(checked, published=published)


def _misplaced_fields_error(body: Mapping[str, Any]) -> str:
    """Return an error if a batch has fields that only its memories may have; otherwise an empty text."""
    names = [name for name in FIELDS_OF_EACH if body.get(name)] if is_batch(body) else []
    return f"{' and '.join(names)} must be in each memory, not at the top level of the message" if names else ""


def _build_unreadable_message(namespace: str, message: Published, unwrapped: MessageBody, why: str) -> IngestMessage:
    """Return a message that cannot be parsed, with a failed request for each of its first MAX_OUTCOMES request ids."""
    ids = message.visible_request_ids
    requests = [FailedRequest(request_id=request_id, error=why) for request_id in ids[:MAX_OUTCOMES]]
    if unwrapped.source and unwrapped.key:
        requests.append(failed_request(why, _defaults_of_record("", unwrapped, message, "")))
    rest = len(ids) - MAX_OUTCOMES
    reason = f"{why}; {rest:,} of its {len(ids):,} request ids have no outcome" if rest > 0 else why
    failed = tuple(first_of_each_id(requests).values())
    return IngestMessage(namespace, (), failed, dead_letter_reason=reason, published=message.first_published_at)


def _split_items(unwrapped: MessageBody) -> tuple[list[Any], str]:
    """Return the memories in a message's body (a batch or a single memory), or no memories and an error."""
    body = unwrapped.body
    if unwrapped.problem:
        return [], unwrapped.problem
    if not is_batch(body):
        if not body.keys() & {*MemoryInput.model_fields, REFUSED}:
            wrong = "message data must be a memory with content and timestamp, or have memories"
            return [], with_fix(wrong, fix_of_fields(body))
        return [body], ""
    items = body["memories"]
    if not isinstance(items, list) or not items:
        return [], with_fix("memories must be an array with at least 1 item", fix_of_text(items))
    if len(items) > MAX_OUTCOMES:
        return [], f"memories must have at most {BATCH_LIMIT} items, got {len(items):,}"
    return items, ""


def _read_item(item: Any, index: int, unwrapped: MessageBody, message: Published, namespace: str) -> Reading:
    """Parse one record. A missing request id or key is derived from the message and the record's position in it."""
    defaults = _defaults_of_record(namespace, unwrapped, message, "" if unwrapped.body is item else f"#{index}")
    if isinstance(item, dict) and isinstance(error := item.get(REFUSED), str) and error.strip():
        printable = error[:_ERROR_CHARACTERS].encode(errors="replace").decode().replace("\x00", "\ufffd")
        return failed_request(printable, defaults, item)
    reading = read(item, replace(defaults, position=min(index, BATCH_LIMIT)))
    if index < BATCH_LIMIT:
        return reading
    return as_failed(reading, f"memories must have at most {BATCH_LIMIT} items, and this is number {index + 1:,}")


def _defaults_of_record(namespace: str, unwrapped: MessageBody, message: Published, place: str) -> Defaults:
    def transport_id() -> UUID:
        return derived_id(_TRANSPORT, f"{message.first_published}/{hashlib.sha256(message.data).hexdigest()}{place}")

    published = message.first_published_at
    key, key_problem = unwrapped.key_at(place)
    return Defaults(
        new_id=transport_id,
        namespace=namespace,
        source=unwrapped.source,
        key=key,
        source_problem=unwrapped.source_problem,
        key_problem=key_problem,
        deleted_at=published,
        published=published,
    )


def as_failed(reading: Reading, error: str) -> FailedRequest:
    """Convert a request to a failed request with the error.

    The failure need not be final: if the message is delivered again, the request can still succeed.
    """
    first_words = one_line(reading.content[:FIRST_WORDS]) if isinstance(reading, IngestRequest) else None
    return FailedRequest(
        request_id=reading.request_id,
        error=error,
        external_id=reading.external_id,
        provenance=reading.provenance,
        first_words=reading.first_words if isinstance(reading, FailedRequest) else first_words,
        content_hash=None if isinstance(reading, Deletion) else reading.content_hash,
    )


def read_each(message: Published, namespace: str) -> list[tuple[Any, Reading]]:
    """Parse each record of a message. Return pairs of the unparsed record and the parsed request.

    Several of these requests can have the same request id.
    """
    unwrapped = unwrap(message)
    items, _ = _split_items(unwrapped)
    return [(item, _read_item(item, index, unwrapped, message, namespace)) for index, item in enumerate(items)]


def without_text(request: FailedRequest) -> FailedRequest:
    """Return the request without the beginning of its content, so that a forgotten text is not stored."""
    return replace(request, first_words=None)


def _build_message(namespace: str, readings: Sequence[Reading]) -> IngestMessage:
    """Build the decoded message from its parsed records.

    Of several records with the same request id, only the first valid one is used, or the first one if none is valid. If
    these records have different identities (see `identity`), the whole message is also stored as a dead letter.
    """
    valid_first = sorted(enumerate(readings), key=lambda item: isinstance(item[1], FailedRequest))
    first = first_of_each_id(reading for _, reading in valid_first)
    conflicts: list[str] = []
    for index, reading in valid_first:
        if identity(first[reading.request_id]) != identity(reading):
            place = f"memories[{index}] has the request_id {reading.request_id} of another memory"
            conflicts.append(f"{place}, and {reading.error}" if isinstance(reading, FailedRequest) else place)
    return IngestMessage(
        namespace,
        tuple(reading for reading in first.values() if isinstance(reading, IngestRequest)),
        tuple(reading for reading in first.values() if isinstance(reading, FailedRequest)),
        dead_letter_reason="; ".join(conflicts[:10]),
        deletions=tuple(reading for reading in first.values() if isinstance(reading, Deletion)),
    )


def first_of_each_id(readings: Iterable[ReadingT]) -> dict[UUID, ReadingT]:
    """Return a dictionary with each request id and the first record that has this id."""
    first: dict[UUID, ReadingT] = {}
    for reading in readings:
        first.setdefault(reading.request_id, reading)
    return first


def identity(reading: Reading) -> object:
    """Return the identity of a record in a message. Records with the same request id must have the same identity.

    A memory is identified by its content hash and external id, a deletion by the external id and timestamp. A record
    that failed has no identity (None).
    """
    match reading:
        case IngestRequest():
            return reading.content_hash, reading.external_id
        case Deletion():
            return reading.external_id, reading.timestamp
        case FailedRequest():
            return None
