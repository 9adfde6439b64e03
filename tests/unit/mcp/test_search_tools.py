"""`memory_search`, the other search tools and their old names, as an agent calls them."""

import base64
import json
from datetime import timedelta
from typing import Any

import mcp_types
import pytest

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.mcp.dispatch import DEPRECATED_META
from mnemosyne.mcp.tools import DEPRECATED_TOOLS, TOOLS, by_name
from tests.fakes import NOW, FakeServices, request
from tests.memories import list_memories, store, store_contents
from tests.tools import answer_of, call_tool, text_of


@pytest.fixture
def services(memories: MemoryStore) -> FakeServices:
    """Memories of 1 to 5 days ago about tea, and one of a year ago."""
    requests = [request(f"tea day {n}", timestamp=NOW - timedelta(days=n), tags=(f"t{n}", "tea")) for n in range(1, 6)]
    requests.append(request("tea long ago", timestamp=NOW - timedelta(days=365)))
    store(memories, *requests)
    return FakeServices(memories)


def _contents(answer: dict[str, Any]) -> list[str]:
    return [memory["content"] for memory in answer["memories"]]


def _texts(services: FakeServices, name: str, **arguments: Any) -> str:
    blocks = call_tool(services, name, **arguments).content
    return "\n".join(block.text for block in blocks if isinstance(block, mcp_types.TextContent))


BY_FILTER: list[tuple[str, dict[str, Any]]] = [
    ("memory_search", {"query": "tea"}),
    ("memory_search", {}),
    ("retrieve_memories", {"query": "tea"}),
    ("list_memories", {}),
]
CONDITIONS = [{"path": "project.size", "op": "<", "values": [5]}, {"path": "project.size", "values": "3"}]


@pytest.mark.parametrize("filters", [{"session": "talk"}, {"metadata": CONDITIONS}], ids=["session", "metadata"])
@pytest.mark.parametrize(("name", "arguments"), BY_FILTER)
def test_each_search_tool_filters_by_session_and_metadata(
    services: FakeServices, name: str, arguments: dict[str, Any], filters: dict[str, Any]
) -> None:
    store_contents(services.memories, "tea talk 0", "tea talk 1", session="talk", metadata={"project": {"size": 3}})
    store_contents(services.memories, "tea talk 2", session="another", metadata={"project": {"size": 9}})
    memories = answer_of(services, name, **arguments, **filters)["memories"]
    assert {memory["title"] for memory in memories} == {"tea talk 0", "tea talk 1"}


def test_an_answer_names_the_session_of_a_hit_and_the_conditions(services: FakeServices) -> None:
    (memory_id,) = store_contents(services.memories, "tea", session="talk", metadata={"project": {"size": 3}})
    answer = answer_of(services, "memory_search", query="tea", metadata=CONDITIONS)
    assert answer["metadata"] == ["project.size < 5", "project.size = 3"]
    assert [memory["session"] for memory in answer["memories"]] == ["talk"]
    assert answer_of(services, "get_memory", id=str(memory_id))["session"] == "talk"
    without = answer_of(services, "memory_search", query="tea day")
    assert "metadata" not in without and "session" not in without["memories"][0]


@pytest.mark.parametrize(("arguments", "preferred"), [({}, 1), ({"mode": "semantic"}, 0), ({"after": "2020-01-01"}, 0)])
def test_a_time_in_the_question_is_preferred_unless_a_time_filter_is_set(
    services: FakeServices, arguments: dict[str, Any], preferred: int
) -> None:
    answer = answer_of(services, "memory_search", query="which tea 3 days ago?", include_debug=True, **arguments)
    assert len(answer["debug"]["preferred"]) == preferred
    assert len(answer["memories"]) == 6  # memories of other times are found, too
    if preferred:
        assert answer["memories"][0]["content"] == "tea day 3"


def test_the_searched_window_is_returned_in_utc(services: FakeServices) -> None:
    asked = {"query": "tea", "time_expr": "the last 2 days", "timezone": "America/New_York"}
    answer = answer_of(services, "memory_search", **asked, include_debug=True)
    assert answer["window"] == {
        "after": "2026-05-18T12:00:00Z",
        "before": "2026-05-20T11:59:59.999999Z",
        "timezone": "America/New_York",
    }
    assert answer["debug"]["window"] == answer["window"]
    assert sorted(_contents(answer)) == ["tea day 1", "tea day 2"]


