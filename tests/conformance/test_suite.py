"""The protocol's own conformance suite against the server as it is deployed."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.dev import DevServer

SUITE = Path(__file__).parent / "js/node_modules/@modelcontextprotocol/conformance/dist/index.js"

# The other scenarios look for fixture tools, prompts and resources by name, which a product does not have.
SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "dns-rebinding-protection",
    "http-header-validation",
    "input-required-result-unsupported-methods",
)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(dev: DevServer, javascript: str, scenario: str) -> None:
    ended = subprocess.run(
        ["node", SUITE, "server", "--url", dev.url, "--scenario", scenario],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PATH": javascript},
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-3000:]
    assert "0 failed" in ended.stdout
