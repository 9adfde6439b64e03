"""Fixtures that tests share: an embedded PostgreSQL server, and the complete system as a subprocess.

Fixtures import heavy modules inside of functions, so that unit tests start within a second.
"""

import itertools
import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

import mnemosyne.cli  # noqa: F401  (before gRPC: it turns off what crashes forked children)
from tests.clock import clock
from tests.emulator import emulator
from tests.workers import (
    pytest_collection,
    pytest_collection_finish,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_xdist_make_scheduler,
)

if TYPE_CHECKING:
    from mnemosyne.adapters.database.connections import Connection
    from mnemosyne.adapters.database.memories import MemoryStore
    from mnemosyne.adapters.database.pool import Pool
    from mnemosyne.cli.local.postgres import EmbeddedPostgres
    from tests.dev import DevServer
    from tests.fakes import FakeServices
    from tests.shared_database import SharedDatabase

__all__ = [
    "clock",
    "emulator",
    "pytest_collection",
    "pytest_collection_finish",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_xdist_make_scheduler",
]

settings.register_profile("nightly", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("day", settings.get_profile("nightly"), max_examples=25)
settings.register_profile("unit", settings.get_profile("nightly"), max_examples=5)
settings.load_profile("day")

# Use one thread. pytest's workers and their servers already use all cores. If the multilingual model and NumPy had
# several threads on a core that is in use, these would spend half of their CPU time waiting for each other in loops.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Do not ignore SIGINT, because tests end `mnemosyne dev` with this signal. If pytest is a background process of a shell
# without job control, it was started with SIGINT ignored, and its children would inherit this.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _log_level() -> Iterator[None]:
    """Restore the log level after each test, because a command that runs in the process of the tests changes it."""
    logger = logging.getLogger("mnemosyne")
    level = logger.level
    yield
    logger.setLevel(level)


@pytest.fixture(scope="session", autouse=True)
def _no_local_system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the local system of the person who runs the tests from commands that name no system."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("no_local_system")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_public_authorities() -> Iterator[None]:
    from tests import authorities

    with pytest.MonkeyPatch.context() as patch:
        authorities.leave_out(patch.setattr)
        yield


@pytest.fixture(scope="session")
def cluster() -> "Iterator[EmbeddedPostgres]":
    """A PostgreSQL server for this test session."""
    from mnemosyne.cli.local import postgres
    from mnemosyne.cli.local.data_dir import DataDir
    from tests.directories import server_directory
    from tests.fakes import FAKE_SPACE

    with server_directory() as directory:
        server = postgres.start(DataDir.at(str(directory)))
        try:
            postgres.prepare(server, FAKE_SPACE)
            # The write-ahead log is kept small, because the files of the server may be in memory.
            _as_owner(server, "ALTER SYSTEM SET max_wal_size = '256MB'")
            _as_owner(server, "SELECT pg_reload_conf()")
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="session")
def _names() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture
def new_database(cluster: "EmbeddedPostgres", _names: Iterator[int]) -> Iterator[Callable[..., str]]:
    """Return a function that creates a database for one test and returns its name. The database is dropped afterwards.

    The database has the current schema, or no tables if the function is called with `empty=True`, or is a copy of the
    database `template`.
    """
    from mnemosyne.cli.local import postgres

    made: list[str] = []

    def make(*, empty: bool = False, template: str = postgres.DATABASE) -> str:
        name = f"test_{os.getpid()}_{next(_names)}"
        # `file_copy` copies the template's files. This takes half as much CPU time as the default strategy, which
        # writes each page to the write-ahead log.
        copied = "template0" if empty else template
        _as_owner(cluster, f"CREATE DATABASE {name} TEMPLATE {copied} STRATEGY file_copy")
        made.append(name)
        return name

    yield make
    for name in made:
        _as_owner(cluster, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def filled_database(cluster: "EmbeddedPostgres", _names: Iterator[int]) -> Iterator[str]:
    """The name of a database with the current schema, which the tests of one module share and fill once."""
    from mnemosyne.cli.local import postgres

    name = f"filled_{os.getpid()}_{next(_names)}"
    _as_owner(cluster, f"CREATE DATABASE {name} TEMPLATE {postgres.DATABASE} STRATEGY file_copy")
    yield name
    _as_owner(cluster, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """The name of the shared database, which is empty at the start of a test.

    A test with the marker `own_database` gets a new database instead. Creating a database takes fifty times as long as
    emptying the shared database.
    """
    if request.node.get_closest_marker("own_database"):
        name: str = request.getfixturevalue("new_database")()
        return name
    shared_database: SharedDatabase = request.getfixturevalue("shared_database")
    return shared_database.name


@pytest.fixture
def pool(cluster: "EmbeddedPostgres", database: str, _shared_database: "SharedDatabase") -> "Iterator[Pool]":
    """Connections to this test's database as the functions' database user.

    All tests on the shared database use the same connections, because a new connection would have to prepare each SQL
    statement again.
    """
    from tests.shared_database import pool_of

    if database == _shared_database.name:
        yield _shared_database.pool
        return
    with closing(pool_of(cluster, database)) as opened:
        yield opened


@pytest.fixture
def owner(cluster: "EmbeddedPostgres", database: str, _shared_database: "SharedDatabase") -> "Iterator[Connection]":
    """A connection to this test's database as its owner, without a statement timeout."""
    from tests.shared_database import owner_of

    if database == _shared_database.name:
        yield _shared_database.owner
        return
    with closing(owner_of(cluster, database)) as connection:
        yield connection


@pytest.fixture
def store(pool: "Pool") -> "MemoryStore":
    """A PostgreSQL store on this test's database."""
    from tests.fakes import memories_in

    return memories_in(pool)


@pytest.fixture(scope="session")
def _shared_database(cluster: "EmbeddedPostgres") -> "Iterator[SharedDatabase]":
    from mnemosyne.cli.local import postgres
    from tests.shared_database import SharedDatabase

    name = f"shared_{os.getpid()}"
    _as_owner(cluster, f"CREATE DATABASE {name} TEMPLATE {postgres.DATABASE}")
    opened = SharedDatabase(cluster, name)
    yield opened
    opened.close()


@pytest.fixture
def shared_database(_shared_database: "SharedDatabase") -> "Iterator[SharedDatabase]":
    """A shared database that is empty at the start of a test.

    Emptying it is fifty times faster than creating a database.

    A test that changes the schema or the embedding space needs the marker `own_database`.
    """
    yield _shared_database
    _shared_database.empty()


@pytest.fixture
def auth(shared_database: "SharedDatabase") -> "Pool":
    """Connections to the shared database with the rights of the function `auth`."""
    return shared_database.auth


@pytest.fixture
def memories(shared_database: "SharedDatabase") -> "MemoryStore":
    """An empty store on the shared database."""
    from tests.fakes import memories_in

    return memories_in(shared_database.pool)


@pytest.fixture
def services(memories: "MemoryStore") -> "FakeServices":
    """The services that tools use, with an empty store."""
    from tests.fakes import FakeServices

    return FakeServices(memories)


def _as_owner(cluster: "EmbeddedPostgres", statement: str) -> None:
    from mnemosyne.adapters.database.connections import connection_factory
    from mnemosyne.cli.local import postgres

    connection = connection_factory(cluster.url(postgres.OWNER, postgres.OWNER))()
    try:
        connection.script(statement)
    finally:
        connection.close()


@pytest.fixture(scope="session")
def dev() -> "Iterator[DevServer]":
    """`mnemosyne dev` as a subprocess, shared by all tests that do not stop it."""
    from tests.dev import serving

    with serving() as server:
        yield server


@pytest.fixture
def own_dev() -> "Iterator[DevServer]":
    """`mnemosyne dev` for one test, which starts it."""
    from tests.dev import DevServer
    from tests.directories import server_directory

    with server_directory() as directory:
        server = DevServer(directory)
        try:
            yield server
        finally:
            server.close()
