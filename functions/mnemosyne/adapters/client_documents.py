"""Read Client ID Metadata Documents from the web, and from nowhere else: whoever names one must not reach our network.

https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/, section on security considerations.
"""

import http.client
import ipaddress
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from urllib.parse import urlsplit

from mnemosyne.errors import InvalidRequest, Unavailable
from mnemosyne.observability import EventLog

log = EventLog(__name__)

DOCUMENT_BYTES = 16 * 1024
SECONDS = 5.0
"""For all of it: resolution, connection, and the last byte."""
AT_ONCE = 4
# Addresses that lead on to IPv4 ones, public as they look: https://www.rfc-editor.org/rfc/rfc6052, 3056, 4380.
_TRANSLATED = tuple(map(ipaddress.ip_network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")))


class WebDocuments:
    """The ClientDocuments of the web: by https, from public addresses, no redirections, bounded in size and time."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._context = context or ssl.create_default_context()
        self._turns = threading.BoundedSemaphore(AT_ONCE)
        self._resolvers = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="resolve")

    def fetch(self, client_id: str) -> bytes:
        """Return the document at that address; raises InvalidRequest, or Unavailable where it may be there later."""
        if not self._turns.acquire(timeout=SECONDS):
            raise Unavailable("too many clients are being looked up: try again in a moment")
        try:
            return self._fetch(client_id, time.monotonic() + SECONDS)
        except (OSError, http.client.HTTPException, FutureTimeout, UnicodeError) as exc:
            log.warning("client_document_unreachable", client=client_id, error=str(exc))
            raise Unavailable(f"the document of the client {client_id} cannot be read: {type(exc).__name__}") from exc
        finally:
            self._turns.release()

    def _fetch(self, client_id: str, deadline: float) -> bytes:
        parts = urlsplit(client_id)
        host = parts.hostname or ""
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        # The address that was looked at is the one that is connected to: the name is not resolved again.
        address = self._address(host, deadline)
        plain = socket.create_connection((address, 443), timeout=_left(deadline))
        with self._context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False) as secure:
            # A server that sends a byte a second, slow-loris, keeps within the timeout of every single read.
            watchdog = threading.Timer(_left(deadline), socket.socket.shutdown, (secure, socket.SHUT_RDWR))
            watchdog.daemon = True
            watchdog.start()
            try:
                secure.do_handshake()
                document = _read(secure, host, path, client_id)
            finally:
                watchdog.cancel()
        if time.monotonic() >= deadline:  # it may have been cut short by us
            raise TimeoutError("the document did not end in time")
        return document

    def _address(self, host: str, deadline: float) -> str:
        resolving = self._resolvers.submit(socket.getaddrinfo, host, 443, type=socket.SOCK_STREAM)
        addresses = [str(found[4][0]) for found in resolving.result(_left(deadline))]
        for address in addresses:
            if not is_public(address):
                log.warning("audit", action="read_client_document", outcome="refused", host=host, address=address)
                raise InvalidRequest(f"the client's host {host} must have public addresses only")
        return addresses[0]


def is_public(address: str) -> bool:
    """Whether an address is one of the public Internet's, and leads nowhere else."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return is_public(str(ip.ipv4_mapped))
        if any(ip in network for network in _TRANSLATED):
            return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def _read(secure: ssl.SSLSocket, host: str, path: str, client_id: str) -> bytes:
    connection = http.client.HTTPSConnection(host)
    connection.sock = secure
    connection.request("GET", path, headers={"Accept": "application/json", "Connection": "close"})
    response = connection.getresponse()
    if response.status != http.client.OK:
        raise InvalidRequest(f"{client_id} must answer 200 and lead nowhere else, got {response.status}")
    if "json" not in response.headers.get_content_type():
        raise InvalidRequest(f"{client_id} must be JSON, got {response.headers.get_content_type()}")
    document = response.read(DOCUMENT_BYTES + 1)
    if len(document) > DOCUMENT_BYTES:
        raise InvalidRequest(f"{client_id} must have at most {DOCUMENT_BYTES:,} bytes")
    return document


def _left(deadline: float) -> float:
    return max(0.01, deadline - time.monotonic())
