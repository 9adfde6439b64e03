"""A call that would wait too long for the database gets 429 with Retry-After at once."""

from typing import Any

import pytest
from starlette.testclient import TestClient

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
