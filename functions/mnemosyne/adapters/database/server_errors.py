"""Handle errors of PostgreSQL: describe them for operators, and repeat work with fewer rows after a timeout."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

import pg8000.exceptions

from mnemosyne.errors import MigrationFailed, MnemosyneError, StatementTimeout

ResultT = TypeVar("ResultT")

_INTEGRITY = "23"


def error_fields(exc: BaseException) -> Mapping[str, str]:
    """Return the fields of the PostgreSQL error that caused an exception; empty if there is none.

    The fields are described in https://www.postgresql.org/docs/current/protocol-error-fields.html. The exception is the
    PostgreSQL error, or was raised while the PostgreSQL error was handled. For example, when the server refuses a
    log-in, it closes the connection. The driver then tries to close the connection too, which raises another exception.
    """
    cause: BaseException | None = exc
    while cause is not None:
        if isinstance(cause, pg8000.exceptions.DatabaseError) and cause.args and isinstance(cause.args[0], Mapping):
            return cause.args[0]
        cause = cause.__cause__ or cause.__context__
    return {}


def server_message(fields: Mapping[str, str], sql: str = "") -> str:
    """Return the message, detail and hint of a PostgreSQL error as one text.

    If `sql` is given, the text also has the number of the line of `sql` in which the error is.
    """
    parts = [fields.get("M", "")]
    # Leave out the detail of an integrity error, because it quotes the row, which may contain the text of a memory.
    if "D" in fields and not fields.get("C", "").startswith(_INTEGRITY):
        parts.append(f"detail: {fields['D']}")
    if "H" in fields:
        parts.append(f"hint: {fields['H']}")
    if sql and "P" in fields:
        parts.append(f"line {sql.count(chr(10), 0, int(fields['P'])) + 1}")
    return "; ".join(parts)


@contextmanager
def migrating(file: str, sql: str = "") -> Iterator[None]:
    """In a `with` block or decorated function, replace an error of PostgreSQL by MigrationFailed, which names the file.

    `file` is the name of the schema file, and `sql` is its text.
    """
    try:
        yield
    except (MnemosyneError, pg8000.exceptions.DatabaseError) as exc:
        fields = error_fields(exc)
        if not fields or isinstance(exc, MigrationFailed):
            raise
        raise MigrationFailed(file, fields.get("C", ""), server_message(fields, sql)) from exc


def smaller_on_timeout(work: Callable[[int], ResultT], limit: int) -> ResultT:
    """Call `work` with a maximum number of rows, and return its result.

    The first call gets the number `limit`. After each statement timeout, `work` is called again with a tenth of the
    previous number, down to one row.
    """
    while True:
        try:
            return work(limit)
        except StatementTimeout:
            if limit == 1:
                raise
            limit = max(1, limit // 10)
