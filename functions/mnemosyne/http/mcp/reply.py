"""Send the response of a request: count its bytes, and compress it if it is large."""

from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipResponder, IdentityResponder
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemosyne.http.common.encoding import accepts_gzip

COMPRESSED_BYTES = 4_096
"""Minimum number of bytes of a response that is compressed if the client accepts gzip. A response of 130 kB with ten
search results becomes 9 kB."""
COMPRESSION = 4
"""Compression level of zlib. It takes a third of the time of zlib's default level."""


def compressing(app: ASGIApp) -> ASGIApp:
    """Wrap an app so that its responses are compressed, for clients that accept gzip.

    Starlette's GZipMiddleware would also compress the responses for clients that refuse gzip (`gzip;q=0`).
    """

    async def compress(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
        elif accepts_gzip(Headers(scope=scope)):
            await GZipResponder(app, COMPRESSED_BYTES, COMPRESSION)(scope, receive, send)
        else:
            await IdentityResponder(app, COMPRESSED_BYTES)(scope, receive, send)

    return compress


class Reply:
    """Sends the response of one request. `bytes` is the size of the response before compression."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.bytes = 0

    async def send(self, response: ASGIApp, scope: Scope, receive: Receive) -> None:
        """Count, compress and send a response. `response` may also be an app, whose response is then sent."""
        if isinstance(response, Response) and len(response.body) < COMPRESSED_BYTES:
            self.bytes += len(response.body)
            await response(scope, receive, self._send)
        else:
            await compressing(self._count_bytes(response))(scope, receive, self._send)

    def _count_bytes(self, app: ASGIApp) -> ASGIApp:
        async def send_and_count(scope: Scope, receive: Receive, send: Send) -> None:
            async def count(message: Message) -> None:
                self.bytes += len(message.get("body", b""))
                await send(message)

            await app(scope, receive, count)

        return send_and_count
