"""A caller that requests progress gets a stream; all others get plain JSON."""

from typing import Any

import anyio
import httpx
import pytest
from mcp.client.client import Client

from tests.dev import DevServer
from tests.mcp_client import tool_call

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


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


@pytest.mark.parametrize(
    ("meta", "accept", "kind"),
    [
        ({"progressToken": 1}, HEADERS["Accept"], "text/event-stream"),
        ({"progressToken": 1}, "application/json", "application/json"),
        ({}, HEADERS["Accept"], "application/json"),
    ],
)
def test_an_answer_is_a_stream_if_the_client_requests_progress_and_accepts_a_stream(
    dev: DevServer, meta: dict[str, Any], accept: str, kind: str
) -> None:
    body = tool_call("ingest_memory", {"content": f"streamed {meta} {accept}", "wait": 10})
    body["params"]["_meta"] = meta
    answer = httpx.post(dev.url, json=body, headers=HEADERS | {"Accept": accept}, timeout=30)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith(kind)
    assert '"stored"' in answer.text
