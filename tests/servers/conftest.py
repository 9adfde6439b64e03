"""The servers that the tests run on, each started once per process, and their databases."""

import os
from collections.abc import Callable, Iterator

import pytest

from mnemosyne_cli.local import postgres
from tests.servers import programs
from tests.servers.server import CloudServer, Server

SERVERS: dict[str, Callable[[str], Server]] = {
    "embedded": lambda name: Server(name, programs.embedded()[postgres.VERSION]),
    "newest embedded": lambda name: Server(name, max(programs.embedded().items())[1]),
    "Cloud SQL 15": lambda name: CloudServer(name, programs.postgresql_15(), programs.american_english()),
    "Cloud SQL 17": lambda name: CloudServer(name, programs.postgresql_17(), programs.american_english()),
    "Cloud SQL 18": lambda name: CloudServer(name, programs.postgresql_18(), programs.american_english()),
}
CLOUD_SQL = [name for name in SERVERS if name.startswith("Cloud SQL")]
OTHERS = [name for name in SERVERS if name != "embedded"]
"""The servers that tests in other folders do not use."""


@pytest.fixture(scope="session")
def started() -> Iterator[Callable[[str], Server]]:
    """Starts the server of that name, once."""
    servers: dict[str, Server] = {}
    missing: dict[str, str] = {}

    def server(name: str) -> Server:
        if name in missing:
            pytest.skip(missing[name])
        if name not in servers:
            try:
                made = SERVERS[name](name)
            except pytest.skip.Exception as skipped:
                missing[name] = str(skipped)
                raise
            servers[name] = made
            made.start()
        return servers[name]

    yield server
    for one in servers.values():
        one.stop()


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest, started: Callable[[str], Server]) -> Server:
    """A running server with users and without the schema."""
    return started(request.param)


@pytest.fixture
def cluster(server: Server) -> Server:
    """A server whose database `mnemosyne` has the schema. Replaces the fixture of all other tests."""
    server.prepare()
    return server


@pytest.fixture
def new_database(server: Server, _names: Iterator[int]) -> Iterator[Callable[..., str]]:
    """Creates databases for one test, with the schema or `empty`, and returns their names. Drops them afterwards."""
    made: list[str] = []

    def make(*, empty: bool = False) -> str:
        name = f"test_{os.getpid()}_{next(_names)}"
        if not empty:
            server.prepare()
        server.create_database(name, None if empty else postgres.DATABASE)
        made.append(name)
        return name

    yield make
    for name in made:
        server.drop_database(name)
