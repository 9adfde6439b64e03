"""Base class of the stores for the owner of the schema."""

from collections.abc import Callable
from contextlib import closing
from typing import LiteralString

from mnemosyne.adapters.database.connections import Connection, Row


class OwnerStore:
    """Base of a store that opens a connection for each operation."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._open = connect

    def _run(self, sql: LiteralString, **parameters: object) -> list[Row]:
        """Run one statement on a new connection, and return its rows."""
        with closing(self._open()) as connection:
            return connection.run(sql, **parameters)

    def _one(self, sql: LiteralString, **parameters: object) -> Row:
        """Run one statement on a new connection, and return its only row."""
        (row,) = self._run(sql, **parameters)
        return row
