"""Idle connections: a server that closes them early loses the requests that clients send at that moment."""

import asyncio
import signal
import socket

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from mnemosyne.http.common.lifespan import LifespanApp


async def _hello(request: Request) -> Response:
    return PlainTextResponse("hello")


async def _call(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """Send a request, and return the response; empty if the connection is closed instead."""
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    try:
        await reader.readuntil(b"\r\n\r\n")
        return await reader.readexactly(5)
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


@pytest.mark.parametrize("http", ["h11", "httptools"])
def test_an_idle_connection_is_not_closed_by_the_server_that_runs_the_app(http: str) -> None:
    """With these settings, the server (Uvicorn) closes idle connections at once, unless the app prevents it.

    The server of functions-framework would close them after 2 seconds.
    """

    async def run(listener: socket.socket) -> list[bytes]:
        hosted = LifespanApp(lambda: Starlette(routes=[Route("/", _hello)]))
        server = uvicorn.Server(uvicorn.Config(hosted, http=http, timeout_keep_alive=0, log_level="error"))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        first, second = [await asyncio.open_connection(*listener.getsockname()) for _ in range(2)]
        # Each connection is idle while the other one is used. So if the server had a timer that closes idle connections
        # at once, it would have fired.
        answers = [await _call(*connection) for connection in (first, second, first, second)]
        server.should_exit = True
        for _, writer in (first, second):
            writer.close()
        await serving
        return answers

    before = signal.getsignal(signal.SIGTERM)
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            assert asyncio.run(run(listener)) == [b"hello"] * 4
    finally:
        signal.signal(signal.SIGTERM, before)
