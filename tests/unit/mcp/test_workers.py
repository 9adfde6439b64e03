"""Threads that run functions for the event loop, and the limiter of concurrent database calls."""

import gc
import threading
import weakref
from contextvars import ContextVar
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from mnemosyne.domain.principal import LOCAL, Principal, Scope
from mnemosyne.mcp.thread_limiter import LATEST, ThreadLimiter
from mnemosyne.mcp.workers import Workers
from tests.clock import StoppedClock

_name: ContextVar[str] = ContextVar("name", default="")


def test_a_function_has_the_context_of_its_caller() -> None:
    async def call() -> tuple[str, threading.Thread]:
        _name.set("ada")
        return await Workers(1).run(lambda: (_name.get(), threading.current_thread()))

    name, thread = anyio.run(call)
    assert name == "ada"
    assert thread is not threading.current_thread()


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("x"), SystemExit(1)], ids=repr)
def test_an_error_is_raised_in_the_caller(error: BaseException) -> None:
    def fail() -> None:
        raise error

    async def call() -> None:
        workers = Workers(1)
        with pytest.raises(type(error)) as caught:
            await workers.run(fail)
        assert caught.value is error
        assert await workers.run(lambda: "next") == "next"

    anyio.run(call)


def test_threads_are_started_on_demand_up_to_the_maximum() -> None:
    async def call() -> set[int]:
        workers, idents = Workers(2), set()
        barrier = threading.Barrier(2)

        def note(together: bool) -> None:
            idents.add(threading.get_ident())
            if together:
                barrier.wait(20)

        await workers.run(note, False)
        await workers.run(note, False)
        assert len(idents) == 1
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(workers.run, note, True)
        return idents

    assert len(anyio.run(call)) == 2


def test_cancellation_waits_for_the_function() -> None:
    begun, release, ended = threading.Event(), threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        assert release.wait(20)
        ended.set()

    async def cancel() -> None:
        workers = Workers(2)
        async with anyio.create_task_group() as group:
            group.start_soon(workers.run, hold)
            await workers.run(begun.wait, 20)
            group.cancel_scope.cancel()
            release.set()
        assert ended.is_set()

    anyio.run(cancel)


def test_the_threads_end_and_the_files_are_closed_with_their_object() -> None:
    async def call() -> None:
        thread = await Workers(1).run(threading.current_thread)
        gc.collect()
        thread.join(20)
        assert not thread.is_alive()

    anyio.run(call)
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(2):
        anyio.run(call)
        gc.collect()
    assert len(list(Path("/dev/fd").iterdir())) <= before


def test_an_idle_thread_keeps_no_arguments_alive() -> None:
    class Argument:
        pass

    async def call() -> None:
        workers, argument = Workers(1), Argument()
        alive = weakref.ref(argument)
        await workers.run(lambda value: None, argument)
        del argument
        await workers.run(lambda: None)
        gc.collect()
        assert alive() is None

    anyio.run(call)


ADA, BOB = (Principal(id=name, namespace=name, scopes=frozenset({Scope.READ})) for name in ("ada", "bob"))


@pytest.mark.parametrize(
    ("threads", "caller", "others_wait"), [(2, LOCAL, True), (4, ADA, False)], ids=["own machine", "other caller"]
)
def test_the_estimated_wait_is_the_length_of_the_queue_times_the_duration_of_recent_calls(
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
