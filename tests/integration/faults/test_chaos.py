"""Ten thousand memories through the topic while everything behind it fails."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.app.container import ConfiguredServices
from mnemosyne.cli import importer
from mnemosyne.cli.destinations import OverPubSub
from mnemosyne.cli.import_source import Source
from mnemosyne.cli.journal import Journal
from mnemosyne.formats.item import Item
from tests.fakes_wire.gemini import GeminiServer, error
from tests.integration.faults.conftest import Cloud
from tests.waiting import wait_until

pytestmark = pytest.mark.exhaustive  # each takes seconds to minutes, because processes are killed and frozen

COUNT = 10_000
SECONDS = 600.0
"""Not a wait but its end."""


class Hurried(OverPubSub):
    """Gives up following the requests where they take too long: the test must end."""

    def __init__(self, system: ConfiguredServices, namespace: str) -> None:
        super().__init__(system, namespace)
        self._deadline = time.monotonic() + SECONDS

    def pause(self, seconds: float = 0.0) -> None:
        assert time.monotonic() < self._deadline, f"not all are final within {SECONDS:.0f} s"
        super().pause()


def test_ten_thousand_memories_are_stored_once_each_while_everything_fails(cloud: Cloud, tmp_path: Path) -> None:
    items = (
        Item(f"line {n}", {"content": f"memory {n} of many", "timestamp": "2026-05-20T12:00:00Z"}) for n in range(COUNT)
    )
    final = 0
    failed_calls = 0

    def progress(more: int) -> None:
        nonlocal final
        final += more

    def fails_one_call_in_twenty(server: GeminiServer) -> tuple[int, Any] | None:
        nonlocal failed_calls
        if server.calls % 20:
            return None
        failed_calls += 1
        # The client itself repeats a 500; a wrong number of vectors sends the message back to the topic.
        return error(500, "boom") if failed_calls % 2 else (200, {"embeddings": []})

    plan: list[tuple[int, Callable[[], None]]] = [
        (500, cloud.kill_ingest),
        (2_000, cloud.restart_postgres),
        (3_500, cloud.kill_ingest),
        (5_000, cloud.restart_postgres),
        (7_000, cloud.kill_ingest),
    ]

    cloud.gemini.fault = fails_one_call_in_twenty
    with ThreadPoolExecutor(1) as pool:
        destination = Hurried(cloud.system, cloud.namespace)
        journal = Journal(tmp_path / "source", destination.name)
        importing = pool.submit(importer.run, items, Source("items"), destination, journal, progress)
        for count, fault in plan:
            wait_until(lambda count=count: final >= count, f"{count} are final", seconds=SECONDS)  # type: ignore[misc]
            fault()
        importing.result(timeout=SECONDS)
    assert +journal.totals().states == {"stored": COUNT}, list(journal.failures())[:3]
    assert final == COUNT == cloud.count()
    assert failed_calls >= 5
    told = cloud.told(COUNT)
    assert len({event["request_id"] for event in told}) == len(told) == COUNT
    assert {event["state"] for event in told} == {"stored"}
