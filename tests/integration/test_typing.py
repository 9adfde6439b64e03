"""Search while a query is being typed: by words only, with the last word completed."""

import unicodedata
from datetime import timedelta

import pytest

from mnemosyne.errors import Unavailable
from tests.fakes import NOW, FakeServices, request
from tests.memories import store, store_content
from tests.tools import answer_of, call_tool

PRINTERS = ("The label printer is at dock 3.", "Printers need PDF files.", "Ada prints on paper.")


def _typed(services: FakeServices, query: str, **arguments: object) -> list[str]:
    answer = answer_of(services, "memory_search", query=query, typing=True, **arguments)
    return [hit["content"] for hit in answer["memories"]]


@pytest.mark.parametrize("query", ["pri", "PRI", "prin", "label pri"])
def test_the_last_word_may_be_incomplete(services: FakeServices, query: str) -> None:
    for content in PRINTERS:
        store_content(services.memories, content)
    assert set(_typed(services, query)) == set(PRINTERS)
    assert _typed(services, "label pri")[0] == PRINTERS[0]


def test_a_word_before_the_last_is_complete(services: FakeServices) -> None:
    store_content(services.memories, PRINTERS[0])
    assert _typed(services, "pri ") == []
    assert _typed(services, "pri tea") == []


def test_a_part_in_the_middle_of_a_word_is_not_completed(services: FakeServices) -> None:
    store_content(services.memories, "The party begins at eight.")
    assert _typed(services, "art") == []


@pytest.mark.parametrize(
    ("query", "content"), [("crem", "Crème brûlée"), ("brulé", "Crème brûlée"), ("wach", "Wächter")]
)
def test_accents_are_optional_in_an_incomplete_word(services: FakeServices, query: str, content: str) -> None:
    store_content(services.memories, content)
    assert _typed(services, query) == [content]


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("हिन्", "मैं हिन्दी की किताबें पढ़ता हूँ"),
        ("المُح", "مُشكِلَة في المُحَرِّك"),
        ("น้ำต", "กาแฟ น้ำตาล"),
        (unicodedata.normalize("NFD", "Jür"), "Ein Geschenk für Jürgen"),
        ("Jür", unicodedata.normalize("NFD", "Ein Geschenk für Jürgen")),
        ("đặ", "Chị Đặng ở Huế"),
    ],
)
def test_an_incomplete_word_may_end_with_a_mark(services: FakeServices, query: str, content: str) -> None:
    store_content(services.memories, content)
    assert _typed(services, query) == [content]


def test_a_title_or_a_tag_is_found_by_the_beginning_of_a_word(services: FakeServices) -> None:
    store(services.memories, request("It is on floor two.", title="Photocopier", tags=("harbour",)))
    assert _typed(services, "photoc") == _typed(services, "harb") == ["It is on floor two."]


def test_a_rare_word_is_completed_among_more_memories_than_are_read(services: FakeServices) -> None:
    store(services.memories, request("The zeppelin left.", timestamp=NOW - timedelta(days=900)))
    store(services.memories, *(request(f"Ada drinks tea number {n}.") for n in range(600)))
    assert _typed(services, "zepp") == ["The zeppelin left."]


def test_the_beginning_of_a_very_frequent_word_finds_memories(services: FakeServices) -> None:
    store(services.memories, *(request(f"Ada drinks tea number {n}.") for n in range(2_100)))
    assert {query: len(_typed(services, query)) for query in ("drin", "drinks te", "drinks", "xylo")} == {
        "drin": 10, "drinks te": 10, "drinks": 10, "xylo": 0,
    }  # fmt: skip


def test_filters_apply_to_a_query_that_is_being_typed(services: FakeServices) -> None:
    store(services.memories, request("The printer of Ada.", tags=("office",)), request("The printer of Bob."))
    assert _typed(services, "prin", tags=["office"]) == ["The printer of Ada."]


def test_an_incomplete_query_is_not_embedded(services: FakeServices) -> None:
    store_content(services.memories, PRINTERS[0])
    services.embedder.fault = Unavailable("the embedder is away")
    answer = answer_of(services, "memory_search", query="prin", typing=True)
    assert "degraded" not in answer
    assert len(answer["memories"]) == 1


def test_the_completed_word_is_marked(services: FakeServices) -> None:
    store_content(services.memories, PRINTERS[0])
    (hit,) = answer_of(services, "memory_search", query="pri", typing=True, matches=True)["memories"]
    assert [hit["content"][start:end] for start, end in hit["matches"]["content"]] == ["printer"]


@pytest.mark.parametrize("query", ["a_b", "50%", "(", "\\m", "'"])
def test_special_characters_in_an_incomplete_word_have_no_special_meaning(services: FakeServices, query: str) -> None:
    store_content(services.memories, "Something else.")
    assert _typed(services, query) == []


@pytest.mark.parametrize("mode", ["exact", "semantic"])
def test_a_search_while_typing_needs_mode_hybrid(services: FakeServices, mode: str) -> None:
    result = call_tool(services, "memory_search", query="pri", typing=True, mode=mode)
    assert result.is_error
    assert f"typing needs mode hybrid, got mode {mode}" in str(result.content)
