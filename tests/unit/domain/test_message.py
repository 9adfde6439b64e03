"""Messages to `ingest`, as publishers outside of this project write them."""

import base64
import gzip
import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemosyne.domain.memory import Deletion, ExternalId, FailedRequest, IngestRequest, content_hash
from mnemosyne.domain.memory_input import Defaults, MemoryInput
from mnemosyne.domain.message import IngestMessage, decode, encode
from mnemosyne.domain.parsing import parse
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.errors import InvalidRequest
from mnemosyne.ids import deletion_id, new_id, refused_id, version_id
from tests.fakes import request

WHEN = "2026-05-20T12:00:00Z"
NOON = datetime(2026, 5, 20, 12, tzinfo=UTC)
PUBLISHED = datetime(2026, 11, 22, 1, 1, 57, 41_000, tzinfo=UTC)
FIELD_NAMES = st.sampled_from(
    ["content", "timestamp", "title", "tags", "metadata", "request_id", "source", "key", "memories", "namespace",
     "schema_version", "specversion", "data", "data_base64", "id", "ce-specversion", "ce-source", "ce-id"]
)  # fmt: skip
GOOD = {"content": "green tea", "timestamp": WHEN}
IN_NS = {"namespace": "ns"}


def _message(data: object, attributes: dict[str, str] | None = None, **fields: str) -> Published:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    values = {"message_id": "1", "publish_time": "2026-11-22T01:01:57.041Z", **fields}
    return Published(data=raw, attributes=IN_NS if attributes is None else attributes, **values)


def _read(data: object, attributes: dict[str, str] | None = None, **fields: str) -> IngestMessage:
    return decode(_message(data, attributes, **fields))


def _errors(message: IngestMessage) -> list[str]:
    return [rejection.error for rejection in message.rejected]


