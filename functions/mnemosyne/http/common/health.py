"""Health checks of every function: the liveness probe, and deeper checks, for example of the database."""

import time
from collections.abc import Awaitable, Callable, Sequence

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mnemosyne.domain.health import Check
from mnemosyne.errors import Unauthorized, Unavailable

PATHS = ("/health", "/healthz")
"""Paths of the liveness probe. `/healthz` does not work on Cloud Run, which reserves paths that end in z:
https://cloud.google.com/run/docs/known-issues."""
RETRY_AFTER = {"Retry-After": "10"}
"""Header of a 503: the time in seconds until another check is worthwhile."""
CANARY_PASSED_SECONDS = 240.0
"""Seconds for which a passed check is not repeated. Without this limit, each of Google's calls would run the checks:
Google calls `/canary` from six locations in each period of 300 seconds."""
CANARY_FAILED_SECONDS = 20.0


class SharedChecks:
    """Runs checks, but never twice at the same time, and shares the results between callers.

    A caller that arrives during a run, or soon after it, gets the results of this run. The results are valid for
    `passed_seconds` if all checks passed, else for `failed_seconds`.
    """

    def __init__(
        self,
        check: Callable[[], Sequence[Check]],
        *,
        passed_seconds: float,
        failed_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._check = check
        self._passed_seconds = passed_seconds
        self._failed_seconds = failed_seconds
        self._clock = clock
        self._lock = anyio.Lock()
        self._checks: Sequence[Check] = ()
        self._valid_until = float("-inf")

    async def run(self) -> Sequence[Check]:
        """Return the results of the latest run of the checks. If the results are too old, run the checks again."""
        async with self._lock:
            if self._clock() >= self._valid_until:
                self._checks = await anyio.to_thread.run_sync(self._check)
                passed = all(check.ok for check in self._checks)
                self._valid_until = self._clock() + (self._passed_seconds if passed else self._failed_seconds)
            return self._checks


async def alive(request: Request) -> Response:
    """Respond to a liveness probe: 200 while the process serves requests."""
    return JSONResponse({"status": "ok"})


def is_deep(request: Request) -> bool:
    """Whether a request asks for deeper checks (`?deep=1`), for example of the database."""
    return request.query_params.get("deep", "0") not in ("", "0")


def report(checks: Sequence[Check], *, details: bool) -> Response:
    """Build the response with the results of checks: 503 if a check failed, else 200.

    `details` adds what each check saw, and how to fix the fault that it found. Only operators may see these details.
    """
    ok = all(check.ok for check in checks)
    reports: list[dict[str, object]] = [{"name": check.name, "ok": check.ok} for check in checks]
    if details:
        pairs = zip(reports, checks, strict=True)
        reports = [entry | {"seen": check.seen, "remedy": check.remedy} for entry, check in pairs]
    body = {"status": "ok" if ok else "wrong", "checks": reports}
    return JSONResponse(body, status_code=200 if ok else 503, headers={} if ok else RETRY_AFTER)


async def _reject_unidentified(request: Request, identify: Callable[[str | None], None]) -> Response | None:
    """Return an error response if the caller is not allowed to run checks, otherwise None.

    `identify` raises Unauthorized if the caller is not allowed to run checks.
    """
    try:
        await anyio.to_thread.run_sync(identify, request.headers.get("authorization"))
    except Unauthorized as exc:
        return JSONResponse({"error": str(exc)}, status_code=401)
    except Unavailable as exc:
        return JSONResponse({"error": str(exc)}, status_code=503, headers=RETRY_AFTER)
    return None


def deep_health(
    examine: Callable[[], Sequence[Check]], identify: Callable[[str | None], None]
) -> Callable[[Request], Awaitable[Response]]:
    """Build the handler of `/health` for an internal function.

    With `?deep=1`, a caller that `identify` accepts gets the results of the checks that `examine` runs. Other requests
    are liveness probes.
    """

    async def health(request: Request) -> Response:
        if not is_deep(request):
            return await alive(request)
        refusal = await _reject_unidentified(request, identify)
        return refusal or report(await anyio.to_thread.run_sync(examine), details=True)

    return health


def canary_route(
    check: Callable[[], Sequence[Check]],
    identify: Callable[[str | None], None],
    clock: Callable[[], float] = time.monotonic,
) -> Route:
    """Build the route `/canary`, with which Google's uptime check and `make deploy` test the whole deployment.

    `identify` raises Unauthorized if the caller is not allowed to check the deployment. One check runs at a time, and
    other callers wait for its result.
    """
    checks = SharedChecks(
        check, passed_seconds=CANARY_PASSED_SECONDS, failed_seconds=CANARY_FAILED_SECONDS, clock=clock
    )

    async def canary(request: Request) -> Response:
        return await _reject_unidentified(request, identify) or report(await checks.run(), details=True)

    return Route("/canary", canary, methods=["POST"])


def health_routes(health: Callable[[Request], Awaitable[Response]] = alive) -> list[Route]:
    """Return the routes of the health check, one for each path in PATHS."""
    return [Route(path, health, methods=["GET"]) for path in PATHS]
