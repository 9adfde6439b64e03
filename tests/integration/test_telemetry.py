"""Counters and latencies that functions export to an OpenTelemetry collector."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from mnemosyne.cli.local import functions
from mnemosyne.cli.local.data_dir import DataDir
from tests.fakes_wire.collector import Collector
from tests.forks import ForkedFunction
from tests.mcp_client import tool_call

WARNINGS_ONLY = {"MNEMOSYNE_LOG_LEVEL": "WARNING"}
INGEST = "ingest_memory"
CALLS: list[tuple[str, dict[str, Any]]] = [
    *((INGEST, {"content": f"zeppelin {n}", "timestamp": "2026-05-20T12:00:00Z"}) for n in range(3)),
    (INGEST, {"content": "x", "timestamp": "yesterday"}),
    ("list_memories", {}),
]
DELETION = ("delete_memory", {"id": "01890000-0000-7000-8000-000000000000"})


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """A collector that has the metrics of two instances of `mcp`, which have answered calls and have ended.

    The second instance has another name.
    """
    with Collector().serving() as serving:
        for calls, variables in (
            (CALLS, WARNINGS_ONLY),  # Calls that the log omits are counted, too.
            ([DELETION], {"OTEL_SERVICE_NAME": "memory-of-ours"}),
        ):
            directory = DataDir.at(str(tmp_path_factory.mktemp("instance")))
            _answer(calls, directory, OTEL_EXPORTER_OTLP_ENDPOINT=serving.url, **variables)
        yield serving


def _answer(calls: list[tuple[str, dict[str, Any]]], directory: DataDir, **variables: str) -> None:
    """Start `mcp` with an unavailable database and a working queue, call its tools, and end it as the platform does."""
    environment = {
        "MNEMOSYNE_DATABASE_URL": f"postgresql://u@/d?host={directory.path}",
        "MNEMOSYNE_TOPIC": f"file://{directory.queue}",
        "MNEMOSYNE_AUTH_MODE": "none",
        **variables,
    }
    function = ForkedFunction(
        "mcp", host="127.0.0.1", port=functions.free_port(), environment=environment, directory=directory
    )
    function.start()
    try:
        function.wait_ready()
        for call in calls:
            assert httpx.post(f"{function.url}/mcp", json=tool_call(*call), timeout=60).status_code == 200
    finally:
        function.ask_to_stop()  # The function then exports its remaining metrics, however slow the machine is.
        function.wait(60)
        function.stop()


def test_a_collector_gets_the_counts_and_durations_of_calls(collector: Collector) -> None:
    assert collector.count("mnemosyne.events", event="ingest_accepted") == 3
    assert collector.count("mnemosyne.events", event="tool_called", tool=INGEST, outcome="done") == 3
    assert collector.count("mnemosyne.events", event="tool_called", tool=INGEST, outcome="refused") == 1
    assert collector.count("mnemosyne.events", event="tool_called", tool="list_memories", outcome="unavailable") == 1
    event = {"event": "tool_called", "stage": "duration", "tool": INGEST}
    assert collector.count("mnemosyne.duration", **event) == 4
    assert 0 < collector.sum("mnemosyne.duration", **event) < 60


def test_each_instance_exports_its_counts_under_its_own_id(collector: Collector) -> None:
    instances = defaultdict[str, set[str]](set)
    for resource in collector.resources:
        instances[resource["service.name"]].add(resource["service.instance.id"])
    assert {name: len(ids) for name, ids in instances.items()} == {"mnemosyne": 1, "memory-of-ours": 1}
    assert instances["mnemosyne"] != instances["memory-of-ours"]


def test_no_metric_label_contains_a_memory_a_namespace_or_a_caller(collector: Collector) -> None:
    assert collector.counts
    names = {key for _, attributes in collector.counts for key, _ in attributes}
    assert names <= {"event", "tool", "action", "outcome", "state", "mode", "strategy", "stage"}
