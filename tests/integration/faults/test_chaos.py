"""Many memories are published while the function, the database and the embedder fail."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.app.container import ConfiguredServices
from mnemosyne.cli import importer
from mnemosyne.cli.destinations import PubSubDestination
from mnemosyne.cli.import_source import Source
from mnemosyne.cli.journal import Journal
from mnemosyne.formats.item import Item
from tests.fakes_wire.gemini import GeminiServer, error
from tests.integration.faults.conftest import Cloud
from tests.waiting import wait_until

pytestmark = pytest.mark.exhaustive  # each takes seconds to minutes, because processes are killed and frozen

SECONDS = 600.0
"""Time limit of a test, which usually ends much earlier."""


class Hurried(PubSubDestination):
    """Destination of an import that stops waiting for outcomes after a time limit, so that the test ends."""

    def __init__(self, system: ConfiguredServices, namespace: str) -> None:
        super().__init__(system, namespace)
        self._deadline = time.monotonic() + SECONDS

    def pause(self, seconds: float = 0.0) -> None:
        assert time.monotonic() < self._deadline, f"not all are final within {SECONDS:.0f} s"
        super().pause()


@pytest.mark.parametrize(
    ("count", "calls_per_failure", "kills", "restarts"),
    [
        (400, 2, (50, 250), (125,)),
        pytest.param(10_000, 20, (500, 3_500, 7_000), (2_000, 5_000), marks=pytest.mark.nightly),
    ],
)
def test_each_of_many_memories_is_stored_once_despite_faults_of_every_part(
    cloud: Cloud, tmp_path: Path, count: int, calls_per_failure: int, kills: tuple[int, ...], restarts: tuple[int, ...]
) -> None:
    items = (
        Item(f"line {n}", {"content": f"memory {n} of many", "timestamp": "2026-05-20T12:00:00Z"}) for n in range(count)
    )
    final = 0
    failed_calls = 0

    def progress(more: int) -> None:
        nonlocal final
        final += more

    def fails_now_and_then(server: GeminiServer) -> tuple[int, Any] | None:
        nonlocal failed_calls
        if server.calls % calls_per_failure:
            return None
        failed_calls += 1
        # Two kinds of faults: after a 500, the client repeats the call. After a wrong number of vectors, Pub/Sub
        # delivers the message again.
        return error(500, "boom") if failed_calls % 2 else (200, {"embeddings": []})

    plan: dict[int, Callable[[], None]] = dict.fromkeys(kills, cloud.kill_ingest)
    plan |= dict.fromkeys(restarts, cloud.restart_postgres)

    cloud.gemini.fault = fails_now_and_then
    with ThreadPoolExecutor(1) as pool:
        destination = Hurried(cloud.system, cloud.namespace)
        journal = Journal(tmp_path / "source", destination.name)
        importing = pool.submit(importer.run, items, Source("items"), destination, journal, progress)
        for final_count, fault in sorted(plan.items()):
            wait_until(lambda least=final_count: final >= least, f"{final_count} are final", seconds=SECONDS)  # type: ignore[misc]
            fault()
        importing.result(timeout=SECONDS)
    assert +journal.totals().states == {"stored": count}, list(journal.failures())[:3]
    assert final == count == cloud.count()
    assert failed_calls >= 2, "both kinds of faults occurred"
    announced = cloud.told(count)
    assert len({event["request_id"] for event in announced}) == len(announced) == count
    assert {event["state"] for event in announced} == {"stored"}
