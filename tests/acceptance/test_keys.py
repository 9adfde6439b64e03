"""API keys in use: created, shown once, refused, revoked, and in no log or file."""

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mnemosyne.cli.local.data_dir import DataDir
from tests.dev import DevServer, fill, run, serving
from tests.mcp_client import request

pytestmark = pytest.mark.slow

LIST = request("tools/list")


def _keys(server: DevServer, *arguments: str) -> str:
    completed = run("keys", *arguments, "--data-dir", server.directory / "data")
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


@pytest.fixture(scope="module")
def _running() -> Iterator[DevServer]:
    with serving("--host", "0.0.0.0", "--auth-mode", "api_key") as server:
        yield server


@pytest.fixture
def guarded(_running: DevServer) -> Iterator[DevServer]:
    """`mnemosyne dev` with keys, which all tests here share. A test's own client sends the test's key."""
    yield _running
    _running.client.headers.pop("Authorization", None)


def _create(server: DevServer, *arguments: str) -> dict[str, Any]:
    key: dict[str, Any] = json.loads(_keys(server, "create", "--name", "test", "--json", *arguments))
    return key


def test_a_key_gives_access_to_its_own_namespace_only(guarded: DevServer) -> None:
    assert guarded.post(LIST).status_code == 401
    assert guarded.post(LIST, Authorization="Bearer mnk_aaaaaaaaaaaa_b").status_code == 401
    ada, bob = (_create(guarded, "--namespace", name)["token"] for name in ("ada", "bob"))
    guarded.client.headers["Authorization"] = f"Bearer {ada}"
    outcome = guarded.outcome(guarded.ingest("Ada's own"))
    assert outcome["state"] == "stored"
    guarded.client.headers["Authorization"] = f"Bearer {bob}"
    assert "no memory has the id" in guarded.error("get_memory", {"id": outcome["memory_id"]})
    assert guarded.call("memory_stats", {})["memories"] == 0


def test_a_server_with_api_keys_accepts_any_host_name(guarded: DevServer) -> None:
    assert guarded.url in guarded.printed()
    for name in ("memory.example.com", socket.gethostname(), f"10.1.2.3:{guarded.port}"):
        answer = httpx.post(guarded.url, json=LIST, headers={"Host": name})
        assert answer.status_code == 401, answer.text


def test_the_guide_stores_exactly_the_key_of_the_smoke_test(guarded: DevServer) -> None:
    guide = Path("docs/deployment.md").read_text()
    (line,) = (line for line in guide.splitlines() if "gcloud secrets versions add mnemosyne-smoke-key" in line)
    _, extract, _ = line.split(" | ")
    key = _keys(guarded, "create", "--name", "smoke")
    assert key.startswith("mnk_") and key.count("\n") == 1
    printed = f"Installing 60 packages into .venv …\n{key}"
    secret = subprocess.run(["bash", "-c", extract], input=printed, capture_output=True, text=True, check=True).stdout
    assert secret.count("\n") == 1
    guarded.client.headers["Authorization"] = f"Bearer {secret.strip()}"
    assert guarded.post(LIST).status_code == 200


def test_dev_prints_how_to_create_a_key_before_the_commands_that_need_one(guarded: DevServer) -> None:
    printed = guarded.printed()
    assert 0 < printed.index("keys create --name NAME") < printed.index("MNEMOSYNE_TOKEN=mnk_…")


def test_a_key_with_only_the_read_scope_sees_no_writing_tools(guarded: DevServer) -> None:
    guarded.client.headers["Authorization"] = f"Bearer {_create(guarded, '--scope', 'read')['token']}"
    names = {tool["name"] for tool in guarded.post(LIST).json()["result"]["tools"]}
    assert "memory_search" in names and "ingest_memory" not in names


def test_a_revoked_key_is_refused_unless_it_was_cached_just_before(guarded: DevServer) -> None:
    revoked = _create(guarded)
    _keys(guarded, "revoke", revoked["id"])
    assert guarded.post(LIST, Authorization=f"Bearer {revoked['token']}").status_code == 401
    (listed,) = (key for key in json.loads(_keys(guarded, "list", "--json")) if key["id"] == revoked["id"])
    assert listed["revoked_at"] is not None


def test_the_secret_is_in_no_log_no_process_list_and_no_file(guarded: DevServer) -> None:
    token = _create(guarded)["token"]
    secret = token.rsplit("_", 1)[1]
    guarded.client.headers["Authorization"] = f"Bearer {token}"
    guarded.outcome(guarded.ingest("anything"))
    guarded.call_raw("get_memory", {"id": "not an id"})
    for file in (guarded.directory / "data").rglob("*"):
        if file.is_file():
            assert secret.encode() not in file.read_bytes(), file
    for process in Path("/proc").glob("[0-9]*"):
        try:
            assert secret.encode() not in (process / "cmdline").read_bytes(), process
        except OSError:
            continue
    assert secret not in guarded.printed()
    assert secret not in _keys(guarded, "list")


def test_doctor_reports_the_authentication_of_dev_only_while_dev_runs(guarded: DevServer, tmp_path: Path) -> None:
    def authentication(data: Path) -> str:
        completed = run("doctor", "--json", "--data-dir", data)
        assert completed.returncode == 0, completed.stdout
        checks = json.loads(completed.stdout)
        return str(next(check["seen"] for check in checks if check["name"] == "authentication"))

    running, killed = guarded.directory / "data", tmp_path / "data"
    fill(killed)
    shutil.copy(DataDir(running).access, DataDir(killed).access)  # as if a killed dev had left it
    assert authentication(running).startswith("api_key: keys can be looked up")
    assert authentication(killed).startswith("none: ")
