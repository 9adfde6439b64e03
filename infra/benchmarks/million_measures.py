"""The phases of the benchmark `million` after the import, and the Cloud SQL machines that its results require."""

import asyncio
import math
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import psutil

from infra.benchmarks.corpus import questions
from infra.benchmarks.http_searches import call, cpu_seconds, exchange
from mnemosyne.adapters.database.api_keys import ApiKeyStore
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.memory_database import MemoryDatabase
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.embedders.offline import SPACE
from mnemosyne.cli.local import functions, postgres, stack
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.domain.principal import Scope
from mnemosyne.service.api_keys import new_key

SERVER_SETTINGS = "\nshared_buffers = '2GB'\nmax_wal_size = '4GB'\n"
"""Settings for a machine with 8 GB of memory. All other settings are as in a local system."""
WARM_UP = 30
LOADS = {
    "hybrid": ("large", 1),
    "hybrid with sessions": ("sessions", 1),
    "hybrid among long messages": ("long", 1),
    "hybrid in 10,000": ("ten thousand", 1),
    "hybrid in 1,000": ("thousand", 1),
    "hybrid, 64 searchers": ("large", 64),
}
"""Measured loads. Each has the namespace that is searched, and the number of clients that search concurrently."""
PAGE_BYTES = 8_192
# Ends all other connections. If an earlier run was killed, the server may still execute its transaction.
END_OTHERS: Final = """
SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""
SIZES: Final = """
SELECT relname AS name, pg_relation_size(oid) AS bytes,
    CASE WHEN reltoastrelid <> 0 THEN pg_total_relation_size(reltoastrelid) ELSE 0 END AS toast
FROM pg_class WHERE relnamespace = CAST('public' AS regnamespace) AND relkind IN ('r', 'i')
"""
COUNT: Final = "SELECT count(*) AS memories, (SELECT count(*) FROM memory_chunks) AS chunks FROM memories"
# Selects every twentieth memory, because each memory has a timestamp one minute after the previous memory's timestamp.
CHOSEN: Final = """
SELECT id FROM memories
WHERE namespace = 'large' AND mod(CAST(extract(epoch FROM "timestamp") / 60 AS bigint), 20) = :remainder
    AND NOT tag_keys @> ARRAY['changed']
