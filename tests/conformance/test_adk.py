"""The memory service for Google's ADK, with processes that are killed."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.clients.run import CLIENTS, HERE, ROOT
from tests.dev import DevServer
from tests.packages import environment
from tests.waiting import wait_until

pytestmark = pytest.mark.nightly  # ADK's installation takes half a minute


@pytest.fixture(scope="module")
def adk() -> list[str | Path]:
    """The command in ADK's environment; skips the test with a reason if ADK cannot be installed."""
    (client,) = (client_run for client_run in CLIENTS if client_run.script == "google-adk")
    python = environment(HERE / ".clients" / "mnemosyne-adk", *client.packages)
    pip: list[str | Path] = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-deps", "--force-reinstall", ROOT / "infra" / "adk"], check=True)
    subprocess.run([*pip, "check"], check=True)
    return [python, HERE / "clients" / "adk_memory.py"]


def _run(command: list[str | Path], *arguments: str | Path) -> Any:
    ended = subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=180, env=_environment(), check=False
    )
    assert ended.returncode == 0, ended.stderr[-3_000:]
    return json.loads(ended.stdout.splitlines()[-1])


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def _count(dev: DevServer) -> int:
    return int(dev.call("memory_stats", {})["memories"])


def test_a_conversation_is_stored_once_despite_killed_processes_and_recalled_by_the_next(
    adk: list[str | Path], dev: DevServer, tmp_path: Path
) -> None:
    before = _count(dev)
    command = [*adk, "talk", dev.url, tmp_path / "sessions.db"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=_environment()) as talking:
        assert talking.stdout
        result = json.loads(talking.stdout.readline())
        wait_until(lambda: _count(dev) > before, "something of the conversation is stored")
        talking.send_signal(signal.SIGKILL)
    resumed = _run(adk, "resume", dev.url, tmp_path / "sessions.db")
    assert result["events"] == 120
    assert "Shelf 7 holds the oolong." in resumed["said"]
    assert _count(dev) - before == resumed["stored"] == 121


def test_users_and_apps_find_and_delete_only_their_own_memories(adk: list[str | Path], dev: DevServer) -> None:
    result = _run(adk, "scopes", dev.url)
    remaining, far = result.pop("left"), result.pop("far")
    assert far == [["weak"], []], "the answer says that no hit is close, or it is empty"
    assert result == {
        whose: [["user", "2026-05-20T12:00:00Z", whose]] for whose in ("shop ada", "shop Ada", "bank ada", "bank Ada")
    }
    assert remaining == ["shop Ada", "bank ada", "bank Ada"]


def test_spoken_and_written_text_is_stored_completely_and_other_events_are_not(
    adk: list[str | Path], dev: DevServer
) -> None:
    before = _count(dev)
    result = _run(adk, "awkward", dev.url)
    # The eight memories: the text a\ufffdb, three parts of the long text, the spoken text, and three further events
    # (late, spoken and changed).
    assert _count(dev) - before == 8
    assert result["again"] == ["Told, deleted, told."] * 2
    assert result["asked"], "a query may have the characters that are replaced in stored text"
    (memory,) = dev.call("memory_search", {"query": "Tea, \nplease.", "mode": "exact"})["memories"]
    assert memory["metadata"] == {"adk": {"app": "a", "user": "u", "author": "ada"}}
    assert "http://127.0.0.1:9/mcp" in result["away"] and "connect" in result["away"].lower()
    assert "timestamp" in result["wrong"] and "teatime" in result["wrong"]
    assert result["code"] == "invalid_request"


def test_a_memory_expires_after_the_ttl_of_its_custom_metadata(adk: list[str | Path], dev: DevServer) -> None:
    result = _run(adk, "lifetimes", dev.url)
    assert "ttl" in result["invalid"] and "soon" in result.pop("invalid")
    assert result.pop("event")
    assert result == {
        "text": ["text", False, 1.0],
        "days": ["days", False, 720.0],
        "number": ["number", False, 2.0],
        "timedelta": ["timedelta", False, 3.0],
        "none": ["none", False, None],
    }


def test_the_service_is_found_by_its_uri(adk: list[str | Path]) -> None:
    """The command `adk web --memory_service_uri=mnemosyne://…` looks for the service in ADK's registry."""
    script = (
        "from google.adk.cli.service_registry import get_service_registry as registry\n"
        "from mnemosyne_adk import MnemosyneMemoryService as Service\n"
        "registry().register_memory_service('mnemosyne', Service.from_uri)\n"
        "for uri in ('mnemosyne://memory.example.com/mcp', 'mnemosyne://127.0.0.1:8766'):\n"
        "    print(vars(registry().create_memory_service(uri, agents_dir='.')))\n"
    )
    environ = {**_environment(), "MNEMOSYNE_API_KEY": "secret"}
    ended = subprocess.run([adk[0], "-c", script], capture_output=True, text=True, timeout=120, env=environ, check=True)
    far, near = ended.stdout.splitlines()
    assert "'https://memory.example.com/mcp'" in far and "'_api_key': 'secret'" in far
    assert "'http://127.0.0.1:8766/mcp'" in near