@pytest.mark.parametrize(
    ("attributes", "published"),
    [
        ({}, PUBLISHED),
        ({"first_published": "yesterday", "CloudPubSubDeadLetterSourceTopicPublishTime": WHEN}, NOON),
        ({"first_published": "2026-11-22T01:01:57.042Z"}, PUBLISHED),
        ({"first_published": "2999-01-01T00:00:00Z", "CloudPubSubDeadLetterSourceTopicPublishTime": WHEN}, NOON),
        ({"first_published": "2026-05-20T14:00:00+02:00"}, NOON),
        ({"first_published": "2026-05-20T12:00:00"}, NOON),
    ],
)
def test_the_publication_time_of_a_deletion_is_its_earliest_valid_time(
    attributes: dict[str, str], published: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        message = _message({"op": "delete", "source": "crm", "key": "1"}, IN_NS | attributes)
        again = Published(message_id="2", data=message.data, attributes=message.kept_attributes)
        deletions = [decode(each).deletions[0] for each in (message, again)]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert [(deletion.timestamp, deletion.published) for deletion in deletions] == [(published, published)] * 2


def test_an_encoded_message_is_decoded_unchanged() -> None:
    external_id = ExternalId("crm", "4711")
    metadata = {"k": [1, 2.5, None, {"z": True}]}
    requests = [
        request("TITLE: é\nTAGS: a, ß\n🜚 שלום", tags=("x",), metadata=metadata, published=PUBLISHED),
        request("second", external_id=external_id, published=PUBLISHED + timedelta(microseconds=1)),
    ]
    deletion = Deletion(request_id=new_id(), external_id=external_id, timestamp=NOON, published=PUBLISHED)
    refusal = FailedRequest(request_id=new_id(), error="not JSON", external_id=ExternalId("rows.jsonl", "17"))
    data, attributes = encode("ns", [*requests, deletion, refusal], "")
    assert _read(data, attributes) == IngestMessage("ns", tuple(requests), (refusal,), deletions=(deletion,))


def test_attributes_hold_the_values_for_routing_and_tracing() -> None:
    ingest_request = request("x")
    _, attributes = encode("ns", [ingest_request], "00-trace")
    assert attributes == {
        "schema_version": "1",
        "namespace": "ns",
        "request_id": str(ingest_request.request_id),
        "traceparent": "00-trace",
    }


def test_a_message_too_large_for_the_topic_is_refused_with_its_size() -> None:
    with pytest.raises(InvalidRequest, match=r"at most 9,000,000 bytes, got 9,[0-9,]+: send fewer"):
        encode("ns", [request("é" * 100_000 + str(n)) for n in range(46)], "")


@pytest.mark.parametrize(
    ("data", "is_lost"),
    [
        (b"{", "message data must be JSON"),
        (b"", "message data must be JSON"),
        (b"[" * 100_000, "nested less deeply"),
        ([GOOD], "must be a JSON object, a memory or its memories, got an array"),
        ({}, "must be a memory with content and timestamp, or have memories"),
        ({"memories": []}, "memories must be an array with at least 1 item"),
        ({"memories": {"0": GOOD}}, "memories must be an array"),
        ({"memories": [GOOD] * 10_001}, "memories must have at most 100 items, got 10,001"),
    ],
)
def test_an_unreadable_message_becomes_a_dead_letter_of_its_namespace(data: object, is_lost: str) -> None:
    message = _read(data)
    assert (message.namespace, message.requests) == ("ns", ())
    assert is_lost in message.dead_letter_reason


JSON = json.dumps(GOOD).encode()
GZIP = "it is compressed with gzip: publish it uncompressed"
BASE64 = "it is in base64: publish the JSON itself, because the client library encodes it"
TWICE = "it is JSON in a JSON string: encode it only once"
SEVERAL_LINES = "it has several lines of JSON: publish each line as a message, or an object with the array memories"
ENVELOPE = "publish the memory itself, and not the JSON around it of Pub/Sub's REST API or of a push"


@pytest.mark.parametrize(
    ("data", "fix"),
    [
        (gzip.compress(JSON, mtime=0), GZIP),
        ({"specversion": "1.0", "data_base64": base64.b64encode(gzip.compress(JSON, mtime=0)).decode()}, GZIP),
        (base64.b64encode(JSON), BASE64),
        (base64.encodebytes(b"[%s]" % JSON), BASE64),
        (base64.b64encode(gzip.compress(JSON, mtime=0)), BASE64),
        (base64.b64encode(JSON).decode(), BASE64),
        ({"specversion": "1.0", "data": base64.b64encode(JSON).decode()}, BASE64),
        (JSON.decode(), TWICE),
        ({"memories": f"[{JSON.decode()}]"}, TWICE),
        (JSON + b"\r\n" + JSON + b"\n", SEVERAL_LINES),
        (JSON.decode().encode("utf-16"), "it is in UTF-16: publish it in UTF-8"),
        (JSON.decode().encode("utf-16-le"), "it is in UTF-16: publish it in UTF-8"),
        ([GOOD], "publish an object with the array memories"),
        ({"message": {"data": base64.b64encode(JSON).decode()}, "subscription": "s"}, ENVELOPE),
        ({"messages": [{"data": base64.b64encode(JSON).decode()}]}, ENVELOPE),
        ({"data": GOOD}, 'send the object in "data" alone'),
        ({"schema": {}, "payload": {"before": GOOD, "after": GOOD}}, 'send the object in "payload.after" alone'),
        ({"items": [GOOD]}, '"items" is not read: rename it to memories'),
        (
            {"Content": "x", "created_at": WHEN},
            '"Content" is not read: rename it to content; "created_at" is not read: rename it to timestamp',
        ),
    ],
)
def test_the_error_about_a_common_mistake_in_the_data_says_how_to_fix_it(data: object, fix: str) -> None:
    message = _read(data)
    assert message.dead_letter_reason.partition("; ")[2] == fix


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\x00\x10", b"tea", b"{}", b"e30", b'{"data": {"text": "tea"}}', b'{"text": 7, "items": "none"}',
        b'{"data": {"a": {"b": {"content": "tea"}}}}', b'{"messages": [{"role": "user"}]}',
    ],
)  # fmt: skip
def test_the_error_about_an_unknown_mistake_gives_no_advice(data: bytes) -> None:
    assert ";" not in _read(data).dead_letter_reason


@pytest.mark.parametrize("namespace", [None, "", " ", "a\x00b", "n" * 201, "team\n", "team ", "te\u200bam"])
def test_a_message_without_a_valid_namespace_becomes_a_dead_letter_for_the_operator(namespace: str | None) -> None:
    message = _read(GOOD, {} if namespace is None else {"namespace": namespace})
    assert (message.namespace, message.request_ids) == ("", [])
    assert "namespace" in message.dead_letter_reason


