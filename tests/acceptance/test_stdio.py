"""`mnemosyne stdio`: alone, and beside a running `dev` on the same memories."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

from tests.dev import COMMAND, DevServer


def _over_stdio(directory: Path, content: str) -> tuple[list[str], dict[str, Any]]:
    """List the tools, ingest, wait until stored, and search."""

    async def run() -> tuple[list[str], dict[str, Any]]:
        parameters = StdioServerParameters(command=str(COMMAND), args=["stdio", "--data-dir", str(directory)])
        async with Client(stdio_client(parameters)) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            arguments: dict[str, Any] = {"content": content, "timestamp": "2026-05-20T12:00:00Z"}
            queued = (await client.call_tool("ingest_memory", arguments)).structured_content
            assert queued
            for _ in range(500):
                answer = await client.call_tool("ingest_status", {"request_id": queued["request_id"]})
                assert answer.structured_content
                (status,) = answer.structured_content["requests"]
                if status["state"] != "queued":
                    break
                await asyncio.sleep(0.02)
            assert status["state"] == "stored"
            found = await client.call_tool("memory_search", {"query": content, "limit": 1})
            assert found.structured_content
            return names, found.structured_content

    return asyncio.run(run())


def test_alone_it_starts_all_it_needs_and_leaves_nothing_running() -> None:
    with tempfile.TemporaryDirectory(prefix="mnemosyne-stdio-") as home:
        directory = Path(home) / "data"
        names, found = _over_stdio(directory, "told over stdio")
        assert "memory_search" in names
        assert found["memories"][0]["content"] == "told over stdio"
        assert DevServer(Path(home)).processes() == []


def test_beside_dev_both_see_the_same_memories(own_dev: DevServer) -> None:
    own_dev.start()
    own_dev.outcome(own_dev.ingest("told over http"))
    _over_stdio(own_dev.directory / "data", "told over stdio beside dev")
    found = own_dev.call("memory_search", {"query": "told over stdio beside dev", "limit": 1})
    assert found["memories"][0]["content"] == "told over stdio beside dev"
    assert own_dev.outcome(own_dev.ingest("dev still stores"))["state"] == "stored"
