"""Threads that run functions for the event loop, with less CPU time per call than the threads of anyio."""

import asyncio
import contextvars
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

import anyio

ResultT = TypeVar("ResultT")


class Workers:
    """A pool of at most `threads` threads. They are started on demand, and end when this object is deleted."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._started = 0
        self._busy = 0
        self._calls = _Calls()
        weakref.finalize(self, _end_threads, self._calls, threads)

    async def run(self, function: Callable[..., ResultT], *arguments: Any) -> ResultT:
        """Run a function in a thread, with the context variables of the caller.

        Cancellation waits until the function has ended, because a thread cannot be stopped.
        """
        if self._busy >= self._started < self._threads:
            self._started += 1
            threading.Thread(target=_run_calls, args=(self._calls,), name="tool", daemon=True).start()
        call = _Call(function, arguments)
        self._busy += 1
        try:
            self._calls.put(call.run)
            await call.ended
        except asyncio.CancelledError:
            # The cancel scope protects `call.end()` from further cancellations. Only a cancelled call enters a scope,
            # because entering a scope takes as much CPU time as the switch to the thread.
            with anyio.CancelScope(shield=True):
                await call.end()
            raise
        finally:
            self._busy -= 1
        if call.error is not None:
            raise call.error
        return call.result  # type: ignore[no-any-return]


class _Call:
    """A call of a function in another thread. The future `ended` completes after `result` or `error` is set."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._function = function
        self._arguments = arguments
        self._context = contextvars.copy_context()
        self._loop = asyncio.get_running_loop()
        self._has_ended = False
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Call the function in the current thread."""
        try:
            self.result = self._context.run(self._function, *self._arguments)
        except BaseException as exc:  # noqa: BLE001 - raised again in the event loop
            self.error = exc
        try:
            self._loop.call_soon_threadsafe(self._mark_ended)
        except RuntimeError:  # the event loop is closed, so nobody waits for the result
            return

    async def end(self) -> None:
        """Wait until the function has ended. The future `ended` was cancelled, so a new future replaces it."""
        if not self._has_ended:
            self.ended = self._loop.create_future()
            await self.ended

    def _mark_ended(self) -> None:
        self._has_ended = True
        if not self.ended.done():
            self.ended.set_result(None)


class _Calls:
    """Queue of calls. For each call, a byte in a pipe wakes a waiting thread.

    Writing the byte releases the GIL, so that on one processor the woken thread runs at once. `queue.SimpleQueue` would
    wake the thread while the event loop holds the GIL, which costs four more switches between threads.
    """

    def __init__(self) -> None:
        self._calls: deque[Callable[[], None] | None] = deque()
        self._reader, self._writer = os.pipe()
        # Do not close the pipe at exit, because threads may still read from it.
        weakref.finalize(self, _close_descriptors, self._reader, self._writer).atexit = False

    def put(self, call: Callable[[], None] | None) -> None:
        """Append a call. None ends the thread that gets it."""
        self._calls.append(call)
        os.write(self._writer, b"\0")

    def get(self) -> Callable[[], None] | None:
        """Wait for a call, remove it from the queue, and return it."""
        os.read(self._reader, 1)
        return self._calls.popleft()


def _run_calls(calls: _Calls) -> None:
    while (call := calls.get()) is not None:
        call()
        del call  # an idle thread must not keep the last call's arguments in memory


def _end_threads(calls: _Calls, threads: int) -> None:
    for _ in range(threads):
        calls.put(None)


def _close_descriptors(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