def test_requests_named_in_invalid_json_are_rejected_under_their_ids() -> None:
    first, second, attribute = new_id(), new_id(), new_id()
    cut = json.dumps({"memories": [{"request_id": str(first)}, {"request_id": str(second).upper()}]})[:-2]
    message = _read(cut.encode(), {**IN_NS, "request_id": str(attribute)})
    assert set(message.request_ids) == {first, second, attribute}
    assert all("message data must be JSON" in error for error in _errors(message))


@pytest.mark.parametrize(
    "odd",
    [
        {"content": "\x00", "timestamp": WHEN},
        {"content": "\ud800", "timestamp": WHEN},
        {"content": "x", "timestamp": WHEN, "metadata": {"n": float("nan")}},
        {"content": "x", "timestamp": WHEN, "request_id": "ticket-17"},
        {"content": "x", "timestamp": WHEN, "key": "4711"},
        {"content": "x", "timestamp": WHEN, "source": "crm", "key": "k" * 1501},
        "just text",
        None,
        ["x"],
        {},
    ],
    ids=lambda odd: json.dumps(odd)[:40],
)
def test_an_unusual_memory_has_its_own_outcome_and_does_not_affect_the_others(odd: object) -> None:
    good = [{**GOOD, "content": content, "request_id": str(new_id())} for content in ("a", "b")]
    message = _read({"schema_version": 1, "memories": [good[0], odd, good[1]]})
    assert [request.content for request in message.requests if request.content in "ab"] == ["a", "b"]
    assert len(set(message.request_ids)) == 3
    assert message.dead_letter_reason == ""


@pytest.mark.parametrize("tags", ["{a,b}", ' {"no status","b"}', "{}"])
def test_an_array_of_postgresql_as_tags_is_refused(tags: str) -> None:
    assert _errors(_read({**GOOD, "tags": tags}))[0].startswith('tags must be an array of strings such as ["a", "b"]')


def test_an_empty_array_as_metadata_counts_as_absent() -> None:
    assert _read({**GOOD, "metadata": []}).requests[0].metadata == {}


ZERO_TIMES = ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00", "0001-01-01T00:00:00+00:00", "0001-01-01"]
NIL = "00000000-0000-0000-0000-000000000000"


@pytest.mark.parametrize("zero", ZERO_TIMES)
def test_a_zero_time_of_go_or_net_counts_as_absent(zero: str) -> None:
    memories = [{**GOOD, "expires_at": zero}, {**GOOD, "expires_at": zero, "ttl": 60}, {**GOOD, "timestamp": zero}]
    message = _read({"memories": memories})
    assert [request.expires_at for request in message.requests] == [None, PUBLISHED + timedelta(minutes=1)]
    assert _errors(message) == ["timestamp is required"]
    (deletion,) = _read({"op": "delete", "source": "crm", "key": 1, "timestamp": zero}).deletions
    assert deletion.timestamp == PUBLISHED


@pytest.mark.parametrize("nil", [NIL, NIL.replace("-", "")])
def test_a_nil_uuid_as_request_id_counts_as_absent(nil: str) -> None:
    message = _read({"memories": [{**GOOD, "content": content, "request_id": nil} for content in ("a", "b", "")]})
    assert [request.content for request in message.requests] == ["a", "b"]
    assert len(set(message.request_ids) - {UUID(nil)}) == 3
    assert _read(b'{"request_id": "%b"' % nil.encode(), {**IN_NS, "request_id": nil}).request_ids == []


@pytest.mark.parametrize(("session", "text"), [(4711, "4711"), (4711.0, "4711"), (0, "0"), (-(2**63), str(-(2**63)))])
def test_a_whole_number_as_session_is_the_same_session_as_its_text(session: float, text: str) -> None:
    by_number, by_text = (
        _read({"memories": [{**GOOD, "session": name}, {"content": "no time", "session": name}]})
        for name in (session, text)
    )
    assert by_number.requests[0].session == text
    assert by_number.requests[0].content_hash == by_text.requests[0].content_hash
    assert by_number.rejected[0].content_hash == by_text.rejected[0].content_hash is not None


