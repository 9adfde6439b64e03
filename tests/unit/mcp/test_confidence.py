"""The confidence and the ratings of hits in the answers of search tools."""

import json
from typing import Any

import pytest

from mnemosyne.domain.search import HYBRID_QUALITY_WEIGHT
from tests.fakes import FakeServices
from tests.memories import rate, store_content, store_contents
from tests.tools import answer_of, call_tool, text_of

ORDER = ["weak", "related", "strong"]
NOTHING_CLOSE = "Nothing close was found: these hits are only the least distant."
UNRELATED = "zeppelin gibberish quux"
SEARCHING = ["memory_search", "retrieve_memories"]


@pytest.fixture
def stored(services: FakeServices) -> FakeServices:
    store_contents(
        services.memories,
        "The oolong is on shelf 7.",
        "Grandma bakes a shelf of bread for the whole village each Sunday morning",
        "Cars are fast",
    )
    return services


def _notes(services: FakeServices, name: str, **arguments: Any) -> str:
    block: Any = call_tool(services, name, **arguments).content[-1]
    return str(block.text)


@pytest.mark.parametrize("name", SEARCHING)
@pytest.mark.parametrize(("query", "best"), [("The oolong is on shelf 7", "strong"), (UNRELATED, "weak")])
def test_a_hit_has_its_confidence_in_record_and_heading(stored: FakeServices, name: str, query: str, best: str) -> None:
    result = call_tool(stored, name, query=query)
    assert result.structured_content
    hits = result.structured_content["memories"]
    assert max((hit["confidence"] for hit in hits), key=ORDER.index) == best
    for hit in hits:
        assert f"--- [{hit['id']}] [{hit['timestamp'][:10]}] [{hit['confidence']}] ---\n" in text_of(result)


@pytest.mark.parametrize("name", SEARCHING)
@pytest.mark.parametrize(("query", "noted"), [(UNRELATED, True), ("a quorum", True), ("oolong shelf", False)])
def test_an_answer_notes_that_no_hit_is_close(stored: FakeServices, name: str, query: str, noted: bool) -> None:
    answer = answer_of(stored, name, query=query)
    assert answer["memories"]
    assert answer.get("nothing_close") == (NOTHING_CLOSE if noted else None)
    assert (NOTHING_CLOSE in _notes(stored, name, query=query)) is noted


@pytest.mark.parametrize(
    ("query", "time_expr", "noted"),
    [
        ("What went on in May 2026?", None, "the results include 3 hits of that time"),
        ("What went on in April 2026?", None, NOTHING_CLOSE),
        ("What went on?", None, NOTHING_CLOSE),
        ("What went on?", "May 2026", "all hits are from the searched time"),
        ("What went on?", "since 2025", "all hits are from the searched time"),
    ],
)
def test_an_answer_notes_weak_hits_of_a_searched_or_named_time(
    stored: FakeServices, query: str, time_expr: str | None, noted: str
) -> None:
    assert noted in answer_of(stored, "memory_search", query=query, time_expr=time_expr)["nothing_close"]


@pytest.mark.parametrize("minimum", ORDER)
def test_a_minimum_leaves_out_less_close_hits(stored: FakeServices, minimum: str) -> None:
    arguments = {"query": "The oolong is on shelf 7.", "limit": 10}
    every = answer_of(stored, "memory_search", **arguments)["memories"]
    close = answer_of(stored, "memory_search", **arguments, min_confidence=minimum)["memories"]
    assert close == [hit for hit in every if ORDER.index(hit["confidence"]) >= ORDER.index(minimum)]
    assert close


@pytest.mark.parametrize(
    ("minimum", "limit", "noted"),
    [
        ("related", 10, "Nothing close was found: min_confidence related left out 3 hits."),
        ("related", 2, "Nothing close was found: min_confidence related left out 2 hits."),
        ("strong", 1, "Nothing strong was found: min_confidence strong left out 1 hit."),
    ],
)
def test_an_answer_counts_what_the_minimum_left_out(stored: FakeServices, minimum: str, limit: int, noted: str) -> None:
    arguments = {"query": UNRELATED, "limit": limit, "min_confidence": minimum}
    for name in SEARCHING:
        answer = answer_of(stored, name, **arguments)
        assert answer["memories"] == []
        assert answer["nothing_close"] == f"{noted} Search without it to see all."
        assert answer["nothing_close"] in _notes(stored, name, **arguments)


def test_an_answer_does_not_deny_memories_that_the_minimum_confidence_left_out(services: FakeServices) -> None:
    store_content(services.memories, "The oolong is on shelf 7.", tags=("tea",))
    arguments = {"query": UNRELATED, "tags": "tea", "min_confidence": "related"}
    assert text_of(call_tool(services, "memory_search", **arguments)) == "No memories found."


