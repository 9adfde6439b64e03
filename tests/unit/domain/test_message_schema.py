"""The JSON schema of messages accepts what the reader accepts, and its copy in the documentation is current."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mnemosyne.domain.memory import FailedRequest
from mnemosyne.domain.message import FIELDS_OF_EACH, decode, read_each
from mnemosyne.domain.message_schema import message_schema
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.ids import new_id

VALIDATOR = jsonschema.Draft202012Validator(message_schema())
# The messages of these tests have a source in their attributes, because a key needs a source. The schema describes only
# the data of a message, so it cannot express this rule.
ATTRIBUTES = {"namespace": "ns", "source": "test"}
TEXTS = [
    "tea", "é🜚", " ", "", "\x00", "a\x00b", "\u2003", "\ufeff", "\x1c", "\x85", "tea\n", "x" * 100, "x" * 101,
    "x" * 501, "x" * 1501,
]  # fmt: skip
WHENS: list[Any] = [
    "2026-05-20T12:00:00Z", "2026-05-20t12:00:00z", "2026-05-20 12:00:00+02:00", "2026-05-20T12:00:00.123456789Z",
    "2026-05-20T12:00:00", "2026-02-29T12:00:00Z", "2024-02-29T12:00:00Z", "1900-02-29T00:00:00Z",
    "2000-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-05-20T24:00:00Z", "2026-05-20T23:59:60Z",
    "0000-01-01T00:00:00Z", "2026-05-20T12:00:00Z\n", "2026-05-20", "", "2026-05-20T12:00:00+24:00",
    "٢٠٢٦-05-20T12:00:00Z", "20260520T120000Z", "2026-05-20T12:00", "2026-05-20 14:30:00.5 UTC",
    "2026-05-20 12:00:00+00", "2026-05-20 12:00:00 -0730", "2026-05-20T12:00Z", "2026-05-20 ", "2026-05-20UTC",
    1_716_200_000, 1_716_200_000.5, 1_716_200_000_000, 1_716_200_000_000_000, 20260711, 2026, 315_532_799,
    4_102_444_800, 202607111430, 20260711143005, "20260711", "202607111430", "20260711T143005Z", "20240229", 18991231,
    "2016-12-31T23:59:60Z", "2015-06-30 23:59:60.5 UTC", "2016-12-31T23:59:60", "9999-12-31T23:59:60Z",
    "1716200000", "1716200000.5", "1716200000000", "1716200000000.5", "1716200000000000", "315532799", "315532800",
    "4102444799", "4102444800", "315532799999", "315532800000", "4102444799999", "4102444800000", "315532799.9",
    "315532800.0", "4102444799.9", "4102444800.0", "31553280000000", "4102444799999999", "4102444800000000",
    "0001-01-01T00:00:00Z", "0001-01-01T00:00:00", "0001-01-01T00:00:01Z", "0001-01-01", "0001-01-01 00:00:00.00 UTC",
]  # fmt: skip
ODD: list[Any] = [None, True, False, 0, 1, -1, 1.0, 1.5, 2**64, 2**64 - 1, -(2**63), -(2**63) - 1, 1e300, "", [], {}]
IN_BRACES = ["{a,b}", " {a\n} ", "{a},b", "a,{b}"]
FIELDS = ("content", "timestamp", "title", "tags", "metadata", "session", "request_id", "source", "key", "op")


def _json(pick: random.Random, depth: int = 0) -> Any:
    if depth > 3 or pick.random() < 0.6:
        return pick.choice([*ODD, *TEXTS])
    if pick.random() < 0.5:
        return [_json(pick, depth + 1) for _ in range(pick.randrange(3))]
    return {pick.choice(TEXTS): _json(pick, depth + 1) for _ in range(pick.randrange(3))}


def _memory(pick: random.Random) -> dict[str, Any]:
    """A memory that is valid, with a random choice of the optional fields."""
    memory: dict[str, Any] = {"content": "tea " + str(pick.random()), "timestamp": pick.choice(WHENS[:4])}
    optional: dict[str, Callable[[], Any]] = {
        "title": lambda: pick.choice(["Tea", None, "é🜚"]),
        "tags": lambda: pick.choice([None, [], ["a", "B"], ["x"] * 50, "a, b", ",".join("x" * 50)]),
        "metadata": lambda: pick.choice([None, {}, {"k": [1, 2.5, None, {"z": True}]}]),
        "request_id": lambda: pick.choice([None, str(new_id()), new_id().hex, str(new_id()).upper()]),
        "source": lambda: pick.choice([None, "", "crm", "https://crm.example/tickets"]),
        "op": lambda: pick.choice([None, "", "upsert", "Delete", "DELETE"]),
        "key": lambda: pick.choice([None, str(pick.random()), pick.randrange(10**9)]),
        "importance": lambda: pick.choice(ODD),
    }
    return memory | {name: make() for name, make in optional.items() if pick.random() < 0.4}


def _mutated(pick: random.Random, memory: dict[str, Any]) -> Any:
    """The memory with one change that may make it invalid."""
    if pick.random() < 0.05:
        return _json(pick)
    field = pick.choice(FIELDS)
    changed = dict(memory)
    if pick.random() < 0.1:
        changed.pop(field, None)
    elif field == "timestamp" and pick.random() < 0.3:
        changed[field] = pick.choice(WHENS)
    elif field == "timestamp" and pick.random() < 0.8:
        when = list(str(pick.choice(WHENS)))
        if when and pick.random() < 0.5:
            when[pick.randrange(len(when))] = pick.choice("0123456789TZ:-+ .")
        changed[field] = "".join(when)
    elif field == "tags":
        changed[field] = pick.choice([["x"] * 51, [pick.choice(TEXTS)], [pick.choice(ODD)], "a, b", *IN_BRACES])
    elif field == "metadata":
        changed[field] = {"k": _json(pick)} if pick.random() < 0.8 else _json(pick)
    else:
        changed[field] = pick.choice([*TEXTS, *ODD])
    return changed


def _body(pick: random.Random) -> Any:
    memories: list[Any] = [_memory(pick) for _ in range(pick.choice([1, 1, 1, 2, 3]))]
    if pick.random() < 0.6:
        place = pick.randrange(len(memories))
        memories[place] = _mutated(pick, memories[place])
    verdicts: dict[str, Any] = {}
    if pick.random() < 0.2:
        verdicts["schema_version"] = pick.choice([1, "1", 1.0, None, 0, "one", 1.5, True, "01", 2])
    if pick.random() < 0.2:
        verdicts["namespace"] = pick.choice(["ns", None, "", 5, " ", "ns\n", "ns "])
    if len(memories) == 1 and pick.random() < 0.5:
        if pick.random() < 0.2:
            verdicts["memories"] = pick.choice([None, "", [], {}, False])
        return {**memories[0], **verdicts} if isinstance(memories[0], dict) else memories[0]
    if pick.random() < 0.03:
        several: Any = pick.choice([[], None, memories * 101, {"0": memories}])
        return {"memories": several, **verdicts}
    return {
        "memories": memories,
        **verdicts,
        **({"source": pick.choice(["crm", "https://crm.example", ""])} if pick.random() < 0.2 else {}),
        **({pick.choice(FIELDS_OF_EACH): pick.choice([*ODD, 0.0, "x", ["x"]])} if pick.random() < 0.1 else {}),
    }


def _published(body: Any, attributes: dict[str, str]) -> Published:
    data = json.dumps(body).encode()
    return Published(message_id="1", data=data, attributes=attributes, publish_time="2026-11-22T01:01:57Z")


def _stores_all(body: Any) -> bool:
    message = decode(_published(body, ATTRIBUTES))
    return bool(message.requests or message.deletions) and not (
        message.rejected or message.dead_letter_reason or message.retry_reason
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_schema_and_reader_agree_on_messages_valid_and_mutated(count: int) -> None:
    pick = random.Random(20261122)
    counts = {True: 0, False: 0}
    for _ in range(count):
        body = _body(pick)
        fits = VALIDATOR.is_valid(body)
        assert fits == _stores_all(body), (fits, body)
        counts[fits] += 1
    assert min(counts.values()) > 0.3 * count, counts


@pytest.mark.parametrize("field", ["source", "key"])
@pytest.mark.parametrize("value", [*ODD, *TEXTS, "crm", "a\u00a0b", "x" * 297, "x" * 300, "x" * 301])
def test_schema_and_reader_agree_on_source_and_key_of_a_batch(field: str, value: Any) -> None:
    body = {"memories": [{"content": "tea", "timestamp": WHENS[0]}] * 11, "source": "crm", field: value}
    readings = [reading for _, reading in read_each(_published(body, {"namespace": "ns"}), "ns")]
    is_read = not any(isinstance(reading, FailedRequest) for reading in readings)
    assert VALIDATOR.is_valid(body) == is_read, readings[0]


@pytest.mark.parametrize(
    "name", ["a b", "a  b", "a\u3000b", "a\u00a0b", "a \u2003 b", "\u3000a", "a\u00a0", "a\u2028b", "a\tb"]
)
def test_schema_and_reader_agree_on_spaces_in_a_namespace(name: str) -> None:
    memory = {"content": "tea", "timestamp": WHENS[0], "namespace": name}
    assert VALIDATOR.is_valid(memory) == bool(decode(_published(memory, {})).requests)


def test_the_schema_is_itself_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(message_schema())


def test_the_copy_of_the_schema_in_the_documentation_is_current() -> None:
    schema_file = Path(__file__).parents[3] / "docs" / "message.v1.schema.json"
    assert json.loads(schema_file.read_text()) == message_schema(), "run make docs"


@pytest.mark.parametrize("field", ["key", "session"])
@pytest.mark.parametrize("number", [5, 5.0, 1e3, 1e15, 2.0**53, -(2.0**53), 2**53 + 1, 10**17, 2**64 - 1, 2**64, 1.5])
def test_schema_and_reader_agree_on_numbers_as_names(field: str, number: float) -> None:
    memory = {"content": "tea", "timestamp": WHENS[0], field: number}
    assert VALIDATOR.is_valid(memory) == _stores_all(memory)


@pytest.mark.parametrize("field", ["key", "session"])
@pytest.mark.parametrize("number", [2.0**53 + 2, 1e17, -1e17, 1.8e19])
def test_the_schema_says_that_the_reader_refuses_large_floats_as_names(field: str, number: float) -> None:
    """A large float may differ from the number in the JSON text. JSON Schema counts it as an integer."""
    assert not _stores_all({"content": "tea", "timestamp": WHENS[0], field: number})
    assert "no fraction and no exponent" in message_schema()["$defs"]["Memory"]["properties"][field]["description"]
