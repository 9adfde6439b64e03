"""Memories similar to a text, and the export of selected memories."""

import json
from datetime import timedelta

import pytest

from tests.fakes import NOW, FakeServices
from tests.memories import list_memories, store_content
from tests.tools import answer_of


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
