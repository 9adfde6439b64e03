"""The state machine, on a separate database."""

from collections.abc import Callable, Iterator

import pytest

from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.cli.local import postgres
from tests.model.machine import Machine
from tests.model.world import Database

MOVES = 500
"""Number of changes of the embedding space after which another database is used. Each change drops a column, and a
table of PostgreSQL can have at most 1,600 columns, including the dropped ones."""


@pytest.fixture
def machine(cluster: postgres.EmbeddedPostgres, new_database: Callable[[], str]) -> Iterator[type[Machine]]:
    """The state machine. After MOVES changes of the embedding space, it continues in another database."""
    databases: list[Database] = []

    def database() -> Database:
        if not databases or databases[-1].moves > MOVES:
            name = new_database()
            owner = connection_factory(cluster.url(postgres.OWNER, name), socket_timeout=None, statement_seconds=0)()
            databases.append(Database(owner, cluster.url(postgres.RUNTIME_USER, name)))
        return databases[-1]

    yield type("Machine", (Machine,), {"database": staticmethod(database), "sequences": 0})
    for used in databases:
        used.owner.close()
