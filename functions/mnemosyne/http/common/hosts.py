"""The host and the origin to which a request was sent."""

import ipaddress
from collections.abc import Mapping
from functools import lru_cache

from starlette.types import Scope as AsgiScope


def without_https_port(host: str) -> str:
    """Return a host in lower case, without the default port of https.

    Some programs name this port in the header Host. For example, Go's HTTP client does so if its URL names the port,
    and nginx does so with `$host:$server_port`. Browsers never name it in the header Origin.
    """
    return host.lower().removesuffix(":443")


def host_of(headers: Mapping[str, str]) -> str:
    """Return the host in the header Host, in lower case and without the default port of https."""
    return without_https_port(headers.get("host", ""))


def origin_of(scope: AsgiScope, headers: Mapping[str, str]) -> str:
    """Return the origin that the client called. A proxy ends TLS and sends the scheme in X-Forwarded-Proto."""
    proto = headers.get("x-forwarded-proto", "").split(",")[0].strip()
    return f"{proto if proto in ('http', 'https') else scope.get('scheme', 'http')}://{host_of(headers)}"


@lru_cache(maxsize=16)
def is_loopback(address: str) -> bool:
    """Whether a server listens on the loopback interface. Unix sockets count as loopback."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:  # the address is the path of a Unix socket, or a name in a test
        return True
