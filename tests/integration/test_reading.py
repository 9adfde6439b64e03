"""Read-only tools write no row."""

from typing import Any

import pytest

from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.mcp.tools import by_name
from tests.fakes import NOW, FakeServices, request
from tests.memories import store
from tests.shared_database import SharedDatabase
from tests.tools import answer_of, call_tool

OLD, NEW = request("The oolong is on shelf 7.", timestamp=NOW), request("The oolong is on shelf 9 now.", timestamp=NOW)
REMEMBERED = "{id}"
ARGUMENTS: dict[str, dict[str, Any]] = {
    "ingest_status": {"request_id": str(NEW.request_id)},
    "memory_search": {"query": "oolong"},
    "retrieve_memories": {"query": "oolong"},
    "get_memory": {"id": REMEMBERED},
    "list_memories": {},
    "memory_stats": {},
    "search": {"query": "oolong"},
    "fetch": {"id": REMEMBERED},
    "recall_for_hook": {"prompt": "Where is the oolong?"},
    "retrieve_memory": {"query": "oolong"},
    "recall_memory": {"query": "oolong"},
    "recall_by_timeframe": {"start_date": "2020-01-01"},
    "retrieve_with_quality_boost": {"query": "oolong"},
    "exact_match_retrieve": {"content": "The oolong is on shelf 7."},
    "debug_retrieve": {"query": "oolong"},
    "memory_timeline": {},
    "memory_facets": {},
    "memory_history": {"id": REMEMBERED},
    "list_requests": {},
    "list_dead_letters": {},
    "list_audit": {},
    "export_memories": {},
    "similar_memories": {"content": "The oolong is on a shelf."},
    "who_am_i": {},
}
"""Valid arguments of each read-only tool; `{id}` is the id of a rated memory."""


def test_each_read_only_tool_has_arguments_in_this_test() -> None:
    assert set(ARGUMENTS) == {tool.name for tool in by_name().values() if tool.read_only}


@pytest.mark.parametrize("tool", ARGUMENTS)
def test_a_read_only_tool_changes_no_row(tool: str, services: FakeServices, shared_database: SharedDatabase) -> None:
    old = _remember(services)
    before = _rows(shared_database)
    arguments = {name: value.format(id=old) for name, value in ARGUMENTS[tool].items()}
    for _ in range(2):
        result = call_tool(services, tool, **arguments)
        assert not result.is_error, result.content
    assert _rows(shared_database) == before


def _remember(services: FakeServices) -> str:
    """Store two memories, and rate and tag the first. Returns its id."""
    old = store(services.memories, OLD, NEW)[OLD.request_id].memory_id
    assert old
    answer_of(services, "rate_memory", id=str(old), rating=1, reason="right")
    services.memories.update(old, MemoryChange(tags=("tea",)))
    return str(old)


def _rows(database: SharedDatabase) -> dict[str, list[str]]:
    """Return all rows of all tables as JSON."""
    tables = database.owner.run(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = CAST('public' AS regnamespace)"
    )
    return {
        name: sorted(str(row[0]) for row in database.owner.run(f"SELECT to_jsonb(t) FROM {name} t"))
        for name in (table["relname"] for table in tables)
    }
