"""Headers that Google's front ends add to a request and remove from it."""

import secrets
from collections.abc import Iterable
from http.client import HTTPMessage

CLIENT_ADDRESS = "203.0.113.7"
HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade"})


class Headers:
    """Request headers with case-insensitive names; repeated headers stay repeated."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.pairs = [(name, value) for name, value in pairs if name.lower() not in HOP_BY_HOP]

    @classmethod
    def of(cls, message: HTTPMessage) -> "Headers":
        """Return the headers of a parsed request."""
        return cls(message.items())

    def __contains__(self, name: str) -> bool:
        return any(had.lower() == name.lower() for had, _ in self.pairs)

    def get(self, name: str, default: str = "") -> str:
        """Return the first value of a header."""
        return next((value for had, value in self.pairs if had.lower() == name.lower()), default)

    def __setitem__(self, name: str, value: str) -> None:
        self.pairs = [(had, old) for had, old in self.pairs if had.lower() != name.lower()] + [(name, value)]


def forwarded(headers: Headers, host: str, client_address: str = CLIENT_ADDRESS) -> None:
    """Add the headers that the Google Front End adds to a request. `headers` is changed.

    X-Cloud-Trace-Context is TRACE_ID/SPAN_ID;o=OPTIONS with the span in decimal, and traceparent says the same:
    https://cloud.google.com/trace/docs/trace-context. The trace id of the client is kept.
    X-Forwarded-For and -Proto: https://cloud.google.com/functions/docs/reference/headers.
    """
    trace_parts = headers.get("traceparent").split("-")
    trace = trace_parts[1] if len(trace_parts) == 4 else secrets.token_hex(16)
    span = secrets.token_hex(8)
    headers["traceparent"] = f"00-{trace}-{span}-01"
    headers["X-Cloud-Trace-Context"] = f"{trace}/{int(span, 16)};o=1"
    before = headers.get("X-Forwarded-For")
    headers["X-Forwarded-For"] = f"{before},{client_address}" if before else client_address
    headers["X-Forwarded-Proto"] = "https"
    headers["Forwarded"] = f'for="{client_address}";proto=https'
    headers["Host"] = host


def proxied(headers: Headers, email: str, assertion: str, serverless: str) -> None:
    """Add the headers that Identity-Aware Proxy adds for a person whom it admits. `headers` is changed.

    They are a signed assertion and the person's identity: https://cloud.google.com/iap/docs/identity-howto. To Cloud
    Run, the proxy identifies itself in X-Serverless-Authorization. The caller's header Authorization is unchanged:
    https://cloud.google.com/run/docs/securing/identity-aware-proxy-cloud-run#known_limitations
    """
    headers.pairs = [pair for pair in headers.pairs if pair[0].lower() != "proxy-authorization"]
    headers["X-Goog-IAP-JWT-Assertion"] = assertion
    headers["X-Goog-Authenticated-User-Email"] = f"accounts.google.com:{email}"
    headers["X-Goog-Authenticated-User-Id"] = "accounts.google.com:1234567890"
    headers["X-Serverless-Authorization"] = f"Bearer {serverless}"
