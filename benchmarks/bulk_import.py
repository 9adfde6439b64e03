"""How fast `mnemosyne import` is beside the `ingest` function's own rate: both in one run, by turns.

    python benchmarks/bulk_import.py [--memories 6000] [--rounds 3]

`ingest` alone is given messages of 100 that wait for it; the importer reads a file, publishes it, and follows every
memory to its outcome.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from mnemosyne.domain.memory import IngestRequest
from mnemosyne.ids import issue_request_id
from mnemosyne.services import ConfiguredServices
from mnemosyne_cli import formats, importer
from mnemosyne_cli.destinations import OverPubSub
from mnemosyne_cli.journal import Journal
from mnemosyne_cli.local import stack
from mnemosyne_cli.local.data_dir import DataDir

RESULTS = Path(__file__).parent / "results"
WORDS = ["tea", "coffee", "garden", "river", "project", "budget", "meeting", "review", "mountain", "index", "query"]


def main() -> None:
    """Measure and print; the figures also go to benchmarks/results/bulk_import.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=6000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ.pop("PUBSUB_EMULATOR_HOST", None)
    ratios = []
    with (
        tempfile.TemporaryDirectory(prefix="mnemosyne-bench-") as home,
        stack.ingest_stack(DataDir.at(home)) as settings,
    ):
        system = ConfiguredServices(settings)
        _ingest(system, _contents("warm", 300))
        for number in range(options.rounds):
            alone = _ingest(system, _contents(f"alone {number}", options.memories))
            imported = _import(system, _contents(f"imported {number}", options.memories), Path(home))
            ratios.append(imported / alone)
            print(f"round {number + 1}: ingest {alone:,.0f}/s, import {imported:,.0f}/s, ratio {ratios[-1]:.2f}")
    print(f"import makes {statistics.median(ratios):.2f} of ingest's own rate ({min(ratios):.2f} to {max(ratios):.2f})")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "bulk_import.json").write_text(json.dumps({"ratios": ratios}, indent=2))


def _contents(name: str, count: int) -> list[str]:
    return [f"{name} {n}: {' '.join(WORDS[(n * 7 + k * 3) % len(WORDS)] for k in range(12))}" for n in range(count)]


def _ingest(system: ConfiguredServices, contents: Sequence[str]) -> float:
    """Memories a second that `ingest` stores of what waits for it."""
    now = datetime.now(UTC)
    requests = [IngestRequest.of(issue_request_id("bench"), content=one, timestamp=now) for one in contents]
    before = system.memories.stats("bench").memories
    started = time.perf_counter()
    for at in range(0, len(requests), 100):
        system.queue.publish("bench", requests[at : at + 100])
    while system.memories.stats("bench").memories < before + len(contents):
        time.sleep(0.1)
    return len(contents) / (time.perf_counter() - started)


def _import(system: ConfiguredServices, contents: Sequence[str], home: Path) -> float:
    """Memories a second that an import follows to their outcome."""
    source = home / "source.jsonl"
    lines = (json.dumps({"content": one, "timestamp": "2026-05-20T12:00:00Z"}) for one in contents)
    source.write_text("\n".join(lines))
    destination = OverPubSub(system, "bench")
    journal = Journal(source, destination.name)
    started = time.perf_counter()
    importer.run(formats.read(source, "jsonl"), destination, journal, lambda count: None)
    taken = time.perf_counter() - started
    assert journal.totals().states["stored"] == len(contents)
    journal.finish()
    return len(contents) / taken


if __name__ == "__main__":
    main()
