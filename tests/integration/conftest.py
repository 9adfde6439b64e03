"""Fixtures for tests with a real PostgreSQL."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from click.testing import CliRunner, Result

from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.change_feed import ChangeFeeds
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.oauth import find_valid_grant
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.cli.local import postgres
from mnemosyne.cli.main import cli
from mnemosyne.domain.change_feed import ChangeFeed
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.oauth import PeopleRule
from mnemosyne.ids import new_id
from tests.fakes_wire.gemini import GeminiServer, service_account
from tests.oauth_server import AuthServer, claims_of
from tests.shared_database import SharedDatabase

FAILS = """
CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT {condition} FROM {rows}s) THEN RAISE SQLSTATE '{state}'; END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER fail AFTER {change} ON memories REFERENCING {rows} TABLE AS {rows}s
    FOR EACH STATEMENT EXECUTE FUNCTION fail()
"""


@pytest.fixture
def command(cluster: postgres.EmbeddedPostgres, shared_database: SharedDatabase) -> Callable[..., Result]:
    """Function that runs `mnemosyne` with the given arguments, as the database user who owns the schema."""
    url = cluster.url(postgres.OWNER, shared_database.name)
    environment = {"MNEMOSYNE_DATABASE_URL": url, "MNEMOSYNE_TOPIC": "file:///nowhere"}
    return lambda *arguments: CliRunner().invoke(cli, arguments, env=environment)


@pytest.fixture(scope="module")
def migrated(cluster: postgres.EmbeddedPostgres) -> Iterator[Callable[[EmbeddingSpace], str]]:
    """Function that returns the name of a migrated database for an embedding space. The tests of a module share it."""
    names: dict[EmbeddingSpace, str] = {}
    with closing(connection_factory(cluster.url(postgres.OWNER, postgres.OWNER))()) as server:

        def get(space: EmbeddingSpace) -> str:
            if space not in names:
                name = f"migrated_{os.getpid()}_{new_id().hex}"
                server.run_file(f"CREATE DATABASE {name} TEMPLATE template0 STRATEGY file_copy")
                names[space] = name
                with closing(connection_factory(cluster.url(postgres.OWNER, name))()) as owner:
                    migrations.migrate(owner, migrations.schema_files(), space=space)
            return names[space]

        yield get
        for name in names.values():
            server.run_file(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def fails(owner: Connection) -> Iterator[Callable[..., None]]:
    """Function that makes statements on the table `memories` fail with the SQLSTATE `state`, until the test ends.

    A statement of the kind `change`, such as INSERT, fails if the SQL condition `condition` is met. The condition can
    read the changed rows, which are named `NEWs` or `OLDs`.
    """

    def begin(condition: str, state: str = "57014", change: str = "INSERT", rows: str = "NEW") -> None:
        owner.run_file(FAILS.format(condition=condition, state=state, change=change, rows=rows))

    yield begin
    owner.script("DROP FUNCTION IF EXISTS fail CASCADE")


@pytest.fixture
def feeds(shared_database: SharedDatabase) -> ChangeFeeds:
    """The change feeds of the shared database, with connections as the owner of the schema."""
    return ChangeFeeds(shared_database.connect_as_owner)


@pytest.fixture
def feed_on(feeds: ChangeFeeds) -> None:
    """Turn the change feed of the tests' namespace on."""
    feeds.set(ChangeFeed(namespace="ns", enabled=True, contents=False))


@pytest.fixture
def gemini(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[GeminiServer]:
    """A fake of the developer API and of Vertex AI.

    The Gemini embedder of this process calls it, with credentials for both.
    """
    with GeminiServer().serving() as server:
        credentials = tmp_path / "gemini.json"
        credentials.write_text(json.dumps(service_account(server)))
        for name, value in {
            "GEMINI_API_KEY": "key",
            "GOOGLE_APPLICATION_CREDENTIALS": str(credentials),
            "GOOGLE_GEMINI_BASE_URL": server.url,
            "GOOGLE_VERTEX_BASE_URL": server.url,
        }.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("GOOGLE_GENAI_USE_VERTEXAI", raising=False)
        yield server


@pytest.fixture
def server(auth: Pool, tmp_path: Path) -> AuthServer:
    """An authorization server that gives each person access to the same namespace."""
    return AuthServer(auth, tmp_path, [PeopleRule(who="*", namespace="team")])


@pytest.fixture
def stands(pool: Pool) -> Callable[[dict[str, Any]], bool]:
    """Function that returns whether `mcp` accepts the access token in an answer of the token endpoint."""
    return lambda tokens: find_valid_grant(pool, UUID(claims_of(tokens)["grant"])) is not None
