"""The first minutes of a new user, and of a user of the earlier Mnemosyne, with `mnemosyne dev`."""

import concurrent.futures
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mnemosyne.cli.local.functions import free_port
from tests.dev import COMMAND, DevServer, fill, run
from tests.mcp_client import request, tool_call
from tests.waiting import wait_until

MEMORIES = int(os.environ.get("MEMORIES_AT_ONCE", "80"))


def test_a_memory_is_ingested_found_and_deleted(dev: DevServer) -> None:
    request_id = dev.ingest("TITLE: Tea\nTAGS: ada, drink\nAda prefers green tea to coffee.", tags=["preference"])
    outcome = dev.outcome(request_id)
    assert outcome["state"] == "stored"
    memory_id = outcome["memory_id"]
    result = dev.call("memory_search", {"query": "what does Ada like to drink?", "tags": ["ADA"]})
    assert result["memories"][0]["id"] == memory_id
    assert dev.call("get_memory", {"id": memory_id})["title"] == "Tea"
    listed = dev.call("list_memories", {"tags": ["drink"]})["memories"]
    assert [memory["id"] for memory in listed] == [memory_id]
    assert dev.call("delete_memory", {"id": memory_id})["deleted"] is True
    assert "no memory has the id" in dev.error("get_memory", {"id": memory_id})
    assert "nothing was deleted" in dev.error("delete_memory", {"id": memory_id})
    assert dev.call("memory_search", {"query": "tea", "tags": ["ada"]})["memories"] == []


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    """A client that sends no Accept header, like older scripts."""
    with httpx.Client(timeout=30) as opened:
        del opened.headers["accept"]
        yield opened


def test_the_scripts_of_earlier_users_work_unchanged(dev: DevServer, client: httpx.Client) -> None:
    headers = {"Content-Type": "application/json"}
    hello = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "script", "version": "1.0"}}
    initialize = request("initialize", hello, id_=0)
    response = client.post(dev.url, content=json.dumps(initialize), headers=headers)
    assert response.json()["result"]["protocolVersion"] == "2024-11-05"
    headers["Mcp-Session-Id"] = response.headers.get("Mcp-Session-Id", "an-old-session")
    arguments = {"content": "from a script", "timestamp": "2026-05-20T12:00:00Z"}
    call = tool_call("ingest_memory", arguments)
    answer = client.post(dev.url, content=json.dumps(call), headers=headers).json()
    queued = json.loads(answer["result"]["content"][0]["text"])
    assert queued["status"] == "queued"
    assert dev.outcome(queued["request_id"])["state"] == "stored"


def test_memories_over_eight_connections_are_stored_once_each(dev: DevServer) -> None:
    contents = [f"bulk memory number {n} about topic {n % 17}" for n in range(MEMORIES)]
    for state in ("stored", "duplicate"):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            request_ids = list(pool.map(lambda content: dev.ingest(content, tags=["bulk"]), contents))
        assert len(set(request_ids)) == MEMORIES
        statuses: list[dict[str, Any]] = []

        def all_final(ids: list[str] = request_ids, into: list[dict[str, Any]] = statuses) -> bool:
            into.clear()
            for start in range(0, MEMORIES, 100):
                into += dev.call("ingest_status", {"request_ids": ids[start : start + 100]})["requests"]
            return all(status["state"] != "queued" for status in into)

        wait_until(all_final, "all requests are final", seconds=120)
        assert {status["state"] for status in statuses} == {state}
        assert len({status["memory_id"] for status in statuses}) == MEMORIES


def test_a_connector_searches_and_fetches_what_it_found(dev: DevServer) -> None:
    result = dev.call("ingest_memory", {"content": "The heron nests by the weir.", "wait": 10})
    results = dev.call("search", {"query": "heron"})["results"]
    assert results[0] == {
        "id": result["memory_id"],
        "title": "The heron nests by the weir.",
        "url": f"https://127.0.0.1:{dev.port}/memories/{result['memory_id']}",
        "confidence": "strong",
    }
    document = dev.call("fetch", {"id": results[0]["id"]})
    assert (document["text"], document["url"]) == ("The heron nests by the weir.", results[0]["url"])


def test_dev_prints_how_to_connect_each_client(dev: DevServer) -> None:
    printed = dev.printed()
    clients = ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "Gemini CLI", "MCP Inspector")
    for client in clients:
        assert client in printed
    assert dev.url in printed
    (line,) = re.findall(r"^  (curl .*)$", printed, re.MULTILINE)
    output = subprocess.run(line, shell=True, capture_output=True, check=True).stdout
    assert "memories" in json.loads(output)["result"]["structuredContent"]


