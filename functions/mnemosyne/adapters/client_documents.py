"""Fetch Client ID Metadata Documents from public addresses only.

Such a document describes an OAuth client, and the client's id is the URL of the document. Anybody can send such a URL,
so the fetches are restricted as the section on security considerations demands:
https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/.
"""

import asyncio
import ipaddress
import socket
import ssl
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import aiohttp
import dns.asyncresolver
import dns.exception
from aiohttp.abc import AbstractResolver, ResolveResult

from mnemosyne.domain.rate_limit import networks_of
from mnemosyne.errors import InvalidRequest, Unavailable
from mnemosyne.observability import EventLog
from mnemosyne.once import once

log = EventLog(__name__)

# The module ipaddress counts addresses in these networks as global. But these addresses are either not public, or
# translated to IPv4 addresses: https://www.iana.org/assignments/iana-ipv6-special-registry and
# iana-ipv4-special-registry.
_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "192.0.0.0/24",  # IETF protocol assignments, with the dummy address 192.0.0.8
            "192.88.99.0/24",  # relays of 6to4, deprecated by RFC 7526
            "::/96",  # IPv4-compatible addresses, deprecated by RFC 4291
            "::ffff:0:0:0/96",  # translation by SIIT, RFC 2765
            "64:ff9b::/96",  # NAT64, RFC 6052
            "64:ff9b:1::/48",  # NAT64 within a network, RFC 8215
            "100::/64",  # discard, RFC 6666
            "2001::/23",  # IETF protocol assignments, including Teredo (RFC 4380), benchmarking (RFC 5180) and ORCHID
            "2002::/16",  # 6to4, RFC 3056
            "3fff::/20",  # documentation, RFC 9637
            "5f00::/16",  # segment routing, RFC 9602
            "fec0::/10",  # site-local, RFC 3879
        ),
    )
)


def is_public(address: str) -> bool:
    """Return whether an address is global unicast.

    Addresses of networks that translate to IPv4 (such as NAT64 and 6to4) do not count as public, because they may lead
    to a private IPv4 address.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        return is_public(str(ip.ipv4_mapped))
    if any(ip in network for network in _NOT_PUBLIC):
        return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


DOCUMENT_BYTES = 16 * 1024
SECONDS = 3.0
"""Timeout of a whole fetch, from name resolution to the last byte."""
AT_ONCE = 256
"""Maximum number of concurrent fetches. Each fetch needs a socket but no thread."""
AT_ONCE_OF_NETWORK, AT_ONCE_OF_LARGE_NETWORK = 4, 16
"""Maximum number of concurrent fetches for the callers in one small network (IPv4 address, IPv6 /64), and for the
callers in one large network (IPv4 /24, IPv6 /48)."""
AT_ONCE_OF_HOST = 8
"""Maximum number of concurrent fetches from one host, so that clients cannot attack a host through this server."""


class WebDocuments:
    """Fetches documents by https from public addresses.

    Follows no redirects. Limits the size of a document, the time of a fetch, and the number of concurrent fetches.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._context = context or ssl.create_default_context()
        self._in_flight: Counter[str] = Counter()

    async def fetch(self, client_id: str, address: str) -> bytes:
        host = urlsplit(client_id).hostname or ""
        with self._count_fetch(host, address):
            try:
                async with asyncio.timeout(SECONDS):
                    return await self._fetch_document(client_id, host)
            except (OSError, TimeoutError, aiohttp.ClientError, dns.exception.DNSException, UnicodeError) as exc:
                log.info("client_document_unreachable", client=client_id, error=repr(exc)[:200])
                raise Unavailable(
                    f"the metadata document {client_id} cannot be fetched ({type(exc).__name__}): try again in a minute"
                ) from exc

    async def addresses_of(self, host: str) -> list[str]:
        """Resolve a host name with the system's name servers.

        Uses dnspython, because the resolver function of the operating system would block a thread during each fetch.
        """
        answers = await self._resolver.resolve_name(host, lifetime=SECONDS, search=False)
        return list(answers.addresses())

    @once
    def _resolver(self) -> dns.asyncresolver.Resolver:
        return dns.asyncresolver.Resolver()

    @contextmanager
    def _count_fetch(self, host: str, address: str) -> Iterator[None]:
        """Count a fetch as running until the `with` block ends. Raises Unavailable if too many fetches run."""
        small, large = networks_of(address)
        limits = {
            "all": AT_ONCE,
            f"small {small}": AT_ONCE_OF_NETWORK,
            f"large {large}": AT_ONCE_OF_LARGE_NETWORK,
            f"host {host}": AT_ONCE_OF_HOST,
        }
        if full := [name for name, limit in limits.items() if self._in_flight[name] >= limit]:
            log.warning(
                "client_documents_full",
                cause="too many client metadata documents are being fetched",
                error=f"full: {', '.join(full)}",
                next_step="wait; if it lasts, look for an address that sends many log-ins of unknown clients",
            )
            raise Unavailable("too many client metadata documents are being fetched: try again in a moment")
        self._in_flight.update([*limits])
        try:
            yield
        finally:
            self._in_flight.subtract([*limits])
            self._in_flight = +self._in_flight  # remove the names whose count is 0

    async def _fetch_document(self, client_id: str, host: str) -> bytes:
        # Connect to the addresses that were checked. If the HTTP client resolved the name again, the name server could
        # return other addresses.
        addresses = await self._resolve_public_addresses(host)
        connector = aiohttp.TCPConnector(
            resolver=_FixedResolver(addresses), ssl=self._context, force_close=True, use_dns_cache=False
        )
        async with (
            aiohttp.ClientSession(
                connector=connector, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
            ) as session,
            session.get(
                client_id, allow_redirects=False, headers={"Accept": "application/json", "Accept-Encoding": "identity"}
            ) as response,
        ):
            try:
                return await _read_body(response, client_id)
            except BaseException:
                # Abort the connection. A normal close of TLS would wait until the site has stopped sending.
                if response.connection is not None and response.connection.transport is not None:
                    response.connection.transport.abort()
                raise

    async def _resolve_public_addresses(self, host: str) -> list[str]:
        addresses = [host] if _is_address(host) else await self.addresses_of(host)
        for address in addresses:
            if not is_public(address):
                log.warning("audit", action="read_client_document", outcome="refused", host=host, address=address)
                raise InvalidRequest(f"the client's host {host} must have public addresses only")
        return addresses


def _is_address(host: str) -> bool:
    with suppress(ValueError):
        return bool(ipaddress.ip_address(host))
    return False


class _FixedResolver(AbstractResolver):
    """A resolver that returns addresses that were already resolved and checked, and asks no name server."""

    def __init__(self, addresses: list[str]) -> None:
        self._addresses = addresses

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        """Do nothing: the resolver holds no resources."""


async def _read_body(response: aiohttp.ClientResponse, client_id: str) -> bytes:
    if response.status != 200:
        raise InvalidRequest(f"{client_id} must answer 200 without a redirect, got {response.status}")
    if "json" not in response.content_type:
        raise InvalidRequest(f"{client_id} must be JSON, got {response.content_type}")
    document = bytearray()
    async for part in response.content.iter_any():
        document += part
        if len(document) > DOCUMENT_BYTES:
            raise InvalidRequest(f"{client_id} must have at most {DOCUMENT_BYTES:,} bytes")
    return bytes(document)
