"""The requests that an import has seen are in a temporary database."""

import sqlite3

import pytest

from mnemosyne.service.seen_requests import SeenRequests


def test_the_temporary_database_is_closed_when_the_import_has_ended() -> None:
    seen = SeenRequests()
    database = seen._database
    del seen
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        database.execute("SELECT 1")
