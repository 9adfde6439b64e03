"""Keep an ASGI app's lifespan open under functions-framework, which never enters it.

The framework imports the module before it forks and gives no start-up hook in the worker, so the first request
starts one task that owns the lifespan until the process is told to stop. A lifespan must be entered and left
by the same task, and once only: that is why a task owns it, and not the request that happened to come first.
"""

import asyncio
import gc
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from mnemosyne.errors import Misconfigured
from mnemosyne.observability import EventLog, flush

log = EventLog(__name__)

ARRIVAL_SECONDS = 0.5
"""How long after SIGTERM requests are still taken: one may have been routed here the moment before, and the server,
once told, closes its socket over what waits there."""
DRAIN_SECONDS = 6.0
"""Cloud Run gives ten between SIGTERM and SIGKILL."""


class Hosted(Response):
    """An ASGI app that opens the wrapped one's lifespan with its first request and closes it on SIGTERM.

    A Response by type, because that is what the framework awaits and Starlette's responses are ASGI apps.
    """

    def __init__(self, build: Callable[[], Starlette]) -> None:
        self._build = build
        self._app: Starlette | None = None
        self._ready: asyncio.Future[None] | None = None
        self._owner: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._in_flight = 0
        self._idle = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request once the lifespan is open."""
        self._in_flight += 1
        self._idle.clear()
        try:
            try:
                app: Any = await self._opened()
            except Misconfigured as exc:
                log.error("misconfigured", error=str(exc))
                app = PlainTextResponse("the server is misconfigured; its log says how\n", status_code=500)
            await app(scope, receive, send)
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()

    async def _opened(self) -> Starlette:
        ended = self._owner is not None and self._owner.done() and not self._stop.is_set()
        if self._ready is None or ended:
            self._app = _built(self._build)
            self._ready = asyncio.get_running_loop().create_future()
            self._owner = asyncio.create_task(self._own(self._app, self._ready))
            self._chain_sigterm()
        # Shielded: a client that goes away must not cancel what all the others wait for.
        await asyncio.shield(self._ready)
        if self._app is None:
            raise RuntimeError("the app was not built")
        return self._app

    async def _own(self, app: Starlette, ready: "asyncio.Future[None]") -> None:
        try:
            async with app.router.lifespan_context(app):
                ready.set_result(None)
                await self._stop.wait()
                if self._in_flight:
                    await asyncio.wait([asyncio.ensure_future(self._idle.wait())], timeout=DRAIN_SECONDS)
        except Exception as exc:
            if ready.done():
                raise
            ready.set_exception(exc)

    def _chain_sigterm(self) -> None:
        loop = asyncio.get_running_loop()
        previous: Any = signal.getsignal(signal.SIGTERM)

        def stop(number: int, frame: FrameType | None) -> None:
            def end() -> None:
                time.sleep(ARRIVAL_SECONDS)
                flush()
                loop.call_soon_threadsafe(self._stop.set)
                if callable(previous):
                    previous(number, frame)

            # Flushed first, because the server that is told next ends its process without running what stands at its
            # exit; and beside the loop, which has requests to take and to finish.
            threading.Thread(target=end, name="end").start()

        try:
            signal.signal(signal.SIGTERM, stop)
        except ValueError:
            return  # not the main thread, so not a server process of its own


def _built(build: Callable[[], Starlette]) -> Starlette:
    """Return the app, made without collecting garbage, of which imports leave none; what it consists of is
    never looked at.

    That is an eighth of the time to the first answer, and two thirds of the slowest later ones.
    """
    gc.disable()
    try:
        return build()
    finally:
        gc.freeze()
        gc.enable()
