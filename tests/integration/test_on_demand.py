"""A local system starts `ingest` and `dead_letter` only when they are needed."""

import sqlite3
from pathlib import Path

import pytest

from mnemosyne.adapters.queues.local import LocalQueue
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.cli.local.delivery import MAX_DELIVERY_ATTEMPTS
from mnemosyne.cli.local.functions import FunctionProcess
from mnemosyne.cli.local.tools import tools_url
from tests.dev import fill
from tests.fakes import request
from tests.forks import fork_function
from tests.waiting import wait_until


@pytest.fixture
def directory(tmp_path: Path) -> DataDir:
    fill(tmp_path / "data")
    return DataDir.at(str(tmp_path / "data"))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """List of the functions that have been started, by name, in the order of their starts."""
    names: list[str] = []

    def recorded(function: FunctionProcess) -> None:
        names.append(function.target)
        fork_function(function)

    monkeypatch.setattr(FunctionProcess, "start", recorded)
    return names


def publish(directory: DataDir, *, attempts: int) -> None:
    queue = LocalQueue(directory.queue)
    queue.publish("default", [request("Lee plays the piano.")])
    queue.close()
    with sqlite3.connect(directory.queue) as file:
        file.execute("UPDATE messages SET attempts = ?", (attempts,))


def test_a_command_that_only_reads_starts_no_ingest(directory: DataDir, started: list[str]) -> None:
    with tools_url(directory, stores=False):
        assert started == ["mcp"]


def test_a_command_starts_ingest_if_a_message_waits_and_dead_letter_when_it_is_given_up(
    directory: DataDir, started: list[str]
) -> None:
    publish(directory, attempts=MAX_DELIVERY_ATTEMPTS)
    queue = LocalQueue(directory.queue)
    with tools_url(directory, stores=False):
        assert sorted(started)[-2:] == ["ingest", "mcp"]
        wait_until(lambda: queue.waiting() == 0, "the message is delivered")
    queue.close()
    assert sorted(started) == ["dead_letter", "ingest", "mcp"]
