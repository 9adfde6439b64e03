"""Turns at the threads that run tools: who waits for whom, and for how long."""

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

from mnemosyne.domain.principal import LOCAL, Principal

ResultT = TypeVar("ResultT")

LATEST = 0.1
"""How much the latest call counts in what calls take: the last ten make up two thirds of it."""


class Turns:
    """So many threads for all callers together, and half of them at most for one principal, whose others wait."""

    def __init__(self, threads: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._threads = threads
        self._clock = clock
        self._everybody = anyio.CapacityLimiter(threads)
        self._share = max(1, threads // 2)
        self._own: WeakValueDictionary[str, anyio.CapacityLimiter] = WeakValueDictionary()
        self._seconds = 0.0

    async def run(self, principal: Principal, function: Callable[..., ResultT], *arguments: Any) -> ResultT:
        """Run the function in a thread, in that caller's turn."""
        async with self._turn(principal):
            return await anyio.to_thread.run_sync(self._timed, function, arguments, limiter=self._everybody)

    def wait_seconds(self, principal: Principal) -> float:
        """Seconds that the caller would wait for a thread, where calls take what they lately took."""
        own = self._own.get(principal.id)
        among_own = own.statistics().tasks_waiting / self._share if own else 0
        return max(among_own, self._everybody.statistics().tasks_waiting / self._threads) * self._seconds

    def _turn(self, principal: Principal) -> AbstractAsyncContextManager[object]:
        """Return a turn of that caller's own; whoever is alone on a machine takes all."""
        if principal is LOCAL:
            return nullcontext()
        own = self._own.get(principal.id)
        if own is None:
            own = self._own[principal.id] = anyio.CapacityLimiter(self._share)
        return own

    def _timed(self, function: Callable[..., ResultT], arguments: tuple[Any, ...]) -> ResultT:
        started = self._clock()
        try:
            return function(*arguments)
        finally:
            self._seconds += LATEST * (self._clock() - started - self._seconds)
