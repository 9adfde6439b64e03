"""Client ID Metadata Documents over real TLS: accepted documents, and addresses to which the server never connects."""

import asyncio
import http.server
import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import trustme

from mnemosyne.adapters import client_documents
from mnemosyne.adapters.client_documents import DOCUMENT_BYTES, WebDocuments
from mnemosyne.errors import InvalidRequest, Unavailable

HOST = "client.example"
URL = f"https://{HOST}/metadata.json"
PUBLIC = "93.184.215.14"


class Site:
    """A web site. Its address is the only public address to which host names resolve in the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.status, self.body, self.headers = 200, b'{"client_id": "x"}', {"Content-Type": "application/json"}
        self.drips = False
        self.closed = threading.Event()
        self.resolved: list[list[str]] = [[PUBLIC]]
        self.connected: list[str] = []
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        serving, trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
        authority = trustme.CA()
        authority.issue_cert(HOST).configure_cert(serving)
        authority.configure_trust(trusting)
        self._http.socket = serving.wrap_socket(self._http.socket, server_side=True)
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        self.documents = WebDocuments(trusting)
        monkeypatch.setattr(self.documents, "addresses_of", self._resolve)
        monkeypatch.setattr("aiohttp.connector.aiohappyeyeballs.start_connection", self._connect)

    def fetch(self, url: str, address: str = "198.51.100.7") -> bytes:
        return asyncio.run(self.documents.fetch(url, address))

    async def _resolve(self, host: str) -> list[str]:
        return self.resolved.pop(0) if len(self.resolved) > 1 else self.resolved[0]

    async def _connect(self, addr_infos: list[Any], **_: Any) -> socket.socket:
        """Connect to the test's site, whatever address was asked for."""
        self.connected += [info[4][0] for info in addr_infos]
        connected = socket.socket()
        connected.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connected, self._http.server_address)
        return connected

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(site.status)
                for name, value in site.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                if site.drips:
                    self.wfile.flush()
                    while not site.closed.wait(0.2):
                        self.wfile.write(b" ")
                        self.wfile.flush()
                self.wfile.write(site.body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Log nothing."""

        return Handler

    def close(self) -> None:
        self.closed.set()
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    new_site = Site(monkeypatch)
    yield new_site
    new_site.close()


def test_a_document_is_read_from_a_public_address(site: Site) -> None:
    assert site.fetch(URL) == site.body
    assert site.connected == [PUBLIC]


# Further ranges of addresses are tested in tests/unit/adapters/test_public_addresses.py.
@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "fe80::1%eth0", "::ffff:169.254.169.254"])
def test_private_addresses_are_not_connected_to(site: Site, address: str) -> None:
    site.resolved = [[address]]
    with pytest.raises(InvalidRequest, match="public addresses only"):
        site.fetch(URL)
    site.resolved = [[PUBLIC, address]]
    with pytest.raises(InvalidRequest, match="public addresses only"):
        site.fetch(URL)
    assert site.connected == []


def test_a_host_name_is_resolved_once_so_that_a_later_change_has_no_effect(site: Site) -> None:
    site.resolved = [[PUBLIC], ["127.0.0.1"]]
    site.fetch(URL)
    assert site.connected == [PUBLIC]
    assert site.resolved == [["127.0.0.1"]], "the name was resolved once"


@pytest.mark.parametrize("status", [301, 308, 404])
def test_redirects_are_not_followed_and_only_status_200_is_accepted(site: Site, status: int) -> None:
    site.status, site.headers = status, {"Location": "https://127.0.0.1/", "Content-Type": "application/json"}
    with pytest.raises(InvalidRequest, match=f"got {status}"):
        site.fetch(URL)
    assert site.connected == [PUBLIC]


def test_a_document_that_is_too_large_is_refused(site: Site) -> None:
    site.body = b" " * (DOCUMENT_BYTES + 1)
    with pytest.raises(InvalidRequest, match="at most 16,384 bytes"):
        site.fetch(URL)


def test_a_document_that_is_not_json_is_refused(site: Site) -> None:
    site.headers = {"Content-Type": "text/html"}
    with pytest.raises(InvalidRequest, match="must be JSON, got text/html"):
        site.fetch(URL)


def test_a_site_that_sends_too_slowly_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A site that sends a byte at a time stays within the timeout of each read, so the whole transfer has a timeout."""
    monkeypatch.setattr(client_documents, "SECONDS", 1.0)
    site.drips = True
    with pytest.raises(Unavailable):
        site.fetch(URL)


def test_a_certificate_for_another_host_is_refused(site: Site) -> None:
    with pytest.raises(Unavailable, match="ClientConnectorCertificateError"):
        site.fetch("https://another.example/metadata.json")


@pytest.mark.parametrize("raised", [TimeoutError("no answer"), OSError("no route"), UnicodeError("label too long")])
def test_a_name_that_does_not_resolve_is_unavailable(
    site: Site, monkeypatch: pytest.MonkeyPatch, raised: Exception
) -> None:
    async def fail(host: str) -> list[str]:
        raise raised

    monkeypatch.setattr(site.documents, "addresses_of", fail)
    with pytest.raises(Unavailable):
        site.fetch(URL)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:169.254.169.254]"])
def test_an_ip_address_in_the_url_must_be_public(site: Site, host: str) -> None:
    with pytest.raises(InvalidRequest, match="public addresses only"):
        site.fetch(f"https://{host}/metadata.json")
    assert site.connected == []


@pytest.mark.parametrize("host", ["2130706433", "127.1", "0x7f000001", "0177.0.0.1"])
def test_a_number_that_old_programs_read_as_an_ip_address_is_treated_as_a_host_name(site: Site, host: str) -> None:
    site.resolved = [["127.0.0.1"]]
    with pytest.raises((InvalidRequest, Unavailable)):
        site.fetch(f"https://{host}/metadata.json")
    assert site.connected == []
