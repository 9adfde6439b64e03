"""Create local databases for benchmarks, and connect to them."""

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memory_database import MemoryDatabase
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.cli.local import postgres, stack
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.domain.embedding_space import EmbeddingSpace


@contextmanager
def new_database(space: EmbeddingSpace) -> Iterator[tuple[postgres.EmbeddedPostgres, DataDir]]:
    """Yield the server of an empty database, and its data directory. Both are removed when the `with` block ends."""
    with tempfile.TemporaryDirectory(prefix="mnemosyne-bench-") as scratch:
        directory = DataDir.at(scratch)
        with stack.database(directory, space) as server:
            yield server, directory


def owner_of(server: postgres.EmbeddedPostgres, database: str = postgres.DATABASE) -> closing[Connection]:
    """Open a connection as the user who owns the schema. The connection has no time limits.

    Use the result in a `with` statement, which closes the connection.
    """
    return closing(connection_factory(server.url(postgres.OWNER, database), socket_timeout=None, statement_seconds=0)())


@contextmanager
def opened(
    server: postgres.EmbeddedPostgres,
    space: EmbeddingSpace,
    connections: int = 1,
    *,
    user: str = postgres.RUNTIME_USER,
    database: str = postgres.DATABASE,
) -> Iterator[MemoryDatabase]:
    """Connect to a database as `user`, and yield access to the memories in the database."""
    with closing(Pool(connection_factory(server.url(user, database)), connections)) as pool:
        yield MemoryDatabase(pool, space)
