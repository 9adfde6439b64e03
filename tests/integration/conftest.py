"""What tests against a real PostgreSQL share."""

from collections.abc import Iterator

import pytest

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne_cli.local import postgres


@pytest.fixture
def owner(cluster: postgres.EmbeddedPostgres, database: str) -> Iterator[Connection]:
    """A connection to this test's database that sees everything and may take its time."""
    connection = connection_factory(cluster.url(postgres.OWNER, database), socket_timeout=None, statement_seconds=0)()
    yield connection
    connection.close()
