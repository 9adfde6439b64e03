"""Respond with a stream if the request asks for progress or log messages, and otherwise with JSON."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import LOG_LEVEL_META_KEY
from starlette.types import Receive, Scope, Send

from mnemosyne.http.common.body import BODY_BYTES

STREAMS = "mnemosyne.streams"
"""Key in an ASGI scope. Its value is true if the response may be a stream."""
STREAM_META_KEYS = frozenset({"progressToken", LOG_LEVEL_META_KEY})
"""Keys of `_meta` by which a request asks for notifications before the response."""


def wants_stream(payload: Any) -> bool:
    """Whether the request asks for notifications before its response."""
    params = payload.get("params") if isinstance(payload, Mapping) else None
    meta = params.get("_meta") if isinstance(params, Mapping) else None
    return isinstance(meta, Mapping) and not STREAM_META_KEYS.isdisjoint(meta)


class Streamable:
    """ASGI app of the MCP server. The app responds with JSON or a stream, and keeps no sessions."""

    def __init__(self, server: Server[Any], security: TransportSecuritySettings) -> None:
        self._plain, self._streamed = (
            StreamableHTTPSessionManager(
                server,
                json_response=plain,
                stateless=True,
                security_settings=security,
                max_request_body_size=BODY_BYTES,
            )
            for plain in (True, False)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        manager = self._streamed if scope.get(STREAMS) else self._plain
        await manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Run the SDK's session managers while the `async with` block runs."""
        async with self._plain.run(), self._streamed.run():
            yield
