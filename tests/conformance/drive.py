"""Drive every tool with the Python client of whatever version runs this file; prints what was listed and called.

Usage: python drive.py URL auto|legacy|modern|1.x
"""

import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack
from typing import Any


async def connect(url: str, mode: str, exits: AsyncExitStack) -> Any:
    """A connected client, whichever of the package's interfaces it has."""
    if mode == "1.x":
        from mcp import ClientSession
        from mcp.client.streamable_http import streamablehttp_client  # type: ignore[attr-defined]  # before 2.0

        read, write, _ = await exits.enter_async_context(streamablehttp_client(url))
        session = await exits.enter_async_context(ClientSession(read, write))
        await session.initialize()
        return session
    from mcp.client.client import Client

    pinned = {"auto": "auto", "legacy": "legacy", "modern": "2026-07-28"}[mode]
    return await exits.enter_async_context(Client(url, mode=pinned))


async def drive(url: str, mode: str, others: dict[str, Any]) -> dict[str, Any]:
    """List the tools and call each."""
    called: list[str] = []
    async with AsyncExitStack() as exits:
        client = await connect(url, mode, exits)

        async def call(name: str, **arguments: Any) -> Any:
            result = await client.call_tool(name, arguments)
            assert not getattr(result, "is_error", getattr(result, "isError", False)), (name, result)
            called.append(name)
            if hasattr(result, "structured_content"):
                return result.structured_content
            if getattr(result, "structuredContent", None) is not None:
                return result.structuredContent
            return json.loads(result.content[0].text)  # clients from before structured content

        tools = [tool.name for tool in (await client.list_tools()).tools]
        content = f"the python client was here in {mode} {os.getpid()}"
        queued = await call("ingest_memory", content=content, timestamp="2026-05-20T12:00:00Z", tags=[mode])
        for _ in range(500):
            (status,) = (await call("ingest_status", request_id=queued["request_id"]))["requests"]
            if status["state"] != "queued":
                break
            await asyncio.sleep(0.02)
        assert status["state"] == "stored", status
        found = await call("memory_search", query=content, tags=[mode], limit=1)
        assert found["memories"][0]["id"] == status["memory_id"]
        await client.call_tool("retrieve_memories", {"query": content})
        await client.call_tool("get_memory", {"id": status["memory_id"]})
        await call("list_memories")
        for name, arguments in others.items():
            await call(name, **{k: status["memory_id"] if v == "ID" else v for k, v in arguments.items()})
        await client.call_tool("delete_memory", {"id": status["memory_id"]})
        called += ["retrieve_memories", "get_memory", "delete_memory"]
    return {"tools": tools, "called": sorted(set(called))}


if __name__ == "__main__":
    others = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
    sys.stdout.write(json.dumps(asyncio.run(drive(sys.argv[1], sys.argv[2], others))))