def test_the_two_printed_commands_store_a_memory_and_find_it(dev: DevServer) -> None:
    printed = re.findall(r"^  (\S*mnemosyne) ((?:remember|search) .*)$", dev.printed(), re.MULTILINE)
    assert all(shutil.which(program) for program, _ in printed)
    remember, search = (f"{COMMAND} {arguments}" for _, arguments in printed)
    stored = subprocess.run(remember, shell=True, capture_output=True, text=True, check=True).stdout
    id_ = re.fullmatch(r"(?:Stored|Already stored) as ([0-9a-f-]{36})\.\n", stored)
    assert id_
    output = subprocess.run(search, shell=True, capture_output=True, text=True, check=True).stdout
    assert id_[1] in output.splitlines()[0]
    assert "    The oolong is on shelf 7." in output


def test_a_used_port_is_reported_in_one_line(dev: DevServer) -> None:
    ended = run("dev", "--port", str(dev.port), "--data-dir", str(dev.directory / "other"))
    assert ended.returncode == 1
    assert ended.stderr == (
        f"mnemosyne: port {dev.port} on 127.0.0.1, for the MCP endpoint, is in use: choose another with --port\n"
    )


@pytest.mark.parametrize("host", ["192.0.2.1", "two..dots"])
def test_a_host_that_is_not_of_this_machine_is_reported_with_its_option(host: str, tmp_path: Path) -> None:
    ended = run("dev", "--host", host, "--auth-mode", "api_key", "--data-dir", str(tmp_path / "data"))
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"mnemosyne: --host must be a name or address of this machine, got {host} (")


def test_the_highest_port_is_refused_with_log_in_which_needs_the_next_port_too(tmp_path: Path) -> None:
    ended = run("dev", "--port", "65535", "--auth-mode", "oauth", "--data-dir", str(tmp_path / "data"))
    assert ended.returncode == 1
    assert ended.stderr == (
        "mnemosyne: port 65536 on 127.0.0.1, for the authorization server, one above --port, does not exist: choose "
        "another with --port\n"
    )


@pytest.mark.parametrize("character", ['"', "$", "`", "\\", "\n"])
def test_a_directory_that_a_shell_would_misread_is_refused_and_not_created(character: str, tmp_path: Path) -> None:
    directory = tmp_path / f"data{character}HOME"
    ended = run("dev", "--port", str(free_port()), "--data-dir", str(directory))
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"mnemosyne: the path of the data directory must not contain {character!r}, got ")
    assert not directory.exists()


def test_a_full_disk_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "access.json").symlink_to("/dev/full")
    ended = run("dev", "--port", str(free_port()), "--data-dir", str(tmp_path))
    assert ended.returncode == 1
    assert ended.stderr == "mnemosyne: No space left on device: free some space, then run the command again\n"


def test_a_database_that_does_not_start_is_reported_with_the_cause_in_its_log(tmp_path: Path) -> None:
    data = ("--data-dir", str(tmp_path / "data"))
    fill(tmp_path / "data")
    assert run("keys", "create", "--name", "agent", *data).returncode == 0
    with (tmp_path / "data" / "postgres" / "postgresql.auto.conf").open("a") as settings:
        settings.write("shared_preload_libraries = 'nowhere'\n")
    ended = run("keys", "list", *data)
    assert ended.returncode == 1
    assert 'FATAL:  could not access file "nowhere": No such file or directory: read its log ' in ended.stderr
    (check,) = json.loads(run("doctor", "--json", *data).stdout)
    assert (check["name"], check["ok"]) == ("local system", False)
    assert "setting" not in check["remedy"]


def test_a_directory_in_use_is_reported_in_one_line(dev: DevServer) -> None:
    ended = run("dev", "--port", str(free_port()), "--data-dir", str(dev.directory / "data"))
    assert ended.returncode == 1
    assert "another `mnemosyne dev` runs on" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_unwritable_directory_is_reported_in_one_line(dev: DevServer) -> None:
    ended = run("dev", "--port", str(free_port()), "--data-dir", "/proc/nowhere")
    assert ended.returncode == 1
    assert re.fullmatch(r"mnemosyne: the data directory /proc/nowhere cannot be written \(.*\): .*\n", ended.stderr)


def test_a_host_that_other_machines_can_reach_is_refused_without_authentication() -> None:
    ended = run("dev", "--host", "0.0.0.0")
    assert ended.returncode == 1
    assert "anybody could read everything" in ended.stderr
