"""The route `/canary`, with which Google's uptime check and `make deploy` test the whole deployment."""

import time
from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mnemosyne.domain.health import Check
from mnemosyne.http.common.health import SharedChecks, refusal, report

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
    """Build the route. `identify` raises Unauthorized if the caller is not allowed to check the deployment.

    One check runs at a time, and other callers wait for its result.
    """
    checks = SharedChecks(check, passed_seconds=PASSED_SECONDS, failed_seconds=FAILED_SECONDS, clock=clock)

    async def canary(request: Request) -> Response:
        if (rejection := await refusal(request, identify)) is not None:
            return rejection
        return report(await checks.run(), details=True)

    return Route(PATH, canary, methods=["POST"])
