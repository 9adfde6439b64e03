"""The clients in the field list and call every tool, in both protocol eras."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.mcp.tools import TOOLS
from tests.dev import DevServer
from tests.packages import environment

HERE = Path(__file__).parent
NAMES = {tool.name for tool in TOOLS}
OTHERS: dict[str, Any] = {
    "update_memory": {"id": "ID", "tags": ["changed"]},
    "rate_memory": {"id": "ID", "rating": 1},
    "memory_stats": {},
    "search": {"query": "the client was here"},
    "fetch": {"id": "ID"},
    "ingest_memories": {"memories": [{"content": "one of several", "timestamp": "2026-05-20T12:00:00Z"}]},
}
"""Tools beyond the first seven, with the arguments to call them with; "ID" stands for the memory's id."""


def _check(printed: str) -> None:
    answer = json.loads(printed.strip().splitlines()[-1])
    assert set(answer["tools"]) == NAMES
    assert set(answer["called"]) == NAMES


def _run(*command: str | Path, path: str | None = None) -> str:
    environment = {**os.environ, **({"PATH": path} if path else {})}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.parametrize("mode", ["auto", "legacy", "modern"])
def test_the_python_client_2(dev: DevServer, mode: str) -> None:
    _check(_run(sys.executable, HERE / "drive.py", dev.url, mode, json.dumps(OTHERS)))


@pytest.mark.parametrize("packages", [("mcp==1.26.0",), ("mcp==1.9.4", "pydantic==2.11.7")], ids=" ".join)
def test_the_python_client_1(dev: DevServer, packages: tuple[str, ...]) -> None:
    python = environment(HERE / ".clients" / packages[0], *packages)
    _check(_run(python, HERE / "drive.py", dev.url, "1.x", json.dumps(OTHERS)))


@pytest.mark.parametrize("sdk", ["sdk", "client"])
def test_the_javascript_sdks(dev: DevServer, javascript: str, sdk: str) -> None:
    _check(_run("node", HERE / "js" / "drive.mjs", sdk, dev.url, json.dumps(OTHERS), path=javascript))


def test_the_inspector_lists_and_calls(dev: DevServer, javascript: str) -> None:
    inspector = (HERE / "js/node_modules/.bin/mcp-inspector", "--cli", dev.url, "--transport", "http", "--method")
    listed = json.loads(_run(*inspector, "tools/list", path=javascript))
    assert {tool["name"] for tool in listed["tools"]} == NAMES
    dev.outcome(dev.ingest("the inspector was here", tags=["inspector"]))
    called = _run(
        *inspector, "tools/call", "--tool-name", "retrieve_memories", "--tool-arg", "query=inspector", path=javascript
    )
    assert "the inspector was here" in called
