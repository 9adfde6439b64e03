"""Prepared statements with named parameters, and the rows of their results."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import pg8000.native
from pg8000.converters import make_params


class Row(list[Any]):
    """A row of a result; `row[name]` reads a column."""

    def __init__(self, values: Iterable[Any], columns: Mapping[str, int]) -> None:
        super().__init__(values)
        self._columns = columns

    def __getitem__(self, column: Any) -> Any:
        return super().__getitem__(self._columns[column] if isinstance(column, str) else column)

    @property
    def by_name(self) -> dict[str, Any]:
        """Return the values of the row as a dict, with the column names as keys."""
        return dict(zip(self._columns, self, strict=True))


# Parsing a statement takes up to 2 ms. With the cache, a statement is parsed once, and not once for each connection.
_parse = cache(pg8000.native.to_statement)


class Statement:
    """A statement that is prepared on one connection, with the index of each result column."""

    def __init__(self, driver: Any, sql: str) -> None:
        self._text, self._values = _parse(sql)
        self._driver, self._prepared = driver, driver.prepare_statement(self._text, ())
        self._columns = {column["name"]: index for index, column in enumerate(self._prepared[1] or ())}

    def run(self, parameters: Mapping[str, object]) -> list[Row]:
        """Run the statement with values for its parameters, and return its rows."""
        values = make_params(self._driver.py_types, self._values(parameters))
        name, columns, readers = self._prepared
        rows = self._driver.execute_named(name, values, columns, readers, self._text).rows
        return [Row(row, self._columns) for row in rows or ()]