@pytest.mark.parametrize("session", [True, 1.5, 2**64, 1e300, []])
def test_another_value_as_session_is_refused(session: object) -> None:
    assert _errors(_read({**GOOD, "session": session}))[0].startswith("session must be a string, got ")


def test_bytes_that_are_not_utf_8_affect_only_their_own_memory() -> None:
    data = json.dumps({"memories": [GOOD, {**GOOD, "content": "BAD"}]}).encode().replace(b"BAD", b"\xff\xfe")
    message = _read(data)
    assert [request.content for request in message.requests] == ["green tea"]
    assert "must be valid Unicode" in _errors(message)[0]


def test_a_byte_order_mark_is_removed() -> None:
    assert len(_read(b"\xef\xbb\xbf" + json.dumps(GOOD).encode()).requests) == 1


@pytest.mark.parametrize(
    ("record", "error"),
    [
        (
            {"id": "m1", "memory": "Likes tea", "created_at": "2026-05-03T10:00:00Z", "user_id": "u"},
            'content is required; timestamp is required; "memory" is not read: rename it to content; '
            '"created_at" is not read: rename it to timestamp',
        ),
        ({**GOOD, "content": None, "Text": "tea"}, 'content is required; "Text" is not read: rename it to content'),
        (
            {**GOOD, "content": None, "text\x00\ud800": "tea"},
            r'content is required; "text\u0000\ud800" is not read: rename it to content',
        ),
        ({**GOOD, "content": None, "x": 1}, "content is required"),
        (
            {"before": None, "after": GOOD, "op": "c"},
            """op must be one of 'upsert' or 'delete', got "c"; send the object in "after" alone""",
        ),
        ({"memory": GOOD, **GOOD, "content": None}, 'content is required; send the object in "memory" alone'),
        ({"memories": [GOOD]}, "content is required; timestamp is required; send each of the memories as a record"),
        ({**GOOD, "content": "", "x": GOOD}, "content must have at least 1 character, got 0"),
        ({**GOOD, "content": None, "metadata": GOOD}, "content is required"),
        ({**GOOD, "content": None, "content_hash": "9f", "content_type": "text/plain"}, "content is required"),
        ({**GOOD, "content": 7, "text": "tea"}, "content must be a string, got 7"),
    ],
)
def test_the_error_about_a_missing_field_names_the_field_that_probably_has_its_value(
    record: dict[str, object], error: str
) -> None:
    (rejection,) = _read({"memories": [record]}).rejected
    assert rejection.error == error


def test_a_field_with_null_is_treated_as_absent() -> None:
    nothing = dict.fromkeys(("title", "tags", "metadata", "request_id", "source", "key", "memories", "specversion"))
    assert len(_read({**GOOD, **nothing}).requests) == 1
    assert len(_read({**GOOD, "memories": ""}).requests) == 1
    assert len(_read({**dict.fromkeys(GOOD), "memories": [GOOD]}).requests) == 1


def test_the_memories_of_a_message_after_the_hundredth_are_rejected() -> None:
    message = _read({"memories": [{**GOOD, "content": str(n)} for n in range(102)]})
    assert len(message.requests) == 100
    assert _errors(message) == [f"memories must have at most 100 items, and this is number {n}" for n in (101, 102)]


@pytest.mark.parametrize(
    ("data", "attributes"),
    [
        ({**GOOD, "source": "https://crm.example/tickets", "key": 4711}, {}),
        ({**GOOD, "key": "4711"}, {"source": "https://crm.example/tickets"}),
        ({"source": "https://crm.example/tickets", "memories": [{**GOOD, "key": "4711"}]}, {}),
        (GOOD, {"source": "https://crm.example/tickets", "key": "4711"}),
    ],
)
def test_a_version_has_the_id_of_its_source_key_content_and_time(data: object, attributes: dict[str, str]) -> None:
    source = "https://crm.example/tickets"
    (request_,) = _read(data, IN_NS | attributes).requests
    expected = version_id(source, "4711", content_hash("green tea"), NOON)
    assert (request_.request_id, request_.external_id) == (expected, ExternalId(source, "4711"))


