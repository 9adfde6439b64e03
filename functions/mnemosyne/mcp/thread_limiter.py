"""Share the threads that run tools fairly between callers."""

import time
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import anyio

from mnemosyne.domain.principal import LOCAL, Principal
from mnemosyne.mcp.workers import Workers

ResultT = TypeVar("ResultT")

LATEST = 0.1
"""Weight of the latest call in the moving average of durations: the last ten calls have two thirds of the weight."""


class Turns:
    """Limits the threads of all callers together, and each principal to half of them."""

    def __init__(self, threads: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._threads = threads
        self._clock = clock
        self._everybody = anyio.CapacityLimiter(threads)
        self._workers = Workers(threads)
        self._share = max(1, threads // 2)
        self._own: WeakValueDictionary[str, anyio.CapacityLimiter] = WeakValueDictionary()
        self._seconds = 0.0

    async def run(self, principal: Principal, function: Callable[..., ResultT], *arguments: Any) -> ResultT:
        """Run a function in a thread, once the caller may use one."""
        places: list[tuple[anyio.CapacityLimiter, object]] = []
        try:
            for limiter in self._limiters(principal):
                places.append((limiter, await _place(limiter)))
            return await self._workers.run(self._timed, function, arguments)
        finally:
            for limiter, borrower in reversed(places):
                limiter.release_on_behalf_of(borrower)

    def wait_seconds(self, principal: Principal) -> float:
        """Estimate how long the caller would wait for a thread, from the durations of recent calls."""
        own = self._own.get(principal.id)
        among_own = own.statistics().tasks_waiting / self._share if own else 0
        return max(among_own, self._everybody.statistics().tasks_waiting / self._threads) * self._seconds

    def _limiters(self, principal: Principal) -> tuple[anyio.CapacityLimiter, ...]:
        """Return the principal's own limit and the common limit. The only user of a local server has no own limit."""
        if principal is LOCAL:
            return (self._everybody,)
        own = self._own.get(principal.id)
        if own is None:
            own = self._own[principal.id] = anyio.CapacityLimiter(self._share)
        return own, self._everybody

    def _timed(self, function: Callable[..., ResultT], arguments: tuple[Any, ...]) -> ResultT:
        started = self._clock()
        try:
            return function(*arguments)
        finally:
            self._seconds += LATEST * (self._clock() - started - self._seconds)


async def _place(limiter: anyio.CapacityLimiter) -> object:
    """Take a place, and return its borrower. Without the first attempt, each call would give up its turn."""
    borrower = object()
    try:
        limiter.acquire_on_behalf_of_nowait(borrower)
    except anyio.WouldBlock:
        await limiter.acquire_on_behalf_of(borrower)
    return borrower