"""


@dataclass(frozen=True)
class Store:
    """The data directory, a function that returns the paragraphs of text, and the number of searches to measure."""

    directory: DataDir
    corpus: Callable[[], list[str]]
    searches: int


@contextmanager
def opened(directory: DataDir) -> Iterator[tuple[postgres.EmbeddedPostgres, Connection]]:
    """Start the database server with SERVER_SETTINGS. Yield the server, and a connection as the owner of the schema."""
    file = directory.postgres / "postgresql.auto.conf"
    if not file.exists():
        with stack.database(directory, SPACE):
            pass
    if not file.read_text().endswith(SERVER_SETTINGS):
        with file.open("a") as settings:
            settings.write(SERVER_SETTINGS)
    with (
        stack.database(directory, SPACE) as server,
        closing(connection_factory(server.url(postgres.OWNER), socket_timeout=None, statement_seconds=0)()) as owner,
    ):
        owner.script(END_OTHERS)
        yield server, owner


def sizes(store: Store) -> dict[str, Any]:
    """Run VACUUM ANALYZE. Return the numbers of memories and chunks, and the bytes of each large table and index."""
    with opened(store.directory) as (_, owner):
        owner.script("VACUUM ANALYZE")
        return _sizes(owner)


def _sizes(owner: Connection) -> dict[str, Any]:
    relations: dict[str, int] = {}
    for row in owner.run(SIZES):
        relations[row["name"]] = row["bytes"]
        if row["toast"]:
            relations[f"{row['name']}, TOAST"] = row["toast"]
    total = sum(relations.values())
    largest = {name: size for name, size in sorted(relations.items(), key=lambda one: -one[1]) if size > total / 1000}
    return {**owner.one(COUNT).by_name, "bytes": total, "relations": largest}


def searches(store: Store) -> dict[str, Any]:
    """Search over HTTP. Return the milliseconds and CPU time of a search, and the memory that the processes use."""
    query_texts = questions(store.corpus(), store.searches + WARM_UP)
    figures: dict[str, Any] = {}
    with _running(store) as running:
        mcp = running.functions[0]
        server = running.database.server.get_pid() or 0
        for name, (namespace, searchers) in LOADS.items():
            token = _token(running, namespace)
            bodies = [call(question, token) for question in query_texts]
            asyncio.run(_search(mcp, bodies[:WARM_UP], 1))
            measured = bodies[WARM_UP:] * (1 if searchers == 1 else 4)
            before, began = (cpu_seconds(mcp.pid), cpu_seconds(server)), time.perf_counter()
            durations = asyncio.run(_search(mcp, measured, searchers))
            figures[name] = {
                "p50_ms": 1e3 * statistics.median(durations),
                "p95_ms": 1e3 * statistics.quantiles(durations, n=20)[-1],
                "per_second": len(durations) / (time.perf_counter() - began),
                "errors": len(measured) - len(durations),
                "python_cpu_ms": 1e3 * (cpu_seconds(mcp.pid) - before[0]) / len(durations),
                "database_cpu_ms": 1e3 * (cpu_seconds(server) - before[1]) / len(durations),
            }
        figures["memory_mb"] = {"database": _memory(server), "mcp": _memory(mcp.pid)}
    return figures


def _running(store: Store) -> AbstractContextManager[stack.Stack]:
    os.environ["MNEMOSYNE_RATE_LIMIT_PER_MINUTE"] = "0"  # no rate limit, because one caller makes all searches
    return stack.full_stack(store.directory, host=functions.LOOPBACK, port=functions.free_port(), auth_mode="api_key")


def _token(running: stack.Stack, namespace: str) -> str:
    now, scopes = datetime.now(UTC), frozenset({Scope.READ})
    key, token = new_key(name="benchmark", namespace=namespace, scopes=scopes, created_at=now, expires_at=None)
    ApiKeyStore(connection_factory(running.database.url(postgres.OWNER))).create(key)
    return token


async def _search(mcp: functions.FunctionProcess, bodies: Sequence[bytes], searchers: int) -> list[float]:
    """Send the searches from `searchers` concurrent clients. Return the seconds of each search without an error."""
    address, waiting = urlsplit(mcp.url), iter(bodies)
    durations: list[float] = []

    async def search() -> None:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        for body in waiting:
            since = time.perf_counter()
            try:
                await exchange(reader, writer, body)
                durations.append(time.perf_counter() - since)
            except RuntimeError:
                writer.close()
                await asyncio.sleep(1)  # a server that is too busy asks for this pause in Retry-After
                reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.close()

    await asyncio.gather(*(search() for _ in range(searchers)))
    return durations


def _memory(pid: int) -> float:
    """Return the megabytes of memory that a process and its descendants use. A shared page counts once (PSS)."""
    kilobytes = 0
    for process in ((parent := psutil.Process(pid)), *parent.children(recursive=True)):
        with suppress(FileNotFoundError, ProcessLookupError):
            lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
            kilobytes += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kilobytes / 1e3


def restart(store: Store) -> dict[str, Any]:
    """Stop and start the local database and server. Return the seconds of the stop, the start and the first search.

    The operating system's cache of files remains, so this is not the time after a start of the machine.
    """
    (question,) = questions(store.corpus(), 1)
    with ExitStack() as exits:
        token = _token(exits.enter_context(_running(store)), "large")
        times = [time.perf_counter()]
        exits.close()
        times.append(time.perf_counter())
        mcp = exits.enter_context(_running(store)).functions[0]
        times.append(time.perf_counter())
        (first,) = asyncio.run(_search(mcp, [call(question, token)], 1))
    return {"stop_seconds": times[1] - times[0], "start_seconds": times[2] - times[1], "first_search_seconds": first}


def rebuild(store: Store, memory: str) -> dict[str, Any]:
    """Rebuild the HNSW index with `memory` as maintenance_work_mem. Return the seconds and the bytes of the index."""
    with opened(store.directory) as (_, owner):
        owner.run("SELECT set_config('maintenance_work_mem', :memory, false)", memory=memory)
        began = time.perf_counter()
        owner.script("REINDEX INDEX memories_embedding")
        return {"seconds": time.perf_counter() - began, "bytes": _sizes(owner)["relations"]["memories_embedding"]}


def changes(store: Store) -> dict[str, Any]:
    """Tag 5 % of the largest namespace's memories, and delete another 5 %. Return the rates and the sizes afterwards.

    If an earlier run was interrupted in this phase, only the memories that it did not change are changed now, and the
    rates are computed from these.
    """
    figures: dict[str, Any] = {}
    with (
        opened(store.directory) as (server, owner),
        closing(Pool(connection_factory(server.url(postgres.RUNTIME_USER)), 1)) as pool,
    ):
        memories = MemoryStore(MemoryDatabase(pool, SPACE), "large")
        for name, remainder in (("updated", 3), ("deleted", 7)):
            ids = [row["id"] for row in owner.run(CHOSEN, remainder=remainder)]
            began = time.perf_counter()
            for start in range(0, len(ids), 100):
                part = ids[start : start + 100]
                if name == "updated":
                    memories.change_tags(part, added=["changed"], removed=[])
                else:
                    memories.delete_many(part)
            figures |= {name: len(ids), f"{name}_per_second": len(ids) / (time.perf_counter() - began)}
        return {**figures, "sizes": _sizes(owner)}


def vacuum(store: Store) -> dict[str, Any]:
    """Run VACUUM on the three large tables. Return the seconds that it takes, and the sizes afterwards."""
    with opened(store.directory) as (_, owner):
        began = time.perf_counter()
        owner.script("VACUUM memories, memory_chunks, memory_words")
        return {"seconds": time.perf_counter() - began, "sizes": _sizes(owner)}


PHASES: Mapping[str, Callable[[Store], object]] = {
    "sizes": sizes,
    "searches": searches,
    "restart": restart,
    "rebuild": lambda store: rebuild(store, "2GB"),
    "changes": changes,
    "vacuum": vacuum,
    "searches after the changes": searches,
    "rebuild in the memory of a local system": lambda store: rebuild(store, "256MB"),
}
"""The phases after the import, in order."""
PEAK = 10 * 100_000 / 86_400
"""Searches per second at the peak: ten times the mean rate of a deployment with 100,000 calls a day."""
BUSY = 0.6
"""Largest share of the processors' time that searches may use at the peak."""
SEARCHED = ("memories_embedding", "memory_chunks_embedding", "memory_words", "memory_words_keys", "memories_session")
"""Tables and indexes that hybrid searches read at random, so that they must fit in memory."""