@pytest.mark.parametrize("changed", [{"content": "black tea"}, {"timestamp": "2026-05-21"}, {"session": "monday"}])
def test_another_content_or_time_under_the_same_key_is_another_request(changed: dict[str, str]) -> None:
    keyed = {**GOOD, "source": "s", "key": "k"}
    message = _read({"memories": [keyed, keyed | changed]})
    assert (len(message.requests), message.dead_letter_reason) == (2, "")
    assert {request.external_id for request in message.requests} == {ExternalId("s", "k")}


@pytest.mark.parametrize("op", ["delete", "DELETE", "Delete"])
def test_a_tombstone_is_a_deletion_whatever_its_other_fields(op: str) -> None:
    row = {"op": op, "source": "s", "key": 7, "timestamp": WHEN, "content": "", "tags": 5, "title": None}
    (deletion,) = _read({"memories": [row]}).deletions
    expected = deletion_id("s", "7", NOON)
    assert deletion == Deletion(
        request_id=expected, external_id=ExternalId("s", "7"), timestamp=NOON, published=PUBLISHED
    )


@pytest.mark.parametrize("field", ["op", "timezone", "session", "tags", "expires_at", "ttl", "pinned"])
def test_a_field_of_a_memory_is_refused_at_the_top_level_of_a_batch(field: str) -> None:
    message = _read({field: "delete", "memories": [GOOD, {**GOOD, "content": "b"}]})
    assert (message.requests, message.deletions, message.dead_letter_reason) == ((), (), "")
    assert _errors(message) == [f"{field} must be in each memory, not at the top level of the message"] * 2
    assert len(_read({field: None, "memories": [GOOD]}).requests) == 1


def test_the_refused_fields_of_a_batch_are_listed_unless_its_version_is_newer() -> None:
    batch = {"ttl": "30d", "tags": ["crm"], "memories": [GOOD]}
    assert _errors(_read(batch)) == ["tags and ttl must be in each memory, not at the top level of the message"]
    assert _read({**batch, "schema_version": 2}).retry_reason


@pytest.mark.parametrize("op", ["insert", "d", "c", "upsert!", 5, True, ["delete"]])
def test_any_other_operation_is_refused_by_name(op: object) -> None:
    (error,) = _errors(_read({**GOOD, "source": "s", "key": "k", "op": op}))
    assert error == f"op must be one of 'upsert' or 'delete', got {json.dumps(op)}"


@pytest.mark.parametrize("row", [{}, {"source": "s"}, {"source": "", "key": None}])
def test_a_deletion_names_its_record(row: dict[str, object]) -> None:
    message = _read({"memories": [{"op": "delete", "timestamp": WHEN, **row}]})
    assert (message.deletions, len(message.rejected)) == ((), 1)
    assert "source and key" in _errors(message)[0]


LONG = "k" * 301
KEYED = {**IN_NS, "source": "s", "key": LONG}


@pytest.mark.parametrize(
    ("data", "attributes", "error"),
    [
        (GOOD, KEYED, "key must have at most 300 characters, got 301"),
        (GOOD, {**IN_NS, "source": "s", "key": "a\x00"}, "key must not contain NUL"),
        (GOOD, {**IN_NS, "source": "s", "key": "4711\n"}, "key must contain visible characters on one line"),
        (GOOD, {**IN_NS, "source": "crm\n", "key": "k"}, "source must contain visible characters on one line"),
        (GOOD, {**IN_NS, "source": "s" * 1501, "key": "k"}, "source must have at most 1,500 characters, got 1,501"),
        (GOOD, {**IN_NS, "source": "s\t"}, "source must contain visible characters on one line"),
        ({"source": "s\u2060", "memories": [{**GOOD, "key": "k"}]}, IN_NS, "source must contain visible characters"),
        ({"source": 5, "memories": [{**GOOD, "key": "k"}]}, IN_NS, "source must be a string, got 5"),
        ({"memories": [GOOD]}, {**IN_NS, "source": "s", "key": "k" * 299}, "key must have at most 298 characters"),
        (
            {"specversion": "1.0", "source": "//event", "data": {"source": "s" * 1501, "memories": [GOOD]}},
            IN_NS,
            "source must have at most 1,500 characters, got 1,501",
        ),
        (
            {"specversion": "1.0", "source": "//event\n", "id": "1", "data": GOOD},
            IN_NS,
            "source must contain visible characters on one line",
        ),
        (GOOD, {**IN_NS, "key": "k"}, "key needs a source"),
        ({"memories": [GOOD]}, KEYED, "key must have at most 300 characters, got 301"),
        (
            GOOD,
            {**IN_NS, "ce-specversion": "1.0", "ce-source": "s", "ce-id": LONG},
            "key must have at most 300 characters",
        ),
    ],
)
def test_a_memory_is_not_stored_without_the_source_and_key_of_its_message(
    data: object, attributes: dict[str, str], error: str
) -> None:
    """Without source and key, the next version would become a second memory, and no deletion would find this memory."""
    message = _read(data, attributes)
    assert message.requests == ()
    assert _errors(message)[0].startswith(error)


