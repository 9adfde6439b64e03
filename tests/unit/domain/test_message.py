"""The message between the functions."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.domain.message import carried, decode, encode
from mnemosyne.domain.parsing import parse
from mnemosyne.errors import InvalidRequest
from tests.fakes import request


def test_a_message_survives_the_way_exactly() -> None:
    sent = [
        request("TITLE: é\nTAGS: a, ß\n🜚 שלום", tags=("x",), metadata={"k": [1, 2.5, None, {"z": True}]}),
        request("second"),
    ]
    received = decode(*encode("ns", sent, "00-trace"))
    assert received.namespace == "ns"
    assert list(received.requests) == sent


def test_attributes_carry_what_routing_and_tracing_need() -> None:
    sent = request("x")
    _, attributes = encode("ns", [sent], "00-trace")
    assert attributes == {
        "schema_version": "1",
        "namespace": "ns",
        "request_id": str(sent.request_id),
        "traceparent": "00-trace",
    }


def test_a_message_too_large_for_the_topic_is_refused_with_the_figure() -> None:
    with pytest.raises(InvalidRequest, match=r"at most 9,000,000 bytes, got 9,[0-9,]+: send fewer"):
        encode("ns", [request("é" * 100_000 + str(n)) for n in range(46)], "")


@pytest.mark.parametrize(
    ("data", "attributes", "problem"),
    [
        (b"{", {"namespace": "n"}, "message data must be JSON"),
        (b"[]", {"namespace": "n"}, "must be an object"),
        (b"{}", {}, "attribute namespace is required"),
        (b"{}", {"namespace": "n", "schema_version": "2"}, "schema_version must be 1, got '2'"),
        (b'{"schema_version": 2, "memories": []}', {"namespace": "n"}, "schema_version must be one of 1, got 2"),
        (b'{"schema_version": 1, "memories": []}', {"namespace": "n"}, "memories must have at least 1 items, got 0"),
        (b'{"schema_version": 1, "memories": [{}]}', {"namespace": "n"}, r"memories\[0\].request_id is required"),
    ],
)
def test_a_malformed_message_says_what_is_wrong(data: bytes, attributes: dict[str, str], problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        decode(data, attributes)


def test_one_bad_memory_is_rejected_with_its_cause_and_spares_its_neighbours() -> None:
    good, bad, other = request("a"), request("b"), request("c")
    data, attributes = encode("ns", [good, bad, other], "")
    body = json.loads(data)
    body["memories"][1]["content"] = "\x00"
    message = decode(json.dumps(body).encode(), attributes)
    assert list(message.requests) == [good, other]
    assert message.rejected == {bad.request_id: "content must not contain NUL (U+0000), found at character 0"}


def test_every_request_of_a_message_can_be_named_even_if_it_cannot_be_read() -> None:
    sent = [request("a"), request("b")]
    data, attributes = encode("ns", sent, "")
    assert carried(data, attributes) == [one.request_id for one in sent]
    assert carried(b"garbage", attributes) == [sent[0].request_id]
    assert carried(b"garbage", {}) == []


LINES = st.sampled_from(["TITLE:", "TAGS:", "  TITLE: x" * 80, "a,b, ,c", "é" * 60, " ", "\t", "\n", "body"])


@given(
    st.lists(LINES | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")), min_size=1).map(
        "\n".join
    ),
    st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=100), max_size=50),
)
def test_whatever_is_accepted_can_be_read_back(content: str, tags: list[str]) -> None:
    try:
        accepted = parse(MemoryInput, {"content": content, "timestamp": "2026-05-20T12:00:00Z", "tags": tags}).request()
    except InvalidRequest:
        return
    message = decode(*encode("ns", [accepted], ""))
    assert message.rejected == {}
    assert list(message.requests) == [accepted]


def test_a_message_that_gives_two_memories_one_id_is_refused_for_all_it_carries() -> None:
    first, second, third = request("a"), request("b"), request("c")
    data, attributes = encode("ns", [first, second, third], "")
    data = data.replace(str(second.request_id).encode(), str(first.request_id).encode())
    with pytest.raises(InvalidRequest, match="a request_id of its own"):
        decode(data, attributes)
    assert carried(data, attributes) == [first.request_id, third.request_id]
