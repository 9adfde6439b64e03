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
        ({"after": "2020-01-01", "quality_boost": 0.5}, PAGING),
        ({"tags": "tea", "include_superseded": True}, PAGING_ALL),
        ({"tags": "tea", "tag_match": "all"}, LIMIT),
        ({"tags": "tea", "as_of": "now"}, LIMIT),
        ({"query": "tea", "mode": "exact"}, LIMIT),
    ],
)
def test_a_complete_search_says_if_there_are_more(services: FakeServices, arguments: dict[str, Any], note: str) -> None:
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


def test_a_search_with_the_highest_limit_does_not_advise_to_raise_it(services: FakeServices) -> None:
    store(services.memories, *(request(f"tea {n}", tags=("tea",)) for n in range(101)))
    answer = answer_of(services, "memory_search", tags="tea", limit=100)
    assert answer["more"] == PAGING.replace("raise limit, or ", "")


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
    store(services.memories, *(request(f"memory {n}", tags=(f"tag {n}", "Tea")) for n in range(5)))
    stats = answer_of(services, "memory_stats", limit=3)
    assert (len(stats["tags"]), stats["total_tags"]) == (3, 6)


def test_the_text_about_many_requests_counts_them_and_names_those_that_are_not_stored(services: FakeServices) -> None:
    requests = [request(f"memory {n}") for n in range(11)]
    again = request("memory 0", title="Another title")
    store(services.memories, *requests)
    store(services.memories, again)
    ids = [str(each.request_id) for each in (*requests, again)] + [str(new_id()) for _ in range(2)]
    result = call_tool(services, "ingest_status", request_ids=[*ids, ids[0].upper()])
    assert result.structured_content is not None
    assert [status["request_id"] for status in result.structured_content["requests"]] == ids, "each id once"
    duplicate = result.structured_content["requests"][11]
    assert duplicate["state"] == "duplicate"
    assert text_of(result).splitlines() == [
        "11 stored",
        f"1 duplicate: {duplicate['note']}: {ids[11]}",
        f"2 unknown: {ids[12]}, {ids[13]}",
    ]
    assert "To see the memory_id of requests, ask for at most 10 of them." in str(result.content[-1])
    assert ids[0] in text_of(call_tool(services, "ingest_status", request_ids=ids[:10])), "ten have every status"


@pytest.mark.parametrize("unknown", [{"Topic": "tea"}, {"query": "tea", "limit": "3"}])
def test_an_unknown_argument_of_a_prompt_is_an_error_that_names_it(unknown: dict[str, str]) -> None:
    with pytest.raises(MCPError) as raised:
        fill_prompt("recall", {"topic": "tea", **unknown})
    assert str(raised.value) == f"{', '.join(unknown)} is not an argument of recall, which takes topic"
