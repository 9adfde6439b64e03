"""The queue's file of a local system: an error says what to do about its cause."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.adapters.queues.local import LocalQueue, next_step
from mnemosyne.app.doctor import check_queue
from mnemosyne.cli.local import services
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.errors import Misconfigured


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "queue.db"


@pytest.fixture
def queue(path: Path) -> Iterator[LocalQueue]:
    with closing(LocalQueue(path)) as queue:
        yield queue


@pytest.mark.parametrize("data", [b"SQLite format 3\x00" + b"\xff" * 4096, b"not a database " * 300])
def test_the_check_of_a_damaged_queue_file_says_to_move_it_away(queue: LocalQueue, path: Path, data: bytes) -> None:
    path.write_bytes(data)
    check = check_queue(queue)
    assert not check.ok
    assert str(path) in check.seen
    assert check.remedy and "it is damaged: stop the system, move queue.db away" in check.remedy


def test_a_local_system_with_a_damaged_queue_file_does_not_start(path: Path) -> None:
    path.write_bytes(b"not a database " * 300)
    unused: Any = None
    with pytest.raises(Misconfigured, match=f"the queue file {path} cannot be opened or written: it is damaged"):
        services._delivery(DataDir(path.parent), unused, unused, {})


def test_a_directory_in_place_of_the_file_is_not_reported_as_a_network_fault(queue: LocalQueue, path: Path) -> None:
    path.mkdir()
    check = check_queue(queue)
    assert not check.ok
    assert check.remedy and "writable" in check.remedy and "network" not in check.remedy


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (sqlite3.SQLITE_FULL, "make room on the disk"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, "stop the other program that has queue.db open"),
        (sqlite3.SQLITE_READONLY_DIRECTORY, "writable by your user"),
        (sqlite3.SQLITE_CANTOPEN, "writable by your user"),
        (sqlite3.SQLITE_IOERR_WRITE, "that the disk has room"),
    ],
)
def test_each_cause_has_its_own_advice(code: int, advice: str) -> None:
    error = sqlite3.OperationalError("failed")
    error.sqlite_errorcode = code
    assert advice in next_step(error)
