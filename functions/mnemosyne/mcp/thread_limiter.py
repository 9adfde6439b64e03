"""Share the threads that run tools fairly between callers.

Each principal (authenticated caller) may use at most half of the threads at a time.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Literal, TypeVar
from weakref import WeakValueDictionary

from mnemosyne.domain.principal import LOCAL, Principal
from mnemosyne.mcp.workers import Workers

ResultT = TypeVar("ResultT")

LATEST = 0.1
"""Weight of the latest call in the moving average of calls' durations. The last ten calls have two thirds of the
weight."""


class ThreadLimiter:
    """Limits how many threads all callers may use together. One principal may use at most half of this number."""

    def __init__(self, threads: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._threads = threads
        self._clock = clock
        self._everybody = CountingSemaphore(threads)
        self._workers = Workers(threads)
        self._share = max(1, threads // 2)
        self._semaphores: WeakValueDictionary[str, CountingSemaphore] = WeakValueDictionary()
        self._seconds = 0.0

    async def run(self, principal: Principal, function: Callable[..., ResultT], *arguments: Any) -> ResultT:
        """Run a function in a thread. Wait until the caller may use a thread."""
        async with self._principal_limit(principal), self._everybody:
            return await self._workers.run(self._run_timed, function, arguments)

    def wait_seconds(self, principal: Principal) -> float:
        """Estimate how long the caller would wait for a thread, from the durations of recent calls."""
        semaphore = self._semaphores.get(principal.id)
        among_own = semaphore.waiting / self._share if semaphore else 0
        return max(among_own, self._everybody.waiting / self._threads) * self._seconds

    def _principal_limit(self, principal: Principal) -> AbstractAsyncContextManager[object]:
        """Return the semaphore that limits the principal's threads. The only user of a local server has no limit."""
        if principal is LOCAL:
            return nullcontext()
        return self._semaphores.setdefault(principal.id, CountingSemaphore(self._share))

    def _run_timed(self, function: Callable[..., ResultT], arguments: tuple[Any, ...]) -> ResultT:
        started = self._clock()
        try:
            return function(*arguments)
        finally:
            self._seconds += LATEST * (self._clock() - started - self._seconds)


class CountingSemaphore(asyncio.Semaphore):
    """A semaphore that counts its waiting callers. Callers acquire the semaphore in the order of their arrival.

    A task that acquires a free semaphore goes on at once. With anyio's limiter, it would first yield to other tasks.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.waiting = 0
        """Number of callers that wait."""

    async def acquire(self) -> Literal[True]:
        """Wait until fewer than `number` callers have the semaphore, and then acquire it."""
        self.waiting += 1
        try:
            return await super().acquire()
        finally:
            self.waiting -= 1
