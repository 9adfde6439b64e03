"""Wait for what becomes of what a call has accepted: by looks with pauses between them, which hold no thread."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import anyio

from mnemosyne.domain.principal import Principal
from mnemosyne.errors import MnemosyneError
from mnemosyne.mcp.coerce import plain
from mnemosyne.mcp.thread_limiter import Turns
from mnemosyne.mcp.tool import Look, Reply, Tool
from mnemosyne.observability import EventLog
from mnemosyne.ports.services import Services

log = EventLog(__name__)

Report: TypeAlias = Callable[[float, float, str], Awaitable[None]]
"""Tells of progress: how far, of how much, and what is waited for."""
FIRST_LOOK = 0.05
"""Seconds until a memory may have been stored, at best; each look is half as long again after the one before."""
GROWTH = 1.5


def wait_of(tool: Tool[Any], arguments: Mapping[str, Any]) -> float:
    """Return the seconds that a call, whose arguments were found good, shall wait."""
    return float(plain(arguments, tool.schema).get("wait") or 0)


async def outcome_within(
    seconds: float,
    look: Look,
    accepted: Mapping[str, Any],
    turns: Turns,
    caller: Principal,
    services: Services,
    report: Report,
) -> Reply | None:
    """Return the outcome of what was accepted; None where there is none within so many seconds.

    How many of them have passed is reported before each look.
    """
    pause, until = FIRST_LOOK, anyio.current_time() + seconds
    while (left := until - anyio.current_time()) > 0:
        await report(round(seconds - left, 3), seconds, "queued")
        await anyio.sleep(min(pause, left))
        pause *= GROWTH
        try:
            if reply := await turns.run(caller, look, accepted, caller, services):
                return reply
        except MnemosyneError as exc:  # it was accepted all the same, and that is said
            log.warning("outcome_not_seen", namespace=caller.namespace, error=str(exc))
    return None
