"""Fill a store with a million memories and measure it.

`python -m infra.benchmarks.million --rows N --directory DIR` continues where an earlier run was interrupted, even by
SIGKILL. The database records each stored batch, and DIR/figures.json has the figures of each completed phase.
"""

import argparse
import itertools
import json
import math
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

from infra.benchmarks import million_measures as measures
from infra.benchmarks.corpus import texts
from infra.benchmarks.search import START
from mnemosyne.adapters.database import ingest_sql, memories_sql
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.insertion import insert_memories
from mnemosyne.adapters.embedders.offline import SPACE, OfflineEmbedder
from mnemosyne.cli.local import postgres
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.domain.chunking import embed_whole
from mnemosyne.domain.memory import IngestRequest, IngestState
from mnemosyne.ids import new_id

BATCH = 250
"""Number of memories in a transaction."""
WRITERS = 4
PARAGRAPHS = 20_000
"""Maximum number of different paragraphs. A memory consists of one or two paragraphs, a long memory of twenty."""
PREPARE: Final = """
CREATE SCHEMA IF NOT EXISTS benchmark;
CREATE TABLE IF NOT EXISTS benchmark.batches (
    number integer PRIMARY KEY, memories integer, seconds float, database_seconds float, python_seconds float
);
CREATE TABLE IF NOT EXISTS benchmark.origin AS SELECT pg_current_wal_lsn() AS lsn;
GRANT USAGE ON SCHEMA benchmark TO mnemosyne_ingest;
GRANT INSERT ON benchmark.batches TO mnemosyne_ingest
"""
RECORD: Final = """
INSERT INTO benchmark.batches VALUES (:number, :memories, :seconds, :database_seconds, :python_seconds)
"""
TENTHS: Final = """
SELECT sum(memories) AS memories, sum(seconds) AS seconds, sum(database_seconds) AS database_seconds,
    sum(python_seconds) AS python_seconds
FROM (SELECT *, ntile(10) OVER (ORDER BY number) AS tenth FROM benchmark.batches) AS batch
GROUP BY tenth ORDER BY tenth
"""
WAL: Final = "SELECT CAST(pg_current_wal_lsn() - lsn AS float) AS bytes FROM benchmark.origin"


@dataclass(frozen=True)
class Batch:
    """Memories of one namespace that one transaction stores. `first` is the number of the first memory."""

    number: int
    namespace: str
    first: int
    memories: int


