"""`memory_search`, the other search tools and their old names, as an agent calls them."""

import base64
import json
from datetime import timedelta
from typing import Any

import mcp_types
import pytest

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.mcp.dispatch import DEPRECATED_META
from mnemosyne.mcp.tools import DEPRECATED_TOOLS, TOOLS
from tests.fakes import NOW, FakeServices, request
from tests.memories import list_memories, store, store_contents
from tests.tools import answer_of, call_tool, error_of, text_of


@pytest.fixture
def services(memories: MemoryStore) -> FakeServices:
    """Memories of 1 to 5 days ago about tea, and one of a year ago."""
    requests = [request(f"tea day {n}", timestamp=NOW - timedelta(days=n), tags=(f"t{n}", "tea")) for n in range(1, 6)]
    requests.append(request("tea long ago", timestamp=NOW - timedelta(days=365)))
    store(memories, *requests)
    return FakeServices(memories)


def _contents(answer: dict[str, Any]) -> list[str]:
    return [memory["content"] for memory in answer["memories"]]


def test_a_hit_names_its_session_and_each_search_tool_filters_by_session(services: FakeServices) -> None:
    parts = tuple(request(f"tea talk {n}", session="talk") for n in range(2))
    store(services.memories, *parts)
    answer = answer_of(services, "memory_search", query="tea talk", mode="hybrid", limit=100)
    assert {memory.get("session") for memory in answer["memories"]} == {"talk", None}
    assert all("session" not in memory for memory in answer["memories"] if memory["content"].startswith("tea day"))
    for name, arguments in (
        ("memory_search", {"query": "tea"}),
        ("memory_search", {}),
        ("retrieve_memories", {"query": "tea"}),
    ):
        assert {*_contents(answer_of(services, name, session="talk", **arguments))} == {"tea talk 0", "tea talk 1"}
    listed = answer_of(services, "list_memories", session="talk")
    assert {memory["title"] for memory in listed["memories"]} == {"tea talk 0", "tea talk 1"}
    assert answer_of(services, "get_memory", id=answer["memories"][0]["id"])["session"] == "talk"


@pytest.mark.parametrize(
    ("arguments", "preferred"),
    [
        ({"mode": "hybrid"}, 1),
        ({"mode": "semantic"}, 0),
        ({"mode": "hybrid", "after": "2020-01-01"}, 0),
    ],
)
def test_a_time_in_the_question_is_preferred_unless_a_time_filter_is_set(
    services: FakeServices, arguments: dict[str, Any], preferred: int
) -> None:
    answer = answer_of(
        services, "memory_search", query="which tea 3 days ago?", include_debug=True, limit=100, **arguments
    )
    assert len(answer["debug"]["preferred"]) == preferred
    assert len(answer["memories"]) == 6  # memories of other times are found, too
    if preferred:
        assert answer["memories"][0]["content"] == "tea day 3"


def test_each_search_tool_filters_by_metadata_and_returns_the_conditions(services: FakeServices) -> None:
    requests = (
        request("tea A", metadata={"project": {"size": 3}}),
        request("tea B", metadata={"project": {"size": 9}}),
    )
    store(services.memories, *requests)
    conditions = [{"path": "project.size", "op": "<", "values": [5]}, {"path": "project.size", "values": "3"}]
    answer = answer_of(services, "memory_search", query="tea", metadata=conditions)
    assert (_contents(answer), answer["metadata"]) == (["tea A"], ["project.size < 5", "project.size = 3"])
    assert _contents(answer_of(services, "memory_search", metadata=conditions)) == ["tea A"]
    assert _contents(answer_of(services, "retrieve_memories", query="tea", metadata=conditions)) == ["tea A"]
    assert [memory["title"] for memory in answer_of(services, "list_memories", metadata=conditions)["memories"]] == [
        "tea A"
    ]
    assert "metadata" not in answer_of(services, "memory_search", query="tea")


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"path": "a"}, "metadata[0].values is required with op ="),
        ({"path": "a", "op": "<", "values": ["soon"]}, "metadata[0].values must be one number or ISO 8601 date"),
        (
            {"path": "a.", "values": ["x"]},
            "metadata[0].path must be names with dots between them, such as project.name",
        ),
        ({"path": "a", "op": "~", "values": ["x"]}, "metadata[0].op must be one of"),
        ({"path": "a", "values": [None]}, "metadata[0].values[0] must be a string, got null"),
    ],
)
def test_an_invalid_metadata_condition_is_refused(services: FakeServices, condition: Any, message: str) -> None:
    assert message in error_of(services, "memory_search", query="tea", metadata=[condition])


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