@pytest.mark.parametrize("expression", ["all time", "Any time.", "EVER"])
def test_the_time_expression_all_time_adds_no_filter(services: FakeServices, expression: str) -> None:
    answer = answer_of(services, "memory_search", query="tea", time_expr=expression)
    assert "tea long ago" in _contents(answer)
    assert "window" not in answer


def test_a_filter_alone_lists_newest_first_without_relevance(services: FakeServices) -> None:
    answer = answer_of(services, "memory_search", tags=["TEA"], limit=2)
    assert _contents(answer) == ["tea day 1", "tea day 2"]
    assert [memory["relevance"] for memory in answer["memories"]] == [None, None]


def test_contents_are_cut_to_the_budget_and_each_hit_is_listed(services: FakeServices) -> None:
    (long,) = store_contents(services.memories, "tea " * 1000)
    answer = answer_of(services, "memory_search", query="tea", max_response_chars=200, limit=100)
    assert answer["total"] == 7
    assert sum(len(content) for content in _contents(answer)) <= 200
    assert [memory["id"] for memory in answer["memories"] if memory.get("truncated")] == [str(long)]
    assert answer["truncated"] == "1 of 7 memories were cut to fit 200 characters: get_memory returns them whole"


def test_debug_output_explains_how_the_search_was_done(services: FakeServices) -> None:
    assert "include_debug" not in by_name()["memory_search"].listing.input_schema["properties"]
    debug = answer_of(services, "memory_search", query="tea", tags=["tea"], include_debug=True)["debug"]
    assert (debug["quality_weight"], debug["tags"], debug["returned"]) == (0.3, ["tea"], 5)
    assert (debug["embedding_model"], debug["embedding_dimension"]) == ("fake", 64)
    assert debug["total_ms"] >= debug["database_ms"] >= 0
    assert "debug" not in answer_of(services, "memory_search", query="tea")


def test_retrieve_memories_filters_by_days_back_or_a_time_expression(services: FakeServices) -> None:
    for time, found in (({"days_back": 3}, 3), ({"time_expr": "last year"}, 1)):
        assert len(_contents(answer_of(services, "retrieve_memories", query="tea", limit=50, **time))) == found


def test_a_listing_is_continued_with_its_cursor_and_further_bytes_of_it_are_ignored(services: FakeServices) -> None:
    cursor = answer_of(services, "list_memories", limit=2)["next_cursor"]
    grown = base64.urlsafe_b64encode(base64.urlsafe_b64decode(cursor + "=") + b"more").decode()
    page, same = (answer_of(services, "list_memories", cursor=text) for text in (cursor, grown))
    assert page == same
    assert [memory["title"] for memory in page["memories"]] == ["tea day 3", "tea day 4", "tea day 5", "tea long ago"]
    assert (page["memories"][-1]["date"], page["next_cursor"]) == ("2025-05-20", None)


def test_a_superseded_memory_is_not_found_until_the_supersession_is_undone(services: FakeServices) -> None:
    first, second = (memory["id"] for memory in answer_of(services, "memory_search", query="tea", limit=2)["memories"])
    assert answer_of(services, "update_memory", id=first, superseded_by=second)["superseded_by"] == second
    memories = answer_of(services, "memory_search", query="tea", limit=50)["memories"]
    assert first not in {memory["id"] for memory in memories}
    assert [memory["supersedes"] for memory in memories if memory["id"] == second] == [[first]]
    answer = answer_of(services, "memory_search", query="tea", limit=50, include_superseded=True)
    assert [memory.get("superseded_by") for memory in answer["memories"] if memory["id"] == first] == [second]
    assert answer_of(services, "update_memory", id=first, superseded_by="none")["superseded_by"] is None


