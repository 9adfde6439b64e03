"""A durable queue in one SQLite file, which replaces Pub/Sub for a system on a single machine.

Any process on the machine can publish a message, and `mnemosyne dev` delivers it. SQLite's write-ahead log
keeps a published message even if every process is killed. The queue works without the database of the memories.
"""

import sqlite3
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from mnemosyne.domain.memory import Reading
from mnemosyne.domain.message import encode
from mnemosyne.domain.plurals import quantity
from mnemosyne.domain.provenance import Publisher
from mnemosyne.errors import Unavailable
from mnemosyne.observability import current_trace

_PRAGMAS = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON;"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS messages (
    message_id INTEGER PRIMARY KEY AUTOINCREMENT,
    data BLOB NOT NULL,
    attributes TEXT NOT NULL,
    publish_time TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
    due REAL NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    last_error TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS messages_due ON messages (due);
"""


_WRITABLE = "make the data directory and queue.db writable by your user"
_NEXT_STEPS = {
    sqlite3.SQLITE_FULL: "make room on the disk",
    sqlite3.SQLITE_BUSY: "stop the other program that has queue.db open",
    sqlite3.SQLITE_READONLY: _WRITABLE,
    sqlite3.SQLITE_CANTOPEN: _WRITABLE,
    sqlite3.SQLITE_PERM: _WRITABLE,
    **dict.fromkeys(
        (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB),
        "it is damaged: stop the system, move queue.db away, and ingest the memories again that were not stored yet",
    ),
}
"""What to do about an error of SQLite, by its primary code: https://www.sqlite.org/rescode.html."""


def next_step(error: Exception) -> str:
    """Return advice for a person who gets this error when the SQLite file of the local queue is read or written."""
    primary_code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return _NEXT_STEPS.get(primary_code, "check that the disk has room and that the data directory is writable")


@dataclass(frozen=True)
class QueuedMessage:
    """One message waiting for delivery."""

    message_id: int
    data: bytes
    attributes: Mapping[str, str]
    publish_time: str
    attempts: int


class LocalQueue:
    """The queue of ingest requests in an SQLite file, with methods to deliver the messages. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._open_connection: sqlite3.Connection | None = None

    def _connection(self) -> sqlite3.Connection:
        if self._open_connection is None:
            try:
                self._path.touch(mode=0o600)  # only this user may read the queued contents
            except OSError as exc:
                raise sqlite3.OperationalError(str(exc)) from exc
            connection = sqlite3.connect(self._path, timeout=10, isolation_level=None, check_same_thread=False)
            connection.executescript(_PRAGMAS + _SCHEMA)
            self._open_connection = connection
        return self._open_connection

    def publish(self, namespace: str, readings: Sequence[Reading], publisher: Publisher | None = None) -> None:
        trace = current_trace()
        self.republish(*encode(namespace, readings, trace.traceparent if trace else "", publisher))

    def check(self) -> str:
        return f"{self._path}, {quantity(self.waiting(), 'message')} waiting"

    def waiting(self) -> int:
        """Return the number of messages in the queue. Raises Unavailable if the file cannot be read or written."""
        try:
            with self._lock:
                ((waiting,),) = self._connection().execute("SELECT count(*) FROM messages").fetchall()
                # Check that the file can be written: this write changes nothing, but fails if the disk is full.
                self._connection().execute("PRAGMA user_version = 0")
                return int(waiting)
        except sqlite3.Error as exc:
            cause = f"the queue file {self._path} cannot be opened or written"
            raise Unavailable(cause, next_step=next_step(exc), detail=str(exc)) from exc

    def republish(self, data: bytes, attributes: Mapping[str, str]) -> None:
        try:
            with self._lock:
                self._connection().execute(
                    "INSERT INTO messages (data, attributes) VALUES (?, ?)",
                    (data, orjson.dumps(dict(attributes)).decode()),
                )
        except sqlite3.Error as exc:
            cause = "nothing was stored, because the queue file cannot be written"
            raise Unavailable(cause, next_step=next_step(exc), detail=str(exc)) from exc

    def due(self, now: float, limit: int, *, horizon: float, excluded: Sequence[int] = ()) -> list[QueuedMessage]:
        """List messages due at `now` (seconds since the epoch), oldest first, without the ids in `excluded`.

        No message is scheduled more than `horizon` seconds ahead. If a message is due later than that, the clock was
        set back after the message was scheduled. So this message is returned, too.
        """
        with self._lock:
            rows = self._connection().execute(
                "SELECT message_id, data, attributes, publish_time, attempts FROM messages"
                " WHERE (due <= ? OR due > ?) AND message_id NOT IN (SELECT value FROM json_each(?))"
                " ORDER BY message_id LIMIT ?",
                (now, now + horizon, orjson.dumps(list(excluded)).decode(), limit),
            )
            return [
                QueuedMessage(message_id, data, orjson.loads(attributes), publish_time, attempts)
                for message_id, data, attributes, publish_time, attempts in rows.fetchall()
            ]

    def acknowledge(self, message_ids: Sequence[int]) -> None:
        """Delete delivered messages in one transaction."""
        with self._lock:
            self._connection().execute(
                "DELETE FROM messages WHERE message_id IN (SELECT value FROM json_each(?))",
                (orjson.dumps(list(message_ids)).decode(),),
            )

    def postpone(self, message_id: int, *, due: float, error: str) -> None:
        """Record a failed delivery of a message, and make the message due again at `due` (seconds since the epoch)."""
        with self._lock:
            self._connection().execute(
                "UPDATE messages SET due = ?, attempts = attempts + 1, last_error = ? WHERE message_id = ?",
                (due, error, message_id),
            )

    def reset_backoff(self) -> None:
        """Make every message due now.

        Called when `mnemosyne dev` starts to deliver, because the error that delayed the messages may be fixed.
        """
        with self._lock:
            self._connection().execute("UPDATE messages SET due = 0")

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._open_connection is not None:
                self._open_connection.close()
                self._open_connection = None
