"""Startup and shutdown of an app on Cloud Run, and requests during shutdown."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from mnemosyne.errors import Misconfigured
from mnemosyne.http.common.lifespan import LifespanApp


@pytest.fixture(autouse=True)
def _sigterm() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


class Server:
    """A fake Uvicorn: handles SIGTERM and runs each request in a task."""

    def __init__(self, **hosted: Any) -> None:
        self.is_open = False
        self.opened = 0
        self.arrived = asyncio.Event()
        self.released = asyncio.Event()
        self.told_to_stop: list[bool] = []
        """For each time that the server was told to stop: whether the app's lifespan was still open."""
        self._stopped = asyncio.Event()
        signal.signal(signal.SIGTERM, self._stop)
        self._hosted = LifespanApp(self._build, **hosted)

    def _build(self) -> Starlette:
        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            self.is_open, self.opened = True, self.opened + 1
            try:
                yield
            finally:
                self.is_open = False

        async def quick(request: Request) -> Response:
            return PlainTextResponse(f"open: {self.is_open}")

        async def slow(request: Request) -> Response:
            self.arrived.set()
            await self.released.wait()
            return await quick(request)

        async def stream(request: Request) -> Response:
            async def parts() -> AsyncIterator[str]:
                yield "first "
                self.arrived.set()
                await self.released.wait()
                yield "last"

            return StreamingResponse(parts())

        return Starlette(
            routes=[Route("/quick", quick), Route("/slow", slow), Route("/stream", stream)], lifespan=lifespan
        )

    def request(self, path: str) -> "asyncio.Task[Answer]":
        """Send a request."""
        return asyncio.create_task(_get(self._hosted, path))

    async def stopped(self) -> None:
        """Wait until the server has received the signal to stop."""
        await self._stopped.wait()

    def _stop(self, *_: object) -> None:
        self.told_to_stop.append(self.is_open)
        self._stopped.set()


class Answer:
    """The ASGI messages of one response."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.body = b""

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            assert not self.status, "a second response was started"
            self.status, self.headers = message["status"], dict(message["headers"])
        self.body += message.get("body", b"")


async def _get(app: ASGIApp, path: str) -> Answer:
    answer, messages = Answer(), [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if not messages:
            await asyncio.get_running_loop().create_future()
        return messages.pop()

    scope = {"type": "http", "method": "GET", "path": path, "headers": [], "query_string": b""}
    await app(scope, receive, answer.send)
    return answer


def _on_server(**hosted: Any) -> Callable[[Callable[[Server], Coroutine[Any, Any, None]]], Callable[[], None]]:
    """Run an asynchronous test with a server in its own event loop."""

    def decorate(test: Callable[[Server], Coroutine[Any, Any, None]]) -> Callable[[], None]:
        async def serve() -> None:
            await test(Server(**hosted))

        return lambda: asyncio.run(serve())

    return decorate


@_on_server()
async def test_a_request_that_arrives_after_sigterm_is_served_and_closes_its_connection(server: Server) -> None:
    assert b"connection" not in (await server.request("/quick")).headers
    signal.raise_signal(signal.SIGTERM)
    await asyncio.sleep(0)
    answer = await server.request("/quick")
    assert (answer.status, answer.body, answer.headers[b"connection"]) == (200, b"open: True", b"close")
    assert not server.told_to_stop


@_on_server()
async def test_a_request_that_runs_at_sigterm_finishes_before_the_server_is_stopped(server: Server) -> None:
    running = server.request("/slow")
    await server.arrived.wait()
    signal.raise_signal(signal.SIGTERM)
    for _ in range(20):
        assert (await server.request("/quick")).status == 200
    assert not server.told_to_stop
    server.released.set()
    answer = await running
    assert (answer.status, answer.body, answer.headers[b"connection"]) == (200, b"open: True", b"close")
    await server.stopped()


@_on_server()
async def test_a_request_that_arrives_while_the_server_stops_is_served(server: Server) -> None:
    await server.request("/quick")
    signal.raise_signal(signal.SIGTERM)
    await server.stopped()
    assert server.told_to_stop == [True]
    assert (await server.request("/quick")).body == b"open: True"


@_on_server(drain_seconds=0.0)
async def test_a_request_that_exceeds_the_deadline_gets_503_once(server: Server) -> None:
    running = server.request("/slow")
    await server.arrived.wait()
    signal.raise_signal(signal.SIGTERM)
    await server.stopped()
    server.released.set()  # messages that the app sends later are dropped
    answer = await running
    assert answer.status == 503
    assert (answer.headers[b"retry-after"], answer.headers[b"connection"]) == (b"1", b"close")
    assert b"shutting down: try again" in answer.body


@_on_server(drain_seconds=0.0)
async def test_a_response_that_has_started_is_not_replaced(server: Server) -> None:
    running = server.request("/stream")
    await server.arrived.wait()
    signal.raise_signal(signal.SIGTERM)
    await server.stopped()
    server.released.set()
    assert (await running).body == b"first last"


@_on_server()
async def test_a_second_sigterm_changes_nothing(server: Server) -> None:
    await server.request("/quick")
    signal.raise_signal(signal.SIGTERM)
    await asyncio.sleep(0)
    signal.raise_signal(signal.SIGTERM)
    await server.stopped()
    await server.request("/quick")
    assert server.told_to_stop == [True]


def test_startup_runs_once_and_shutdown_runs_when_the_event_loop_ends() -> None:
    servers: list[Server] = []

    @_on_server()
    async def serve(server: Server) -> None:
        servers.append(server)
        await asyncio.gather(*(server.request("/quick") for _ in range(5)))
        assert (server.is_open, server.opened) == (True, 1)

    serve()
    assert not servers[0].is_open


@_on_server()
async def test_a_client_that_disconnects_during_startup_does_not_fail_the_others(server: Server) -> None:
    first, second = server.request("/quick"), server.request("/quick")
    await asyncio.sleep(0)
    first.cancel()
    with suppress(asyncio.CancelledError):
        await first
    assert (await second).body == b"open: True"


@pytest.mark.parametrize("explains", [False, True])
def test_a_server_with_invalid_settings_answers_500_until_they_are_corrected(explains: bool) -> None:
    async def test() -> None:
        settings: list[str] = []

        def build() -> Starlette:
            if not settings:
                raise Misconfigured("MNEMOSYNE_TOPIC is not set")
            return Starlette(routes=[Route("/", lambda request: PlainTextResponse("served"))])

        hosted = LifespanApp(build, explains=explains)
        wrong = await _get(hosted, "/")
        settings.append("right")
        right = await _get(hosted, "/")
        assert (wrong.status, right.status) == (500, 200)
        assert (b"MNEMOSYNE_TOPIC is not set" in wrong.body) is explains

    asyncio.run(test())
