"""Waiting requests: a limit for each principal, and 429 for a call that would wait too long for the database."""

from typing import Any

import anyio
import pytest
from starlette.testclient import TestClient

from mnemosyne.http.mcp.concurrency import ConcurrencyLimits
from mnemosyne.mcp.thread_limiter import ThreadLimiter
from tests.fakes import FakeServices
from tests.mcp_app import LIST, mcp_app
from tests.mcp_client import tool_call

SEARCH = tool_call("memory_search", {"query": "tea"})
INGEST = tool_call("ingest_memory", {"content": "tea", "timestamp": "2026-05-20T12:00:00Z"})


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An app with a busy database."""
    monkeypatch.setattr(ThreadLimiter, "wait_seconds", lambda limiter, principal: 7.2)
    with TestClient(mcp_app(FakeServices())) as opened:
        yield opened


@pytest.mark.parametrize("batch", [False, True])
def test_a_search_that_would_wait_too_long_gets_429_with_retry_after(client: TestClient, batch: bool) -> None:
    headers = {"MCP-Protocol-Version": "2025-03-26"}
    response = client.post("/mcp", json=[INGEST, SEARCH] if batch else SEARCH, headers=headers)
    assert (response.status_code, response.headers["retry-after"]) == (429, "8")
    assert "busy for the next 8 s; nothing was done" in response.json()["error"]["message"]


def test_requests_that_need_no_database_do_not_wait(client: TestClient) -> None:
    assert client.post("/mcp", json=INGEST).json()["result"]["isError"] is False
    assert client.post("/mcp", json=LIST).status_code == 200


def test_a_burst_of_forty_requests_is_served_with_a_limit_of_twenty_at_a_time() -> None:
    served: list[bool] = []

    async def burst() -> None:
        limits = ConcurrencyLimits(seconds=3600)

        async def request() -> None:
            async with limits.acquire("ada") as slot:
                await anyio.lowlevel.checkpoint()
                served.append(slot)

        async with anyio.create_task_group() as group:
            for _ in range(40):
                group.start_soon(request)

    anyio.run(burst)
    assert served == [True] * 40


def test_a_request_beyond_the_limit_of_waiting_requests_is_refused() -> None:
    async def crowd() -> list[bool]:
        limits, slots = ConcurrencyLimits(1, waiting=1, seconds=3600), []
        async with limits.acquire("ada") as first, anyio.create_task_group() as group:

            async def wait() -> None:
                async with limits.acquire("ada"):
                    pass

            group.start_soon(wait)
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
            async with limits.acquire("ada") as third:
                slots = [first, third]
            group.cancel_scope.cancel()
        return slots

    assert anyio.run(crowd) == [True, False]


def test_a_request_that_waits_too_long_is_refused() -> None:
    async def crowd() -> list[bool]:
        limits = ConcurrencyLimits(1, seconds=0)
        async with limits.acquire("ada") as first, limits.acquire("ada") as second, limits.acquire("bob") as other:
            return [first, second, other]

    assert anyio.run(crowd) == [True, False, True]
