"""Answer browsers that ask whether a page may call: https://fetch.spec.whatwg.org/#http-cors-protocol.

The pages of the origins that are served may call the endpoint and read what it says; any page may read where tokens are
had, which is public (RFC 9728, section 3.1). Credentials are headers that a page sets itself: no cookies are taken.
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
"""What clients send: MCP's own, and what the SDKs of old add."""
RESPONSE_HEADERS = ("WWW-Authenticate", "Retry-After")
"""What a page must read to log in, and to come back in time."""
PUBLIC = "/.well-known/"
SECONDS = 7_200
"""How long a browser may remember the answer: as long as Chromium does at most."""


class Cors:
    """Middleware over the whole app."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        ports = "|".join(re.escape(one[:-1]) + "[0-9]{1,5}" for one in origins if one.endswith(":*"))
        self._public = CORSMiddleware(
            app, allow_origins=("*",), allow_headers=("mcp-protocol-version",), max_age=SECONDS
        )
        self._own = CORSMiddleware(
            app,
            allow_origins=[one for one in origins if not one.endswith(":*")],
            allow_origin_regex=ports or None,
            allow_methods=("POST",),
            allow_headers=REQUEST_HEADERS,
            expose_headers=RESPONSE_HEADERS,
            max_age=SECONDS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a preflight, or hand the request on and say who may read its answer."""
        public = scope["type"] == "http" and scope["path"].startswith(PUBLIC)
        await (self._public if public else self._own)(scope, receive, send)
