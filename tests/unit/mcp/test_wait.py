"""A call with `wait` returns when there is an outcome, or after `wait` seconds."""

from typing import Any

import anyio
import pytest

from mnemosyne.domain.principal import LOCAL, Principal, Scope
from mnemosyne.errors import Unavailable
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.thread_limiter import ThreadLimiter
from mnemosyne.mcp.tool import Reply, Result
from mnemosyne.mcp.tools.ingest import ingest_memory
from mnemosyne.mcp.wait import outcome_within, wait_of
from tests.fakes import FakeServices


def _waited(seconds: float, *looks: Reply | Exception | None) -> tuple[Reply | None, int]:
    """Wait for an outcome. Return the answer and the number of polls.

    `looks` has the result of each poll. All polls after these get the last result again.
    """
    calls = 0

    def look(accepted: Any, principal: Principal, services: Any) -> Reply | None:
        nonlocal calls
        calls += 1
        answer = looks[min(calls, len(looks)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def report(passed: float, seconds: float, state: str) -> None:
        assert 0 <= passed <= seconds

    async def run() -> Reply | None:
        return await outcome_within(seconds, look, {}, ThreadLimiter(1), LOCAL, FakeServices(), report)

    return anyio.run(run), calls


@pytest.mark.parametrize("looks", [(None, None), (None, Unavailable("the database is away"))])
def test_the_outcome_is_returned_by_the_first_poll_that_finds_it(looks: tuple[Exception | None, ...]) -> None:
    reply = Reply(Result())
    assert _waited(10, *looks, reply) == (reply, 3)


def test_without_an_outcome_the_call_ends_after_its_time() -> None:
    reply, looks = _waited(0.2, None)
    assert reply is None
    assert looks >= 1


@pytest.mark.parametrize(("value", "seconds"), [({}, 0), ({"wait": "5"}, 5), ({"wait": None}, 0), ({"wait": 2.5}, 2.5)])
def test_the_argument_wait_is_converted_if_it_is_unambiguous(value: dict[str, Any], seconds: float) -> None:
    assert wait_of(ingest_memory, {"content": "a"} | value) == seconds


def test_waiting_needs_the_read_scope() -> None:
    services = FakeServices()
    writer = Principal(id="w", namespace="w", scopes=frozenset({Scope.WRITE}))
    result = call(ingest_memory, {"content": "a", "wait": 1}, writer, services)
    assert "wait needs the scope read: leave wait out" in str(result.content[0])
    assert services.queue.published == []
