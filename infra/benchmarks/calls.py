"""Compare the CPU time of a tool call on Mnemosyne and on the MCP SDK's server, in two versions of MCP.

Mnemosyne's server uses fake services without a database, so that only the time for protocol, middleware, validation,
threads and logging is measured. The tool on the SDK's server does nothing. Each round sends the same requests to each
server, one after the other. The event loop and the number of processors (one) are the same as in a deployed function.
With two processors, the time until a thread begins to work on a call would differ from run to run, between 0 and 200
microseconds.
"""

import asyncio
import io
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

import mcp_types
import uvloop
from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from infra.benchmarks.figures import Figure
from mnemosyne.domain.memory import IngestStatus
from mnemosyne.domain.principal import LOCAL, ApiKey, Scope, hash_secret
from mnemosyne.http.mcp.access import Access
from mnemosyne.http.mcp.app import build_app
from mnemosyne.observability import configure_logging
from mnemosyne.service.authenticate import ApiKeyAuthenticator, Authenticator, NoAuthenticator
from tests.fakes import FakeServices

if TYPE_CHECKING:
    from mnemosyne.adapters.database.memories import MemoryStore

HOSTS = ("localhost:*",)
TOOL = "ingest_status"
ARGUMENTS = {"request_id": "0192f3a4-0000-7000-8000-000000000000"}
ANSWER: dict[str, Any] = {"requests": [{**ARGUMENTS, "state": "unknown", "attempts": 0}]}
REQUESTS = 50
COMPARISONS = {
    ("tools/call", "the bare SDK"): 1.3,
    ("tools/call with an API key", "the bare SDK"): None,
}
"""Pairs of measured apps, each with the goal for the ratio of their CPU times. None means that there is no goal."""
KEY_ID, SECRET = "0" * 12, "0" * 43
ERAS = {
    "2025-11-25": {},
    "2026-07-28": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    },
}


class _Empty:
    """An empty store without a database, so that only the call is measured."""

    namespace = LOCAL.namespace

    def statuses(self, request_ids: Sequence[UUID]) -> Mapping[UUID, IngestStatus]:
        return {}


class _Services(FakeServices):
    """Services that return the empty store for each namespace."""

    def memories_of(self, namespace: str) -> "MemoryStore":
        return cast("MemoryStore", _Empty())

    def known_quota(self, namespace: str) -> None:
        return None


def mnemosyne_server(authenticator: Authenticator) -> Starlette:
    """Return the ASGI app of the function `mcp`, with fake services and this authenticator."""
    access = Access(authenticator, per_minute=10**9, issuer="", allowed_hosts=HOSTS)
    return build_app(
        _Services(),
        threads=8,
        access=access,
        allowed_origins=(),
        warm=lambda: None,
        examine=list,
    )


def _api_key_authenticator() -> Authenticator:
    """Return an authenticator that accepts the API key of the measured requests, without a database."""
    now, scopes = datetime.now(UTC), frozenset({Scope.READ})
    key = ApiKey(
        id=KEY_ID, name="bench", namespace="bench", scopes=scopes, secret_hash=hash_secret(SECRET), created_at=now
    )
    return ApiKeyAuthenticator(lambda key_id: key, lambda: now)


def low_level_server() -> Starlette:
    """Return the SDK's server with a tool that returns immediately."""

    async def call(context: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        text = mcp_types.TextContent(type="text", text=json.dumps(ANSWER))
        return mcp_types.CallToolResult(content=[text], structured_content=ANSWER)

    return _app(Server("bare", on_call_tool=call, get_tool_input_schema=lambda name: None))


def _app(server: Any) -> Starlette:
    security = TransportSecuritySettings(allowed_hosts=list(HOSTS), allowed_origins=[])
    app: Starlette = server.streamable_http_app(stateless_http=True, json_response=True, transport_security=security)
    return app


def figures(rounds: int) -> list[Figure]:
    """Measure tool calls in both versions of MCP, on one processor (only on Linux), and return the figures."""
    configure_logging("INFO", io.StringIO())
    if sys.platform != "linux":
        return uvloop.run(measure_servers(rounds))
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    try:
        return uvloop.run(measure_servers(rounds))
    finally:
        os.sched_setaffinity(0, processors)


async def measure_servers(rounds: int) -> list[Figure]:
    """Measure tool calls to each server, in both versions of MCP. Raises RuntimeError if a call fails."""
    apps = {
        "tools/call": mnemosyne_server(NoAuthenticator()),
        "tools/call with an API key": mnemosyne_server(_api_key_authenticator()),
        "the bare SDK": low_level_server(),
    }
    results = []
    async with AsyncExitStack() as stack:
        for app in apps.values():
            await stack.enter_async_context(app.router.lifespan_context(app))
        for era in ERAS:
            costs: dict[str, list[float]] = defaultdict(list)
            for _ in range(rounds):
                for name, app in apps.items():
                    costs[name].append(await _cost(app, era))
            for (measured, other), goal in COMPARISONS.items():
                pairs = zip(costs[measured][1:], costs[other][1:], strict=True)
                results.append(Figure.of(f"{measured} / {other}, {era}", [a / b for a, b in pairs], goal))
    return results


async def _cost(app: Starlette, era: str) -> float:
    """Return the CPU seconds that an app takes for REQUESTS calls."""
    headers, body = _request(era)
    before = time.process_time()
    for _ in range(REQUESTS):
        await _post(app, headers, body)
    return time.process_time() - before


def _request(era: str) -> tuple[list[tuple[bytes, bytes]], bytes]:
    params: dict[str, Any] = {"name": TOOL, "arguments": ARGUMENTS} | ({"_meta": ERAS[era]} if ERAS[era] else {})
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = {
        "host": "localhost:8000",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "content-length": str(len(body)),
        "mcp-protocol-version": era,
        "authorization": f"Bearer mnk_{KEY_ID}_{SECRET}",
    }
    if ERAS[era]:
        headers |= {"mcp-method": "tools/call", "mcp-name": TOOL}
    return [(name.encode(), value.encode()) for name, value in headers.items()], body


async def _post(app: Starlette, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> None:
    arrived = [{"type": "http.request", "body": body, "more_body": False}]
    disconnect, messages = asyncio.Event(), []

    async def receive() -> Any:
        if arrived:
            return arrived.pop()
        await disconnect.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        messages.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": "/mcp", "raw_path": b"/mcp", "query_string": b"", "headers": list(headers), "state": {},
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000),
    }  # fmt: skip
    await app(scope, receive, send)
    if messages[0]["status"] != 200 or b'"isError":true' in messages[1]["body"]:
        raise RuntimeError(f"the call failed: {messages}")
