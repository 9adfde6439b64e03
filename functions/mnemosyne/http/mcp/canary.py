"""The route `/canary`, with which Google's uptime check and `make deploy` test the whole deployment."""

import time
from collections.abc import Callable, Sequence

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mnemosyne.domain.health import Check
from mnemosyne.http.common.health import refusal, report

PATH = "/canary"
PASSED_SECONDS = 240.0
"""Seconds for which a passed check is not repeated. Google calls the route from six locations in each period of 300
seconds."""
FAILED_SECONDS = 20.0


def canary_route(
    check: Callable[[], Sequence[Check]],
    identify: Callable[[str | None], None],
    clock: Callable[[], float] = time.monotonic,
) -> Route:
    """Build the route. `identify` raises Unauthorized unless the caller may check the deployment.

    One check runs at a time, and other callers wait for its result.
    """
    lock = anyio.Lock()
    checks: Sequence[Check] = ()
    valid_until = 0.0

    async def canary(request: Request) -> Response:
        nonlocal checks, valid_until
        if (rejection := await refusal(request, identify)) is not None:
            return rejection
        async with lock:
            if clock() >= valid_until:
                checks = await anyio.to_thread.run_sync(check)
                passed = all(check.ok for check in checks)
                valid_until = clock() + (PASSED_SECONDS if passed else FAILED_SECONDS)
            return report(checks, details=True)

    return Route(PATH, canary, methods=["POST"])
