"""The `mcp` function's HTTP surface: `/mcp` in both protocol eras, and `/healthz`."""

from collections.abc import Callable
from typing import Any

from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mnemosyne.http.edge import BODY_BYTES, MCP_PATH, McpEdge


def build_app(
    server: Server[Any],
    *,
    allowed_hosts: tuple[str, ...],
    allowed_origins: tuple[str, ...],
    warm: Callable[[], None],
) -> Starlette:
    """The ASGI app of the `mcp` function; `warm` is called once, when the app starts to serve."""
    app = server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        stateless_http=True,
        json_response=True,
        max_request_body_size=BODY_BYTES,
        transport_security=TransportSecuritySettings(
            allowed_hosts=list(allowed_hosts), allowed_origins=list(allowed_origins)
        ),
        custom_starlette_routes=[Route("/healthz", healthz, methods=["GET"])],
    )
    app.add_middleware(McpEdge)
    warm()
    return app


async def healthz(request: Request) -> Response:
    """The process lives: nothing else is touched."""
    return JSONResponse({"status": "ok"})
