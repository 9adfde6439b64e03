"""Validation of input, and error messages that say how to fix it."""

import json
import unicodedata
from datetime import date
from itertools import groupby
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from mnemosyne.domain.parsing import Content, Id, Input, Instant, JsonObject, Tags, parse, parse_json, read_json
from mnemosyne.domain.text_checks import marks_problem
from mnemosyne.errors import InvalidRequest


class Example(Input):
    content: Content
    timestamp: Instant
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    tags: Tags | None = None
    metadata: JsonObject | None = None
    id: Id | None = None


GOOD: dict[str, Any] = {"content": "x", "timestamp": "2026-05-20T14:30:00+02:00"}
MARKS = "\N{COMBINING ACUTE ACCENT}\N{COMBINING DOT BELOW}" * 50
NESTED: dict[str, Any] = json.loads('{"k": ' * 30 + "0" + "}" * 30)


def test_valid_input_becomes_a_value() -> None:
    assert parse(Example, GOOD).timestamp.isoformat() == "2026-05-20T12:30:00+00:00"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"limit": 500}, "limit must be between 1 and 100, got 500"),
        ({"limit": "5"}, 'limit must be an integer between 1 and 100, got "5"'),
        ({"limit": True}, "limit must be an integer between 1 and 100, got true"),
        ({"content": 5}, "content must be a string, got 5"),
        ({"content": ""}, "content must have at least 1 character, got 0"),
        ({"content": " \n\t"}, "content must contain at least one character that is not white space"),
        ({"content": "x" * 100_001}, "content must have at most 100,000 characters, got 100,001"),
        (
            {"content": "\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}" * 100_000},
            "content must have at most 200,000 characters in Unicode form NFKC, got 1,800,000",
        ),
        ({"content": "a\x00"}, "content must not contain NUL (U+0000), found at character 1"),
        ({"content": "\ud800"}, "content must be valid Unicode, found the lone surrogate U+D800 at character 0"),
        ({"content": f"ab{MARKS}{MARKS}"}, "content must have at most 100 combining marks in a row"),
        ({"content": "\uff9e\u0301" * 51}, "content must have at most 100 combining marks in a row"),
        ({"content": f"{MARKS}\u0640\u034f\u200b\u0301"}, "content must have at most 100 combining marks in a row"),
        ({"metadata": {f"a{MARKS}\u0591": 1}}, "metadata must have at most 100 combining marks in a row"),
        ({"tags": "a"}, 'tags must be an array of strings such as ["a", "b"], got "a"'),
        ({"tags": ["a", 5]}, "tags[1] must be a string, got 5"),
        ({"tags": ["  "]}, "tags[0] must not be empty"),
        ({"tags": ["a"] * 51}, "tags must have at most 50 items, got 51"),
        ({"metadata": []}, 'metadata must be an object such as {"name": "value"}, got []'),
        ({"metadata": {"a": ["\x00"]}}, 'metadata field "a[0]" must not contain NUL (U+0000), found at character 0'),
        (
            {"metadata": {"a": 2**64}},
            'metadata field "a" must be from -2**63 to 2**64 - 1, got 18446744073709551616: send it as a string',
        ),
        (
            {"metadata": {"a": {"b c": [0, {"d": 1e22}]}}},
            'metadata field "a.b c[1].d" must be from -2**63 to 2**64 - 1, got 1e+22: send it as a string',
        ),
        ({"metadata": {"a": [date(2026, 5, 20)]}}, 'metadata field "a[0]" must be a JSON value, got "2026-05-20"'),
        ({"metadata": {"a": {1: 2}}}, 'metadata field "a" must have strings as its keys, got 1'),
        ({"metadata": {"a": float("nan")}}, 'metadata field "a" must be a finite number, got nan'),
        ({"metadata": NESTED}, f'metadata field "{".".join("k" * 20)}" must be nested at most 20 levels deep'),
        (
            {"metadata": {"é" * 200: {"b": [{"c" * 99: [0] * 10_000}]}}},
            "metadata must have at most 5,000,000 bytes of field names, counted for each value in a field, got "
            "5,001,702: shorten the names or the arrays",
        ),
        ({"metadata": {"a": "x" * 70_000}}, "metadata must be at most 65,536 bytes of JSON, got 70,009"),
        ({"id": "nope"}, 'id must be a whole UUID such as 0192f3a4-643f-7f9f-8bdd-01b104fff04f, got "nope"'),
        ({"timestamp": 5}, "timestamp must be an RFC 3339 string, got 5"),
    ],
)
def test_each_invalid_value_is_named_with_its_rule(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse(Example, GOOD | change)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "text",
    [
        f"a{MARKS}" * 900,
        "\N{ARABIC TATWEEL}" * 1_000,
        "ที่นี่น้ำ" * 1_000,
        "בְּרֵאשִׁ֖ית" * 1_000,
        unicodedata.normalize("NFD", "Thuở ấy những người Việt" * 1_000),
    ],
)
def test_text_with_many_marks_is_accepted_if_no_letter_has_more_than_100(text: str) -> None:
    metadata = {"a" * 10_000: {text[:900]: [text[:900]]}, "b" * 200: [0] * 6_000}
    value = parse(Example, GOOD | {"content": text, "metadata": metadata})
    assert (value.content, value.metadata) == (text, metadata)