@dataclass(frozen=True)
class Machine:
    """A Cloud SQL machine: processors, gigabytes of memory and of SSD."""

    processors: int
    memory: int
    disk: int

    @property
    def price(self) -> float:
        """Price in US dollars a month, for the Enterprise edition in europe-west1: docs/deployment.md, section Cost."""
        return self.processors * 30.15 + self.memory * 5.11 + self.disk * 0.17


def machine(memories: int, figures: Mapping[str, Any], dimension: int = SPACE.dimension) -> Machine:
    """Return the smallest machine for this many memories, computed from the measured bytes and CPU time in `figures`.

    The machine's memory (RAM) must be at least 2 GB plus 1.2 times the bytes that searches read at random. Cloud SQL
    offers even numbers of processors, with at most 6.5 GB of memory for each. The disk is 1.5 times as large as the
    data, because the WAL and the build of an index also need space.

    `dimension` is at most 1,000. If it is not the dimension of the measured embeddings, the bytes are computed from the
    layout of PostgreSQL's pages: a page has two rows of `memories` (01_storage.sql), or as many whole elements of the
    HNSW index as fit.
    """
    sizes, relations = figures["sizes"], figures["sizes"]["relations"]
    data, searched = sizes["bytes"], sum(relations.get(name, 0) for name in SEARCHED)
    if dimension != SPACE.dimension:
        index = (_element_bytes(dimension) - _element_bytes(SPACE.dimension)) * (sizes["memories"] + sizes["chunks"])
        data += sizes["memories"] * PAGE_BYTES / 2 - relations["memories"] + index
        searched += index
    factor = memories / sizes["memories"]
    memory = max(8, math.ceil(factor * searched * 1.2 / 1e9 + 2))
    searching = PEAK / BUSY * figures["searches"]["hybrid"]["database_cpu_ms"] / 1e3
    processors = max(2, 2 * math.ceil(max(searching, memory / 6.5) / 2))
    return Machine(processors, memory, max(10, math.ceil(factor * data * 1.5 / 1e9)))


def _element_bytes(dimension: int) -> float:
    """Return the bytes of an element of the HNSW index with m = 16, and of its neighbours on layer 0.

    The element and its neighbours are on one page: https://github.com/pgvector/pgvector/blob/master/src/hnsw.h.
    """
    element = math.ceil((80 + 2 * dimension) / 8) * 8
    return PAGE_BYTES / ((PAGE_BYTES - 32) // (element + 208))
