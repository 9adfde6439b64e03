"""Counters and latencies that a function exports to an OpenTelemetry collector."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mnemosyne.cli.local import functions
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.cli.local.functions import FunctionProcess
from tests.fakes_wire.collector import Collector
from tests.mcp_client import tool_call

WARNINGS_ONLY = {"MNEMOSYNE_LOG_LEVEL": "WARNING"}


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector().serving() as serving:
        yield serving


def _mcp(directory: DataDir, **variables: str) -> FunctionProcess:
    """Start `mcp` with an unavailable database and a working queue."""
    environment = {
        "MNEMOSYNE_DATABASE_URL": f"postgresql://u@/d?host={directory.path}",
        "MNEMOSYNE_TOPIC": f"file://{directory.queue}",
        "MNEMOSYNE_AUTH_MODE": "none",
        **variables,
    }
    return FunctionProcess(
        "mcp", host="127.0.0.1", port=functions.free_port(), environment=environment, directory=directory
    )


def _call(function: FunctionProcess, tool: str, arguments: dict[str, Any]) -> None:
    assert httpx.post(f"{function.url}/mcp", json=tool_call(tool, arguments), timeout=60).status_code == 200


def _end(function: FunctionProcess) -> None:
    """End the function as the platform does: it exports the remaining metrics, however slow the machine is."""
    function.ask_to_stop()
    function.wait(60)
    function.stop()


def test_a_collector_gets_the_counts_and_durations_of_calls(collector: Collector, tmp_path: Path) -> None:
    # Calls that the log omits are counted, too.
    function = _mcp(DataDir.at(str(tmp_path)), OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, **WARNINGS_ONLY)
    function.start()
    try:
        function.wait_ready()
        for n in range(3):
            _call(function, "ingest_memory", {"content": f"memory {n}", "timestamp": "2026-05-20T12:00:00Z"})
        _call(function, "ingest_memory", {"content": "x", "timestamp": "yesterday"})
        _call(function, "list_memories", {})
    finally:
        _end(function)
    assert collector.count("mnemosyne.events", event="ingest_accepted") == 3
    assert collector.count("mnemosyne.events", event="tool_called", tool="ingest_memory", outcome="done") == 3
    assert collector.count("mnemosyne.events", event="tool_called", tool="ingest_memory", outcome="refused") == 1
    assert collector.count("mnemosyne.events", event="tool_called", tool="list_memories", outcome="unavailable") == 1
    event = {"event": "tool_called", "stage": "duration", "tool": "ingest_memory"}
    assert collector.count("mnemosyne.duration", **event) == 4
    assert 0 < collector.sum("mnemosyne.duration", **event) < 60
    assert {resource["service.name"] for resource in collector.resources} == {"mnemosyne"}


def test_two_instances_export_separate_counts(collector: Collector, tmp_path: Path) -> None:
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_SERVICE_NAME": "memory-of-ours"}
    for name in ("one", "two"):
        function = _mcp(DataDir.at(str(tmp_path / name)), **variables)
        function.start()
        try:
            function.wait_ready()
            _call(function, "ingest_memory", {"content": "a", "timestamp": "2026-05-20T12:00:00Z"})
        finally:
            _end(function)
    assert len({resource["service.instance.id"] for resource in collector.resources}) == 2
    assert {resource["service.name"] for resource in collector.resources} == {"memory-of-ours"}


def test_no_metric_label_contains_a_memory_a_namespace_or_a_caller(collector: Collector, tmp_path: Path) -> None:
    function = _mcp(DataDir.at(str(tmp_path)), OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    function.start()
    try:
        function.wait_ready()
        _call(function, "ingest_memory", {"content": "zeppelin", "timestamp": "2026-05-20T12:00:00Z"})
        _call(function, "delete_memory", {"id": "01890000-0000-7000-8000-000000000000"})
    finally:
        _end(function)
    assert collector.counts
    names = {key for _, attributes in collector.counts for key, _ in attributes}
    assert names <= {"event", "tool", "action", "outcome", "state", "mode", "strategy", "stage"}
