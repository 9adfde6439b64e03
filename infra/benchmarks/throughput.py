"""Compare the throughput of one `mcp` instance with the same SQL on eight raw connections.

The database runs on one core and all other processes on the other cores, like two machines. With a single core, both
share it.
"""

import asyncio
import json
import os
import queue
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import psutil

from infra.benchmarks.corpus import questions, texts
from infra.benchmarks.figures import Figure
from infra.benchmarks.search import fill, writing_bench
from mnemosyne.adapters.database import memories_sql, rows
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.embedders.offline import OfflineEmbedder
from mnemosyne.adapters.queues.local import LocalQueue
from mnemosyne.cli.local import functions, postgres, stack
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.domain.principal import LOCAL
from mnemosyne.domain.search import SearchMode, SearchQuery
from mnemosyne.ids import new_id
from mnemosyne.mcp.tools.search import RESPONSE_CHARACTERS

CONNECTIONS = 8
SEARCHERS = 64
ATTEMPTS = 20
WARM_SECONDS = 1.0
BATCH = 100


@dataclass(frozen=True)
class Load:
    """Result of a load: answers per second, median and 95th percentile in seconds, and CPU seconds per answer."""

    rate: float
    p50: float
    p95: float
    cpu: float = 0.0

    @classmethod
    def of(cls, took: Sequence[float], seconds: float, cpu: float = 0.0) -> "Load":
        """Compute the result from the seconds of each answer."""
        ordered = sorted(took)
        p95 = ordered[int(0.95 * len(ordered))]
        return cls(len(took) / seconds, statistics.median(took), p95, cpu / len(took))


def search_raw(connection: Connection, arguments: dict[str, Any]) -> None:
    """Find the candidates of one search, and read ten hits, without ranking."""
    candidates = rows.read_candidates(connection.one(memories_sql.FIND_CANDIDATES, **arguments)["candidates"])
    connection.one(
        memories_sql.READ_HITS,
        namespace=arguments["namespace"],
        ids=rows.uuid_array([row.id for row in candidates.rows[: arguments["limit"]]]),
        query=arguments["query"],
        as_of=None,
        characters=RESPONSE_CHARACTERS,
        explain=False,
    )


def over_raw_connections(
    connections: Sequence[Connection], statements: Sequence[dict[str, Any]], searchers: int, seconds: float
) -> Load:
    """Run searchers that share the connections. Each searcher makes one search at a time."""
    waiting: queue.SimpleQueue[float | None] = queue.SimpleQueue()
    took: list[float] = []
    begin = time.perf_counter() + WARM_SECONDS

    def work(connection: Connection, number: int) -> None:
        while (since := waiting.get()) is not None:
            search_raw(connection, statements[number % len(statements)])
            number += len(connections)
            now = time.perf_counter()
            if begin < now < begin + seconds:
                took.append(now - since)
            waiting.put(now)

    for _ in range(searchers):
        waiting.put(time.perf_counter())
    threads = [threading.Thread(target=work, args=(connection, n)) for n, connection in enumerate(connections)]
    for thread in threads:
        thread.start()
    time.sleep(WARM_SECONDS + seconds)
    while not waiting.empty():
        waiting.get()
    for _ in threads:
        waiting.put(None)
    for thread in threads:
        thread.join()
    return Load.of(took, seconds)


def over_http(mcp: functions.FunctionProcess, bodies: Sequence[bytes], searchers: int, seconds: float) -> Load:
    """Run searchers against the function, each with its own HTTP connection and one call at a time."""
    return asyncio.run(_over_http(mcp, bodies, searchers, seconds))


