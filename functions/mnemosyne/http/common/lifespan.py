"""Run an ASGI app with a lifespan under functions-framework, which does not run lifespans.

The framework imports the module before it forks, and has no start-up hook in the worker. Therefore the first request
starts a task that enters the lifespan and keeps it open until the server has stopped. A separate task is necessary,
because the same task must enter and leave the lifespan.
"""

import asyncio
import gc
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.types import Message, Receive, Scope, Send

from mnemosyne.errors import Misconfigured
from mnemosyne.http.common.errors import error_response
from mnemosyne.observability import EventLog, flush

log = EventLog(__name__)

ARRIVAL_SECONDS = 0.5
"""Seconds for which connections are accepted after SIGTERM, because the platform may have routed a request to this
instance just before SIGTERM."""
PAUSE_SECONDS = 0.05
"""Seconds for which the shutdown holds back new requests before it closes the listener. Meanwhile the event loop
accepts the connections in the kernel's queue, because closing the listener would reset these connections."""
UNREAD_SECONDS = 0.2
"""Seconds in which an accepted connection must send its request after the listener is closed."""
KEEP_ALIVE_SECONDS = 620
"""Seconds for which an idle connection stays open. By default, the framework's server closes it after two seconds, and
a client that sends its next request at this moment gets an error. Google's front ends reuse an idle connection for up
to 600 seconds: https://cloud.google.com/load-balancing/docs/https#timeouts_and_retries."""
DRAIN_SECONDS = 6.0
"""Seconds for which requests may run after SIGTERM. Cloud Run sends SIGKILL after ten seconds, and telemetry takes up
to three seconds."""


class LifespanApp(Response):
    """An ASGI app that enters the wrapped app's lifespan at the first request.

    If the app cannot be built from the settings, the response is an error. The response contains the reason only if
    `explains` is true. Only an app whose callers are operators sets `explains`.

    The class is a subclass of Response, because the framework serves the return value of a function as a Starlette
    response.
    """

    def __init__(
        self, build: Callable[[], Starlette], *, drain_seconds: float = DRAIN_SECONDS, explains: bool = False
    ) -> None:
        self._build = build
        self._explains = explains
        self._drain_seconds = drain_seconds
        self._app: Starlette | None = None
        self._ready: asyncio.Future[None] | None = None
        self._owner: asyncio.Task[None] | None = None
        self._exchanges: dict[asyncio.Task[Any], _Exchange] = {}
        self._shutdown: asyncio.Task[None] | None = None
        self._pause: asyncio.Event | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request. The first request opens the lifespan, and other requests wait until it is open."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a request is served outside of asyncio")
        exchange = self._exchanges[task] = _Exchange(send, closes=self._shutdown is not None)
        try:
            if self._pause is not None:
                await self._pause.wait()
            try:
                app: Any = await self._open_app()
            except Misconfigured as exc:
                log.fault("start_failed", exc)
                reason = str(exc) if self._explains else "the server is misconfigured; its log says how"
                app = PlainTextResponse(f"{reason}\n", status_code=500)
            await app(scope, receive, exchange.send)
        finally:
            del self._exchanges[task]

    async def _open_app(self) -> Starlette:
        if self._ready is None or self._owner is None or self._owner.done():
            self._app = _build_app(self._build)
            self._ready = asyncio.get_running_loop().create_future()
            self._owner = asyncio.create_task(self._run_lifespan(self._app, self._ready))
            stop_server = signal.getsignal(signal.SIGTERM)
            _keep_connections(getattr(stop_server, "__self__", None))
            self._chain_sigterm(stop_server)
        # Shield `_ready`, because all requests wait for it, and a client that disconnects must not cancel it.
        await asyncio.shield(self._ready)
        if self._app is None:
            raise RuntimeError("the app was not built")
        return self._app

    async def _run_lifespan(self, app: Starlette, ready: "asyncio.Future[None]") -> None:
        try:
            async with app.router.lifespan_context(app):
                ready.set_result(None)
                # Keep the lifespan open until the event loop is closed, because requests can arrive until then.
                await asyncio.get_running_loop().create_future()
        except Exception as exc:
            if ready.done():
                raise
            ready.set_exception(exc)

    def _chain_sigterm(self, stop_server: Any) -> None:
        loop = asyncio.get_running_loop()

        def begin() -> None:
            if self._shutdown is None:
                self._shutdown = loop.create_task(self._shut_down(stop_server))

        def handle(number: int, frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(begin)

        try:
            signal.signal(signal.SIGTERM, handle)
        except ValueError:
            return  # not the main thread, so this process is not a server and needs no shutdown

    async def _shut_down(self, stop_server: Any) -> None:
        """Stop accepting connections, let requests finish, send telemetry, and only then stop the server.

        The server stops last, because Uvicorn closes connections when it stops. Uvicorn then also closes connections
        that it has just accepted and from which it has not yet read a request.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._drain_seconds
        for exchange in self._exchanges.values():
            exchange.closes = True
        await asyncio.sleep(ARRIVAL_SECONDS)
        self._pause = asyncio.Event()
        await asyncio.sleep(PAUSE_SECONDS)
        for listener in getattr(getattr(stop_server, "__self__", None), "servers", ()):
            listener.close()
        self._pause.set()
        await asyncio.sleep(UNREAD_SECONDS)
        while self._exchanges and loop.time() < deadline:
            await asyncio.wait(list(self._exchanges), timeout=deadline - loop.time())
        for exchange in list(self._exchanges.values()):
            await exchange.give_up()
        # Send telemetry before the server stops, because the server ends its process without running exit handlers.
        await asyncio.to_thread(flush)
        if callable(stop_server):
            stop_server(signal.SIGTERM, None)


def _keep_connections(server: Any) -> None:
    """Keep idle connections of a Uvicorn server open for KEEP_ALIVE_SECONDS, including connections already open."""
    state = getattr(server, "server_state", None)
    for part in (getattr(server, "config", None), *getattr(state, "connections", ())):
        if hasattr(part, "timeout_keep_alive"):
            part.timeout_keep_alive = KEEP_ALIVE_SECONDS


class _Exchange:
    """Sends the response to one request. Until the app's response starts, `give_up` can send a 503 instead."""

    def __init__(self, send: Send, *, closes: bool) -> None:
        self._send = send
        self.closes = closes
        """Whether the response closes its connection, so that the client sends nothing more on it."""
        self._started = False
        self._given_up = False

    async def send(self, message: Message) -> None:
        """Pass an ASGI message from the app to the server, unless `give_up` has already responded."""
        if self._given_up:
            return
        self._started = True
        if self.closes and message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
        await self._send(message)

    async def give_up(self) -> None:
        """Respond 503 and discard the app's response. Do nothing if the app's response has already started."""
        if self._started:
            return
        self._given_up = True
        response = error_response(503, "the server is shutting down: try again", headers={"Retry-After": "1"})
        response.headers["Connection"] = "close"
        await self._send({"type": "http.response.start", "status": 503, "headers": response.raw_headers})
        await self._send({"type": "http.response.body", "body": response.body})


def _build_app(build: Callable[[], Starlette]) -> Starlette:
    """Build the app without garbage collection, and exempt its objects from later collections.

    The imports during the build leave no garbage, so a collection would only take time. Without collections, the time
    to the first response is an eighth shorter, and the slowest later responses take a third of the time that they take
    with collections.
    """
    gc.disable()
    try:
        return build()
    finally:
        gc.freeze()
        gc.enable()
