"""HTTP routes of the `mcp` function: `/mcp`, `/health`, the console and the JSON Schema of messages."""

from collections.abc import Awaitable, Callable
from typing import Any

from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mnemosyne.domain import rate_limit
from mnemosyne.domain.health import Check
from mnemosyne.domain.message_schema import message_schema
from mnemosyne.domain.principal import Scope
from mnemosyne.http.common.errors import error_response
from mnemosyne.http.common.health import SharedChecks, health_routes, is_deep, report
from mnemosyne.http.console import site
from mnemosyne.http.mcp.access import MCP_PATH, METADATA_PATH, Access
from mnemosyne.http.mcp.cors import Cors
from mnemosyne.http.mcp.exchange import Exchanges
from mnemosyne.http.mcp.middleware import McpMiddleware
from mnemosyne.http.mcp.reply import compressing
from mnemosyne.http.mcp.streams import Streamable, wants_stream
from mnemosyne.mcp.server import build_server
from mnemosyne.mcp.thread_limiter import ThreadLimiter
from mnemosyne.ports.services import Services

LOG_IN_PATHS = ("/.well-known/{path:path}", "/register", "/authorize", "/token")
"""Paths at which clients look for an authorization server if the metadata names none."""
SCHEMA_PATH = "/schemas/message.v1.json"
"""Path of the JSON Schema of published messages, which is also in docs/message.v1.schema.json."""
HEALTH_SECONDS = 2.0
"""Seconds for which the result of a deep health check is shared. Any principal may request one, and it takes database
connections and a call of the embedder, which other principals need."""


def build_app(
    services: Services,
    *,
    threads: int,
    access: Access,
    allowed_origins: tuple[str, ...],
    warm: Callable[[], None],
    examine: Callable[[], list[Check]],
    canary: Route | None = None,
    serve: Callable[..., Server[Any]] = build_server,
    streams: Callable[[Any], bool] = wants_stream,
) -> Starlette:
    """Build the ASGI app of the `mcp` function.

    At most `threads` calls that need the database run at a time. `warm` is called after the app is built, to load
    models in the background. `canary` is the route that checks the whole deployment; None leaves it out.
    """
    database = ThreadLimiter(threads)
    # Turn off the SDK's validation, because McpMiddleware validates Host and Origin.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    server = serve(services, database=database)
    streamable = Streamable(server, security)
    routes = [*health_routes(_health_handler(access, examine)), *_metadata_routes(access)]
    routes += [*site.routes(access.issuer), *([canary] if canary else [])]
    handlers = {404: _wrong_path_response, 405: _wrong_path_response}
    app = Starlette(routes=routes, lifespan=lambda app: streamable.run(), exception_handlers=handlers)
    app.router.redirect_slashes = False  # a redirect would lead to the host in the Host header, which is not validated
    app.add_middleware(compressing)
    app.add_middleware(
        McpMiddleware,
        exchanges=Exchanges(server),
        transport=streamable,
        access=access,
        database=database,
        streams=streams,
        origins=allowed_origins,
    )
    app.add_middleware(Cors, origins=allowed_origins)
    warm()
    return app


def _health_handler(access: Access, examine: Callable[[], list[Check]]) -> Callable[[Request], Awaitable[Response]]:
    checks = SharedChecks(examine, passed_seconds=HEALTH_SECONDS, failed_seconds=HEALTH_SECONDS)

    async def health(request: Request) -> Response:
        """Liveness probe. `?deep=1` also checks the database and the embedder.

        Only operators see the details of each check.
        """
        if not is_deep(request):
            return JSONResponse({"status": "ok"})
        if not access.serves(request.headers.get("host", "")):
            return error_response(421, "Host must be one of MNEMOSYNE_ALLOWED_HOSTS")
        principal = await access.authenticate(request.scope, request.headers)
        if isinstance(principal, Response):
            return principal
        if (rejection := access.spend(principal, rate_limit.REQUEST)) is not None:
            return rejection
        return report(await checks.run(), details=principal.may(Scope.OPERATE))

    return health


def _metadata_routes(access: Access) -> list[Route]:
    """Build the routes of the message schema, and of the paths where clients look for an authorization server."""
    resources = ("", "/", MCP_PATH, f"{MCP_PATH}/")
    return [
        Route(SCHEMA_PATH, schema, methods=["GET"]),
        *(Route(f"{METADATA_PATH}{resource}", access.metadata, methods=["GET"]) for resource in resources),
        *(Route(path, access.no_log_in, methods=["GET", "POST"]) for path in LOG_IN_PATHS),
    ]


async def _wrong_path_response(request: Request, error: Exception) -> Response:
    """Return 404 or 405 with the address of the MCP endpoint."""
    status, headers = (error.status_code, error.headers) if isinstance(error, HTTPException) else (404, None)
    message = f"{request.method} {request.url.path[:100]} is not served; the MCP endpoint is POST {MCP_PATH}"
    return error_response(status, message, headers=headers)


async def schema(request: Request) -> Response:
    """Return the JSON Schema of the messages that publishers send to the Pub/Sub topic."""
    return JSONResponse(message_schema(), media_type="application/schema+json")