async def _over_http(mcp: functions.FunctionProcess, bodies: Sequence[bytes], searchers: int, seconds: float) -> Load:
    host, port = urlsplit(mcp.url).hostname, urlsplit(mcp.url).port
    took: list[float] = []
    begin = time.perf_counter() + WARM_SECONDS

    async def search(number: int) -> None:
        reader, writer = await asyncio.open_connection(host, port)
        while (since := time.perf_counter()) < begin + seconds:
            await exchange(reader, writer, bodies[number % len(bodies)])
            number += searchers
            if begin < time.perf_counter() < begin + seconds:
                took.append(time.perf_counter() - since)
        writer.close()

    async def cpu() -> float:
        await asyncio.sleep(WARM_SECONDS)
        before = cpu_seconds(mcp.pid)
        await asyncio.sleep(seconds)
        return cpu_seconds(mcp.pid) - before

    spent = asyncio.create_task(cpu())
    await asyncio.gather(*(search(n) for n in range(searchers)))
    return Load.of(took, seconds, await spent)


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
    """Send a request and read its answer. If the function is too busy, wait and repeat it, as a client does.

    Raises RuntimeError if the answer is an error.
    """
    for _ in range(ATTEMPTS):
        writer.write(request)
        status, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().rstrip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        answer = await reader.readexactly(int(headers["content-length"]))
        if status.split()[1] != "429":
            break
        await asyncio.sleep(float(headers["retry-after"]))
    if status.split()[1] != "200" or b'"isError":true' in answer:
        raise RuntimeError(f"{status}: {answer.decode()}")


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process and its descendants."""
    parent = psutil.Process(pid)
    return sum(sum(process.cpu_times()[:2]) for process in (parent, *parent.children(recursive=True)))


def call(question: str, mode: SearchMode, token: str = "") -> bytes:
    """Return the HTTP request of one search, with an API key's token if there is one."""
    params = {"name": "memory_search", "arguments": {"query": question, "mode": mode.value}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    credential = f"Authorization: Bearer {token}\r\n" if token else ""
    head = (
        "POST /mcp HTTP/1.1\r\nHost: localhost:8000\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n"
        f"{credential}Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def parameters(question: str, mode: SearchMode, embedder: OfflineEmbedder) -> dict[str, Any]:
    """Return the SQL parameters of the same search."""
    query = SearchQuery(query=question, mode=mode)
    return {
        "namespace": LOCAL.namespace,
        "mode": mode.value,
        "query": question,
        "vector": rows.vector_text(embedder.for_namespace(LOCAL.namespace).embed_query(question)),
        "model": embedder.model,
        "filters": rows.filters_json(query.filters),
        "limit": query.limit,
        "candidates": 100,
    }


@contextmanager
def system(size: int, rounds: int) -> Iterator[tuple[stack.Stack, OfflineEmbedder, list[str]]]:
    """Yield the whole system with `size` memories, and questions."""
    corpus = texts(size + rounds)
    with (
        tempfile.TemporaryDirectory(prefix="mnemosyne-bench-") as scratch,
        stack.full_stack(DataDir.at(scratch), host=functions.LOOPBACK, port=functions.free_port()) as running,
    ):
        embedder = OfflineEmbedder(running.directory.statistics)
        with writing_bench(running.database, embedder) as writers:
            fill(writers, {LOCAL.namespace: corpus[:size]})
        with _separate_cores(running.database.server.get_pid() or 0):
            yield running, embedder, questions(corpus[size:], rounds)


@contextmanager
def _separate_cores(postmaster: int) -> Iterator[None]:
    """Run the database's processes on one core, and this process and the functions on the others."""
    cores = os.sched_getaffinity(0)
    first = {min(cores)}
    rest = cores - first or first
    for process in psutil.Process().children(recursive=True):
        _pin(process.pid, rest)
    for process in (server := psutil.Process(postmaster), *server.children(recursive=True)):
        _pin(process.pid, first)
    _pin(os.getpid(), rest)
    try:
        yield
    finally:
        _pin(os.getpid(), cores)


def _pin(pid: int, cores: set[int]) -> None:
    for thread in psutil.Process(pid).threads():
        with suppress(ProcessLookupError):  # the thread has ended
            os.sched_setaffinity(thread.id, cores)


@contextmanager
def importing(running: stack.Stack) -> Iterator[None]:
    """Publish batches of memories faster than `ingest` can store them, until the context ends."""
    local, stop = LocalQueue(running.directory.queue), threading.Event()
    contents = texts(5_000, seed=13)

    def publish() -> None:
        number = 0
        while not stop.wait(0.01):
            if len(local.due(time.time(), 50, horizon=30)) < 50:
                batch = [f"{number} {n} {contents[(number * BATCH + n) % len(contents)]}" for n in range(BATCH)]
                now = datetime.now(UTC)
                local.publish(
                    "import", [IngestRequest.of(new_id(), content=content, timestamp=now) for content in batch]
                )
                number += 1

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        local.close()


def figures(size: int, rounds: int, seconds: float) -> list[Figure]:
    """Measure with `size` memories, `seconds` for each load."""
    ratios: dict[str, list[float]] = defaultdict(list)
    with system(size, 200) as (running, embedder, query_texts):
        mcp = running.functions[0]
        make = connection_factory(running.database.url(postgres.RUNTIME_USER))
        connections = [make() for _ in range(CONNECTIONS)]
        for mode in (SearchMode.SEMANTIC, SearchMode.HYBRID):
            statements = [parameters(question, mode, embedder) for question in query_texts]
            bodies = [call(question, mode) for question in query_texts]
            alone = over_http(mcp, bodies, 1, seconds)
            print(f"{mode.value}, one searcher: {alone.p50 * 1e3:.1f} ms, {alone.cpu * 1e3:.1f} ms of Python's CPU")
            for _ in range(rounds):
                raw = over_raw_connections(connections, statements, SEARCHERS, seconds)
                ours = over_http(mcp, bodies, SEARCHERS, seconds)
                ratios[f"{SEARCHERS} searchers / the same SQL, {mode.value}"].append(ours.rate / raw.rate)
                ratios[f"p95 of {SEARCHERS} searchers / the same SQL's, {mode.value}"].append(ours.p95 / raw.p95)
        for _ in range(rounds):
            quiet = over_http(mcp, bodies, CONNECTIONS, seconds)
            with importing(running):
                ratios["searches during an import / without"].append(
                    over_http(mcp, bodies, CONNECTIONS, seconds).rate / quiet.rate
                )
        for connection in connections:
            connection.close()
    results = []
    for name, values in ratios.items():
        less = name.startswith("p95")
        goal = 2.0 if less else 0.8 if "import" in name else 0.85
        results.append(Figure.of(f"{name}, {size:,}", values, goal, more_is_better=not less))
    return results
