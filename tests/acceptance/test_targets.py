"""Commands that name no system use the local system in the user's data directory, whether it runs or not."""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.dev import COMMAND, DevServer, fill
from tests.waiting import wait_until

pytestmark = pytest.mark.slow


class Home:
    """The home directory of a user, whose data directory has a local system.

    `run` runs commands that name no system.
    """

    def __init__(self, path: Path) -> None:
        self.directory = path / "mnemosyne"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MNEMOSYNE_")}
        self.environment = {**inherited, "XDG_DATA_HOME": str(path)}

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, *arguments], env=self.environment, capture_output=True, text=True, check=False, timeout=120
        )


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "share")


@pytest.fixture(scope="module")
def used_home() -> Iterator[Home]:
    """The home of a user whose local system has memories."""
    with tempfile.TemporaryDirectory(prefix="mnemosyne-targets-") as directory:
        yield Home(Path(directory))


@pytest.fixture(scope="module")
def system(used_home: Home) -> Iterator[DevServer]:
    """`mnemosyne dev` on the user's data directory, at a port that is not the default one."""
    fill(used_home.directory)
    server = DevServer(used_home.directory.parent)
    server.arguments = ("--data-dir", str(used_home.directory))
    server.environment = used_home.environment
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def running(system: DevServer) -> DevServer:
    """The same system, which has been started."""
    if not system.alive:
        system.start()
    return system


def test_commands_find_the_system_that_runs_on_the_users_data_directory(
    running: DevServer, used_home: Home, tmp_path: Path
) -> None:
    home = used_home
    assert home.run("remember", "The kettle is in the shed.").stdout.startswith("Stored as ")
    assert "The kettle is in the shed." in home.run("search", "kettle").stdout
    note = tmp_path / "A.md"
    note.write_text("The gate is green.")
    completed = home.run("import", note, "--via", "mcp")
    assert (completed.returncode, completed.stdout) == (0, "1 stored, 0 duplicate, 0 failed.\n"), completed.stderr
    assert "The gate is green." in running.call("memory_search", {"query": "gate"})["memories"][0]["content"]
    for command in ("doctor", "outcomes", "keys list"):
        completed = home.run(*command.split())
        assert completed.returncode == 0, (command, completed.stdout, completed.stderr)


def test_printed_commands_need_no_target_for_the_users_data_directory(running: DevServer, used_home: Home) -> None:
    wait_until(lambda: "Ctrl-C stops everything" in running.printed(), "the lines are printed")
    lines = re.findall(r"^  \S*mnemosyne ((?:remember|search) .*)$", running.printed(), re.MULTILINE)
    assert len(lines) == 2
    assert not any("--url" in line for line in lines)
    for line in lines:
        completed = subprocess.run(
            f"{COMMAND} {line}", shell=True, env=used_home.environment, capture_output=True, text=True
        )
        assert completed.returncode == 0, completed.stderr


def test_concurrent_commands_share_a_system_that_was_not_running(home: Home) -> None:
    fill(home.directory)
    contents = ["The heron sleeps.", "The otter sleeps."]
    with ThreadPoolExecutor() as threads:
        completed = list(threads.map(lambda content: home.run("remember", content), contents))
    assert [run.returncode for run in completed] == [0, 0], [run.stderr for run in completed]
    (home.directory / "queue.db").write_bytes(b"no queue")  # reading does not use the queue
    exported = home.run("export")
    assert exported.returncode == 0, exported.stderr
    lines = [json.loads(line) for line in exported.stdout.splitlines()]
    assert set(contents) == {line["content"] for line in lines if "content" in line}


def test_a_command_while_dev_starts_waits_for_it(running: DevServer, used_home: Home) -> None:
    running.remember("The first.")
    running.stop()
    with ThreadPoolExecutor() as threads:
        started = threads.submit(running.start)
        completed = used_home.run("search", "first")
        started.result()
    assert (completed.returncode, "The first." in completed.stdout) == (0, True), completed.stderr
