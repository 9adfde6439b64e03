"""A database that many tests share. It is empty at the start of each test."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.cli.local import postgres

if TYPE_CHECKING:
    from tests.servers.server import Server

TABLES: Final = """
    SELECT relname FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
      AND relname NOT IN ('audit_retention', 'embedding_space', 'quotas', 'schema_migrations', 'schema_repeatables')
"""
"""Query for the names of the tables in which tests store rows."""
_QUOTAS: Final = "DELETE FROM quotas WHERE namespace <> ''"


def deletion(tables: Iterable[str]) -> str:
    """Return the statements that delete all rows of these tables, for a superuser."""
    deletes = [f"DELETE FROM {table}" for table in tables]
    # The role `replica` turns off triggers. They would subtract the deleted rows from the sums in namespace_usage.
    return "; ".join(["BEGIN", "SET LOCAL session_replication_role = replica", *deletes, _QUOTAS, "COMMIT"])


def pool_of(cluster: "postgres.EmbeddedPostgres | Server", name: str) -> Pool:
    """Return connections to a database as the functions' database user."""
    return Pool(connection_factory(cluster.url(postgres.RUNTIME_USER, name)), 8)


def owner_of(cluster: "postgres.EmbeddedPostgres | Server", name: str) -> Connection:
    """Return a connection to a database as its owner, without a statement timeout."""
    return connection_factory(cluster.url(postgres.OWNER, name), socket_timeout=None, statement_seconds=0)()


class SharedDatabase:
    """A migrated database with connections as the functions' user, as the function `auth`, and as the owner."""

    def __init__(self, cluster: postgres.EmbeddedPostgres, name: str) -> None:
        self.name = name
        self.pool = pool_of(cluster, name)
        self.auth = Pool(connection_factory(cluster.url("auth", name)), 8)
        self.connect_as_owner = connection_factory(
            cluster.url(postgres.OWNER, name), socket_timeout=None, statement_seconds=0
        )
        self.owner = self.connect_as_owner()
        self._empty = deletion(row["relname"] for row in self.owner.run(TABLES))

    def empty(self) -> None:
        """Delete all rows that a test may have stored, remove the quotas, and reset the owner's database session."""
        self.owner.run_file(f"ROLLBACK; RESET ALL; {self._empty}; {postgres._LIFT_QUOTAS}")

    def close(self) -> None:
        """Close the connections."""
        self.owner.close()
        self.auth.close()
        self.pool.close()
