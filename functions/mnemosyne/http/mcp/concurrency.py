"""Places of one principal: some requests are served at a time, and the next ones wait a moment in their order."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import anyio

IN_FLIGHT = 20
"""Requests of one principal at a time: half of what Terraform lets an instance take."""
WAITING = 60
"""Most requests of one principal that wait. Their bodies are not read yet, so that each holds a connection alone."""
WAIT_SECONDS = 2.0
"""How long one waits. Agents call many tools in parallel, and the client of mcp 1.30 loses all that meet a 429."""


class Places:
    """Places of principals. No principal waits for the requests of another."""

    def __init__(self, at_once: int = IN_FLIGHT, *, waiting: int = WAITING, seconds: float = WAIT_SECONDS) -> None:
        self.at_once = at_once
        self.waiting = waiting
        self._seconds = seconds
        self._of: WeakValueDictionary[str, anyio.CapacityLimiter] = WeakValueDictionary()

    @asynccontextmanager
    async def held(self, principal: str) -> AsyncIterator[bool]:
        """Hold a place until the context ends; yields False if too many requests wait or none ended in time."""
        limiter = self._of.setdefault(principal, anyio.CapacityLimiter(self.at_once))
        borrower = object()
        taken = await self._take(limiter, borrower)
        try:
            yield taken
        finally:
            if taken:
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
