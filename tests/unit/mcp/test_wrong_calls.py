"""The error of a wrong call contains the correction: argument, value, rule, and the right form or name."""

import json
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.domain.argument_rules import closest_name
from mnemosyne.mcp.coerce import coerce_arguments
from mnemosyne.mcp.tools import TOOLS, by_name
from tests.fakes import FakeServices
from tests.memories import list_memories
from tests.tools import error_of

WRONG_CALLS = [json.loads(line) for line in (Path(__file__).parent / "wrong_calls.jsonl").read_text().splitlines()]
NAMES = [tool.name for tool in TOOLS]
MEMORY_ID = "0192f3a4-0000-7000-8000-000000000001"


@pytest.mark.parametrize("wrong", WRONG_CALLS, ids=lambda wrong: wrong["tool"])
def test_a_wrong_call_gets_the_expected_message_and_changes_nothing(
    services: FakeServices, wrong: dict[str, Any]
) -> None:
    assert error_of(services, wrong["tool"], **wrong["arguments"]).startswith(wrong["message"])
    assert not list_memories(services.memories)
    assert not services.queue.messages


def test_the_table_has_wrong_calls_for_each_listed_tool() -> None:
    assert len(WRONG_CALLS) >= 60
    assert {wrong["tool"] for wrong in WRONG_CALLS} == set(NAMES)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("add_memory", "ingest_memory"),
        ("save_memory", "ingest_memory"),
        ("remember", "ingest_memory"),
        ("ingest-memory", "ingest_memory"),
        ("search_memories", "memory_search"),
        ("memory-search", "memory_search"),
        ("recall", "memory_search"),
        ("forget", "delete_memory"),
        ("memory_list", "list_memories"),
        ("update_memories", "update_memory"),
        ("stats", "memory_stats"),
        ("getMemory", "get_memory"),
        ("memorySearch", "memory_search"),
        ("mcp__mnemosyne__list_memories", "list_memories"),
        ("mcp__mnemosyne__search", "search"),
        ("calendar", None),
        ("", None),
        ("x" * 10_000, None),
    ],
)
def test_the_error_for_an_unknown_tool_name_suggests_the_right_name(written: str, meant: str | None) -> None:
    assert closest_name(written, NAMES) == meant


@pytest.mark.parametrize(
    ("memories", "read"),
    [
        (["Ada drinks tea"], [{"content": "Ada drinks tea"}]),
        (["a", {"content": "b"}], [{"content": "a"}, {"content": "b"}]),
        ("Ada drinks tea", [{"content": "Ada drinks tea"}]),
        (["{broken"], ["{broken"]),
        ([5], [5]),
    ],
)
def test_a_string_among_memories_is_read_as_the_content_of_one(memories: object, read: list[object]) -> None:
    assert coerce_arguments({"memories": memories}, by_name()["ingest_memories"].schema) == {"memories": read}


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("get_memory", "id"),
        ("delete_memory", "id"),
        ("update_memory", "superseded_by"),
        ("ingest_status", "request_id"),
    ],
)
def test_an_id_in_square_brackets_as_in_the_answers_is_accepted(tool: str, name: str) -> None:
    assert coerce_arguments({name: f" [{MEMORY_ID}] "}, by_name()[tool].schema) == {name: MEMORY_ID}
    assert coerce_arguments({name: f"[{MEMORY_ID}"}, by_name()[tool].schema) == {name: f"[{MEMORY_ID}"}


def test_several_ids_in_square_brackets_are_accepted() -> None:
    schema = by_name()["ingest_status"].schema
    assert coerce_arguments({"request_ids": [f"[{MEMORY_ID}]"] * 2}, schema) == {"request_ids": [MEMORY_ID] * 2}


def test_a_content_in_square_brackets_is_unchanged() -> None:
    content = f"[{MEMORY_ID}]"
    assert coerce_arguments({"content": content}, by_name()["ingest_memory"].schema) == {"content": content}
