"""A process that is killed at one of its statements, and its connections."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.statements import Row


class Killed(BaseException):
    """Raised when the process has been killed."""


@dataclass
class Process:
    """A function's process that is killed at its n-th statement, before or after the statement is executed."""

    kill_at: int | None = None
    is_after: bool = False
    statements: int = 0
    killed: bool = False

    @contextmanager
    def statement(self) -> Iterator[None]:
        """Run one statement, or be killed."""
        if self.killed:
            raise Killed
        self.statements += 1
        is_last = self.statements == self.kill_at
        if is_last and not self.is_after:
            self.killed = True
            raise Killed
        yield
        if is_last:
            self.killed = True
            raise Killed


class KillableConnection(Connection):
    """A connection of a process that may be killed."""

    def __init__(self, driver: Any, process: Process) -> None:
        super().__init__(driver, None)
        self._process = process
        self.pid: int = super().script("SELECT pg_backend_pid()")[0][0]

    def run(self, sql: LiteralString, **parameters: object) -> list[Row]:
        with self._counted():
            return super().run(sql, **parameters)

    def copy(self, sql: LiteralString, data: bytes) -> None:
        with self._counted():
            super().copy(sql, data)

    def script(self, sql: LiteralString) -> list[list[Any]]:
        with self._counted():
            return super().script(sql)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        try:
            with self._process.statement():
                yield
        except Killed:
            self.broken = True
            raise
