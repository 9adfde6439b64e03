"""Answers that leave something out say so: searches that return all matches, the tags of a namespace, and statuses."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from mnemosyne.ids import new_id
from mnemosyne.mcp.prompts import fill_prompt
from tests.fakes import NOW, FakeServices, request
from tests.memories import store
from tests.tools import answer_of, call_tool, text_of

PAGING_ALL = "There are more: raise limit, or page through all with list_memories and the same filters."
PAGING = PAGING_ALL.replace(" and the same", ", include_superseded false and the same")
LIMIT = "There are more: raise limit, or narrow the search."


def _store_ten(services: FakeServices) -> None:
    requests = [request(f"tea {n}", timestamp=NOW - timedelta(days=n), tags=("tea", "cup")) for n in range(10)]
    store(services.memories, *requests)


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        ({"tags": "tea"}, PAGING),
        ({"after": "2020-01-01", "quality_boost": 0.5}, PAGING),
        ({"tags": "tea", "include_superseded": True}, PAGING_ALL),
        ({"tags": "tea", "tag_match": "all"}, LIMIT),
        ({"tags": "tea", "as_of": "now"}, LIMIT),
        ({"query": "tea", "mode": "exact"}, LIMIT),
    ],
)
def test_a_search_that_returns_every_match_says_if_there_are_more(
    services: FakeServices, arguments: dict[str, Any], note: str
) -> None:
    _store_ten(services)
    if "as_of" in arguments:
        services.now = datetime.now(UTC) + timedelta(minutes=1)
        arguments = arguments | {"as_of": services.now.isoformat()}
    result = call_tool(services, "memory_search", **arguments, limit=9)
    assert result.structured_content is not None
    assert (result.structured_content["more"], result.structured_content["total"]) == (note, 9)
    assert note in str(result.content[-1])
    assert len(result.structured_content["memories"]) == 9
    assert "more" not in answer_of(services, "memory_search", **arguments, limit=10)


@pytest.mark.parametrize(("arguments", "note"), [({"tags": "tea"}, PAGING), ({"query": "tea", "mode": "exact"}, LIMIT)])
def test_a_search_with_the_highest_limit_does_not_advise_to_raise_it(
    services: FakeServices, arguments: dict[str, Any], note: str
) -> None:
    store(services.memories, *(request(f"tea {n}", tags=("tea",)) for n in range(101)))
    answer = answer_of(services, "memory_search", **arguments, limit=100)
    assert answer["more"] == note.replace("raise limit, or ", "")


def test_a_search_by_relevance_does_not_count_further_memories(services: FakeServices) -> None:
    _store_ten(services)
    assert "more" not in answer_of(services, "memory_search", query="tea", limit=3)


@pytest.mark.parametrize("query", ["tea", "zebra"])
def test_the_search_of_connectors_says_that_it_is_degraded(services: FakeServices, query: str) -> None:
    _store_ten(services)
    services.embedder.away = True
    degraded = answer_of(services, "memory_search", query=query)["degraded"]
    assert answer_of(services, "search", query=query)["note"].endswith(degraded)


def test_an_old_tool_without_a_query_says_if_there_are_more(services: FakeServices) -> None:
    _store_ten(services)
    answer = answer_of(services, "recall_by_timeframe", start_date="2020-01-01", n_results=3)
    assert (len(answer["memories"]), answer["more"]) == (3, PAGING)


def test_the_prompt_for_a_period_lists_all_memories_of_the_period() -> None:
    (message,) = fill_prompt("review", {"time": "last week"}).messages
    assert "list_memories" in str(message.content) and "last week" in str(message.content)


def test_an_argument_of_a_prompt_that_is_too_long_is_an_error() -> None:
    (message,) = fill_prompt("recall", {"topic": f" {'x' * 1_000} "}).messages
    assert "x" * 1_000 in str(message.content)
    with pytest.raises(MCPError, match="topic must have at most 1,000 characters, got 1,001"):
        fill_prompt("recall", {"topic": "x" * 1_001})


def test_the_statistics_have_the_number_of_all_tags(services: FakeServices) -> None:
    assert answer_of(services, "memory_stats")["total_tags"] == 0
    store(services.memories, *(request(f"memory {n}", tags=(f"tag {n}", "Tea")) for n in range(35)))
    for limit in (20, 3):
        stats = answer_of(services, "memory_stats", limit=limit)
        assert (len(stats["tags"]), stats["total_tags"]) == (limit, 36)


def _store_hundred(services: FakeServices) -> list[str]:
    """Store 97 memories, of which one has a note, and return the ids of 100 requests: one failed, two are unknown."""
    requests = [request(f"memory {n}") for n in range(97)]
    store(services.memories, *requests)
    again = request("memory 0", title="Another title")
    store(services.memories, again)
    return [str(each.request_id) for each in (*requests, again)] + [str(new_id()) for _ in range(2)]


def test_the_text_about_many_requests_counts_them_and_names_those_that_are_not_stored(services: FakeServices) -> None:
    ids = _store_hundred(services)
    result = call_tool(services, "ingest_status", request_ids=ids)
    assert result.structured_content is not None
    assert [status["request_id"] for status in result.structured_content["requests"]] == ids
    duplicate = result.structured_content["requests"][97]
    assert duplicate["state"] == "duplicate"
    assert text_of(result).splitlines() == [
        "97 stored",
        f"1 duplicate: {duplicate['note']}: {ids[97]}",
        f"2 unknown: {ids[98]}, {ids[99]}",
    ]
    assert "To see the memory_id of requests, ask for at most 10 of them." in str(result.content[-1])


def test_the_text_about_ten_requests_has_every_status(services: FakeServices) -> None:
    ids = _store_hundred(services)
    assert ids[0] in text_of(call_tool(services, "ingest_status", request_ids=ids[:10]))


def test_a_request_id_that_is_given_several_times_has_one_status(services: FakeServices) -> None:
    (first, second, *_) = _store_hundred(services)
    statuses = answer_of(services, "ingest_status", request_ids=[first, second, first.upper()])["requests"]
    assert [status["request_id"] for status in statuses] == [first, second]


@pytest.mark.parametrize(("name", "argument"), [("recall", "topic"), ("remember", "focus"), ("review", "time")])
@pytest.mark.parametrize("unknown", [{"query": "tea"}, {"Topic": "tea"}, {"query": "tea", "limit": "3"}])
def test_an_unknown_argument_of_a_prompt_is_an_error_that_names_it(
    name: str, argument: str, unknown: dict[str, str]
) -> None:
    with pytest.raises(MCPError) as raised:
        fill_prompt(name, {argument: "tea", **unknown})
    assert str(raised.value) == f"{', '.join(unknown)} is not an argument of {name}, which takes {argument}"
