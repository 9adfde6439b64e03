"""Expect errors of PostgreSQL in tests, and cause faults of the database that last until an operator acts."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.errors import Broken


@contextmanager
def permission_denied(message: str = "permission denied") -> Iterator[None]:
    """Expect that the `with` block raises Broken, because of an error of PostgreSQL whose text matches `message`.

    `message` is a regular expression.
    """
    with pytest.raises(Broken) as raised:
        yield
    assert re.search(message, str(raised.value.__cause__))


def is_denied(connection: Connection, statement: str) -> bool:
    """Return whether PostgreSQL refuses a statement with `permission denied`."""
    try:
        connection.run_file(statement)
    except Broken as exc:
        return "permission denied" in str(exc.__cause__)
    return False


FAULTS = {
    "read-only": (
        "ALTER DATABASE {database} SET default_transaction_read_only = on",
        "ALTER DATABASE {database} RESET default_transaction_read_only",
        "the database is read-only",
        "default_transaction_read_only",
    ),
    "a revoked right": (
        "REVOKE INSERT ON memories FROM mnemosyne_runtime",
        "GRANT INSERT ON memories TO mnemosyne_runtime",
        "this function lacks a right in the database",
        "mnemosyne migrate",
    ),
    "a missing table": (
        "ALTER TABLE memory_chunks RENAME TO lost; ALTER TABLE ingest_requests RENAME TO lost_too",
        "ALTER TABLE lost RENAME TO memory_chunks; ALTER TABLE lost_too RENAME TO ingest_requests",
        "the database's schema is not this version's",
        "mnemosyne migrate",
    ),
    "a full disk": (
        """
        CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql
            AS $$ BEGIN RAISE SQLSTATE '53100' USING MESSAGE = 'could not extend file: No space left on device'; END $$;
        CREATE TRIGGER fill BEFORE INSERT ON memories FOR EACH ROW EXECUTE FUNCTION fill()
        """,
        "DROP TRIGGER fill ON memories; DROP FUNCTION fill",
        "the database's disk is full",
        "raise disk_limit_gb",
    ),
    "an insert that is refused": (
        """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
            AS $$ BEGIN RAISE SQLSTATE '22000' USING MESSAGE = 'expected 63 dimensions, not 64'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON memories FOR EACH ROW EXECUTE FUNCTION refuse()
        """,
        "DROP TRIGGER refuse ON memories; DROP FUNCTION refuse",
        "the database refuses every memory",
        "mnemosyne doctor",
    ),
}
"""For each fault: the statements that begin it, the statements that end it, a part of the logged cause, and a part of
the logged next step."""
