"""Concurrent and waiting requests of one principal."""

import anyio

from mnemosyne.http.mcp.concurrency import ConcurrencyLimits


def test_a_burst_of_forty_requests_is_served_with_a_limit_of_twenty_at_a_time() -> None:
    served: list[bool] = []

    async def burst() -> None:
        limits = ConcurrencyLimits(seconds=3600)

        async def request() -> None:
            async with limits.acquire("ada") as slot:
                await anyio.lowlevel.checkpoint()
                served.append(slot)

        async with anyio.create_task_group() as group:
            for _ in range(40):
                group.start_soon(request)

    anyio.run(burst)
    assert served == [True] * 40


def test_a_request_beyond_the_limit_of_waiting_requests_is_refused() -> None:
    async def crowd() -> list[bool]:
        limits, slots = ConcurrencyLimits(1, waiting=1, seconds=3600), []
        async with limits.acquire("ada") as first, anyio.create_task_group() as group:

            async def wait() -> None:
                async with limits.acquire("ada"):
                    pass

            group.start_soon(wait)
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
            async with limits.acquire("ada") as third:
                slots = [first, third]
            group.cancel_scope.cancel()
        return slots

    assert anyio.run(crowd) == [True, False]


def test_a_request_that_waits_too_long_is_refused() -> None:
    async def crowd() -> list[bool]:
        limits = ConcurrencyLimits(1, seconds=0)
        async with limits.acquire("ada") as first, limits.acquire("ada") as second, limits.acquire("bob") as other:
            return [first, second, other]

    assert anyio.run(crowd) == [True, False, True]
