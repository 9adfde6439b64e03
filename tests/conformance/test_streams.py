"""A caller that requests progress gets a stream; all others get plain JSON."""

from typing import Any

import anyio
import httpx
import pytest
from mcp.client.client import Client

from tests.dev import DevServer
from tests.mcp_client import tool_call


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
def test_a_call_that_waits_for_an_outcome_sends_progress_until_the_outcome(dev: DevServer, mode: str) -> None:
    progress_events: list[tuple[float, float | None, str | None]] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        progress_events.append((progress, total, message))

    async def run() -> Any:
        async with Client(dev.url, mode=mode) as client:
            arguments = {"content": f"waited for with progress in {mode}", "wait": 10}
            return await client.call_tool("ingest_memory", arguments, progress_callback=tell)

    result = anyio.run(run)
    assert result.structured_content["status"] == "stored"
    assert progress_events[0] == (0, 10, "queued")
    assert sorted(progress_events) == progress_events


def test_a_client_that_accepts_only_json_gets_json_even_if_it_asks_for_progress(dev: DevServer) -> None:
    body = tool_call("ingest_memory", {"content": "stored without a stream", "wait": 10})
    body["params"]["_meta"] = {"progressToken": 1}
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    answer = httpx.post(dev.url, json=body, headers=headers, timeout=30)
    assert answer.headers["content-type"].startswith("application/json")
    assert '"stored"' in answer.text
