"""The `mcp` function's HTTP surface: `/mcp` in both protocol eras, `/health`, and the topic's contract."""

from collections.abc import Callable
from typing import Any

import anyio.to_thread
from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mnemosyne.domain import rate_limit
from mnemosyne.domain.health import Check
from mnemosyne.domain.message_schema import message_schema
from mnemosyne.domain.principal import Scope
from mnemosyne.http.common.errors import refusal
from mnemosyne.http.common.health import health_routes
from mnemosyne.http.console import site
from mnemosyne.http.mcp.access import METADATA_PATH, Access
from mnemosyne.http.mcp.cors import Cors
from mnemosyne.http.mcp.middleware import MCP_PATH, McpEdge
from mnemosyne.http.mcp.streams import Streamable, asked
from mnemosyne.mcp.server import build_server
from mnemosyne.mcp.thread_limiter import Turns
from mnemosyne.ports.services import Services

LOG_IN_PATHS = ("/.well-known/{path:path}", "/register", "/authorize", "/token")
"""Where clients look for an authorization server beside a server that names none."""
COMPRESSED_BYTES = 4_096
"""Answers from this size on are compressed for who takes it: ten hits of 130 kB become 9."""
COMPRESSION = 4
"""Of zlib's levels, one at a third of the time of the default."""
SCHEMA_PATH = "/schemas/message.v1.json"
"""The contract of the topic; the copy in docs is the same."""


def build_app(
    services: Services,
    *,
    threads: int,
    access: Access,
    allowed_origins: tuple[str, ...],
    warm: Callable[[], None],
    examine: Callable[[], list[Check]],
    serve: Callable[..., Server[Any]] = build_server,
    streams: Callable[[Any], bool] = asked,
) -> Starlette:
    """Return the ASGI app of the `mcp` function; `warm` is called once, when the app starts to serve.

    At most `threads` calls that need the database run at a time, and who would wait too long is refused.
    """

    async def health(request: Request) -> Response:
        """Return that the process lives; `?deep=1` also checks the database and the embedder.

        Only operators see what was found and what to do.
        """
        if request.query_params.get("deep", "0") in ("", "0"):
            return JSONResponse({"status": "ok"})
        if not access.serves(request.headers.get("host", "")):
            return refusal(421, "Host must be one of MNEMOSYNE_ALLOWED_HOSTS")
        principal = await access.authenticate(request.scope, request.headers)
        if isinstance(principal, Response):
            return principal
        if (refused := access.spend(principal, rate_limit.REQUEST)) is not None:
            return refused
        checks = await anyio.to_thread.run_sync(examine)
        ok = all(check.ok for check in checks)
        shown: list[dict[str, object]] = [{"name": check.name, "ok": check.ok} for check in checks]
        if principal.may(Scope.OPERATE):
            shown = [one | {"seen": c.seen, "remedy": c.remedy} for one, c in zip(shown, checks, strict=True)]
        return JSONResponse({"status": "ok" if ok else "wrong", "checks": shown}, status_code=200 if ok else 503)

    database = Turns(threads)
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # McpEdge judges Host and Origin
    streamable = Streamable(serve(services, database=database), security)
    routes = [Route(MCP_PATH, streamable), *health_routes(health), *_beside(access), *site.routes(access.issuer)]
    handlers = {404: _elsewhere, 405: _elsewhere}
    app = Starlette(routes=routes, lifespan=lambda app: streamable.run(), exception_handlers=handlers)
    app.router.redirect_slashes = False  # it would send people to whatever Host was sent
    app.add_middleware(McpEdge, access=access, database=database, streams=streams, origins=allowed_origins)
    app.add_middleware(GZipMiddleware, minimum_size=COMPRESSED_BYTES, compresslevel=COMPRESSION)
    app.add_middleware(Cors, origins=allowed_origins)
    warm()
    return app


def _beside(access: Access) -> list[Route]:
    """Return the routes of what clients look for beside `/mcp`."""
    return [
        Route(SCHEMA_PATH, schema, methods=["GET"]),
        *(
            Route(f"{METADATA_PATH}{path}{slash}", access.metadata, methods=["GET"])
            for path in ("", MCP_PATH)
            for slash in ("", "/")
        ),
        *(Route(path, access.no_log_in, methods=["GET", "POST"]) for path in LOG_IN_PATHS),
    ]


async def _elsewhere(request: Request, error: Exception) -> Response:
    """Return the response to a method and path that nothing serves."""
    status, headers = (error.status_code, error.headers) if isinstance(error, HTTPException) else (404, None)
    message = f"{request.method} {request.url.path[:100]} is not served; the MCP endpoint is POST {MCP_PATH}"
    return refusal(status, message, headers=headers)


async def schema(request: Request) -> Response:
    """Return the contract of the topic."""
    return JSONResponse(message_schema(), media_type="application/schema+json")
