"""Every tool that takes a time means it in the caller's time zone."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import mcp_types
import pytest

from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.mcp.calls import call
from mnemosyne.mcp.tools import DEPRECATED_TOOLS, TOOLS
from mnemosyne.mcp.tools.hook import RECALL_FOR_HOOK
from mnemosyne.mcp.tools.overview import MEMORY_FACETS, MEMORY_TIMELINE
from mnemosyne.mcp.tools.transfer import IMPORT_MEMORIES
from mnemosyne.service import ingest
from tests.fakes import FakeServices, request

CALLER = Principal(id="test", namespace="ns", scopes=frozenset({Scope.READ, Scope.WRITE}))
HIDDEN = (MEMORY_FACETS, MEMORY_TIMELINE, IMPORT_MEMORIES, RECALL_FOR_HOOK)
BY_NAME = {tool.name: tool for tool in (*TOOLS, *DEPRECATED_TOOLS, *HIDDEN)}
ZONES = ["UTC", "Asia/Kolkata", "America/St_Johns", "Pacific/Kiritimati"]
# In St. John's the clocks went back on 1 November 2026, so that yesterday had 25 hours.
NOW = datetime(2026, 11, 2, 15, 30, tzinfo=UTC)


def _call(services: FakeServices, name: str, /, **arguments: Any) -> dict[str, Any]:
    result = call(BY_NAME[name], arguments, CALLER, services)
    assert not result.is_error, result
    assert result.structured_content is not None
    return dict(result.structured_content)


def _local(zone: str, text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))


def _edges(zone: str) -> FakeServices:
    """Memories of the first and last minutes of yesterday and last week in the zone, and of the minutes around."""
    services = FakeServices()
    services.clock = lambda: NOW  # type: ignore[method-assign]
    times = {
        "day before": "2026-10-31T23:59", "day first": "2026-11-01T00:00", "day last": "2026-11-01T23:59",
        "day after": "2026-11-02T00:00", "week before": "2026-10-25T23:59", "week first": "2026-10-26T00:00",
    }  # fmt: skip
    local_day = NOW.astimezone(ZoneInfo(zone)).date()
    shift = local_day - datetime(2026, 11, 2, tzinfo=UTC).date()
    made = [request(f"tea {name}", timestamp=_local(zone, text) + shift) for name, text in times.items()]
    ingest.store(IngestMessage("ns", tuple(made)), memories=services.memories, embedder=services.embedder)
    return services


def _names(found: dict[str, Any]) -> set[str]:
    return {one["title"].removeprefix("tea ") for one in found["memories"]}


WITH_EXPRESSIONS: list[tuple[str, dict[str, Any]]] = [
    ("memory_search", {"query": "tea"}),
    ("memory_search", {}),
    ("retrieve_memories", {"query": "tea"}),
    ("list_memories", {}),
    ("recall_memory", {"query": "tea", "n_results": 50}),
]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(("name", "arguments"), WITH_EXPRESSIONS)
def test_yesterday_is_the_caller_s_yesterday(name: str, arguments: dict[str, Any], zone: str) -> None:
    found = _call(_edges(zone), name, **arguments, time_expr="yesterday", timezone=zone)
    assert _names(found) == {"day first", "day last"}


@pytest.mark.parametrize("expression", ["last week", "from last week"])
@pytest.mark.parametrize("zone", ["UTC", "America/St_Johns"])
@pytest.mark.parametrize(("name", "arguments"), WITH_EXPRESSIONS)
def test_from_last_week_is_of_last_week_in_every_tool(
    name: str, arguments: dict[str, Any], zone: str, expression: str
) -> None:
    found = _call(_edges(zone), name, **arguments, time_expr=expression, timezone=zone)
    assert _names(found) == {"week first", "day before", "day first", "day last"}
    question = _call(_edges(zone), "recall_memory", query=f"tea {expression}", timezone=zone)
    assert _names(question) == _names(found)


@pytest.mark.parametrize("zone", ZONES)
def test_a_date_is_the_caller_s_day_in_every_tool(zone: str) -> None:
    services = _edges(zone)
    day = (_local(zone, "2026-11-01") + (NOW.astimezone(ZoneInfo(zone)).date() - NOW.date())).date().isoformat()
    bounds = {"after": day, "before": day, "timezone": zone}
    for name in ("memory_search", "list_memories"):
        assert _names(_call(services, name, **bounds)) == {"day first", "day last"}
    assert _names(_call(services, "retrieve_memories", query="tea", **bounds)) == {"day first", "day last"}
    old = {"start_date": day, "end_date": day, "timezone": zone}
    assert _names(_call(services, "recall_by_timeframe", **old)) == {"day first", "day last"}
    assert sum(one["memories"] for one in _call(services, "memory_timeline", **bounds)["buckets"]) == 2


@pytest.mark.parametrize("zone", ZONES)
def test_a_local_time_of_a_record_is_in_the_zone_of_the_call_or_its_own(zone: str) -> None:
    services = FakeServices()
    text = (
        '{"content": "one", "timestamp": "2026-11-01T01:30"}\n'
        '{"content": "two", "timestamp": "2026-11-01T01:30", "timezone": "Asia/Tokyo"}\n'
        '{"content": "three", "timestamp": "2026-11-01T01:30Z"}\n'
    )
    _call(services, "import_memories", name="a.jsonl", text=text, timezone=zone)
    ((_, requests),) = services.queue.published
    expected = [_local(zone, "2026-11-01T01:30"), _local("Asia/Tokyo", "2026-11-01T01:30")]
    assert [one.timestamp for one in requests[:2]] == [one.astimezone(UTC) for one in expected]
    assert requests[2].timestamp == datetime(2026, 11, 1, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(("name", "arguments"), [
    *WITH_EXPRESSIONS,
    ("recall_by_timeframe", {"start_date": "2026-11-01"}),
    ("recall_for_hook", {"prompt": "which green tea"}),
    ("memory_timeline", {}),
    ("memory_facets", {}),
    ("import_memories", {"name": "a.jsonl", "text": ""}),
])  # fmt: skip
def test_an_unknown_zone_is_refused_with_its_name(name: str, arguments: dict[str, Any]) -> None:
    result = call(BY_NAME[name], {**arguments, "timezone": "Mars/Phobos"}, CALLER, FakeServices())
    (said,) = result.content
    assert result.is_error and isinstance(said, mcp_types.TextContent)
    assert said.text.startswith("timezone must be an IANA name") and "Mars/Phobos" in said.text
