"""Threads that run functions for the event loop, with less CPU time per call than the threads of anyio."""

import asyncio
import contextvars
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

import anyio

ResultT = TypeVar("ResultT")
_Outcome = tuple[Any, BaseException | None]


class Workers:
    """At most `threads` threads, which are started on demand and end with this object."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._started = 0
        self._busy = 0
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        weakref.finalize(self, _stop, self._calls, threads)

    async def run(self, function: Callable[..., ResultT], *arguments: Any) -> ResultT:
        """Run a function in a thread, with the context variables of the caller.

        Cancellation by anyio waits until the function has ended, because a thread cannot be stopped.
        """
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()
        ended: asyncio.Future[_Outcome] = loop.create_future()

        def call() -> None:
            outcome = _outcome(context, function, arguments)
            try:
                loop.call_soon_threadsafe(_settle, ended, outcome)
            except RuntimeError:  # the event loop has been closed, so nobody waits
                return

        if self._busy >= self._started < self._threads:
            self._started += 1
            threading.Thread(target=_work, args=(self._calls,), name="tool", daemon=True).start()
        self._busy += 1
        try:
            self._calls.put(call)
            with anyio.CancelScope(shield=True):
                result, error = await ended
        finally:
            self._busy -= 1
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]


def _work(calls: "SimpleQueue[Callable[[], None] | None]") -> None:
    while (call := calls.get()) is not None:
        call()
        del call  # an idle thread must not keep the arguments alive


def _outcome(context: contextvars.Context, function: Callable[..., Any], arguments: tuple[Any, ...]) -> _Outcome:
    try:
        return context.run(function, *arguments), None
    except BaseException as exc:  # noqa: BLE001 - raised in the event loop
        return None, exc


def _settle(ended: "asyncio.Future[_Outcome]", outcome: _Outcome) -> None:
    if not ended.done():  # the event loop has cancelled the caller
        ended.set_result(outcome)


def _stop(calls: "SimpleQueue[Callable[[], None] | None]", threads: int) -> None:
    for _ in range(threads):
        calls.put(None)
