"""Limit concurrent requests per principal. Further requests wait briefly, first come, first served."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import anyio

IN_FLIGHT = 20
"""Maximum concurrent requests of one principal: half of an instance's concurrency in Terraform."""
WAITING = 60
"""Maximum waiting requests of one principal. Their bodies are not read yet, so each costs only a connection."""
WAIT_SECONDS = 2.0
"""Maximum seconds that a request waits. Agents call tools in parallel, and the client of mcp 1.30 loses calls that get
429."""


class ConcurrencyLimits:
    """Concurrency limits, one for each principal. No principal waits for requests of another."""

    def __init__(self, at_once: int = IN_FLIGHT, *, waiting: int = WAITING, seconds: float = WAIT_SECONDS) -> None:
        self.at_once = at_once
        self.waiting = waiting
        self._seconds = seconds
        self._of: WeakValueDictionary[str, anyio.CapacityLimiter] = WeakValueDictionary()

    @asynccontextmanager
    async def acquire(self, principal: str) -> AsyncIterator[bool]:
        """Count a request as running until the context ends.

        Yields False if too many requests wait, or if this one has waited too long.
        """
        limiter = self._of.setdefault(principal, anyio.CapacityLimiter(self.at_once))
        borrower = object()
        acquired = await self._take(limiter, borrower)
        try:
            yield acquired
        finally:
            if acquired:
                limiter.release_on_behalf_of(borrower)

    async def _take(self, limiter: anyio.CapacityLimiter, borrower: object) -> bool:
        try:
            limiter.acquire_on_behalf_of_nowait(borrower)
        except anyio.WouldBlock:
            if limiter.statistics().tasks_waiting >= self.waiting:
                return False
            with anyio.move_on_after(self._seconds) as waiting:
                await limiter.acquire_on_behalf_of(borrower)
            return not waiting.cancelled_caught
        return True
