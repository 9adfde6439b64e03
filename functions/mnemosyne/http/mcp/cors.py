"""CORS of the `mcp` function: https://fetch.spec.whatwg.org/#http-cors-protocol.

Pages of the allowed origins may call the endpoint. Any page may read the metadata under `/.well-known/`, which is
public (RFC 9728, section 3.1). Pages send their credential in a header; there are no cookies.
"""

from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemosyne.http.mcp.request_headers import origins_pattern

METHODS = ("POST", "GET", "DELETE")
"""Methods that MCP clients send. GET and DELETE get 405, which a page can read only if the preflight allows them."""
REQUEST_HEADERS = ("*",)
"""All headers. The operator trusts the pages of the allowed origins. Clients send more headers than those of MCP, such
as trace headers, headers that identify the client, and headers that users configure."""
RESPONSE_HEADERS = ("WWW-Authenticate", "Retry-After")
"""Response headers that a page must read to log in and to retry."""
PUBLIC = "/.well-known/"
SECONDS = 7_200
"""Seconds for which a browser may cache a preflight. This is the maximum of Chromium."""


class Cors:
    """Middleware that adds CORS headers to the responses of the whole app."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        self._app = app
        self._public = CORSMiddleware(app, allow_origins=("*",), allow_headers=REQUEST_HEADERS, max_age=SECONDS)
        self._own = CORSMiddleware(
            app,
            allow_origin_regex=origins_pattern(origins),
            allow_methods=METHODS,
            allow_headers=REQUEST_HEADERS,
            expose_headers=RESPONSE_HEADERS,
            max_age=SECONDS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a preflight, or pass the request on and add the CORS headers to its response."""
        if scope["type"] != "http" or b"origin" not in dict(scope["headers"]):
            await self._app(scope, receive, _add_vary_origin(send))
            return
        await (self._public if scope["path"].startswith(PUBLIC) else self._own)(scope, receive, send)


def _add_vary_origin(send: Send) -> Send:
    """Return a `send` that adds `Vary: Origin`, because the CORS headers depend on the request's Origin."""

    async def vary(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), (b"vary", b"Origin")]
        await send(message)

    return vary