def test_before_a_date_includes_its_last_minute_in_the_time_zone(services: FakeServices) -> None:
    late = request("late tea", timestamp=NOW.replace(month=1, day=2, hour=4, minute=59))  # 23:59 in New York
    store(services.memories, late)
    arguments = {"query": "tea", "after": "2026-01-01", "before": "2026-01-01", "timezone": "America/New_York"}
    assert _contents(answer_of(services, "memory_search", **arguments)) == ["late tea"]
    assert _contents(answer_of(services, "memory_search", **(arguments | {"timezone": "UTC"}))) == []


def test_without_a_time_filter_no_window_is_returned(services: FakeServices) -> None:
    assert "window" not in answer_of(services, "memory_search", query="tea")


@pytest.mark.parametrize("expression", ["all time", "Any time.", "anytime", "for all time", "always", "EVER"])
def test_the_time_expression_all_time_adds_no_filter(services: FakeServices, expression: str) -> None:
    answer = answer_of(services, "memory_search", query="tea", time_expr=expression)
    assert "tea long ago" in _contents(answer)
    assert "window" not in answer


def test_all_time_without_a_query_is_refused_like_a_missing_filter(services: FakeServices) -> None:
    assert "give a query, or a filter" in error_of(services, "memory_search", time_expr="all time")


def test_an_unknown_time_expression_is_an_error(services: FakeServices) -> None:
    message = error_of(services, "memory_search", query="tea", time_expr="banana o'clock")
    assert message.startswith('time_expr "banana o\'clock" is not understood; try: yesterday')


def test_windows_without_common_time_are_an_error_that_shows_both(services: FakeServices) -> None:
    message = error_of(services, "memory_search", query="tea", time_expr="2024", after="2025-01-01")
    assert "2024-01-01" in message
    assert "2025-01-01" in message


def test_a_search_without_query_and_filter_is_an_error(services: FakeServices) -> None:
    for arguments in ({}, {"query": "  "}, {"mode": "exact"}):
        message = error_of(services, "memory_search", **arguments)
        assert message == (
            "give a query, or a filter instead: tags, session, metadata, after, before or time_expr; to list all "
            "memories, call list_memories"
        )


def test_a_filter_alone_lists_newest_first_without_relevance(services: FakeServices) -> None:
    answer = answer_of(services, "memory_search", tags=["TEA"], limit=2)
    assert _contents(answer) == ["tea day 1", "tea day 2"]
    assert [memory["relevance"] for memory in answer["memories"]] == [None, None]


def test_all_tags_must_match_if_the_caller_asks_for_it(services: FakeServices) -> None:
    assert _contents(answer_of(services, "memory_search", query="tea", tags=["t1", "tea"], tag_match="all")) == [
        "tea day 1"
    ]
    assert len(_contents(answer_of(services, "memory_search", query="tea", tags=["t1", "tea"]))) == 5


def test_contents_are_cut_to_the_budget_and_each_hit_is_listed(services: FakeServices) -> None:
    long = request("tea " * 1000)
    store(services.memories, long)
    answer = answer_of(services, "memory_search", query="tea", max_response_chars=200, limit=100)
    assert answer["total"] == 7
    assert sum(len(content) for content in _contents(answer)) <= 200
    cut = [memory for memory in answer["memories"] if memory.get("truncated")]
    assert [memory["id"] for memory in cut] == [
        m["id"] for m in answer["memories"] if m["content"].startswith("tea tea")
    ]
    assert answer["truncated"] == "1 of 7 memories were cut to fit 200 characters: get_memory returns them whole"


def test_debug_output_explains_how_the_search_was_done(services: FakeServices) -> None:
    answer = answer_of(services, "memory_search", query="tea", tags=["tea"], include_debug=True, mode="hybrid")
    debug = answer["debug"]
    assert debug["quality_weight"] == 0.3
    assert debug["tags"] == ["tea"]
    assert debug["returned"] == 5
    assert (debug["embedding_model"], debug["embedding_dimension"]) == ("fake", 64)
    assert debug["total_ms"] >= debug["database_ms"] >= 0
    assert "debug" not in answer_of(services, "memory_search", query="tea")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mode": "fuzzy"}, "mode must be one of 'semantic', 'exact' or 'hybrid', got \"fuzzy\""),
        ({"quality_boost": 2}, "quality_boost must be between 0 and 1, got 2"),
        ({"limit": 101}, "limit must be between 1 and 100, got 101"),
        ({"max_response_chars": 5}, "max_response_chars must be at least 100, got 5"),
        ({"timezone": "Mars"}, "timezone must be an IANA name such as UTC or Europe/Berlin, got 'Mars'"),
        ({"include_debug": "yes"}, 'include_debug must be true or false, got "yes"'),
        ({"tag_match": "some"}, "tag_match must be one of 'any' or 'all', got \"some\""),
    ],
)
def test_a_wrong_argument_is_named_with_its_allowed_values(
    services: FakeServices, arguments: dict[str, Any], message: str
) -> None:
    arguments = {"after": "2020-01-01", **arguments}
    assert error_of(services, "memory_search", query="tea", **arguments) == message


