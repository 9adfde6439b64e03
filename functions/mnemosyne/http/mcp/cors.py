"""CORS of the `mcp` function: https://fetch.spec.whatwg.org/#http-cors-protocol.

Pages of the allowed origins may call the endpoint. Any page may read the metadata under `/.well-known/`, which is
public (RFC 9728, section 3.1). Pages send their credential in a header; there are no cookies.
"""

import re
from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

REQUEST_HEADERS = (
    "authorization",
    "content-type",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "mcp-session-id",
    "last-event-id",
    "traceparent",
)
"""Headers that MCP clients send, including older SDKs."""
RESPONSE_HEADERS = ("WWW-Authenticate", "Retry-After")
"""Headers that a page needs to log in and to retry."""
PUBLIC = "/.well-known/"
SECONDS = 7_200
"""How long a browser may cache a preflight. Chromium allows no longer."""


class Cors:
    """Middleware over the whole app."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        ports = "|".join(re.escape(origin[:-1]) + "[0-9]{1,5}" for origin in origins if origin.endswith(":*"))
        self._public = CORSMiddleware(
            app, allow_origins=("*",), allow_headers=("mcp-protocol-version",), max_age=SECONDS
        )
        self._own = CORSMiddleware(
            app,
            allow_origins=[origin for origin in origins if not origin.endswith(":*")],
            allow_origin_regex=ports or None,
            allow_methods=("POST",),
            allow_headers=REQUEST_HEADERS,
            expose_headers=RESPONSE_HEADERS,
            max_age=SECONDS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a preflight, or pass the request on and add the CORS headers to its response."""
        public = scope["type"] == "http" and scope["path"].startswith(PUBLIC)
        await (self._public if public else self._own)(scope, receive, send)
