"""Answer as a stream where a client asks to be told of progress or the log, and as plain JSON otherwise."""

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
"""In an ASGI scope: this request's answer may be a stream."""
TELLING = frozenset({"progressToken", LOG_LEVEL_META_KEY})
"""What a request has among its `_meta` whose sender wants to be told something before the answer."""


def asked(posted: Any) -> bool:
    """Whether the request asks for what comes before its answer."""
    params = posted.get("params") if isinstance(posted, Mapping) else None
    meta = params.get("_meta") if isinstance(params, Mapping) else None
    return isinstance(meta, Mapping) and not TELLING.isdisjoint(meta)


class Streamable:
    """The protocol's server over HTTP without sessions, in both ways: an ASGI app."""

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
        """Serve while this is entered."""
        async with self._plain.run(), self._streamed.run():
            yield
