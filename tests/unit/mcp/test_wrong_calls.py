"""The error of a wrong call contains the correction: argument, value, rule, and the right form or name."""

import json
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.domain.argument_rules import closest_name
from mnemosyne.mcp.tools import TOOLS
from tests.fakes import FakeServices
from tests.memories import list_memories
from tests.tools import error_of

WRONG_CALLS = [json.loads(line) for line in (Path(__file__).parent / "wrong_calls.jsonl").read_text().splitlines()]
NAMES = [tool.name for tool in TOOLS]


@pytest.mark.parametrize("wrong", WRONG_CALLS, ids=lambda wrong: wrong["tool"])
def test_a_wrong_call_gets_its_message_and_changes_nothing(services: FakeServices, wrong: dict[str, Any]) -> None:
    assert error_of(services, wrong["tool"], **wrong["arguments"]).startswith(wrong["message"])
    assert not list_memories(services.memories)
    assert not services.queue.messages


def test_the_table_has_wrong_calls_for_each_listed_tool() -> None:
    assert len(WRONG_CALLS) >= 60
    assert {wrong["tool"] for wrong in WRONG_CALLS} >= set(NAMES)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("save_memory", "ingest_memory"),
        ("remember", "ingest_memory"),
        ("ingest-memory", "ingest_memory"),
        ("memory_list", "list_memories"),
        ("update_memories", "update_memory"),
        ("stats", "memory_stats"),
        ("memorySearch", "memory_search"),
        ("mcp__mnemosyne__search", "search"),
        ("calendar", None),
        ("", None),
        ("x" * 10_000, None),
    ],
)
def test_the_error_for_an_unknown_tool_name_suggests_the_right_name(written: str, meant: str | None) -> None:
    assert closest_name(written, NAMES) == meant
