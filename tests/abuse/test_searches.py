"""Expensive searches must not block the database."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest

from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.app import entry_points
from mnemosyne.cli.local import postgres
from mnemosyne.domain.chunking import ChunkLimit
from mnemosyne.domain.message import IngestMessage
from mnemosyne.errors import Unavailable
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.server import build_server
from mnemosyne.mcp.thread_limiter import ThreadLimiter
from mnemosyne.mcp.tool import principal_context
from mnemosyne.mcp.tools import by_name
from mnemosyne.service import ingest
from tests.fakes import FakeEmbedder, FakeServices, memories_in, request, store_of
from tests.mcp_app import CALLERS


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("memory_search", {"query": "a" * 501, "mode": "exact"}),
        ("exact_match_retrieve", {"content": "a" * 501}),
        ("memory_search", {"query": "a" * 10_001}),
        ("retrieve_memories", {"query": "a" * 10_001}),
        ("debug_retrieve", {"query": "a" * 10_001}),
    ],
)
def test_the_length_of_a_query_is_limited_for_each_mode(
    services: FakeServices, name: str, arguments: dict[str, Any]
) -> None:
    result = call(by_name()[name], arguments, CALLERS["ada"], services)
    assert result.is_error
    assert "must be at most" in str(result.content[0]) or "must have at most" in str(result.content[0])


def test_a_database_statement_of_a_tool_call_ends_after_five_seconds(
    cluster: postgres.EmbeddedPostgres, database: str
) -> None:
    assert entry_points.SEARCH_SECONDS == 5
    connection = connection_factory(cluster.url("mcp", database), statement_seconds=1)()
    broken: Any = "SELECT pg_sleep(20)"
    with pytest.raises(Unavailable, match="reached its time limit"):
        connection.run(broken)
    assert connection.run("SHOW statement_timeout") == [["1s"]]
    connection.close()


def test_the_slowest_exact_search_is_cancelled_and_other_callers_are_served(
    cluster: postgres.EmbeddedPostgres, database: str, store: MemoryStore
) -> None:
    embedder = FakeEmbedder()
    embedder.chunk_limit = ChunkLimit(characters=100_000)
    for n in range(8):
        message = IngestMessage("bob", (request(f"{n} {'a' * 99_000}"),))
        ingest.store(message, memories=store_of(store, "bob"), embedder=embedder)
    pool = Pool(connection_factory(cluster.url("mcp", database), statement_seconds=1), 8)
    services = FakeServices(memories_in(pool))
    worst = {"query": "a" * 499 + "b", "mode": "exact"}
    result = call(by_name()["memory_search"], worst, CALLERS["bob"], services)
    assert not result.is_error or "narrow the search by time or tags" in str(result.content[0])
    assert not call(by_name()["memory_search"], {"query": "tea"}, CALLERS["ada"], services).is_error
    pool.close()


def test_hints_for_a_short_memory_do_not_read_the_words_of_long_neighbours(
    cluster: postgres.EmbeddedPostgres, database: str, store: MemoryStore
) -> None:
    embedder = FakeEmbedder()
    embedder.chunk_limit = ChunkLimit(characters=100_000)
    texts = ["green tea on shelf 7", *(" ".join(f"{n}word{m:x}" for m in range(11_000)) for n in range(8))]
    message = IngestMessage("bob", tuple(map(request, texts)))
    ingest.store(message, memories=store_of(store, "bob"), embedder=embedder)
    pool = Pool(connection_factory(cluster.url("mcp", database), statement_seconds=1), 8)
    services = FakeServices(memories_in(pool))
    exact = {"query": "on shelf 7", "mode": "exact"}
    found = call(by_name()["memory_search"], exact, CALLERS["bob"], services).structured_content or {}
    result = call(by_name()["memory_history"], {"id": found["memories"][0]["id"]}, CALLERS["bob"], services)
    assert not result.is_error, result.content
    pool.close()


def test_one_principal_uses_at_most_half_of_the_database_threads(
    services: FakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mcp_types

    release, gate, running, peak = threading.Event(), threading.Lock(), {"ada": 0, "bob": 0}, {"ada": 0, "bob": 0}
    ada_runs_four, bob_runs = threading.Event(), threading.Event()
    find = MemoryStore.find_candidates

    def slow(store: MemoryStore, *arguments: Any, **options: Any) -> Any:
        """Count the running searches of each namespace, and hold each search until `release` is set."""
        namespace = store.namespace
        with gate:
            running[namespace] += 1
            peak[namespace] = max(peak[namespace], running[namespace])
            if peak["ada"] == 4:
                ada_runs_four.set()
        if namespace == "bob":
            bob_runs.set()
        release.wait(20)
        with gate:
            running[namespace] -= 1
        return find(store, *arguments, **options)

    monkeypatch.setattr(MemoryStore, "find_candidates", slow)

    async def crowd() -> None:
        server = build_server(services, database=ThreadLimiter(8))
        handler = server.get_request_handler("tools/call").handler  # type: ignore[union-attr]
        params = mcp_types.CallToolRequestParams(name="memory_search", arguments={"query": "tea"})

        async def ask(who: str) -> None:
            with principal_context(CALLERS[who]):
                await handler(None, params)  # type: ignore[arg-type]

        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(ask, "ada")
            assert await anyio.to_thread.run_sync(ada_runs_four.wait, 10)
            group.start_soon(ask, "bob")
            assert await anyio.to_thread.run_sync(bob_runs.wait, 10)  # Bob's search runs, although 20 calls of Ada wait
            release.set()

    anyio.run(crowd)
    assert peak["ada"] == 4


def test_concurrent_stores_in_one_namespace_do_not_wait_for_quota_counting(memories: MemoryStore) -> None:
    """Quota counting must not serialize the writes of a namespace."""

    def store_some(worker: int) -> None:
        for number in range(15):
            message = IngestMessage("ada", (request(f"{worker} {number} tea"),))
            ingest.store(message, memories=store_of(memories, "ada"), embedder=FakeEmbedder())

    begun = time.monotonic()
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(store_some, range(6)))
    assert store_of(memories, "ada").quota().memories == 90
    assert time.monotonic() - begun < 60  # a deadlock or a queue of lock timeouts would take longer
