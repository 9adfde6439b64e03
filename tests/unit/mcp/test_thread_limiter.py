"""The limiter of concurrent database calls: it bounds the number of waiting callers and their waiting time."""

import threading

import anyio
import anyio.to_thread
import pytest

from mnemosyne.domain.principal import LOCAL, Principal, Scope
from mnemosyne.mcp.thread_limiter import LATEST, ThreadLimiter
from tests.clock import StoppedClock

ADA, BOB = (Principal(id=name, namespace=name, scopes=frozenset({Scope.READ})) for name in ("ada", "bob"))


@pytest.mark.parametrize(
    ("threads", "caller", "others_wait"), [(2, LOCAL, True), (4, ADA, False)], ids=["own machine", "other caller"]
)
def test_the_estimated_wait_is_the_caller_s_queue_length_times_the_duration_of_recent_calls(
    threads: int, caller: Principal, others_wait: bool
) -> None:
    """A caller uses at most half of four threads, so that its queue does not delay other callers."""
    clock = StoppedClock()
    limiter, running, release = ThreadLimiter(threads, clock.monotonic), threading.Barrier(3), threading.Event()
    expected = 6 / 2 * 10.0 * LATEST

    def take_ten_seconds() -> None:
        clock.now += 10.0

    def hold() -> None:
        running.wait(20)
        assert release.wait(20)

    async def crowd() -> None:
        await limiter.run(LOCAL, take_ten_seconds)
        assert limiter.wait_seconds(BOB) == 0
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(limiter.run, caller, hold)
            await anyio.to_thread.run_sync(running.wait, 20)
            for _ in range(6):
                group.start_soon(limiter.run, caller, lambda: None)
            await anyio.wait_all_tasks_blocked()
            waits = limiter.wait_seconds(caller), limiter.wait_seconds(BOB)
            release.set()
        assert waits == pytest.approx((expected, expected if others_wait else 0))
        assert limiter.wait_seconds(BOB) == 0

    anyio.run(crowd)
