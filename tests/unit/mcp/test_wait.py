"""A call with `wait` returns as soon as there is an outcome, and after its seconds at the latest."""

from typing import Any

import anyio
import pytest

from mnemosyne.domain.principal import LOCAL, Principal, Scope
from mnemosyne.errors import Unavailable
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.thread_limiter import Turns
from mnemosyne.mcp.tool import Reply, Result
from mnemosyne.mcp.tools.ingest import INGEST_MEMORY
from mnemosyne.mcp.wait import outcome_within, wait_of
from tests.fakes import FakeServices


def _waited(seconds: float, *looks: Reply | Exception | None) -> tuple[Reply | None, int]:
    """Return the answer and the number of looks. Looks after the last one give the same answer."""
    seen = 0

    def look(accepted: Any, principal: Principal, services: Any) -> Reply | None:
        nonlocal seen
        seen += 1
        answer = looks[min(seen, len(looks)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def report(passed: float, seconds: float, what: str) -> None:
        assert 0 <= passed <= seconds

    async def run() -> Reply | None:
        return await outcome_within(seconds, look, {}, Turns(1), LOCAL, FakeServices(), report)

    return anyio.run(run), seen


def test_the_outcome_is_told_at_the_first_look_that_sees_it() -> None:
    reply = Reply(Result())
    assert _waited(10, None, None, reply) == (reply, 3)


def test_without_an_outcome_nothing_is_told_after_the_time() -> None:
    reply, looks = _waited(0.2, None)
    assert reply is None
    assert looks >= 1


def test_a_database_that_is_away_ends_no_waiting_for_it_was_accepted() -> None:
    reply = Reply(Result())
    assert _waited(10, Unavailable("away"), reply) == (reply, 2)


@pytest.mark.parametrize(("given", "seconds"), [({}, 0), ({"wait": "5"}, 5), ({"wait": None}, 0), ({"wait": 2.5}, 2.5)])
def test_how_long_is_read_leniently(given: dict[str, Any], seconds: float) -> None:
    assert wait_of(INGEST_MEMORY, {"content": "a"} | given) == seconds


@pytest.mark.parametrize(
    ("wait", "said"),
    [
        (11, "wait must be between 0 and 10, got 11"),
        (-1, "wait must be between 0 and 10, got -1"),
        ("soon", "wait must be a number"),
    ],
)
def test_a_wait_that_cannot_be_is_refused_and_nothing_accepted(wait: Any, said: str) -> None:
    services = FakeServices()
    result = call(INGEST_MEMORY, {"content": "a", "wait": wait}, LOCAL, services)
    assert result.is_error
    assert said in str(result.content[0])
    assert services.queue.published == []


def test_who_may_not_read_cannot_wait() -> None:
    services = FakeServices()
    writer = Principal(id="w", namespace="w", scopes=frozenset({Scope.WRITE}))
    result = call(INGEST_MEMORY, {"content": "a", "wait": 1}, writer, services)
    assert "wait needs the scope read: leave it out" in str(result.content[0])
    assert services.queue.published == []