def test_retrieve_memories_filters_by_days_back_or_a_time_expression(services: FakeServices) -> None:
    assert len(_contents(answer_of(services, "retrieve_memories", query="tea", days_back=3, limit=50))) == 3
    assert len(_contents(answer_of(services, "retrieve_memories", query="tea", time_expr="last year", limit=50))) == 1
    assert error_of(services, "retrieve_memories", query="tea", days_back=0) == (
        "days_back must be between 1 and 36500, got 0"
    )


def test_a_listing_is_paged_by_its_cursor(services: FakeServices) -> None:
    ids: list[str] = []
    arguments: dict[str, Any] = {"limit": 4}
    while True:
        page = answer_of(services, "list_memories", **arguments)
        ids += [memory["title"] for memory in page["memories"]]
        if page["next_cursor"] is None:
            break
        arguments["cursor"] = page["next_cursor"]
    assert ids == [f"tea day {n}" for n in range(1, 6)] + ["tea long ago"]
    assert page["memories"][-1]["date"] == "2025-05-20"


@pytest.mark.parametrize("cursor", ["nonsense", "AAAA", "é", "A" * 31, "A" * 32])
def test_a_cursor_that_the_server_did_not_make_is_refused(services: FakeServices, cursor: str) -> None:
    assert "cursor must be the next_cursor of an earlier page" in error_of(services, "list_memories", cursor=cursor)


def test_a_cursor_with_additional_bytes_is_read_without_them(services: FakeServices) -> None:
    page = answer_of(services, "list_memories", limit=2)
    grown = base64.urlsafe_b64encode(base64.urlsafe_b64decode(page["next_cursor"] + "=") + b"more").decode()
    assert answer_of(services, "list_memories", cursor=grown) == answer_of(
        services, "list_memories", cursor=page["next_cursor"]
    )


def test_an_update_without_a_change_is_refused(services: FakeServices) -> None:
    memory_id = answer_of(services, "memory_search", query="tea")["memories"][0]["id"]
    assert error_of(services, "update_memory", id=memory_id) == (
        "give at least one of title, tags (['none'] removes all), metadata, superseded_by, expires_at and pinned, "
        "or of add_tags and remove_tags"
    )
    assert error_of(services, "update_memory", id=memory_id, superseded_by=memory_id) == (
        "superseded_by must be the id of another memory"
    )
    assert "superseded_by must be" in error_of(services, "update_memory", id=memory_id, superseded_by="x")


def test_a_superseded_memory_is_not_found_until_the_supersession_is_undone(services: FakeServices) -> None:
    first, second = (memory["id"] for memory in answer_of(services, "memory_search", query="tea", limit=2)["memories"])
    assert answer_of(services, "update_memory", id=first, superseded_by=second)["superseded_by"] == second
    memories = answer_of(services, "memory_search", query="tea", limit=50)["memories"]
    assert first not in {memory["id"] for memory in memories}
    assert [memory["supersedes"] for memory in memories if memory["id"] == second] == [[first]]
    answer = answer_of(services, "memory_search", query="tea", limit=50, include_superseded=True)
    assert [memory.get("superseded_by") for memory in answer["memories"] if memory["id"] == first] == [second]
    assert answer_of(services, "update_memory", id=first, superseded_by="none")["superseded_by"] is None


@pytest.mark.parametrize("none", ["none", "None", "NONE"])
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


def test_the_error_about_an_expiry_names_the_word_that_removes_it(services: FakeServices) -> None:
    memory_id = answer_of(services, "memory_search", query="tea")["memories"][0]["id"]
    error = error_of(services, "update_memory", id=memory_id, expires_at="never")
    assert error.endswith("got \"never\"; 'none' removes the expiry")


def test_a_rating_returns_the_quality_before_and_after(services: FakeServices) -> None:
    memory_id = answer_of(services, "memory_search", query="tea")["memories"][0]["id"]
    rated = answer_of(services, "rate_memory", id=memory_id, rating=1, reason="helped")
    assert (rated["quality_before"], rated["quality_after"]) == (0.5, 0.666667)
    assert error_of(services, "rate_memory", id=memory_id, rating=2) == "rating must be between -1 and 1, got 2"


