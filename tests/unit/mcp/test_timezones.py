"""Times of memories and of filters, as agents write them, are read in the caller's time zone."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.fakes import NOW, FakeServices, request
from tests.memories import store
from tests.tools import answer_of, error_of

ZONES = ["UTC", "America/St_Johns", "Pacific/Kiritimati"]
# In St. John's the clocks went back on 1 November 2026, so that yesterday had 25 hours.
PRESENT = datetime(2026, 11, 2, 15, 30, tzinfo=UTC)


def _local(zone: str, text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))


def _store_edges(services: FakeServices, zone: str) -> None:
    """Store memories just within and just outside of yesterday in the zone."""
    services.clock = lambda: PRESENT  # type: ignore[method-assign]
    times = {
        "day before": "2026-10-31T23:59", "day first": "2026-11-01T00:00", "day last": "2026-11-01T23:59",
        "day after": "2026-11-02T00:00",
    }  # fmt: skip
    local_day = PRESENT.astimezone(ZoneInfo(zone)).date()
    shift = local_day - datetime(2026, 11, 2, tzinfo=UTC).date()
    requests = [request(f"tea {name}", timestamp=_local(zone, text) + shift) for name, text in times.items()]
    store(services.memories, *requests)


def _names(answer: dict[str, Any]) -> set[str]:
    return {memory["title"].removeprefix("tea ") for memory in answer["memories"]}


WITH_EXPRESSIONS: list[tuple[str, dict[str, Any]]] = [
    ("memory_search", {}),
    ("retrieve_memories", {"query": "tea"}),
    ("list_memories", {}),
    ("recall_memory", {"query": "tea", "n_results": 50}),
]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(("name", "arguments"), WITH_EXPRESSIONS)
def test_yesterday_is_the_caller_s_day(services: FakeServices, name: str, arguments: dict[str, Any], zone: str) -> None:
    _store_edges(services, zone)
    answer = answer_of(services, name, **arguments, time_expr="yesterday", timezone=zone)
    assert _names(answer) == {"day first", "day last"}


@pytest.mark.parametrize("zone", ZONES)
def test_a_date_is_the_local_day_of_the_caller_in_each_tool(services: FakeServices, zone: str) -> None:
    _store_edges(services, zone)
    day = (_local(zone, "2026-11-01") + (PRESENT.astimezone(ZoneInfo(zone)).date() - PRESENT.date())).date().isoformat()
    bounds = {"after": day, "before": day, "timezone": zone}
    for name in ("memory_search", "list_memories"):
        assert _names(answer_of(services, name, **bounds)) == {"day first", "day last"}
    assert _names(answer_of(services, "retrieve_memories", query="tea", **bounds)) == {"day first", "day last"}
    old = {"start_date": day, "end_date": day, "timezone": zone}
    assert _names(answer_of(services, "recall_by_timeframe", **old)) == {"day first", "day last"}
    assert sum(bucket["memories"] for bucket in answer_of(services, "memory_timeline", **bounds)["buckets"]) == 2


@pytest.mark.parametrize("zone", ZONES)
def test_a_local_time_is_in_the_time_zone_of_the_record_or_else_of_the_call(zone: str) -> None:
    services = FakeServices()
    text = (
        '{"content": "one", "timestamp": "2026-11-01T01:30"}\n'
        '{"content": "two", "timestamp": "2026-11-01T01:30", "timezone": "Asia/Tokyo"}\n'
        '{"content": "three", "timestamp": "2026-11-01T01:30Z"}\n'
    )
    answer_of(services, "import_memories", name="a.jsonl", text=text, timezone=zone)
    ((_, requests),) = services.queue.published
    expected = [_local(zone, "2026-11-01T01:30"), _local("Asia/Tokyo", "2026-11-01T01:30")]
    assert [request.timestamp for request in requests[:2]] == [item.astimezone(UTC) for item in expected]
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
    message = error_of(FakeServices(), name, **arguments, timezone="Mars/Phobos")
    assert message.startswith("timezone must be an IANA name") and "Mars/Phobos" in message


def _accepted(services: FakeServices, tool: str, **arguments: Any) -> list[str]:
    answer_of(services, tool, **arguments)
    return [request.timestamp.isoformat() for _, requests in services.queue.published for request in requests]


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ({}, NOW.isoformat()),
        ({"timestamp": ""}, NOW.isoformat()),
        ({"timestamp": "2026-05-20T14:30:00+02:00", "timezone": "America/New_York"}, "2026-05-20T12:30:00+00:00"),
        ({"timestamp": "2026-05-20"}, "2026-05-20T00:00:00+00:00"),
        ({"timestamp": "2026-05-20", "timezone": "Europe/Berlin"}, "2026-05-19T22:00:00+00:00"),
        ({"timestamp": "2026-05-20T14:30", "timezone": "Europe/Berlin"}, "2026-05-20T12:30:00+00:00"),
        ({"timestamp": "2026-05-20 14:30:05.5"}, "2026-05-20T14:30:05.500000+00:00"),
        ({"timestamp": 1_779_280_200}, "2026-05-20T12:30:00+00:00"),
        ({"timestamp": "2026-10-25T02:30", "timezone": "Europe/Berlin"}, "2026-10-25T00:30:00+00:00"),
    ],
)
def test_a_time_is_read_in_each_common_form_and_defaults_to_now(arguments: dict[str, Any], meant: str) -> None:
    assert _accepted(FakeServices(), "ingest_memory", content="tea", **arguments) == [meant]


def test_each_memory_of_a_batch_has_its_own_time() -> None:
    memories = [{"content": "a"}, {"content": "b", "timestamp": "2026-05-20", "timezone": "Asia/Tokyo"}]
    assert _accepted(FakeServices(), "ingest_memories", memories=memories) == [
        NOW.isoformat(),
        "2026-05-19T15:00:00+00:00",
    ]


@pytest.mark.parametrize("time_text", ["yesterday", "20.5.2026", "2026-02-30", "2026-05-20T25:00", "14:30", "2026"])
def test_an_invalid_time_is_refused_with_the_accepted_forms(time_text: str) -> None:
    assert error_of(FakeServices(), "ingest_memory", content="tea", timestamp=time_text).startswith("timestamp must be")
