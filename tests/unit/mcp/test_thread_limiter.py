"""The limiter of concurrent database calls: it bounds the number of waiting callers and their waiting time."""

import threading

import anyio
import anyio.to_thread
import pytest

from mnemosyne.domain.principal import LOCAL, Principal, Scope
from mnemosyne.mcp.thread_limiter import LATEST, ThreadLimiter
from tests.clock import StoppedClock

ADA, BOB = (Principal(id=name, namespace=name, scopes=frozenset({Scope.READ})) for name in ("ada", "bob"))


async def _wait_for_turn(limiter: ThreadLimiter, clock: StoppedClock, seconds: float) -> None:
    """Run a call that takes `seconds` seconds on the fake clock."""

    def pass_by() -> None:
        clock.now += seconds

    await limiter.run(LOCAL, pass_by)


def test_the_estimated_wait_is_the_queue_length_times_the_duration_of_recent_calls() -> None:
    clock = StoppedClock()
    limiter, running, release = ThreadLimiter(2, clock.monotonic), threading.Barrier(3), threading.Event()

    def hold() -> None:
        running.wait(20)
        assert release.wait(20)

    async def crowd() -> None:
        await _wait_for_turn(limiter, clock, 10.0)
        assert limiter.wait_seconds(BOB) == 0
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(limiter.run, LOCAL, hold)
            await anyio.to_thread.run_sync(running.wait, 20)
            for _ in range(6):
                group.start_soon(limiter.run, LOCAL, lambda: None)
            await anyio.wait_all_tasks_blocked()
            waited = limiter.wait_seconds(BOB)
            release.set()
        assert waited == pytest.approx(6 / 2 * 10.0 * LATEST)
        assert limiter.wait_seconds(BOB) == 0

    anyio.run(crowd)


def test_a_caller_s_queue_does_not_delay_other_callers() -> None:
    clock = StoppedClock()
    limiter, running, release = ThreadLimiter(4, clock.monotonic), threading.Barrier(3), threading.Event()

    def hold() -> None:
        running.wait(20)
        assert release.wait(20)

    async def crowd() -> None:
        await _wait_for_turn(limiter, clock, 10.0)
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(limiter.run, ADA, hold)
            await anyio.to_thread.run_sync(running.wait, 20)
            for _ in range(6):
                group.start_soon(limiter.run, ADA, lambda: None)
            await anyio.wait_all_tasks_blocked()
            hers, his = limiter.wait_seconds(ADA), limiter.wait_seconds(BOB)
            release.set()
        assert hers == pytest.approx(6 / 2 * 10.0 * LATEST)
        assert his == 0

    anyio.run(crowd)
