"""Pages of lists: the text names outdated memories and the searched time, and a cursor belongs to one list."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from mnemosyne.mcp import resources
from mnemosyne.service import transfer
from tests.fakes import NOW, FakeServices
from tests.memories import store_content, store_contents
from tests.tools import answer_of, call_tool, error_of

OTHER_LIST = "cursor belongs to a list with other filters or another order"


def _notes(services: FakeServices, name: str, /, **arguments: Any) -> str:
    last_block: Any = call_tool(services, name, **arguments).content[-1]
    return str(last_block.text)


def _supersede(services: FakeServices) -> str:
    """Store a memory that another one supersedes, and return the sentence that the notes must have."""
    old, new = store_contents(services.memories, "Ben prefers window seats", "Ben now prefers aisle seats")
    answer_of(services, "update_memory", id=str(old), superseded_by=str(new))
    return f"Versions: {old} is replaced by {new}."


def test_the_text_of_a_list_names_the_successors_of_superseded_memories(services: FakeServices) -> None:
    assert _supersede(services) in _notes(services, "list_memories")
    assert "Versions" not in _notes(services, "list_memories", include_superseded=False)


def test_a_listed_resource_of_a_superseded_memory_names_its_successor(services: FakeServices) -> None:
    successor = _supersede(services).split()[-1].rstrip(".")
    listed = resources.list_resources(call_tool(services, "list_memories"), first=False).resources
    assert {resource.name: resource.description for resource in listed} == {
        "Ben prefers window seats": f"Replaced by memory://{successor}",
        "Ben now prefers aisle seats": None,
    }


def test_the_recent_memories_name_the_tool_that_reads_the_others(services: FakeServices) -> None:
    store_contents(services.memories, *(f"memory {n}" for n in range(resources.PAGE_SIZE + 1)))
    reader = resources.find_reader(resources.RECENT)
    assert reader is not None
    tool, arguments = reader
    cursor = answer_of(services, tool.name, **arguments)["next_cursor"]
    note = _notes(services, tool.name, **arguments)
    assert f"There are more: call list_memories with the same filters and cursor {cursor}" in note
    assert len(answer_of(services, "list_memories", cursor=cursor)["memories"]) == 1


@pytest.mark.parametrize("tool", ["list_memories", "export_memories"])
def test_the_text_of_a_list_names_the_searched_time(services: FakeServices, tool: str) -> None:
    window = answer_of(services, tool, time_expr="last week")["window"]
    assert f"Searched from {window['after']} to {window['before']}." in _notes(services, tool, time_expr="last week")
    assert "Searched up to 2026-05-01T" in _notes(services, tool, before="2026-05-01")
    store_content(services.memories, "tea")
    assert "Searched" not in _notes(services, tool)


@pytest.mark.parametrize("tool", ["memory_timeline", "memory_facets", "export_memories", "forget_memories"])
def test_a_tool_that_takes_times_returns_the_searched_time(services: FakeServices, tool: str) -> None:
    expected = answer_of(services, "list_memories", time_expr="last week")["window"]
    assert answer_of(services, tool, time_expr="last week")["window"] == expected


@pytest.mark.parametrize("order", ["newest", "oldest"])
@pytest.mark.parametrize("others", [{}, {"tags": ["ben"]}, {"tags": ["carla"], "after": "2020-01-01"}])
def test_a_cursor_with_other_filters_is_refused(services: FakeServices, order: str, others: Mapping[str, Any]) -> None:
    store_contents(services.memories, *(f"memory {n}" for n in range(3)), tags=("carla",))
    arguments = {"tags": "carla", "limit": 2, "order": order}
    cursor = answer_of(services, "list_memories", **arguments)["next_cursor"]
    error = error_of(services, "list_memories", **others, order=order, cursor=cursor)
    assert OTHER_LIST in error and "omit cursor" in error
    other_order = "newest" if order == "oldest" else "oldest"
    assert OTHER_LIST in error_of(services, "list_memories", **arguments | {"order": other_order}, cursor=cursor)
    rest = answer_of(services, "list_memories", **arguments | {"limit": 50, "preview": True}, cursor=cursor)
    assert len(rest["memories"]) == 1


COPIES = ['"{}"', "'{}'", "`{}`", "<{}>", " {}\n"]


@pytest.mark.parametrize("copy", [*COPIES, "{}="])
def test_a_cursor_is_accepted_in_quotes_and_with_padding(services: FakeServices, copy: str) -> None:
    """Some models copy a value with the quotes of its JSON."""
    store_contents(services.memories, "Ben prefers window seats", "Ada prefers tea")
    cursor = answer_of(services, "list_memories", limit=1)["next_cursor"]
    plain, quoted = (answer_of(services, "list_memories", cursor=text) for text in (cursor, copy.format(cursor)))
    assert plain == quoted


@pytest.mark.parametrize(("selection", "copy"), [({"all": True}, '"{}"'), ({"time_expr": "since 2020"}, " <{}>")])
def test_a_dry_run_s_token_is_accepted_in_quotes(services: FakeServices, selection: dict[str, Any], copy: str) -> None:
    store_content(services.memories, "Ben prefers window seats")
    token = answer_of(services, "forget_memories", **selection)["token"]
    assert answer_of(services, "forget_memories", **selection, token=copy.format(token))["memories"] == 1


@pytest.mark.parametrize("missing", [1, 4, 11])  # 11 characters are the whole hash at the cursor's end
def test_the_error_about_a_shortened_cursor_does_not_name_the_filters(services: FakeServices, missing: int) -> None:
    store_contents(services.memories, *(f"memory {n}" for n in range(3)))
    cursor = answer_of(services, "list_memories", limit=2)["next_cursor"]
    error = error_of(services, "list_memories", cursor=cursor[:-missing])
    assert "cursor must be the next_cursor of an earlier page" in error


def test_a_list_within_a_time_in_words_can_be_continued_later(services: FakeServices) -> None:
    store_contents(services.memories, *(f"memory {n}" for n in range(3)), timestamp=NOW - timedelta(minutes=5))
    arguments = {"time_expr": "the past hour", "limit": 2}
    cursor = answer_of(services, "list_memories", **arguments)["next_cursor"]
    services.now = NOW + timedelta(minutes=1)
    assert len(answer_of(services, "list_memories", **arguments, cursor=cursor)["memories"]) == 1


def test_each_list_refuses_a_cursor_of_other_filters(services: FakeServices, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "EXPORT_PAGE", 2)
    store_contents(services.memories, *(f"memory {n}" for n in range(3)), tags=("carla",))
    cursor = answer_of(services, "export_memories", tags="carla")["next_cursor"]
    assert OTHER_LIST in error_of(services, "export_memories", cursor=cursor)
    assert answer_of(services, "export_memories", tags=["carla"], cursor=cursor)["memories"] == 1
    cursor = answer_of(services, "list_requests", state="stored", limit=1)["next_cursor"]
    assert OTHER_LIST in error_of(services, "list_requests", cursor=cursor)
    dry = answer_of(services, "forget_memories", tags="carla", limit=1)
    assert OTHER_LIST in error_of(services, "forget_memories", all=True, cursor=dry["next_cursor"])
    answer_of(services, "forget_memories", tags="carla", cursor=dry["next_cursor"], token=dry["token"])
