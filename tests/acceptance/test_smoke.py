"""The smoke test that runs after each deployment (infra/smoke.py), here on a local server."""

import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest

from infra.smoke import SmokeError, smoke
from tests.dev import DevServer
from tests.fakes_wire.http import served
from tests.terraform.workspace import ROOT


def test_a_working_server_passes_with_the_standard_library_only_and_no_memory_is_left(dev: DevServer) -> None:
    """Python's options `-I -S` make all installed packages and the repository's modules unavailable."""
    before = dev.call("memory_stats", {})["memories"]
    command = [sys.executable, "-I", "-S", str(ROOT / "infra/smoke.py"), dev.url]
    completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert completed.returncode == 0, completed.stderr
    assert "was stored, found and deleted" in completed.stdout
    assert dev.call("memory_stats", {})["memories"] == before


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/mcp", "127.0.0.1/mcp"])
def test_an_unreachable_server_fails(url: str) -> None:
    with pytest.raises(SmokeError, match="cannot be reached"):
        smoke(url)


def test_an_address_without_the_endpoint_fails(dev: DevServer) -> None:
    with pytest.raises(SmokeError, match="answers 40"):
        smoke(dev.url.replace("/mcp", "/nothing"))


@pytest.mark.parametrize(
    ("retry_after", "status"),
    [("Sun, 06 Nov 2044 08:49:37 GMT", 404), ("86400", 503)],
    ids=["a date", "longer than the test"],
)
def test_the_test_waits_as_long_as_the_server_asks_but_not_longer_than_its_own_time(
    monkeypatch: pytest.MonkeyPatch, retry_after: str, status: int
) -> None:
    class Busy(BaseHTTPRequestHandler):
        statuses: ClassVar[list[int]] = [503, 404]

        def do_POST(self) -> None:
            self.send_response(self.statuses.pop(0))
            self.send_header("Retry-After", retry_after)
            self.send_header("Content-Length", "0")
            self.end_headers()

    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with served(HTTPServer(("127.0.0.1", 0), Busy)) as address, pytest.raises(SmokeError, match=f"answers {status}"):
        smoke(f"{address}/mcp")
