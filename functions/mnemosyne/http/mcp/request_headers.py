"""The rules for a request's headers, before its body is read."""

import re
from collections.abc import Callable, Sequence

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from mnemosyne.errors import InvalidRequest
from mnemosyne.http.common import body as bodies
from mnemosyne.http.common.errors import refusal

HEADER_BYTES = 32 * 1024
ONCE = (b"host", b"origin", b"content-type", b"content-length", b"mcp-protocol-version", b"mcp-method", b"mcp-name")
"""Headers of which there may be one: a second is somebody's attempt to be read in two ways, or came as a trailer."""
BOTH = b"application/json, text/event-stream"
_HOST = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")


class Origins:
    """The origins whose pages may call the server."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._allowed = re.compile("|".join(map(_pattern, allowed)) or r"(?!)")

    def foreign(self, headers: Headers) -> Response | None:
        """Return the response to a page of an origin that is neither the server's own nor configured.

        The own one is that of the Host, which is validated. A page of another port of this machine is foreign.
        """
        origin, host = headers.get("origin"), headers.get("host", "")
        if origin is None or origin in (f"https://{host}", f"http://{host}") or self._allowed.fullmatch(origin):
            return None
        return refusal(
            403,
            "Origin must be the server's own or one of its allowed origins, which its operator lists in "
            f"MNEMOSYNE_ALLOWED_ORIGINS, got {origin[:100]!r}",
        )


def _pattern(origin: str) -> str:
    """Return the pattern of a configured origin; `:*` at its end is any port."""
    return f"{re.escape(origin[:-1])}[0-9]{{1,5}}" if origin.endswith(":*") else re.escape(origin)


def cleaned(raw: list[tuple[bytes, bytes]]) -> Headers:
    """Return the headers trimmed, without any session's id, and with an Accept header.

    There are no sessions: an id sent by an older client means nothing. Scripts that send no Accept take JSON.
    """
    kept = [(name, value.strip()) for name, value in raw if name != b"mcp-session-id"]
    if not any(name == b"accept" for name, _ in kept):
        kept.append((b"accept", BOTH))
    return Headers(raw=kept)


def takes_streams_only(accept: str) -> bool:
    """Whether an Accept header admits a stream and no JSON."""
    types = {one.split(";")[0].strip().lower() for one in accept.split(",")}
    return "text/event-stream" in types and types.isdisjoint({"application/json", "application/*", "*/*"})


def with_json(headers: Headers) -> list[tuple[bytes, bytes]]:
    """Return the headers with an Accept header of both media types, which the protocol's server requires."""
    return [*((name, value) for name, value in headers.raw if name != b"accept"), (b"accept", BOTH)]


def unserved(headers: Headers, serves: Callable[[str], bool]) -> Response | None:
    """Return the response to a request for a host that is not served, as one after DNS rebinding is."""
    host = headers.get("host", "")
    if serves(host):
        return None
    return refusal(
        421,
        f"Host must be a name that this server serves, which its operator lists in MNEMOSYNE_ALLOWED_HOSTS, got "
        f"{host[:100]!r}",
    )


def unreadable(headers: Headers) -> Response | None:
    """Return the answer to headers that are too many, or that could be read in two ways."""
    names = [name for name, _ in headers.raw]
    if (size := sum(map(len, names)) + sum(len(value) for _, value in headers.raw)) > HEADER_BYTES:
        return refusal(431, f"headers must be at most {HEADER_BYTES:,} bytes together, got {size:,}")
    if not _HOST.fullmatch(host := headers.get("host", "")):  # what follows a port would pass for one further in
        return refusal(421, f"Host must be a name and at most a port, got {host[:100]!r}")
    if b"trailer" in names:
        return refusal(400, "trailers are not taken: send every header before the body")
    for name in ONCE:
        if (sent := names.count(name)) > 1:
            return refusal(400, f"the header {name.decode()} must be sent once, got {sent}")
    return None


def refused(scope: Scope, headers: Headers) -> Response | None:
    """Return the answer to a method, a media type, a coding or a length that is not served."""
    if scope["method"] != "POST":
        message = "this server keeps no sessions and opens no streams: only POST is served here"
        return refusal(405, message, headers={"Allow": "POST"})
    content_type = headers.get("content-type", "")
    if content_type.split(";")[0].strip().lower() != "application/json":
        return refusal(415, f"Content-Type must be application/json, got {content_type[:100]!r}")
    coding = headers.get("content-encoding", "").lower()
    if coding not in ("", "identity"):
        message = f"Content-Encoding must be left out: send the body uncompressed, got {coding[:100]!r}"
        return refusal(415, message, headers={"Accept-Encoding": "identity"})  # RFC 9110, section 12.5.3
    try:
        bodies.content_length(headers.get("content-length", ""))
    except InvalidRequest as exc:
        return refusal(413, str(exc))
    return None