def test_an_empty_namespace_gives_no_note_about_the_minimum_confidence(services: FakeServices) -> None:
    assert "nothing_close" not in answer_of(services, "memory_search", query="tea", min_confidence="related")


@pytest.mark.parametrize(
    ("query", "confidence"), [(None, None), ("shelf 7", "strong")], ids=["without a query", "exact"]
)
def test_a_list_by_time_has_no_confidence_and_a_literal_match_is_strong(
    stored: FakeServices, query: str | None, confidence: str | None
) -> None:
    arguments = {"query": query, "mode": "exact", "min_confidence": "strong", "after": "2020-01-01"}
    hits = answer_of(stored, "memory_search", **arguments)["memories"]
    assert hits and {hit.get("confidence") for hit in hits} == {confidence}


def test_without_vectors_the_words_determine_the_confidence(stored: FakeServices) -> None:
    stored.embedder.away = True
    hits = answer_of(stored, "memory_search", query="oolong shelf")["memories"]
    assert hits[0]["confidence"] == "strong"


def test_the_search_tool_for_chatgpt_has_confidences_and_the_note(stored: FakeServices) -> None:
    near, far = (
        json.loads(text_of(call_tool(stored, "search", query=query))) for query in ("cars are fast", UNRELATED)
    )
    assert near["results"][0]["confidence"] == "strong" and NOTHING_CLOSE not in near["note"]
    assert {result["confidence"] for result in far["results"]} == {"weak"} and NOTHING_CLOSE in far["note"]


@pytest.mark.parametrize("more", [{}, {"time_expr": "May 2026"}], ids=["without a time", "with a time"])
def test_a_closer_hit_below_the_limit_replaces_nothing_close(services: FakeServices, more: dict[str, str]) -> None:
    store_contents(services.memories, "The oolong is on shelf 7.")
    helpful = store_content(services.memories, "Cars are fast")
    rate(services.memories, helpful, 1)
    arguments: dict[str, Any] = {"query": "oolong shelf", "quality_boost": 1, **more}
    answer = answer_of(services, "memory_search", limit=1, **arguments)
    assert [hit["confidence"] for hit in answer["memories"]] == ["weak"] and "nothing_close" not in answer
    assert answer["closer_hits"].startswith("limit 1 left out 1 hit closer to the query:")
    assert answer["closer_hits"] in _notes(services, "memory_search", limit=1, **arguments)
    assert "with a higher limit or with min_confidence related finds them" in answer["closer_hits"]
    for remedy in ({"limit": 2}, {"limit": 1, "min_confidence": "related"}):
        found = answer_of(services, "memory_search", **arguments, **remedy)
        assert "strong" in {hit["confidence"] for hit in found["memories"]} and "closer_hits" not in found


QUERY = "how to restart the gateway"


@pytest.fixture
def rated(services: FakeServices) -> FakeServices:
    """Services with three memories.

    One is closest to the query, but was rated as wrong. One was rated as helpful, and one is about another subject.
    """
    rejected = store_content(services.memories, "Restart the gateway with kill -9")
    helpful = store_content(services.memories, "Restart the gateway with systemctl, then look at its log")
    store_content(services.memories, "Cars are fast")
    rate(services.memories, rejected, -1)
    rate(services.memories, helpful, 1)
    return services


@pytest.mark.parametrize("tool", ["memory_search", "retrieve_memories", "search", "recall_for_hook"])
def test_a_helpful_memory_ranks_before_a_rejected_one_in_every_tool(rated: FakeServices, tool: str) -> None:
    text = text_of(call_tool(rated, tool, **{"prompt" if tool == "recall_for_hook" else "query": QUERY}))
    assert text.index("systemctl") < text.index("kill -9")


@pytest.mark.parametrize(
    ("arguments", "equal_arguments"),
    [
        ({}, {}),
        ({"days_back": 36_500}, {"after": "2020-01-01"}),
        ({"min_confidence": "related", "limit": 1}, {"min_confidence": "related", "limit": 1}),
    ],
)
def test_retrieve_memories_ranks_like_memory_search(
    rated: FakeServices, arguments: dict[str, Any], equal_arguments: dict[str, Any]
) -> None:
    found = answer_of(rated, "retrieve_memories", query=QUERY, **arguments)["memories"]
    expected = answer_of(rated, "memory_search", query=QUERY, **equal_arguments)["memories"]
    assert [(hit["id"], hit["score"]) for hit in found] == [(hit["id"], hit["score"]) for hit in expected]
    for hit in found:
        weighted = (1 - HYBRID_QUALITY_WEIGHT) * hit["relevance"] + HYBRID_QUALITY_WEIGHT * hit["quality"]
        assert hit["score"] == pytest.approx(weighted)
