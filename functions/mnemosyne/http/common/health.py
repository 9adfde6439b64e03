"""Liveness probe of every function."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

PATHS = ("/health", "/healthz")
"""Cloud Run reserves paths that end in z, so `/healthz` works only elsewhere:
https://cloud.google.com/run/docs/known-issues."""


async def alive(request: Request) -> Response:
    """Liveness probe."""
    return JSONResponse({"status": "ok"})


def health_routes(health: Callable[[Request], Awaitable[Response]] = alive) -> list[Route]:
    """Routes of the probe."""
    return [Route(path, health, methods=["GET"]) for path in PATHS]