def test_a_memory_with_a_key_of_its_own_does_not_need_the_key_of_its_message() -> None:
    (read,) = _read({**GOOD, "key": "1"}, KEYED).requests
    assert read.external_id == ExternalId("s", "1")


def test_the_length_limit_of_a_key_includes_the_number_that_is_appended() -> None:
    attributes = {**IN_NS, "source": "s", "key": "k" * 298}
    message = _read({"memories": [GOOD] * 11}, attributes)
    assert {len(read.external_id.key) for read in message.requests if read.external_id} == {300}
    (error,) = _errors(message)
    assert error == "key must have at most 297 characters, because #10 is added, got 298"


def test_a_memory_without_key_or_id_keeps_its_request_id_when_forwarded_and_redriven() -> None:
    batch = {"memories": [GOOD, {**GOOD, "content": "b"}]}
    first = _message(batch)
    forwarded = _message(
        batch,
        # In production, this attribute has the time in another format than the push, which has
        # 2026-11-22T01:01:57.041Z.
        {**IN_NS, "CloudPubSubDeadLetterSourceTopicPublishTime": "2026-11-22T01:01:57.041+00:00"},
        message_id="14",
        publish_time="2026-11-22T01:22:00.000Z",
    )
    redriven = _message(batch, forwarded.kept_attributes, message_id="15", publish_time="2026-11-22T02:00:00.000Z")
    ids = decode(first).request_ids
    assert len(set(ids)) == 2
    assert decode(forwarded).request_ids == decode(redriven).request_ids == ids
    again = _message(batch, message_id="2", publish_time="2026-11-22T01:01:58.000Z")
    assert not set(decode(again).request_ids) & set(ids)


EVENT = {"specversion": "1.0", "type": "memory", "source": "/crm", "id": "4711"}


@pytest.mark.parametrize(
    ("data", "attributes"),
    [
        (GOOD, {**IN_NS, **{f"ce-{name}": value for name, value in EVENT.items()}}),
        ({**EVENT, "data": GOOD}, {**IN_NS, "content-type": "application/cloudevents+json; charset=UTF-8"}),
        ({**EVENT, "data": json.dumps(GOOD)}, IN_NS),
        ({**EVENT, "data_base64": base64.b64encode(json.dumps(GOOD).encode()).decode()}, IN_NS),
        ({**EVENT, "data": GOOD, "namespace": "ns", "time": None}, {}),
        (GOOD, {"ce-namespace": "ns", **{f"ce-{name}": value for name, value in EVENT.items()}}),
    ],
    ids=["binary", "structured", "data as text", "data_base64", "namespace as an extension", "ce-namespace"],
)
def test_a_cloud_event_is_read_in_binary_and_structured_mode(data: object, attributes: dict[str, str]) -> None:
    message = _read(data, attributes)
    (read,) = message.requests
    assert (message.namespace, read.content, read.external_id) == ("ns", "green tea", ExternalId("/crm", "4711"))


def test_a_publisher_bound_to_one_namespace_cannot_name_another() -> None:
    for message in (
        _message(GOOD, {"namespace": "theirs"}),
        _message({**GOOD, "namespace": "theirs"}, {}),
        _message({**EVENT, "data": GOOD, "namespace": "theirs"}, {}),
    ):
        read = decode(message, allowed_namespace="mine")
        assert (read.namespace, read.requests) == ("mine", ())
        assert _errors(read) == ['namespace must be "mine", got "theirs"']
    assert len(decode(_message(GOOD, {}), allowed_namespace="mine").requests) == 1
    assert len(decode(_message(GOOD, {"namespace": "mine"}), allowed_namespace="mine").requests) == 1


