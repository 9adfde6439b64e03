"""Serve MCP over standard input and output.

Unlike the SDK's transport, this transport also answers invalid lines, and requests that arrive just before the end of
the input.
"""

import io
import json
import os
from collections.abc import AsyncIterator
from typing import Any, BinaryIO

import anyio
import anyio.to_thread
import mcp_types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from mnemosyne.errors import InvalidRequest
from mnemosyne.mcp import jsonrpc

WITHOUT_HANDSHAKE = ("initialize", "ping", "server/discover")
HANDSHAKE_FIRST = (
    f"initialize must come first over stdio; or name a revision of 2026-07-28 or later in params._meta, as "
    f'"{mcp_types.PROTOCOL_VERSION_META_KEY}"'
)
LAST_ANSWERS_SECONDS = 30.0
"""Seconds to wait for pending answers after the input has ended."""
_LINE_ENDS = {ord(end): f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"}
"""Escapes of characters that JSON allows, but that Node's readline or Python's splitlines read as the end of a line."""


async def serve(server: Server[Any]) -> None:
    """Serve until the input has ended and all its requests are answered."""
    conversation = _Conversation(_take_standard_input())
    output = anyio.wrap_file(_take_standard_output())
    async with stdio_server(stdin=conversation, stdout=output) as (read, write):  # type: ignore[arg-type]
        conversation.begin(write)
        await server.run(read, conversation, server.create_initialization_options())


def _take_standard_input() -> BinaryIO:
    """Return standard input for this server alone. Child processes read the null device instead."""
    ours = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return ours


class _Lines(io.TextIOWrapper):
    """Text stream in which only line feeds end a line."""

    def write(self, text: str, /) -> int:
        """Write JSON.

        Some programs read not only line feeds but also other characters as the end of a line. The other characters are
        written as escapes.
        """
        return super().write(text.translate(_LINE_ENDS))


def _take_standard_output() -> _Lines:
    """Return standard output for this server alone. All other output of the process goes to standard error."""
    ours = os.dup(1)
    os.dup2(2, 1)
    return _Lines(os.fdopen(ours, "wb"), encoding="utf-8", newline="\n")


class _Conversation:
    """Passes valid lines on to the SDK's server, and writes the server's answers.

    This class answers invalid lines, because the SDK ignores them and the client would wait forever. At the end of the
    input, the SDK cancels pending requests. Therefore the SDK gets the end only after all requests are answered.
    """

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._write: Any = None
        self._started = anyio.Event()
        self._is_initialized = False
        self._pending: set[str] = set()
        self._response_sent = anyio.Event()

    def begin(self, write: Any) -> None:
        """Set the stream for answers, and let `__aiter__` begin to read lines."""
        self._write = write
        self._started.set()

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield each line that is a valid message."""
        await self._started.wait()
        while line := await anyio.to_thread.run_sync(self._source.readline, abandon_on_cancel=True):
            if not line.strip():
                continue
            try:
                payload = jsonrpc.read(line)
            except InvalidRequest as exc:
                await self._send_error(mcp_types.PARSE_ERROR, str(exc), None)
                continue
            batch = "there are no batches over stdio: send one request a line" if isinstance(payload, list) else None
            if problem := batch or jsonrpc.problem(payload):
                await self._send_error(mcp_types.INVALID_REQUEST, f"Invalid request: {problem}", jsonrpc.id_of(payload))
                continue
            if self._lacks_handshake(payload):
                await self._send_error(mcp_types.INVALID_REQUEST, HANDSHAKE_FIRST, jsonrpc.id_of(payload))
                continue
            jsonrpc.normalize(payload)
            self._track_request(payload)
            jsonrpc.complete_initialize(payload)
            # Encode the payload again, because the SDK cannot parse some lines that `jsonrpc.read` can parse.
            yield json.dumps(payload)
        with anyio.move_on_after(LAST_ANSWERS_SECONDS):
            while self._pending:
                self._response_sent = anyio.Event()
                await self._response_sent.wait()

    def _lacks_handshake(self, payload: dict[str, Any]) -> bool:
        """Whether a request arrives before the handshake and does not name its protocol revision."""
        method = payload.get("method")
        self._is_initialized |= method == "initialize"
        has_version = mcp_types.PROTOCOL_VERSION_META_KEY in jsonrpc.member(payload, "params", "_meta")
        return (
            "id" in payload
            and method is not None
            and not (self._is_initialized or has_version or method in WITHOUT_HANDSHAKE)
        )

    def _track_request(self, payload: dict[str, Any]) -> None:
        if "method" in payload and "id" in payload:
            self._pending.add(str(payload["id"]))
        if payload.get("method") == "notifications/cancelled":
            self._pending.discard(str(jsonrpc.member(payload, "params").get("requestId")))

    async def _send_error(self, code: int, message: str, identifier: str | int | None) -> None:
        error = mcp_types.ErrorData(code=code, message=message)
        await self._write.send(SessionMessage(mcp_types.JSONRPCError(jsonrpc="2.0", id=identifier, error=error)))

    async def send(self, item: SessionMessage) -> None:
        """Write a message from the server to the client."""
        await self._write.send(item)
        if isinstance(item.message, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError):
            self._pending.discard(str(item.message.id))
            self._response_sent.set()

    async def aclose(self) -> None:
        """Close the stream for answers."""
        await self._write.aclose()

    async def __aenter__(self) -> "_Conversation":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()
