"""Validate the headers of a request before its body is read."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from mnemosyne.http.common import body as bodies
from mnemosyne.http.common.errors import error_response
from mnemosyne.http.common.hosts import host_of

HEADER_BYTES = 32 * 1024
SINGLETON_HEADERS = (
    b"host", b"origin", b"content-type", b"content-length", b"mcp-protocol-version", b"mcp-method", b"mcp-name",
)  # fmt: skip
"""Headers that a request may have only once. A repeated header is an attempt at request smuggling, or was sent as a
trailer."""
JSON = ("application/json", "application/*", "*/*")
"""Media ranges in Accept that admit JSON, the most specific first."""
STREAM = ("text/event-stream", "text/*")
"""Media ranges in Accept that admit a stream of events. `*/*` is left out, because programs that send it by default
expect JSON."""
JSON_AND_STREAM = b"application/json, text/event-stream"
_ZERO_WEIGHT = re.compile(r";\s*q\s*=\s*0(\.0*)?\s*(;|$)", re.IGNORECASE)
_HOST = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")


def reject_foreign_origin(headers: Headers, allowed_origins: re.Pattern[str]) -> Response | None:
    """Return 403 if the Origin is neither the server's own nor allowed by the operator, else None.

    The server's own origin has the host and port of the validated Host header.
    """
    origin, host = headers.get("origin"), host_of(headers)
    if origin is None or origin in (f"https://{host}", f"http://{host}") or allowed_origins.fullmatch(origin):
        return None
    return error_response(
        403,
        "Origin must be the server's own or one of its allowed origins, which its operator lists in "
        f"MNEMOSYNE_ALLOWED_ORIGINS, got {origin[:100]!r}",
    )


def origins_pattern(origins: Sequence[str]) -> str:
    """Regular expression of the allowed origins. `:*` at the end of an origin matches any port."""
    patterns = (
        f"{re.escape(origin[:-1])}[0-9]{{1,5}}" if origin.endswith(":*") else re.escape(origin) for origin in origins
    )
    return "|".join(patterns) or r"(?!)"


class IndexedHeaders(Headers):
    """Headers with an index from each name in lower case to its first value.

    The index saves time: Starlette's Headers search the list of all headers at each access.
    """

    def __init__(self, raw: list[tuple[bytes, bytes]]) -> None:
        super().__init__(raw=raw)
        self._first = {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(raw)}
        # `get` is an attribute, because a method would double the time of each look-up. Callers pass names in lower
        # case.
        self.get = self._first.get  # type: ignore[method-assign]

    def __getitem__(self, key: str) -> str:
        return self._first[key]

    def __contains__(self, key: object) -> bool:
        return key in self._first


def normalize(raw: list[tuple[bytes, bytes]]) -> Headers:
    """Return the headers with trimmed values, with one Accept header, and without a session id.

    Several Accept headers are joined, and a missing one is added. The server has no sessions, so the session id of an
    older client has no meaning.
    """
    headers = [(name, value.strip()) for name, value in raw if name not in (b"mcp-session-id", b"accept")]
    accept = b", ".join(value.strip() for name, value in raw if name == b"accept")
    return IndexedHeaders([*headers, (b"accept", accept or JSON_AND_STREAM)])


@lru_cache(maxsize=64)
def accepts(accept: str, ranges: tuple[str, ...]) -> bool:
    """Whether an Accept header admits one of the media ranges, which are in order from specific to general.

    The most specific range counts, and the weight zero (`text/event-stream;q=0`) refuses it: RFC 9110, sections 12.4.2
    and 12.5.1. Other weights are ignored.
    """
    admitted = {
        media_range.split(";")[0].strip().lower(): not _ZERO_WEIGHT.search(media_range)
        for media_range in accept.split(",")
    }
    return next((admitted[media_range] for media_range in ranges if media_range in admitted), False)


def with_json(headers: Headers) -> list[tuple[bytes, bytes]]:
    """Return the headers, with Accept set to JSON and event streams, because the MCP server requires both."""
    return [*((name, value) for name, value in headers.raw if name != b"accept"), (b"accept", JSON_AND_STREAM)]


def reject_unserved_host(headers: Headers, serves: Callable[[str], bool]) -> Response | None:
    """Return 421 if the server does not serve the host of the Host header, else None.

    This check stops DNS rebinding, with which a web page reaches this server under the page's own host name.
    """
    host = headers.get("host", "")
    if serves(host):
        return None
    return error_response(
        421,
        f"Host must be a name that this server serves, which its operator lists in MNEMOSYNE_ALLOWED_HOSTS, got "
        f"{host[:100]!r}",
    )


def reject_ambiguous(headers: Headers) -> Response | None:
    """Return an error response to headers that are too large or ambiguous, else None."""
    names, values = zip(*headers.raw, strict=True)
    if (size := sum(map(len, names)) + sum(map(len, values))) > HEADER_BYTES:
        return error_response(431, f"headers must be at most {HEADER_BYTES:,} bytes together, got {size:,}")
    # Reject a Host header with text after the port, because a proxy could read this text as another host.
    if not _HOST.fullmatch(host := headers.get("host", "")):
        return error_response(421, f"Host must be a name and at most a port, got {host[:100]!r}")
    if b"trailer" in names:
        return error_response(400, "trailers are not supported: send every header before the body")
    if len(set(names)) == len(names):
        return None
    for name in SINGLETON_HEADERS:
        if (count := names.count(name)) > 1:
            return error_response(400, f"the header {name.decode()} must be sent once, got {count}")
    return None


def reject_unsupported(scope: Scope, headers: Headers) -> Response | None:
    """Return an error response to an unsupported method, media type, encoding or length, else None."""
    if scope["method"] != "POST":
        message = "this server keeps no sessions and opens no streams: only POST is served here"
        return error_response(405, message, headers={"Allow": "POST"})
    content_type = headers.get("content-type", "")
    if content_type.split(";")[0].strip().lower() != "application/json":
        return error_response(415, f"Content-Type must be application/json, got {content_type[:100]!r}")
    coding = headers.get("content-encoding", "").lower()
    if coding not in ("", "identity"):
        message = f"Content-Encoding must be left out: send the body uncompressed, got {coding[:100]!r}"
        # In a 415 response, Accept-Encoding names the encodings that a body may have: RFC 9110, section 12.5.3.
        return error_response(415, message, headers={"Accept-Encoding": "identity"})
    length = headers.get("content-length", "")
    if length.isascii() and length.isdigit() and (size := int(length[:20])) > bodies.BODY_BYTES:
        return error_response(413, f"a request must be at most {bodies.BODY_BYTES:,} bytes, got {size:,}")
    return None