@given(st.text("a \u0301\u0323\u0f73\u09c7\uff9e"), st.integers(0, 250), st.integers(0, 250))
def test_the_longest_run_of_marks_decides_about_a_text(text: str, before: int, after: int) -> None:
    text = f"{'a' * before}{MARKS}{text}{'a' * after}"
    is_mark = [unicodedata.combining(unicodedata.normalize("NFKD", character)[0]) > 0 for character in text]
    longest = max(len(list(run)) for is_run, run in groupby(is_mark) if is_run)
    assert bool(marks_problem(text)) == (longest > 100)


@pytest.mark.parametrize("timestamp", ["2026-05-20", "2026-05-20T14:30:00", "yesterday", "2026-13-01T00:00:00Z", ""])
def test_a_timestamp_without_an_offset_is_refused(timestamp: str) -> None:
    with pytest.raises(InvalidRequest, match="timestamp must be RFC 3339 with an offset"):
        parse(Example, GOOD | {"timestamp": timestamp})


def test_all_problems_are_reported_in_one_error() -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse(Example, {"limit": 0, "foo": 1}, of="example")
    assert str(refused.value) == (
        "content is required; timestamp is required; limit must be between 1 and 100, got 0; "
        "foo is not an argument of example; example takes content, timestamp, limit, tags, metadata, id"
    )


class Turn(Input):
    text: str
    number: int = 0


class Turns(Input):
    turns: list[Turn]
    after: str | int | None = None
    part: Turn | Example | None = None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"turns": [{"text": "x", "speaker": "a", "nr": n} for n in range(30)], "wait": 5},
            "turns[0].speaker is not a field of turns[0] (also turns[1].speaker, turns[2].speaker, turns[3].speaker, "
            "turns[4].speaker, turns[5].speaker, 24 more); it takes text, number; turns[0].nr is not a field of "
            "turns[0] (also turns[1].nr, turns[2].nr, turns[3].nr, turns[4].nr, turns[5].nr, 24 more); wait is not an "
            "argument of example; example takes turns, after, part",
        ),
        (
            {"turns": [{"text": "x"}, {"text": 5}, {"text": "x"}, {"text": None}, {}]},
            "turns[1].text must be a string, got 5 (also turns[3].text); turns[4].text is required",
        ),
        ({"turns": [], "after": {}}, "after must be a string or an integer, got {}"),
        ({"turns": [], "part": {"text": 5}}, 'part must be Turn or Example, got {"text": 5}'),
        (
            {"turns": [], **dict.fromkeys("abcdefg", 1)},
            "a is not an argument of example; example takes turns, after, part; b is not an argument of example; c is "
            "not an argument of example; d is not an argument of example; e is not an argument of example; and 2 more",
        ),
    ],
)
def test_equal_problems_are_reported_once_with_their_places(data: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse(Turns, data, of="example")
    assert str(refused.value) == message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from([*Example.model_fields, "other"]), JSON))
def test_arbitrary_json_is_accepted_or_raises_invalid_request(data: dict[str, Any]) -> None:
    try:
        parse(Example, data)
    except InvalidRequest as refused:
        assert str(refused)


@pytest.mark.parametrize("read", [parse_json, read_json])
def test_an_integer_of_too_many_digits_becomes_infinity(read: Any) -> None:
    assert read(b'{"a": %s}' % (b"9" * 5_000), of="x") == {"a": float("inf")}


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**63) - 1, 10**400, 0.1, 12345678901234567890.5])
@pytest.mark.parametrize("other", ['"a"', "NaN", '"\\ud800"'])
@pytest.mark.parametrize("encode", [str, str.encode])
def test_a_number_is_read_exactly_whatever_is_beside_it(number: float, other: str, encode: Any) -> None:
    value = read_json(encode(f'{{"other": {other}, "number": {number}}}'), of="a line")["number"]
    assert (type(value), value) == (type(number), number)
