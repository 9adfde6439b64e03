"""The units of the rate limit that a tool call costs, in addition to the units of its request."""

from typing import Any

import pytest

from mnemosyne.domain.rate_limit import COUNTING, MEMORY, SEARCH, TEXT, VALUES, cost_of_memories
from mnemosyne.mcp.tools import by_name
from mnemosyne.mcp.tools.transfer import MARKDOWN_PAGE

VALUE = {"path": "team", "values": ["a"]}
MANY = [{"path": "team", "values": [str(number) for number in range(50)]}] * 10


def _units(tool: str, **arguments: Any) -> float:
    return by_name()[tool].units_of(arguments)


@pytest.mark.parametrize(("length", "texts"), [(1, 1), (1_999, 1), (2_000, 2), (6_500, 4)])
def test_a_memory_costs_as_much_as_the_texts_that_are_embedded_for_it(length: int, texts: int) -> None:
    memories = [{"content": "x" * length}]
    assert cost_of_memories(memories) == pytest.approx(MEMORY + TEXT * texts)
    assert cost_of_memories(memories * 3) == pytest.approx(3 * (MEMORY + TEXT * texts))


MISSING = {"metadata": [{"path": "team", "op": "missing"}]}
NARROW = {"session": "s", "after": "2026-05-20"}


@pytest.mark.parametrize(
    ("tool", "narrow", "wide"),
    [
        *((tool, NARROW, wide) for tool in ("list_memories", "export_memories") for wide in ({"tags": "tea"}, MISSING)),
        ("memory_search", NARROW, {"tags": "tea"}),
        ("list_requests", {"limit": 10}, {"state": "failed"}),
        ("list_audit", {"limit": 10}, {"person": "ada"}),
        ("list_audit", {"limit": 10}, {"action": "redrive"}),
    ],
)
def test_reading_everything_costs_as_much_as_counting(tool: str, narrow: dict[str, Any], wide: dict[str, Any]) -> None:
    assert (_units(tool, **narrow), _units(tool, **wide)) == (0, COUNTING)


@pytest.mark.parametrize(
    ("tool", "arguments", "base"),
    [
        ("memory_search", {"query": "tea"}, SEARCH["hybrid"]),
        ("memory_search", {"query": "tea", "mode": "exact"}, SEARCH["exact"]),
        ("retrieve_memories", {"query": "tea"}, SEARCH["hybrid"]),
        ("list_memories", {}, COUNTING),
        ("memory_timeline", {}, COUNTING),
        ("memory_facets", {}, COUNTING),
    ],
)
def test_each_compared_value_costs_a_part_of_a_unit(tool: str, arguments: dict[str, Any], base: float) -> None:
    assert _units(tool, **arguments, metadata=[VALUE]) == pytest.approx(base + 1 / VALUES)
    assert _units(tool, **arguments, metadata=VALUE) == pytest.approx(base + 1 / VALUES)
    assert _units(tool, **arguments, metadata=MANY) == pytest.approx(base + 500 / VALUES)


@pytest.mark.parametrize("arguments", [{}, {"mode": "exact"}, {"typing": "true", "limit": 3}])
def test_as_of_adds_the_cost_of_counting_to_a_search(arguments: dict[str, Any]) -> None:
    present = _units("memory_search", query="tea", **arguments)
    assert _units("memory_search", query="tea", as_of="2026-05-20", **arguments) == present + COUNTING


def test_a_page_of_markdown_costs_more_than_a_page_of_json_lines() -> None:
    assert _units("export_memories", format="jsonl") == 0
    assert _units("export_memories", format="Markdown", tags=["tea"]) == MARKDOWN_PAGE + COUNTING


def test_the_metadata_of_a_new_memory_cost_no_units() -> None:
    memory = {"content": "tea", "timestamp": "2026-05-20T12:00:00Z"}
    with_metadata = memory | {"metadata": {"values": ["a"] * 50}}
    assert _units("ingest_memory", **with_metadata) == _units("ingest_memory", **memory)


@pytest.mark.parametrize("tool", ["delete_memory", "update_memory"])
def test_a_change_of_several_memories_costs_as_much_as_storing_them(tool: str) -> None:
    assert _units(tool, ids=["x"] * 100) == pytest.approx(100 * MEMORY)
    assert _units(tool, ids="x") == pytest.approx(MEMORY)
    assert _units(tool, id="x") == 0
