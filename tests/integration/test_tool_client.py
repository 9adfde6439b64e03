"""The client of a server's tools: certificates, proxies and keys."""

import http.server
import re
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
import trustme
from click.testing import CliRunner

from mnemosyne.cli import tool_client
from mnemosyne.cli.main import cli
from mnemosyne.cli.tool_client import ToolClient
from mnemosyne.errors import InvalidRequest, Misconfigured, Unavailable
from tests.fakes_wire.http import served


class _Refusing(http.server.BaseHTTPRequestHandler):
    status, body, location = 404, b'{"error": "refused"}', ""

    def do_POST(self) -> None:
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        if self.location:
            self.send_header("Location", self.location)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def authority(tmp_path: Path) -> trustme.CA:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    return authority


@pytest.fixture
def url(authority: trustme.CA) -> Iterator[str]:
    """Address of an https server with a certificate of the authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Refusing)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with served(server):
        yield f"HTTPS://localhost:{server.server_port}/mcp"


def test_a_server_with_a_certificate_of_an_unknown_authority_is_refused(url: str) -> None:
    with pytest.raises(Unavailable, match="certificate verify failed"):
        ToolClient(url).call("memory_stats", {})


def test_a_server_with_a_certificate_of_a_trusted_authority_is_called(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    with pytest.raises(InvalidRequest, match="memory_stats"):
        ToolClient(url).call("memory_stats", {})


def test_a_server_that_leaves_a_tls_handshake_unanswered_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_client, "CONNECT_SECONDS", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(Unavailable, match="timed out"):
        ToolClient(f"https://127.0.0.1:{silent.getsockname()[1]}/mcp").call("memory_stats", {})


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_on_this_machine_is_called_without_the_proxy(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Refusing)
    with served(server), pytest.raises(InvalidRequest, match="memory_stats"):
        ToolClient(f"http://{host}:{server.server_port}/mcp").call("memory_stats", {})


@pytest.mark.parametrize("token", ["mnk_…", "mnk_a\nmnk_b", "mnk_ü"])
def test_a_key_that_no_header_can_have_is_refused_without_showing_it(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMOSYNE_TOKEN", token)
    with pytest.raises(Misconfigured, match="MNEMOSYNE_TOKEN must be a whole key in ASCII") as refused:
        ToolClient("http://127.0.0.1:9/mcp")
    assert token == "mnk_…" or token not in str(refused.value)
    (command,) = re.findall("`mnemosyne (.*?)`", str(refused.value))
    # The command fails with the code 1, because there is no gcloud, and not with the code 2 of wrong options.
    assert CliRunner(env={"PATH": ""}).invoke(cli, [*command.split(), "--project", "p"]).exit_code == 1


@pytest.mark.parametrize("text", ["mnk_key\r\n", "Bearer mnk_key", "bearer  mnk_key", "Authorization: Bearer mnk_key"])
def test_a_line_end_and_a_header_prefix_in_mnemosyne_token_are_ignored(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMOSYNE_TOKEN", text)
    assert ToolClient("http://127.0.0.1:9/mcp").token == "mnk_key"


FUTURE, PAST = "Tue, 31 Dec 2999 23:59:59 GMT", "Mon, 01 Jan 2001 00:00:00 GMT"


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [("2", 2), ("0", 1), ("3600", 60), (FUTURE, 60), (PAST, 1), ("soon", 1)],
)
def test_a_call_over_the_rate_limit_is_repeated_after_the_time_in_seconds_or_the_date_of_the_answer(
    retry_after: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    class RateLimiting(_Refusing):
        statuses: ClassVar[list[int]] = [429, 200]

        def do_POST(self) -> None:
            body = b'{"result": {"structuredContent": {"memories": 7}}}'
            self.send_response(self.statuses.pop(0))
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Retry-After", retry_after)
            self.end_headers()
            self.wfile.write(body)

    waits: list[float] = []
    monkeypatch.setattr("mnemosyne.cli.tool_client.time.sleep", waits.append)
    with served(http.server.HTTPServer(("127.0.0.1", 0), RateLimiting)) as address:
        assert ToolClient(f"{address}/mcp").call("memory_stats", {}) == {"memories": 7}
    assert waits == [seconds]
