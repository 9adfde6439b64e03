"""Lists of memories, their neighbours and similar memories, and exports, as the console shows them."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from tests.fakes import NOW, FakeServices, request
from tests.memories import list_memories, store, store_content
from tests.tools import answer_of

LONG = "The label printer on floor two prints only on Tuesdays. " * 20


def _titles(answer: dict[str, list[dict[str, str]]]) -> list[str]:
    return [memory["title"] for memory in answer["memories"]]


def test_a_list_has_previews_on_request(services: FakeServices) -> None:
    store_content(services.memories, LONG, title="Printer", session="chat 1")
    (plain,) = answer_of(services, "list_memories")["memories"]
    assert not plain.keys() & {"preview", "title_given", "session"}
    (listed,) = answer_of(services, "list_memories", preview=True)["memories"]
    assert (listed["title_given"], listed["session"]) == (True, "chat 1")
    assert LONG.startswith(listed["preview"].removesuffix("…"))
    assert len(listed["preview"]) <= 201


def test_lists_with_previews_and_search_hits_have_expiry_and_pin(services: FakeServices) -> None:
    expires_at = datetime.now(UTC) + timedelta(days=3)
    store_content(services.memories, "oolong", expires_at=expires_at, pinned=True)
    (plain,) = answer_of(services, "list_memories")["memories"]
    assert not plain.keys() & {"expires_at", "pinned"}
    (listed,) = answer_of(services, "list_memories", preview=True)["memories"]
    (hit,) = answer_of(services, "memory_search", query="oolong")["memories"]
    for memory in (listed, hit):
        assert (datetime.fromisoformat(memory["expires_at"]), memory["pinned"]) == (expires_at, True)


def test_lists_with_previews_and_hits_with_matches_have_all_tags(services: FakeServices) -> None:
    tags = [f"customer-feedback/product-area-{n:02}" for n in range(12)]
    store_content(services.memories, "oolong", tags=tags)
    for tool, arguments, flag in (("list_memories", {}, "preview"), ("memory_search", {"query": "oolong"}, "matches")):
        (short,) = answer_of(services, tool, **arguments)["memories"]
        assert short["truncated"] and len(short["tags"]) < 12
        (whole,) = answer_of(services, tool, **arguments, **{flag: True})["memories"]
        assert (whole.get("truncated"), whole["tags"]) == (None, tags)


def test_a_list_can_be_paged_from_the_oldest(services: FakeServices) -> None:
    for day in range(5):
        store_content(services.memories, f"day {day}", timestamp=NOW + timedelta(days=day))
    first = answer_of(services, "list_memories", order="oldest", limit=3)
    second = answer_of(services, "list_memories", order="oldest", limit=3, cursor=first["next_cursor"])
    assert _titles(first) + _titles(second) == [f"day {day}" for day in range(5)]
    assert second["next_cursor"] is None


def test_a_memory_is_read_with_its_neighbours_in_the_session(services: FakeServices) -> None:
    requests = [request(f"turn {n}", session="chat 1", timestamp=NOW + timedelta(minutes=n)) for n in range(9)]
    outcomes = store(services.memories, *requests)
    store_content(services.memories, "turn 4 of another session", session="chat 2", timestamp=NOW)
    fifth = outcomes[requests[4].request_id].memory_id
    around = answer_of(services, "get_memory", id=str(fifth), neighbours=True)["session_memories"]
    assert (around["count"], around["position"]) == (9, 5)
    assert [memory["title"] for memory in around["before"]] == ["turn 1", "turn 2", "turn 3"]
    assert [memory["title"] for memory in around["after"]] == ["turn 5", "turn 6", "turn 7"]


def test_a_memory_is_read_without_neighbours_by_default_or_if_it_has_no_session(services: FakeServices) -> None:
    alone, turn = store_content(services.memories, "alone"), store_content(services.memories, "turn", session="chat")
    assert "session_memories" not in answer_of(services, "get_memory", id=str(alone), neighbours=True)
    assert not answer_of(services, "get_memory", id=str(turn)).keys() & {"session_memories", "title_given"}


def test_neighbours_and_versions_without_a_title_are_shown_by_their_first_whole_words(services: FakeServices) -> None:
    old = store_content(services.memories, LONG, session="chat", timestamp=NOW - timedelta(minutes=1))
    new = store_content(services.memories, "It moved.", session="chat")
    neighbours = answer_of(services, "get_memory", id=str(new), neighbours=True)["session_memories"]
    answer_of(services, "update_memory", id=str(old), superseded_by=str(new))
    versions = answer_of(services, "memory_history", id=str(new))["supersedes"]
    for (shown,) in (neighbours["before"], versions):
        assert shown["title"] == "The label printer on floor two prints only on…"


def test_a_memory_with_the_same_text_is_named(services: FakeServices) -> None:
    tea = store_content(services.memories, "Ada prefers green tea.")
    cake = store_content(services.memories, "Ada prefers green tea with cake.")
    answer = answer_of(services, "similar_memories", content="Ada prefers green tea.")
    assert answer["same"]["id"] == str(tea)
    assert [memory["id"] for memory in answer["similar"]] == [str(cake)]


def test_a_text_about_something_else_has_no_similar_memories(services: FakeServices) -> None:
    store_content(services.memories, "Ada prefers green tea.")
    answer = answer_of(services, "similar_memories", content="zeppelin hangar keys")
    assert answer == {"same": None, "similar": []}
    assert len(list_memories(services.memories)) == 1 and not services.queue.messages, "nothing is stored"


def test_the_same_text_in_another_session_is_similar_but_not_a_duplicate(services: FakeServices) -> None:
    tea = store_content(services.memories, "Ada prefers green tea.", session="one")
    assert answer_of(services, "similar_memories", content="Ada prefers green tea.", session="one")["same"]
    other = answer_of(services, "similar_memories", content="Ada prefers green tea.", session="two")
    assert other["same"] is None
    assert [memory["id"] for memory in other["similar"]] == [str(tea)]


def test_memories_are_exported_by_ids(services: FakeServices) -> None:
    ids = [str(store_content(services.memories, f"day {n}", timestamp=NOW + timedelta(days=n))) for n in range(3)]
    page = answer_of(services, "export_memories", ids=ids[:2])
    assert [json.loads(line)["content"] for line in page["lines"].splitlines()] == ["day 0", "day 1"]
    assert page["next_cursor"] is None


@pytest.mark.parametrize(("filters", "exported"), [({"tags": ["tea"]}, 1), ({"include_superseded": False}, 1), ({}, 2)])
def test_memories_are_exported_by_filters(services: FakeServices, filters: dict[str, object], exported: int) -> None:
    old = store_content(services.memories, "old", tags=("tea",))
    new = store_content(services.memories, "new")
    answer_of(services, "update_memory", id=str(old), superseded_by=str(new))
    assert answer_of(services, "export_memories", **filters)["memories"] == exported


def test_memories_are_exported_as_markdown_files(services: FakeServices) -> None:
    store_content(services.memories, "# Tea\n\nGreen.", tags=("tea",))
    (file,) = answer_of(services, "export_memories", format="markdown")["files"]
    assert file["name"].endswith(".md")
    assert file["text"].startswith("---\n") and file["text"].endswith("# Tea\n\nGreen.")
