"""Searches over HTTP, and the CPU time of the processes that answer them."""

import asyncio
import json

import psutil

from mnemosyne.domain.search import SearchMode

ATTEMPTS = 20


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
    """Send a request and read its answer. If the server is too busy (429), wait and send the request again.

    Raises RuntimeError if the answer is another error, or if the server is still too busy at the last attempt.
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


def call(question: str, token: str) -> bytes:
    """Return an HTTP request that makes one hybrid search. `token` is the bearer token of an API key."""
    params = {"name": "memory_search", "arguments": {"query": question, "mode": SearchMode.HYBRID.value}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    head = (
        "POST /mcp HTTP/1.1\r\nHost: localhost:8000\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n"
        f"Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