def test_a_namespace_in_the_body_that_differs_from_the_attribute_is_refused() -> None:
    message = _read({**GOOD, "namespace": "another"})
    assert (message.namespace, _errors(message)) == ("ns", ['namespace must be "ns", got "another"'])


@pytest.mark.parametrize("version", [1, "1", 1.0, None])
def test_schema_version_1_is_accepted_in_each_form(version: Any) -> None:
    assert len(_read({**GOOD, "schema_version": version}).requests) == 1


@pytest.mark.parametrize("version", [0, -1, "one", 1.5, True, [], "nan", "1e999"])
def test_an_invalid_schema_version_rejects_the_memories_of_the_message(version: Any) -> None:
    message = _read({**GOOD, "schema_version": version})
    assert message.requests == ()
    assert _errors(message)[0].startswith("schema_version must be 1, got ")


def test_a_message_of_a_newer_schema_version_is_redelivered() -> None:
    message = _read({"schema_version": 2, "memories": [GOOD]})
    assert (
        message.retry_reason
        == "schema_version 2 is newer than 1, the newest version that this release of Mnemosyne reads"
    )
    assert len(message.request_ids) == 1
    assert _read(GOOD, {**IN_NS, "schema_version": "2"}).retry_reason


def test_of_two_contents_with_one_request_id_the_first_is_stored_and_the_second_is_a_dead_letter() -> None:
    first, second, third = (
        request(content, published=PUBLISHED + timedelta(microseconds=position))
        for position, content in enumerate("abc")
    )
    message = _read(*encode("ns", [first, replace(second, request_id=first.request_id), third], ""))
    assert list(message.requests) == [first, third]
    assert message.dead_letter_reason == f"memories[1] has the request_id {first.request_id} of another memory"


_ID = str(new_id())
SAME_ID = [
    {**GOOD, "request_id": _ID},
    {**GOOD, "request_id": _ID, "content": "black tea"},
    {**GOOD, "request_id": _ID, "source": "crm", "key": "1"},
    {**GOOD, "request_id": _ID, "source": "shop", "key": "1"},
    {"op": "delete", "request_id": _ID, "source": "crm", "key": "2"},
    {"op": "delete", "request_id": _ID, "source": "crm", "key": "2", "timestamp": "2020-01-01T00:00:00Z"},
    {"content": "", "request_id": _ID, "source": "crm", "key": "3"},
]


@pytest.mark.parametrize("version", [1, 2, 0])
@pytest.mark.parametrize(("first", "second"), list(permutations(SAME_ID, 2)))
def test_a_request_repeated_in_a_message_is_read_once(
    first: dict[str, Any], second: dict[str, Any], version: int
) -> None:
    message = _read({"schema_version": version, "memories": [first, {**first, "request_id": str(new_id())}, second]})
    assert len(message.request_ids) == len(set(message.request_ids)) == 2