@pytest.mark.parametrize("none", ["none", "NONE"])
def test_the_word_none_removes_tags_successor_and_expiry_in_any_case(none: str, services: FakeServices) -> None:
    first, second = (memory["id"] for memory in answer_of(services, "memory_search", query="tea", limit=2)["memories"])
    answer_of(services, "update_memory", id=first, tags=["a"], superseded_by=second, expires_at="2999-01-01")
    answer = answer_of(services, "update_memory", id=first, tags=[none], superseded_by=none, expires_at=none)
    assert (answer["tags"], answer.get("superseded_by"), answer.get("expires_at")) == ([], None, None)


def test_the_word_none_is_a_tag_if_it_is_added_or_has_other_tags_next_to_it(services: FakeServices) -> None:
    (first,) = (memory["id"] for memory in answer_of(services, "memory_search", query="tea", limit=1)["memories"])
    assert answer_of(services, "update_memory", id=first, tags=["None", "x"])["tags"] == ["None", "x"]
    assert answer_of(services, "update_memory", id=first, tags="none")["tags"] == []
    answer_of(services, "update_memory", id=first, add_tags=["none"])
    assert answer_of(services, "get_memory", id=first)["tags"] == ["none"]


def test_memory_stats_returns_the_model_and_the_counts(services: FakeServices) -> None:
    stats = answer_of(services, "memory_stats")
    assert (stats["memories"], stats["tags"]["tea"], stats["embedding_model"]) == (6, 5, "fake")


# fmt: off
OLD_AND_NEW: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("retrieve_memory", {"query": "tea"}, {"query": "tea", "limit": 5}),
    ("retrieve_memory", {"query": "tea", "n_results": 2}, {"query": "tea", "limit": 2}),
    ("recall_memory", {"query": "tea", "time_expr": "yesterday"},
     {"query": "tea", "time_expr": "yesterday", "limit": 5}),
    ("recall_memory", {"query": "which tea did we drink last week", "n_results": 3},
     {"query": "which tea did we drink", "time_expr": "last week", "limit": 3}),
    ("recall_memory", {"query": "last week"}, {"time_expr": "last week", "limit": 5}),
    ("recall_memory", {"time_expr": "last week"}, {"time_expr": "last week", "limit": 5}),
    ("recall_by_timeframe", {"start_date": "2026-05-16", "end_date": "2026-05-17"},
     {"after": "2026-05-16", "before": "2026-05-17", "limit": 5}),
    ("recall_by_timeframe", {"end_date": "2026-05-17"}, {"before": "2026-05-17", "limit": 5}),
    ("retrieve_with_quality_boost", {"query": "tea", "quality_weight": 0.9}, {"query": "tea", "quality_boost": 0.9}),
    ("retrieve_with_quality_boost", {"query": "tea"}, {"query": "tea", "quality_boost": 0.3}),
    ("exact_match_retrieve", {"content": "TEA DAY 3"}, {"query": "TEA DAY 3", "mode": "exact"}),
    ("debug_retrieve", {"query": "tea"}, {"query": "tea", "limit": 5, "include_debug": True}),
]
# fmt: on


@pytest.mark.parametrize(("name", "old", "new"), OLD_AND_NEW, ids=lambda value: value if isinstance(value, str) else "")
def test_an_old_name_is_an_alias(services: FakeServices, name: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    result = call_tool(services, name, **old)
    body, ours = result.content
    assert isinstance(body, mcp_types.TextContent) and isinstance(ours, mcp_types.TextContent)
    before, after = json.loads(body.text), answer_of(services, "memory_search", **new)
    assert before == result.structured_content and before["total"] > 0
    for timed in (before, after):
        for field in ("embed_ms", "database_ms", "total_ms"):
            timed.get("debug", {}).pop(field, None)
    assert before == after
    note = ours.text.splitlines()[-1]
    assert note.startswith(f"{name} is deprecated: call memory_search(")
    assert result.meta == {DEPRECATED_META: note}


def test_each_old_name_has_a_replacement_and_is_not_listed() -> None:
    names = {tool.name for tool in DEPRECATED_TOOLS}
    assert names == {name for name, *_ in OLD_AND_NEW}
    assert not names & {tool.name for tool in TOOLS}


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("recall_by_timeframe", {"start_date": "yesterday"}, "start_date must be YYYY-MM-DD"),
        ("recall_by_timeframe", {"end_date": "2026-05"}, "end_date must be YYYY-MM-DD"),
        ("recall_by_timeframe", {"start_date": "2026-05-21", "end_date": "2026-05-20"},
         "start_date must not be later than end_date, got start_date '2026-05-21' and end_date '2026-05-20'"),
        ("recall_by_timeframe", {}, "give start_date, end_date or both"),
        ("recall_memory", {"query": " "}, "give query, time_expr or both"),
        ("exact_match_retrieve", {"content": " "}, "content must contain at least one"),
    ],
)  # fmt: skip
def test_an_old_tool_s_error_names_argument_and_replacement(tool: str, arguments: dict[str, Any], message: str) -> None:
    result = call_tool(FakeServices(), tool, **arguments)
    error, note = text_of(result).split("\n")
    assert result.is_error and error.startswith(message)
    assert note.startswith(f"{tool} is deprecated: call memory_search(")
    assert result.meta and result.meta[DEPRECATED_META] == note