def namespaces(rows: int) -> dict[str, int]:
    """Divide `rows` memories among five namespaces, and return the number in each. Most are in `large`."""
    parts = {"sessions": rows // 4, "long": rows // 50, "ten thousand": min(10_000, rows // 10)}
    parts["thousand"] = min(1_000, rows // 100)
    return {"large": rows - sum(parts.values()), **parts}


def plan(rows: int) -> list[Batch]:
    """Return the batches of all namespaces in a mixed order, which is the same in each run."""
    parts = [
        (namespace, first, min(BATCH, memories - first))
        for namespace, memories in namespaces(rows).items()
        for first in range(0, memories, BATCH)
    ]
    random.Random(7).shuffle(parts)
    return [Batch(number, *part) for number, part in enumerate(parts)]


def requests(batch: Batch, corpus: Sequence[str]) -> list[IngestRequest]:
    """Return the memories of a batch, which are the same in each run."""
    rng = random.Random(f"{batch.namespace} {batch.first}")
    paragraphs = (20,) if batch.namespace == "long" else (1, 2)
    return [
        IngestRequest.of(
            new_id(),
            content=f"{' '.join(rng.choices(corpus, k=rng.choice(paragraphs)))} ({n})",
            timestamp=START + timedelta(minutes=n),
            tags=[f"topic {n % 100}"],
            metadata={"page": n % 1_000},
            session=f"session {n // 25}" if batch.namespace == "sessions" else None,
        )
        for n in range(batch.first, batch.first + batch.memories)
    ]


class Writer:
    """Stores batches of memories through a database connection, and measures the time of each batch."""

    def __init__(self, server: postgres.EmbeddedPostgres, embedder: OfflineEmbedder, corpus: Sequence[str]) -> None:
        self._connection = connection_factory(server.url("ingest"), socket_timeout=None, statement_seconds=0)()
        self._process = int(self._connection.one("SELECT pg_backend_pid() AS pid")["pid"])
        self._connection.script(ingest_sql.CREATE_INCOMING)
        self._embedder, self._corpus = embedder, corpus

    def store(self, batch: Batch) -> None:
        """Store a batch. In the same transaction, record in the database how long this took."""
        began, python, database = time.perf_counter(), time.thread_time(), self._database_seconds()
        incoming = self._incoming(batch)
        stored: dict[str, object] = {"event": IngestState.STORED.value, "provenance": None, "differing": []}
        recorded = [
            {"request_id": request.request_id, "memory_id": memory_id, "content_hash": request.content_hash, **stored}
            for memory_id, request, _ in incoming
        ]
        connection = self._connection
        with connection.transaction():
            connection.run(memories_sql.ENTER_NAMESPACE, namespace=batch.namespace)
            insert_memories(connection, batch.namespace, incoming, recorded, SPACE.model, SPACE.dimension)
            connection.run(
                RECORD,
                number=batch.number,
                memories=batch.memories,
                seconds=time.perf_counter() - began,
                database_seconds=self._database_seconds() - database,
                python_seconds=time.thread_time() - python,
            )

    def _incoming(self, batch: Batch) -> list[tuple[Any, IngestRequest, Any]]:
        batch_requests = requests(batch, self._corpus)
        embed = self._embedder.for_namespace(batch.namespace).embed_documents
        vectors = embed_whole([request.embedded_text for request in batch_requests], self._embedder.chunk_limit, embed)
        return [(new_id(), request, each) for request, each in zip(batch_requests, vectors, strict=True)]

    def _database_seconds(self) -> float:
        return int(Path(f"/proc/{self._process}/schedstat").read_text().split()[0]) / 1e9

    def close(self) -> None:
        self._connection.close()


def import_memories(directory: DataDir, rows: int, show: Callable[[int], None]) -> dict[str, Any]:
    """Store the batches that are not stored yet. Return rates and CPU times of the whole import."""
    corpus = _corpus(directory, rows)
    with measures.opened(directory) as (server, owner):
        owner.script(PREPARE)
        stored = {row["number"]: row["memories"] for row in owner.run("SELECT * FROM benchmark.batches")}
        count = sum(stored.values())
        show(count)
        embedder, idle = OfflineEmbedder(directory.statistics), SimpleQueue[Writer]()
        for _ in range(WRITERS):
            idle.put(Writer(server, embedder, corpus))

        def store(batch: Batch) -> int:
            writer = idle.get()
            writer.store(batch)
            idle.put(writer)
            return batch.memories

        with ThreadPoolExecutor(WRITERS) as threads:
            futures = [threads.submit(store, batch) for batch in plan(rows) if batch.number not in stored]
            try:
                for future in as_completed(futures):
                    count += future.result()
                    show(count)
            finally:
                threads.shutdown(cancel_futures=True)  # this call waits for the batches that are being stored
        for _ in range(WRITERS):
            idle.get().close()
        return _import_figures(owner)


def _import_figures(owner: Connection) -> dict[str, Any]:
    """Return the import's rates and CPU times, by tenth of the batches. The time of an interruption does not count."""
    tenths = owner.run(TENTHS)
    memories = sum(tenth["memories"] for tenth in tenths)
    return {
        "memories": memories,
        "seconds": sum(tenth["seconds"] for tenth in tenths) / WRITERS,
        "memories_per_second": [tenth["memories"] * WRITERS / tenth["seconds"] for tenth in tenths],
        "database_cpu_ms": [1e3 * tenth["database_seconds"] / tenth["memories"] for tenth in tenths],
        "python_cpu_ms": [1e3 * tenth["python_seconds"] / tenth["memories"] for tenth in tenths],
        "wal_kb": owner.one(WAL)["bytes"] / 1e3 / memories,
    }


def _corpus(directory: DataDir, rows: int) -> list[str]:
    """Return the texts of the memories. The first call saves them in a file, because reading packages takes 30 s."""
    file = directory.path / "paragraphs.json"
    if not file.exists():
        write_json(file, texts(min(PARAGRAPHS, rows)))
    paragraphs: list[str] = json.loads(file.read_text())
    return paragraphs


def write_json(file: Path, value: object) -> None:
    """Replace a file in one step, so that a killed process does not leave an incomplete file."""
    new_file = file.with_suffix(".new")
    new_file.write_text(json.dumps(value, indent=2) + "\n")
    new_file.replace(file)


def progress(rows: int, every: float) -> Callable[[int], None]:
    """Return a function that prints the number of stored memories and their rate every `every` seconds."""
    printed, before = -math.inf, 0

    def show(count: int) -> None:
        nonlocal printed, before
        if (now := time.monotonic()) - printed > every:
            print(f"import: {count:,} of {rows:,}, {(count - before) / (now - printed):.0f} a second", flush=True)
            printed, before = now, count

    return show


def run(directory: DataDir, rows: int, phases: Mapping[str, Callable[[], object]]) -> dict[str, Any]:
    """Run the phases that are not complete, and return the figures of all phases."""
    file = directory.path / "figures.json"
    values: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"rows": rows}
    if values["rows"] != rows:
        raise SystemExit(f"--rows must be {values['rows']} in {directory.path}, got {rows}: choose another --directory")
    write_json(file, values)
    for name, phase in phases.items():
        if name not in values:
            print(f"{name}: begins", flush=True)
            began = time.monotonic()
            values[name] = phase()
            write_json(file, values)
            print(f"{name}: complete after {time.monotonic() - began:.0f} s", flush=True)
    return values


def report(figures: Mapping[str, Any]) -> str:
    """Return the figures of a complete run as tables in Markdown."""
    stored, sizes, searches, changes = (figures[name] for name in ("import", "sizes", "searches", "changes"))
    rates, processor = stored["memories_per_second"], stored["database_cpu_ms"]
    slow, vacuum = figures["rebuild in the memory of a local system"], figures["vacuum"]
    index = sizes["relations"]["memories_embedding"]
    disk = ", ".join(f"{each['bytes'] / 1e9:.2f} GB" for each in (sizes, changes["sizes"], vacuum["sizes"]))
    times = "{stop_seconds:.1f} s, {start_seconds:.1f} s, {first_search_seconds:.1f} s".format(**figures["restart"])
    rows = {
        "stored per second with all indexes, first and last tenth": f"{rates[0]:.0f}, {rates[-1]:.0f}",
        "CPU of the database per stored memory, first and last tenth": f"{processor[0]:.1f} ms, {processor[-1]:.1f} ms",
        "disk per memory, of this the HNSW index": f"{sizes['bytes'] / sizes['memories'] / 1e3:.1f} kB, "
        f"{index / sizes['memories'] / 1e3:.1f} kB",
        "build of the HNSW index with 2 GB, 256 MB": f"{figures['rebuild']['seconds']:.0f} s, {slow['seconds']:.0f} s",
        "memory of the database, of `mcp`": "{database:,.0f} MB, {mcp:,.0f} MB".format(**searches["memory_mb"]),
        **{
            f"{name}, p50 and p95": "{p50_ms:.0f} ms, {p95_ms:.0f} ms".format(**searches[name])
            for name in measures.LOADS
            if " in " not in name
        },
        "changed tags, deletions per second": "{updated_per_second:.0f}, {deleted_per_second:.0f}".format(**changes),
        "disk before 5 % changed and 5 % deleted, after, after VACUUM": disk,
        "stop, start, first search": times,
    }
    lines = [f"| {stored['memories']:,} memories | |", "|---|---|", *(f"| {name} | {rows[name]} |" for name in rows)]
    lines += ["", "| memories | dimension | vCPU | memory | SSD | US dollars a month |", "|---|---|---|---|---|---|"]
    for memories, dimension in itertools.product((10**6, 10**7, 10**8), (256, 768)):
        vm = measures.machine(memories, figures, dimension)
        lines.append(
            f"| {memories:,} | {dimension} | {vm.processors} | {vm.memory} GB | {vm.disk:,} GB | {vm.price:,.0f} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Run the benchmark and print its report. An interrupted run is continued by the same command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="number of memories [1000000]")
    parser.add_argument("--directory", required=True, help="data directory; it is created, and kept at the end")
    parser.add_argument("--searches", type=int, default=300, help="number of searches of each kind [300]")
    parser.add_argument("--every", type=float, default=60, help="seconds between two lines of progress [60]")
    arguments = parser.parse_args()
    directory, rows = DataDir.at(arguments.directory), arguments.rows
    store = measures.Store(directory, partial(_corpus, directory, rows), arguments.searches)
    phases: dict[str, Callable[[], object]] = {
        "import": lambda: import_memories(directory, rows, progress(rows, arguments.every)),
        **{name: partial(phase, store) for name, phase in measures.PHASES.items()},
    }
    try:
        print(report(run(directory, rows, phases)))
    except KeyboardInterrupt:
        print("interrupted: the same command continues", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
