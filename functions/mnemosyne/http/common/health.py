"""Where a function says that its process lives."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

PATHS = ("/health", "/healthz")
"""Cloud Run keeps paths that end in z to itself, so there the second is never reached:
https://cloud.google.com/run/docs/known-issues. Load balancers and people elsewhere know it."""


async def alive(request: Request) -> Response:
    """Return the process lives."""
    return JSONResponse({"status": "ok"})


def health_routes(health: Callable[[Request], Awaitable[Response]] = alive) -> list[Route]:
    """Return the routes under which it is asked."""
    return [Route(path, health, methods=["GET"]) for path in PATHS]
