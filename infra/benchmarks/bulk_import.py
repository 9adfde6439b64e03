"""Compare the rate of `mnemosyne import` with the rate of the `ingest` function, measured alternately.

The rate of `ingest` is the rate at which it stores queued messages of 100 memories. The rate of `mnemosyne import` is
measured from the start of the command, which reads a file and publishes the memories, to the outcome of every memory.
"""

import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from infra.benchmarks.figures import Figure
from mnemosyne.app.container import ConfiguredServices
from mnemosyne.cli import formats, import_source, importer
from mnemosyne.cli.destinations import PubSubDestination
from mnemosyne.cli.journal import Journal
from mnemosyne.cli.local import stack
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.ids import issue_request_id

WORDS = ["tea", "coffee", "garden", "river", "project", "budget", "meeting", "review", "mountain", "index", "query"]


def figures(count: int, rounds: int) -> list[Figure]:
    """Measure the rates of `mnemosyne import` and of `ingest`, and return the ratio of the rates.

    In each round, both store `count` memories.
    """
    os.environ.pop("PUBSUB_EMULATOR_HOST", None)
    ratios, firsts = [], []
    with (
        tempfile.TemporaryDirectory(prefix="mnemosyne-bench-") as home,
        stack.ingest_stack(DataDir.at(home)) as settings,
    ):
        system = ConfiguredServices(settings)
        _ingest(system, _contents("warm", 300))
        for number in range(rounds):
            alone = _ingest(system, _contents(f"alone {number}", count))
            before = system.memories_of("bench").stats().memories
            with ThreadPoolExecutor(1) as importing:
                started = time.perf_counter()
                rate = importing.submit(_import, system, _contents(f"imported {number}", count), Path(home))
                while system.memories_of("bench").stats().memories == before and not rate.done():
                    time.sleep(0.02)
                firsts.append(time.perf_counter() - started)
                ratios.append(rate.result() / alone)
    print(f"The first of an import is stored after {statistics.median(firsts):.2f} s, the latest {max(firsts):.2f} s")
    return [Figure.of("mnemosyne import / what ingest stores", ratios, 0.9, more_is_better=True)]


def _contents(name: str, count: int) -> list[str]:
    return [f"{name} {n}: {' '.join(WORDS[(n * 7 + k * 3) % len(WORDS)] for k in range(12))}" for n in range(count)]


def _ingest(system: ConfiguredServices, contents: Sequence[str]) -> float:
    """Return how many memories per second `ingest` stores from a queue that already has messages to store."""
    now = datetime.now(UTC)
    requests = [IngestRequest.of(issue_request_id("bench"), content=content, timestamp=now) for content in contents]
    before = system.memories_of("bench").stats().memories
    started = time.perf_counter()
    for at in range(0, len(requests), 100):
        system.queue.publish("bench", requests[at : at + 100])
    while system.memories_of("bench").stats().memories < before + len(contents):
        time.sleep(0.1)
    return len(contents) / (time.perf_counter() - started)


def _import(system: ConfiguredServices, contents: Sequence[str], home: Path) -> float:
    """Import the memories with `mnemosyne import`, and return how many it imports per second.

    The measured time ends when the outcome of the last memory is known.
    """
    source = home / "source.jsonl"
    lines = (json.dumps({"content": content, "timestamp": "2026-05-20T12:00:00Z"}) for content in contents)
    source.write_text("\n".join(lines))
    destination = PubSubDestination(system, "bench")
    journal = Journal(source, destination.name)
    started = time.perf_counter()
    importer.run(
        formats.read(source, "jsonl"), import_source.Source.at(source), destination, journal, lambda count: None
    )
    seconds = time.perf_counter() - started
    assert journal.totals().states["stored"] == len(contents)
    journal.finish()
    return len(contents) / seconds
