"""The smoke test that follows a deployment, on a local server."""

import subprocess
import sys

import pytest

from infra.smoke import SmokeError, smoke
from tests.dev import DevServer
from tests.terraform.workspace import ROOT


def test_a_working_server_passes_and_no_memory_is_left(dev: DevServer) -> None:
    before = dev.call("memory_stats", {})["memories"]
    assert "was stored, found and deleted" in smoke(dev.url)
    assert dev.call("memory_stats", {})["memories"] == before


def test_the_program_needs_the_standard_library_only(dev: DevServer) -> None:
    """`-I -S` leaves out every installed package and the repository's own modules."""
    command = [sys.executable, "-I", "-S", str(ROOT / "infra/smoke.py"), dev.url]
    completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert completed.returncode == 0, completed.stderr
    assert "was stored, found and deleted" in completed.stdout


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/mcp", "127.0.0.1/mcp"])
def test_an_unreachable_server_fails(url: str) -> None:
    with pytest.raises(SmokeError, match="cannot be reached"):
        smoke(url)


def test_an_address_without_the_endpoint_fails(dev: DevServer) -> None:
    with pytest.raises(SmokeError, match="answers 40"):
        smoke(dev.url.replace("/mcp", "/nothing"))
