"""A pool of connections that the threads of an instance share. It opens a connection only when one is needed."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.errors import Unavailable

CHECKOUT_TIMEOUT_SECONDS = 10.0
"""Seconds for which a thread waits for a free connection. This is shorter than the time for which clients wait for an
answer."""
MAX_AGE_SECONDS = 30 * 60.0
"""Age in seconds at which an idle connection is replaced. It is below one hour, because the certificates of the Cloud
SQL Connector are valid for one hour."""


class Pool:
    """At most `size` connections, shared by the threads of one instance of a service.

    When a connection is lost, the idle connections that were opened before that moment are discarded, because they were
    probably lost for the same reason.
    """

    def __init__(self, connect: Callable[[], Connection], size: int) -> None:
        self._open = connect
        self._idle: list[Connection] = []
        self._free = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._distrust_before = 0.0
        self._closed = False
        self.size = size

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection to a `with` block. Raises Unavailable if no connection becomes free in time."""
        if not self._free.acquire(timeout=CHECKOUT_TIMEOUT_SECONDS):
            raise Unavailable(f"all {self.size} database connections are busy")
        try:
            connection = self._take_idle() or self._open()
            try:
                yield connection
            finally:
                self._put_back(connection)
        finally:
            self._free.release()

    def close(self) -> None:
        """Close the idle connections. Other connections are closed when they are returned to the pool."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take_idle(self) -> Connection | None:
        oldest = time.monotonic() - MAX_AGE_SECONDS
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
                usable = connection.opened_at > max(oldest, self._distrust_before)
            if usable and connection.is_usable():
                return connection
            connection.close()

    def _put_back(self, connection: Connection) -> None:
        with self._lock:
            if connection.broken:
                self._distrust_before = time.monotonic()
            keep = not (connection.broken or self._closed) and connection.opened_at > self._distrust_before
            if keep:
                connection.used_at = time.monotonic()
                self._idle.append(connection)
        if not keep:
            connection.close()
