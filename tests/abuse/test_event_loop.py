"""Nested, wide, repeated and huge JSON causes no internal error, no blocked event loop and no memory leak.

`ABUSE_REQUESTS` is the number of requests. `.ci/run noise` sends 50,000.
"""

import asyncio
import gc
import json
import os
import random
import time
from typing import Any

import httpx
import psutil

from mnemosyne.mcp.tools import by_name
from tests.abuse.conftest import headers
from tests.fakes import FakeServices

REQUESTS = int(os.environ.get("ABUSE_REQUESTS", "300"))
AT_ONCE = 8
TICK_SECONDS = 0.005
GROWTH_BYTES = 48 * 2**20
LEAVES: list[Any] = [None, True, 0, -1, 1e308, "", "x", "\u0000", "\U0001f600", "\ud800", [], {}, "2026-13-45", "%_\\"]


class Shapes:
    """Generator of request bodies; the same seed gives the same bodies."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def body(self) -> bytes:
        """Return one body. One body in two hundred has a size of some mebibytes."""
        size = 200_000 if self._random.random() < 0.005 else self._random.choice([3, 30, 300])
        kind = self._random.choice([self._nested, self._wide, self._doubled, self._raw])
        return kind(size)

    def _call(self, arguments: str) -> bytes:
        name = self._random.choice([*by_name()])
        call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s}}'
        text = call % (name, arguments)
        if self._random.random() < 0.1:
            text = "[" + ",".join([text] * self._random.randint(1, 5)) + "]"
        return text.encode("utf-8", "surrogatepass")

    def _leaf(self) -> str:
        return json.dumps(self._random.choice(LEAVES))

    def _nested(self, size: int) -> bytes:
        opening, closing = self._random.choice([("[", "]"), ('{"a":', "}"), ('{"query":[', "]}")])
        deep = opening * size + self._leaf() + closing * size
        return self._call(self._random.choice([deep, f'{{"query":{deep}}}', f'{{"metadata":{deep}}}']))

    def _wide(self, size: int) -> bytes:
        leaves = ",".join(self._leaf() for _ in range(min(size, 300))) or "0"
        many = ",".join([leaves] * (1 + size // 300))
        name = self._random.choice(["tags", "memories", "request_ids", "query", "unknown"])
        members = ",".join(f'"k{n}":{self._leaf()}' for n in range(min(size, 30_000)))
        return self._call(self._random.choice([f'{{"{name}":[{many}]}}', f"{{{members}}}"]))

    def _doubled(self, size: int) -> bytes:
        name = self._random.choice(["query", "content", "limit", "tags"])
        return self._call("{" + ",".join(f'"{name}":{self._leaf()}' for _ in range(min(size, 30_000) + 2)) + "}")

    def _raw(self, size: int) -> bytes:
        piece = self._random.choice([b"[],", b'{"', b"[", b'"', b'\\"', b"0,", b"\xff", b"9", b'{"a":1,'])
        return piece * size


def test_random_json_does_not_block_the_event_loop_or_leak_memory(app_of: Any, services: FakeServices) -> None:
    """The test measures the longest time for which a request blocks the event loop.

    A task on the event loop (the watchdog) wakes up again and again. The CPU time that the loop's thread uses between
    two wake-ups is the time for which other requests wait. Other processes on the machine do not change this figure.
    """
    longest, statuses = asyncio.run(_attacked(app_of(services, per_minute=0), services))
    assert not {status for status in statuses if status >= 500}, statuses
    assert longest < 1.0
    assert sum(statuses.values()) == REQUESTS


async def _attacked(app: Any, services: FakeServices) -> tuple[float, dict[int, int]]:
    statuses: dict[int, int] = {}
    numbers = iter(range(REQUESTS))
    longest = 0.0
    is_done = False

    async def watch() -> None:
        nonlocal longest
        before = time.thread_time()
        while not is_done:
            await asyncio.sleep(TICK_SECONDS)
            now = time.thread_time()
            longest, before = max(longest, now - before), now

    async def send(client: httpx.AsyncClient) -> None:
        for number in numbers:
            response = await client.post("/mcp", content=Shapes(number).body(), headers=headers())
            statuses[response.status_code] = statuses.get(response.status_code, 0) + 1
            services.queue.messages.clear()

    transport = httpx.ASGITransport(app, raise_app_exceptions=True)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://testserver", timeout=120) as client,
    ):
        for number in range(300):  # create all objects that are created only once, so that they do not count as growth
            await client.post("/mcp", content=Shapes(number).body(), headers=headers())
        gc.collect()
        resident = psutil.Process().memory_info().rss
        watching = asyncio.create_task(watch())
        await asyncio.gather(*(send(client) for _ in range(AT_ONCE)))
        is_done = True
        await watching
        gc.collect()
        grown = psutil.Process().memory_info().rss - resident
    print(f"longest hold of the loop {longest:.3f} s, memory grown by {grown / 2**20:.0f} MiB, statuses {statuses}")
    assert grown < GROWTH_BYTES
    return longest, statuses