def test_memory_stats_returns_the_model_and_the_counts(services: FakeServices) -> None:
    stats = answer_of(services, "memory_stats")
    assert (stats["memories"], stats["tags"]["tea"], stats["embedding_model"]) == (6, 5, "fake")


OLD_AND_NEW: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("retrieve_memory", {"query": "tea"}, {"query": "tea", "limit": 5}),
    ("retrieve_memory", {"query": "tea", "n_results": 2}, {"query": "tea", "limit": 2}),
    (
        "recall_memory",
        {"query": "tea", "time_expr": "yesterday"},
        {"query": "tea", "time_expr": "yesterday", "limit": 5},
    ),
    ("recall_memory", {"query": "tea"}, {"query": "tea", "limit": 5}),
    (
        "recall_memory",
        {"query": "which tea did we drink last week", "n_results": 3},
        {"query": "which tea did we drink", "time_expr": "last week", "limit": 3},
    ),
    ("recall_memory", {"query": "last week"}, {"time_expr": "last week", "limit": 5}),
    (
        "recall_by_timeframe",
        {"start_date": "2026-05-16", "end_date": "2026-05-17"},
        {"after": "2026-05-16", "before": "2026-05-17", "limit": 5},
    ),
    ("recall_memory", {"time_expr": "last week"}, {"time_expr": "last week", "limit": 5}),
    ("recall_by_timeframe", {"start_date": "2026-05-16"}, {"after": "2026-05-16", "limit": 5}),
    ("recall_by_timeframe", {"end_date": "2026-05-17"}, {"before": "2026-05-17", "limit": 5}),
    (
        "retrieve_with_quality_boost",
        {"query": "tea", "quality_weight": 0.9},
        {"query": "tea", "mode": "hybrid", "quality_boost": 0.9, "limit": 10},
    ),
    (
        "retrieve_with_quality_boost",
        {"query": "tea"},
        {"query": "tea", "mode": "hybrid", "quality_boost": 0.3, "limit": 10},
    ),
    ("exact_match_retrieve", {"content": "TEA DAY 3"}, {"query": "TEA DAY 3", "mode": "exact"}),
    ("debug_retrieve", {"query": "tea"}, {"query": "tea", "limit": 5, "include_debug": True}),
]


@pytest.mark.parametrize(("name", "old", "new"), OLD_AND_NEW, ids=lambda value: value if isinstance(value, str) else "")
def test_an_old_name_returns_what_its_replacement_returns(
    services: FakeServices, name: str, old: dict[str, Any], new: dict[str, Any]
) -> None:
    before, after = answer_of(services, name, **old), answer_of(services, "memory_search", **new)
    for timed in (before, after):
        for field in ("embed_ms", "database_ms", "total_ms"):
            timed.get("debug", {}).pop(field, None)
    assert before == after
    assert before["total"] > 0


@pytest.mark.parametrize("tool", DEPRECATED_TOOLS, ids=lambda tool: tool.name)
def test_an_old_tool_name_names_its_replacement_and_is_not_listed(services: FakeServices, tool: Any) -> None:
    old = next(arguments for name, arguments, _ in OLD_AND_NEW if name == tool.name)
    result = call_tool(services, tool.name, **old)
    body, ours = result.content
    assert isinstance(body, mcp_types.TextContent) and isinstance(ours, mcp_types.TextContent)
    note = ours.text.splitlines()[-1]
    assert note.startswith(f"{tool.name} is deprecated: call memory_search(")
    assert result.meta == {DEPRECATED_META: note}
    assert json.loads(body.text) == result.structured_content
    assert tool.name not in {listed.name for listed in TOOLS}


def test_an_unlisted_argument_is_accepted(services: FakeServices) -> None:
    (tool,) = (listed_tool for listed_tool in TOOLS if listed_tool.name == "memory_search")
    assert "include_debug" not in tool.listing.input_schema["properties"]
    assert "strategy" in answer_of(services, "memory_search", query="tea", include_debug=True)["debug"]


@pytest.mark.parametrize("name", ["after", "before", "time_expr"])
def test_a_blank_time_is_refused_and_not_ignored(services: FakeServices, name: str) -> None:
    for tool in ("memory_search", "retrieve_memories"):
        assert name in error_of(services, tool, query="tea", **{name: " "})


