"""The address of the caller, behind the proxies that are trusted."""

from starlette.datastructures import Headers
from starlette.types import Scope as AsgiScope


def client_address(scope: AsgiScope, headers: Headers, proxies: int | None) -> str:
    """Where the request comes from: the peer, or what the platform's own front ends say of it.

    Whatever else stands in X-Forwarded-For was written by the caller: https://cloud.google.com/run/docs/troubleshooting
    and https://cloud.google.com/load-balancing/docs/https#x-forwarded-for_header, by which a load balancer adds two.
    """
    forwarded = [one.strip() for line in headers.getlist("x-forwarded-for") for one in line.split(",")]
    if proxies is not None and len(forwarded) > proxies:
        return forwarded[-1 - proxies][:100]
    return str((scope.get("client") or ("unknown",))[0])