SAME = ("Shelf 7 holds the oolong.", "Shelf 7 holds the oolong", "Shelf 7  holds the oolong")


@pytest.mark.parametrize(("name", "arguments"), [
    ("memory_search", {"query": "oolong shelf", "mode": "semantic", "limit": 5}),
    ("retrieve_memories", {"query": "oolong shelf"}),
    ("recall_memory", {"query": "oolong shelf"}),
    ("search", {"query": "oolong shelf"}),
    ("recall_for_hook", {"prompt": "which oolong shelf"}),
])  # fmt: skip
def test_each_search_tool_names_near_duplicates(memories: MemoryStore, name: str, arguments: dict[str, Any]) -> None:
    store_contents(memories, *SAME, "Shelf 8 holds the oolong", "Shelf 7 holds the Oolong")
    text = _texts(FakeServices(memories), name, **arguments)
    assert [memory.title for memory in list_memories(memories) if str(memory.id) not in text] == []


def test_a_search_counts_merged_near_duplicates_beyond_the_named_ones(memories: MemoryStore) -> None:
    store_contents(memories, *(f"Shelf 7 holds{' ' * n} the oolong" for n in range(1, 10)))
    answer = answer_of(FakeServices(memories), "memory_search", query="oolong")
    assert len(answer["memories"][0]["near_duplicates"]) == 5
    assert " and 3 more (the same as " in answer["folded"]
    assert "mode exact" in answer["folded"]


@pytest.mark.parametrize(("name", "arguments"), [
    ("memory_search", {"query": "which shelf"}),
    ("retrieve_memories", {"query": "which shelf"}),
    ("recall_memory", {"query": "which shelf"}),
    ("get_memory", {"id": "newest"}),
    ("fetch", {"id": "newest"}),
    ("recall_for_hook", {"prompt": "which shelf"}),
])  # fmt: skip
def test_a_text_names_the_superseded_memories(memories: MemoryStore, name: str, arguments: dict[str, Any]) -> None:
    services = FakeServices(memories)
    old, new = map(str, store_contents(memories, *(f"The oolong is on shelf {n}" for n in (7, 9))))
    answer_of(services, "update_memory", id=old, superseded_by=new)
    real_arguments = {key: new if value == "newest" else value for key, value in arguments.items()}
    text = _texts(services, name, **real_arguments)
    assert old in text and new in text


@pytest.mark.parametrize(
    ("filters", "text"),
    [
        ({"after": "2090-01-01"}, "No memories found."),
        ({"session": "null"}, 'No memories found for the query with session "null".'),
        ({"tags": "null", "session": "None"}, 'No memories found for the query with tags ["null"] and session "None".'),
        ({"metadata": [{"path": "a", "values": ["x"]}]}, 'No memories found for the query with metadata ["a = x"].'),
    ],
)
def test_an_empty_answer_names_the_filters(services: FakeServices, filters: dict[str, Any], text: str) -> None:
    for name in ("memory_search", "retrieve_memories"):
        assert _texts(services, name, query="Ada", **filters).splitlines()[0] == text


def test_an_empty_answer_to_a_search_without_a_query_names_only_the_filters(services: FakeServices) -> None:
    assert _texts(services, "memory_search", tags="x").splitlines()[0] == 'No memories found with tags ["x"].'