def test_an_error_of_an_old_tool_name_names_its_replacement(services: FakeServices) -> None:
    result = call_tool(services, "recall_by_timeframe", start_date="x")
    assert result.is_error
    (block,) = result.content
    assert isinstance(block, mcp_types.TextContent)
    _, note = block.text.split("\n")
    assert note.startswith("recall_by_timeframe is deprecated: call memory_search(after, before")
    assert result.meta and result.meta[DEPRECATED_META] == note


def test_errors_name_the_argument_as_the_caller_wrote_it(services: FakeServices) -> None:
    assert error_of(services, "exact_match_retrieve", content=" ").startswith("content must contain at least one")
    assert error_of(services, "memory_search", query="tea", timezone="Nowhere").startswith("timezone must be an IANA")
    assert error_of(services, "memory_stats", x=1) == "x is not an argument of memory_stats; memory_stats takes limit"


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("recall_by_timeframe", {"start_date": "yesterday"}, "start_date must be YYYY-MM-DD"),
        ("recall_by_timeframe", {"end_date": "2026-05"}, "end_date must be YYYY-MM-DD"),
        ("recall_by_timeframe", {"start_date": "2026-05-21", "end_date": "2026-05-20"},
         "start_date must not be later than end_date, got start_date '2026-05-21' and end_date '2026-05-20'"),
        ("recall_by_timeframe", {}, "give start_date, end_date or both"),
        ("recall_memory", {"query": " "}, "give query, time_expr or both"),
    ],
)  # fmt: skip
def test_an_error_of_an_old_tool_names_its_own_arguments(
    services: FakeServices, tool: str, arguments: dict[str, Any], message: str
) -> None:
    assert error_of(services, tool, **arguments).startswith(message)


def test_a_number_with_a_zero_fraction_is_accepted_as_an_integer(services: FakeServices) -> None:
    assert answer_of(services, "memory_search", query="tea", limit=2.0)["total"] == 2
    assert (
        error_of(services, "memory_search", query="tea", limit=2.5)
        == "limit must be an integer between 1 and 100, got 2.5"
    )


SAME = ("Shelf 7 holds the oolong.", "Shelf 7 holds the oolong", "Shelf 7  holds the oolong")


@pytest.mark.parametrize(("name", "arguments"), [
    ("memory_search", {"query": "oolong shelf"}),
    ("memory_search", {"query": "oolong shelf", "mode": "semantic", "limit": 5}),
    ("retrieve_memories", {"query": "oolong shelf"}),
    ("retrieve_memory", {"query": "oolong shelf"}),
    ("recall_memory", {"query": "oolong shelf"}),
    ("search", {"query": "oolong shelf"}),
    ("recall_for_hook", {"prompt": "which oolong shelf"}),
])  # fmt: skip
def test_the_text_of_each_search_tool_names_the_near_duplicates_it_merged(
    memories: MemoryStore, name: str, arguments: dict[str, Any]
) -> None:
    store_contents(memories, *SAME, "Shelf 8 holds the oolong", "Shelf 7 holds the Oolong")
    services = FakeServices(memories)
    text = "\n".join(block.text for block in call_tool(services, name, **arguments).content if hasattr(block, "text"))
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
def test_a_text_names_the_memories_that_a_memory_supersedes(
    memories: MemoryStore, name: str, arguments: dict[str, Any]
) -> None:
    services = FakeServices(memories)
    old, new = map(str, store_contents(memories, *(f"The oolong is on shelf {n}" for n in (7, 9))))
    answer_of(services, "update_memory", id=old, superseded_by=new)
    real_arguments = {key: new if value == "newest" else value for key, value in arguments.items()}
    text = "\n".join(
        block.text for block in call_tool(services, name, **real_arguments).content if hasattr(block, "text")
    )
    assert old in text and new in text


@pytest.mark.parametrize("name", ["memory_search", "retrieve_memories"])
@pytest.mark.parametrize(
    ("filters", "text"),
    [
        ({"after": "2090-01-01"}, "No memories found."),
        ({"session": "null"}, 'No memories found for the query with session "null".'),
        ({"tags": "null", "session": "None"}, 'No memories found for the query with tags ["null"] and session "None".'),
        ({"metadata": [{"path": "a", "values": ["x"]}]}, 'No memories found for the query with metadata ["a = x"].'),
    ],
)
def test_an_empty_answer_names_the_filters(
    services: FakeServices, name: str, filters: dict[str, Any], text: str
) -> None:
    result = call_tool(services, name, query="Ada", **filters)
    assert text_of(result).splitlines()[0] == text


def test_an_empty_answer_to_a_search_without_a_query_names_only_the_filters(services: FakeServices) -> None:
    assert text_of(call_tool(services, "memory_search", tags="x")) == 'No memories found with tags ["x"].'
