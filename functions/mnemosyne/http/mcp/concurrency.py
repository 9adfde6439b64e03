"""Limit the concurrent requests of each principal. Further requests wait briefly, in the order of their arrival."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from weakref import WeakValueDictionary

from mnemosyne.mcp.thread_limiter import CountingSemaphore

IN_FLIGHT = 20
"""Maximum number of concurrent requests of one principal. This is half of an instance's concurrency in Terraform."""
WAITING = 60
"""Maximum number of waiting requests of one principal. The body of a waiting request is not read yet, so the request
takes up only a connection."""
WAIT_SECONDS = 2.0
"""Maximum number of seconds for which a request waits. Requests wait, because agents call tools in parallel and the
client of mcp 1.30 loses calls that get 429."""


class ConcurrencyLimits:
    """Concurrency limits, one for each principal. No principal waits for another principal's requests."""

    def __init__(self, at_once: int = IN_FLIGHT, *, waiting: int = WAITING, seconds: float = WAIT_SECONDS) -> None:
        self.at_once = at_once
        self.waiting = waiting
        self.seconds = seconds
        self._of: WeakValueDictionary[str, CountingSemaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def acquire(self, principal: str) -> AsyncIterator[bool]:
        """Wait until the principal may run another request, and count it as running in the `with` block.

        Yields False if too many requests of the principal wait already, or if the request waits too long.
        """
        semaphore = self._of.setdefault(principal, CountingSemaphore(self.at_once))
        acquired = False
        if not semaphore.locked():
            acquired = await semaphore.acquire()
        elif semaphore.waiting < self.waiting:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.seconds):
                    acquired = await semaphore.acquire()
        try:
            yield acquired
        finally:
            if acquired:
                semaphore.release()