@pytest.mark.parametrize(("first", "second"), list(permutations(SAME_ID, 2)))
def test_another_record_under_an_id_of_the_same_message_is_a_dead_letter(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    message = _read({"memories": [first, second]})
    assert f"has the request_id {_ID} of another memory" in message.dead_letter_reason


@pytest.mark.parametrize("first", SAME_ID)
def test_a_newer_version_of_repeated_requests_is_reported_under_the_first_record(first: dict[str, Any]) -> None:
    message = _read({"schema_version": 2, "memories": [first, *SAME_ID]})
    assert [rejection.external_id for rejection in message.rejected] == [
        ExternalId(first["source"], first["key"]) if "key" in first else None
    ]


def test_a_record_repeated_in_a_message_is_one_request() -> None:
    twice = {**GOOD, "source": "s", "key": "k"}
    message = _read({"memories": [twice, twice]})
    assert (len(message.requests), message.dead_letter_reason) == (1, "")


def test_an_invalid_memory_with_the_request_id_of_a_valid_one_is_reported() -> None:
    good = {**GOOD, "request_id": str(new_id())}
    for memories in ([good, {**good, "content": ""}], [{**good, "content": ""}, good]):
        message = _read({"memories": memories})
        assert (len(message.requests), message.rejected) == (1, ())
        assert message.dead_letter_reason.endswith(
            "of another memory, and content must have at least 1 character, got 0"
        )


def test_an_invalid_memory_with_the_key_of_a_valid_one_does_not_affect_it() -> None:
    good = {**GOOD, "source": "s", "key": "k"}
    message = _read({"memories": [good, {**good, "content": ""}]})
    assert (len(message.requests), message.dead_letter_reason) == (1, "")
    assert [rejection.external_id for rejection in message.rejected] == [ExternalId("s", "k")]


def _nested(depth: int) -> str:
    return "[" * depth + "]" * depth


HUGE = ["9" * 309, "9" * 5000, "-" + "9" * 400, "1e999", "NaN", _nested(900), '{"a":' * 500 + "1" + "}" * 500]


@pytest.mark.parametrize("value", HUGE, ids=lambda value: value[:9])
@pytest.mark.parametrize(
    "field", ["key", "source", "schema_version", "namespace", "request_id", "content", "tags", "metadata", "memories"]
)
def test_a_huge_or_deeply_nested_value_of_any_field_does_not_raise(field: str, value: str) -> None:
    fields = {name: json.dumps(field_value) for name, field_value in {**GOOD, "source": "s", "key": "k"}.items()} | {
        field: value
    }
    data = "{" + ",".join(f'"{name}": {value}' for name, value in fields.items()) + "}"
    for attributes in (IN_NS, {}):
        message = _read(data.encode(), attributes)
        assert message.requests or message.rejected or message.dead_letter_reason


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(10**400) | st.just("ns"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | FIELD_NAMES, inner, max_size=5),
    max_leaves=12,
)


@given(
    st.dictionaries(FIELD_NAMES | st.text(), ANY_JSON, max_size=8),
    st.dictionaries(FIELD_NAMES, st.text()),
    st.booleans(),
)
def test_any_message_has_requests_rejections_or_a_dead_letter(
    body: dict[str, Any], attributes: dict[str, str], bound: bool
) -> None:
    message = decode(_message(json.dumps(body).encode(), attributes), allowed_namespace="mine" if bound else None)
    assert message.requests or message.rejected or message.dead_letter_reason
    assert not bound or message.namespace == "mine"


def test_a_numeric_key_outside_64_bit_integers_is_refused_and_not_rounded() -> None:
    for number in (2**64 + 1, -(2**63) - 1, 1e300, 1.5):
        message = _read({**GOOD, "source": "s", "key": number})
        assert (message.requests, len(message.rejected)) == ((), 1)
    (read,) = _read({**GOOD, "source": "s", "key": 2**64 - 1}).requests
    assert read.external_id == ExternalId("s", "18446744073709551615")


@pytest.mark.parametrize(
    ("data", "attributes"),
    [
        ({"timestamp": WHEN, "source": "s", "key": "k"}, IN_NS),
        ({"memories": [], "source": "s", "key": "k"}, IN_NS),
        (b"no JSON", {**IN_NS, "source": "s", "key": "k"}),
        (b"no JSON", {**IN_NS, "ce-specversion": "1.0", "ce-source": "s", "ce-id": "k"}),
        ({"specversion": "1.0", "source": "s", "id": "k", "data": "no JSON"}, IN_NS),
    ],
)
def test_an_unreadable_record_fails_under_its_source_and_key(data: object, attributes: dict[str, str]) -> None:
    message = _read(data, attributes)
    assert [(rejection.external_id, rejection.request_id) for rejection in message.rejected] == [
        (ExternalId("s", "k"), refused_id("s", "k", _errors(message)[0]))
    ]


LINES = st.sampled_from(["TITLE:", "TAGS:", "  TITLE: x" * 80, "a,b, ,c", "é" * 60, " ", "\t", "\n", "body"])


@example("\x1b", [])
@given(
    st.lists(LINES | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")), min_size=1).map(
        "\n".join
    ),
    st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=100), max_size=50),
)
def test_any_accepted_memory_can_be_encoded_and_decoded(content: str, tags: list[str]) -> None:
    try:
        memory = parse(MemoryInput, {"content": content, "timestamp": WHEN, "tags": tags})
    except InvalidRequest:
        return
    accepted = memory.request(Defaults(new_id=new_id, published=PUBLISHED))
    assert isinstance(accepted, IngestRequest)
    assert _read(*encode("ns", [accepted], "")) == IngestMessage("ns", (accepted,))
