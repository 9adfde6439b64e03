"""Wait for the outcome of an ingest request. Between two polls, the wait uses no thread."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import anyio

from mnemosyne.domain.principal import Principal
from mnemosyne.errors import MnemosyneError
from mnemosyne.mcp.coerce import coerce_arguments
from mnemosyne.mcp.thread_limiter import ThreadLimiter
from mnemosyne.mcp.tool import Look, Reply, Tool
from mnemosyne.observability import EventLog
from mnemosyne.ports.services import Services

log = EventLog(__name__)

Report: TypeAlias = Callable[[float, float, str], Awaitable[None]]
"""Function that reports progress to the client: the seconds passed, the total seconds, and a message."""
FIRST_LOOK = 0.05
"""Seconds before the first poll. Storing a memory always takes longer."""
GROWTH = 1.5
"""Factor by which each pause is longer than the previous pause."""


def wait_of(tool: Tool[Any], arguments: Mapping[str, Any]) -> float:
    """Return the argument `wait` of a call, in seconds, or 0 if it is missing.

    The tool must already have validated the arguments.
    """
    return float(coerce_arguments(arguments, tool.schema).get("wait") or 0)


async def outcome_within(
    seconds: float,
    look: Look,
    answer: Mapping[str, Any],
    threads: ThreadLimiter,
    caller: Principal,
    services: Services,
    report: Report,
) -> Reply | None:
    """Wait at most `seconds` for the outcome of an accepted request. Return None if there is no outcome by then.

    Progress is reported before each poll.
    """
    pause, until = FIRST_LOOK, anyio.current_time() + seconds
    while (seconds_left := until - anyio.current_time()) > 0:
        await report(round(seconds - seconds_left, 3), seconds, "queued")
        await anyio.sleep(min(pause, seconds_left))
        pause *= GROWTH
        try:
            if reply := await threads.run(caller, look, answer, caller, services):
                return reply
        except MnemosyneError as exc:  # not an error for the caller, whose request was accepted and is `queued`
            log.info("outcome_not_seen", namespace=caller.namespace, error=str(exc))
    return None
