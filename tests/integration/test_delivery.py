"""Delivery of the local queue: it is concurrent, and continues after faults of a message or of the file."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fasteners
import pytest

from mnemosyne.adapters.queues.local import LocalQueue
from mnemosyne.cli.local.delivery import CONCURRENCY, Delivery
from tests.fakes import request
from tests.fakes_wire.http import JsonServer
from tests.waiting import wait_until


class Function(JsonServer):
    """A function that answers 204 to each push. Pushes whose number is in `held` first wait until `released` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.delivered: list[int] = []
        self.held: set[int] = set()

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        number = int(body["message"]["messageId"])
        if number in self.held:
            self.released.wait()
        self.delivered.append(number)
        return 204, ""


@pytest.fixture
def function() -> Iterator[Function]:
    with Function().serving() as server:
        yield server


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[LocalQueue]:
    queue = LocalQueue(tmp_path / "queue.db")
    yield queue
    queue.close()


def publish(queue: LocalQueue, count: int) -> None:
    for number in range(count):
        queue.publish("default", [request(f"memory {number}")])


@contextmanager
def delivering(queue: LocalQueue, function: Function, tmp_path: Path) -> Iterator[None]:
    lock = fasteners.InterProcessLock(tmp_path / "delivery.lock")
    delivery = Delivery(queue, function.url, lambda: function.url, delivery_lock=lock, secret="secret")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mnemosyne.cli.local.delivery.FAILURE_PAUSE_SECONDS", 0.1)
        delivery.start()
        try:
            yield
        finally:
            function.released.set()
            delivery.stop()


@pytest.mark.parametrize("slow", [{1}, {5}, set(range(1, CONCURRENCY))])
def test_slow_pushes_do_not_delay_others_while_a_thread_is_free(
    queue: LocalQueue, function: Function, tmp_path: Path, slow: set[int]
) -> None:
    function.held = slow
    publish(queue, 40)
    with delivering(queue, function, tmp_path):
        fast = set(range(1, 41)) - slow
        wait_until(lambda: set(function.delivered) == fast, "every other message is delivered")
        publish(queue, 1)
        wait_until(lambda: 41 in function.delivered, "a message published meanwhile is delivered")
    assert sorted(function.delivered) == list(range(1, 42))


def test_a_message_that_cannot_be_read_does_not_end_the_delivery(
    queue: LocalQueue, function: Function, tmp_path: Path
) -> None:
    publish(queue, 2)
    with sqlite3.connect(tmp_path / "queue.db") as file:
        file.execute("UPDATE messages SET attributes = '[1]' WHERE message_id = 1")
    with delivering(queue, function, tmp_path):
        wait_until(lambda: 2 in function.delivered, "the other message is delivered")
        publish(queue, 1)
        wait_until(lambda: 3 in function.delivered, "later messages are delivered")


def test_delivery_continues_when_the_file_can_be_used_again(
    queue: LocalQueue, function: Function, tmp_path: Path
) -> None:
    publish(queue, 1)
    with sqlite3.connect(tmp_path / "queue.db") as file:
        file.execute("ALTER TABLE messages RENAME TO unreachable")
    with delivering(queue, function, tmp_path):
        with sqlite3.connect(tmp_path / "queue.db") as file:
            file.execute("ALTER TABLE unreachable RENAME TO messages")
        wait_until(lambda: function.delivered == [1], "the message is delivered")


def test_delivery_starts_when_its_lock_file_can_be_opened(
    queue: LocalQueue, function: Function, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "delivery.lock").mkdir()
    publish(queue, 1)
    with delivering(queue, function, tmp_path):
        wait_until(lambda: "delivery_failed" in caplog.text, "the lock is tried")
        (tmp_path / "delivery.lock").rmdir()
        wait_until(lambda: function.delivered == [1], "the message is delivered")


def test_a_message_scheduled_before_the_clock_was_set_back_is_due(queue: LocalQueue) -> None:
    publish(queue, 1)
    queue.postpone(1, due=1_000_000.0, error="")
    assert [message.message_id for message in queue.due(500_000.0, 10, horizon=30)] == [1]
    assert queue.due(999_980.0, 10, horizon=30) == []
