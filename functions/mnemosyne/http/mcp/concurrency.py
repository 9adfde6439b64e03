"""Limit the concurrent requests of each principal. Further requests wait briefly, in the order of their arrival."""

import asyncio
from weakref import WeakValueDictionary

from mnemosyne.mcp.thread_limiter import CountingSemaphore

IN_FLIGHT = 20
"""Maximum number of concurrent requests of one principal. This is half of an instance's concurrency in Terraform."""
WAITING = 60
"""Maximum number of waiting requests of one principal. The body of a waiting request is not read yet, so it costs only
a connection."""
WAIT_SECONDS = 2.0
"""Maximum number of seconds for which a request waits. Requests wait, because agents call tools in parallel and the
client of mcp 1.30 loses calls that get 429."""


class ConcurrencyLimits:
    """Concurrency limits, one for each principal. No principal waits for requests of another."""

    def __init__(self, at_once: int = IN_FLIGHT, *, waiting: int = WAITING, seconds: float = WAIT_SECONDS) -> None:
        self.at_once = at_once
        self.waiting = waiting
        self.seconds = seconds
        self._of: WeakValueDictionary[str, CountingSemaphore] = WeakValueDictionary()

    def acquire(self, principal: str) -> "_Request":
        """Count a request as running until the context ends.

        Yields False if too many requests wait, or if this one has waited too long.
        """
        semaphore = self._of.get(principal)
        if semaphore is None:
            semaphore = self._of[principal] = CountingSemaphore(self.at_once)
        return _Request(self, semaphore)


class _Request:
    """Context manager of a request. It is a class, because a generator would take twice the CPU time."""

    def __init__(self, limits: ConcurrencyLimits, semaphore: CountingSemaphore) -> None:
        self._limits = limits
        self._semaphore = semaphore
        self._acquired = False

    async def __aenter__(self) -> bool:
        if not self._semaphore.locked():
            self._acquired = await self._semaphore.acquire()
        elif self._semaphore.waiting < self._limits.waiting:
            try:
                async with asyncio.timeout(self._limits.seconds):
                    self._acquired = await self._semaphore.acquire()
            except TimeoutError:
                pass
        return self._acquired

    async def __aexit__(self, *error: object) -> None:
        if self._acquired:
            self._semaphore.release()
