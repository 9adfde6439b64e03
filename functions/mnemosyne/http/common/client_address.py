"""Find a caller's address behind trusted proxies."""

from starlette.datastructures import Headers
from starlette.types import Scope as AsgiScope


def client_address(scope: AsgiScope, headers: Headers, proxies: int | None) -> str:
    """Return the address that the outermost trusted proxy received the request from, or the peer's without proxies.

    Callers can forge the earlier addresses in X-Forwarded-For. A load balancer appends two:
    https://cloud.google.com/load-balancing/docs/https#x-forwarded-for_header.
    """
    forwarded = [part.strip() for line in headers.getlist("x-forwarded-for") for part in line.split(",")]
    if proxies is not None and len(forwarded) > proxies:
        return forwarded[-1 - proxies][:100]
    return str((scope.get("client") or ("unknown",))[0])
