"""Migrations that lose their connection after any file, on each server."""

from collections.abc import Callable
from typing import Any

import pytest

from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.cli.local import postgres
from mnemosyne.errors import Unavailable
from tests.fakes import FAKE_SPACE
from tests.servers import catalog
from tests.servers.server import Server
from tests.servers.test_adoption import OldDatabase


class Interrupted(Connection):
    """A connection of a migration that another connection, `other`, ends after a number of scripts.

    The scripts of a migration are: the creation of its bookkeeping table, BEGIN, each file, REVOKE and COMMIT.
    """

    def __init__(self, opened: Connection, scripts: int, other: Connection) -> None:
        super().__init__(opened._driver, None)
        self._left = scripts
        self._process = opened.one("SELECT pg_backend_pid() AS process")["process"]
        self._other = other

    def run_file(self, text: str) -> list[list[Any]]:
        rows = super().run_file(text)
        self._left -= 1
        if self._left == 0:
            assert self._other.run("SELECT pg_terminate_backend(:process, 60000)", process=self._process) == [[True]]
        return rows


FILES = len(migrations.schema_files())
BEFORE_FILES = 2  # the script for the bookkeeping table, and BEGIN
AFTER_FILES = 1  # REVOKE, which takes the right to call functions from all roles


def _is_interrupted(server: Server, database: str, scripts: int, other: Connection) -> bool:
    """Run the migration, and end its connection after `scripts` scripts. Return whether it had more scripts."""
    with server.connection(postgres.OWNER, database) as opened:
        try:
            migrations.migrate(Interrupted(opened, scripts, other), migrations.schema_files(), space=FAKE_SPACE)
        except Unavailable:
            return True
        return False


@pytest.fixture
def full_schema(cluster: Server) -> tuple[list[str], list[str]]:
    """Return what `catalog.objects` and `catalog.listing` return for a schema applied without an interruption."""
    with cluster.connection(postgres.OWNER, postgres.DATABASE) as owner:
        return catalog.objects(owner), catalog.listing(owner)


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.nightly), FILES // 3])
def test_a_migration_interrupted_after_any_file_changes_nothing_and_the_next_one_completes(
    server: Server, new_database: Callable[..., str], full_schema: tuple[list[str], list[str]], step: int
) -> None:
    name, commit = new_database(empty=True), BEFORE_FILES + FILES + AFTER_FILES + 1
    with server.connection(postgres.OWNER, name) as owner:
        only_bookkeeping: list[str] = []
        for scripts in (1, *range(2, commit - 1, step), commit - 1):
            assert _is_interrupted(server, name, scripts, owner)
            only_bookkeeping = only_bookkeeping or catalog.objects(owner)
            assert catalog.objects(owner) == only_bookkeeping
        assert not any("memories" in line for line in only_bookkeeping)
        assert _is_interrupted(server, name, commit, owner)
        assert catalog.objects(owner) == full_schema[0]
        assert not _is_interrupted(server, name, commit + 1, owner)
        assert catalog.listing(owner) == full_schema[1]


@pytest.mark.parametrize("scripts", [BEFORE_FILES + 1, BEFORE_FILES + FILES], ids=["set aside", "copied"])
def test_an_interrupted_adoption_leaves_the_go_server_s_memories_unchanged(
    server: Server, new_database: Callable[..., str], full_schema: tuple[list[str], list[str]], scripts: int
) -> None:
    name = new_database(empty=True)
    rows = "SELECT id, content, CAST(embedding AS text), content_hash, last_seen_at FROM memories ORDER BY id"
    with server.connection(postgres.OWNER, name) as owner:
        OldDatabase(owner, FAKE_SPACE.dimension)
        before = owner.run_file(rows)
        assert _is_interrupted(server, name, scripts, owner)
        assert owner.run_file(rows) == before
        migrations.migrate(owner, migrations.schema_files(), space=FAKE_SPACE)
        assert catalog.objects(owner) == full_schema[0]
        assert [row[:2] for row in owner.run_file(rows)] == [row[:2] for row in before]
