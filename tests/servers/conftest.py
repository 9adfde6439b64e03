"""Fixtures: the PostgreSQL servers on which the tests run, each started once per process, and their databases."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.cli.local import postgres
from tests.directories import server_directory
from tests.servers import programs
from tests.servers.server import CloudServer, Server
from tests.shared_database import owner_of, pool_of

EMBEDDED: dict[str, Callable[[], Path]] = {
    "embedded": lambda: programs.embedded()[postgres.VERSION],
    "newest embedded": lambda: max(programs.embedded().items())[1],
}
CLOUD_SQL: dict[str, Callable[[], Path]] = {
    "Cloud SQL 15": programs.postgresql_15,
    "Cloud SQL 17": programs.postgresql_17,
    "Cloud SQL 18": programs.postgresql_18,
}
DEFAULT = "Cloud SQL 17"
"""The server with the version of PostgreSQL that a new deployment has."""


def by_day(*names: str) -> list[Any]:
    """Return all servers as parameters. By day, CI uses only the servers with these names. `make test` uses none."""
    return [
        pytest.param(name, marks=pytest.mark.slow if name in names else pytest.mark.nightly)
        for name in (*EMBEDDED, *CLOUD_SQL)
    ]


@pytest.fixture(scope="session")
def started() -> Iterator[Callable[[str], Server]]:
    """Function that returns the server with this name, and starts it at the first call."""
    servers: dict[str, Server] = {}
    missing: dict[str, str] = {}

    def server(name: str) -> Server:
        if name in missing:
            pytest.skip(missing[name])
        if name not in servers:
            try:
                servers[name] = _started_server(name, exits.enter_context(server_directory()))
            except pytest.skip.Exception as skipped:
                missing[name] = str(skipped)
                raise
            exits.callback(servers[name].stop)
            servers[name].start()
        return servers[name]

    with ExitStack() as exits:
        yield server


def _started_server(name: str, directory: Path) -> Server:
    if name in EMBEDDED:
        return Server(name, EMBEDDED[name](), directory)
    return CloudServer(name, CLOUD_SQL[name](), directory, programs.american_english())


@pytest.fixture(params=by_day(DEFAULT))
def server(request: pytest.FixtureRequest, started: Callable[[str], Server]) -> Server:
    """A running PostgreSQL server on which the users exist, but no schema."""
    return started(request.param)


@pytest.fixture
def cluster(server: Server) -> Server:
    """A server whose database `mnemosyne` has the schema. Replaces the fixture of all other tests."""
    server.prepare()
    return server


@pytest.fixture
def new_database(server: Server, _names: Iterator[int]) -> Iterator[Callable[..., str]]:
    """Function that creates a database for one test, with the schema or `empty`, and returns its name."""
    names: list[str] = []

    def make(*, empty: bool = False) -> str:
        name = f"test_{os.getpid()}_{next(_names)}"
        if not empty:
            server.prepare()
        server.create_database(name, None if empty else postgres.DATABASE)
        names.append(name)
        return name

    yield make
    for name in names:
        server.drop_database(name)


@pytest.fixture(scope="session")
def _shared_names() -> set[tuple[str, str]]:
    return set()


@pytest.fixture
def database(cluster: Server, _shared_names: set[tuple[str, str]]) -> Iterator[str]:
    """The name of a database with the schema that tests of a server share; it is empty at the start of a test.

    A test that changes the schema or the embedding space must use `new_database` instead.
    """
    name = f"shared_{os.getpid()}"
    if (cluster.name, name) not in _shared_names:
        cluster.create_database(name, postgres.DATABASE)
        _shared_names.add((cluster.name, name))
    yield name
    cluster.empty(name)


@pytest.fixture
def pool(cluster: Server, database: str) -> Iterator[Pool]:
    """Connections to this test's database as the functions' database user."""
    with closing(pool_of(cluster, database)) as opened:
        yield opened


@pytest.fixture
def owner(cluster: Server, database: str) -> Iterator[Connection]:
    """A connection to this test's database as its owner, without a statement timeout."""
    with closing(owner_of(cluster, database)) as connection:
        yield connection
