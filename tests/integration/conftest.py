"""Fixtures for tests with a real PostgreSQL."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import jwt
import pytest

from mnemosyne.adapters.database.change_feed import PostgresChangeFeeds
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.oauth import find_standing_grant
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.cli.local import postgres
from mnemosyne.domain.change_feed import ChangeFeed
from mnemosyne.domain.oauth import PeopleRule
from tests.oauth_server import AuthServer, auth_pool
from tests.shared_database import SharedDatabase


@pytest.fixture
def owner(cluster: postgres.EmbeddedPostgres, database: str) -> Iterator[Connection]:
    """A connection to this test's database as its owner, without a statement timeout."""
    connection = connection_factory(cluster.url(postgres.OWNER, database), socket_timeout=None, statement_seconds=0)()
    yield connection
    connection.close()


@pytest.fixture
def feeds(shared_database: SharedDatabase) -> PostgresChangeFeeds:
    """The change feeds of the shared database, as the owner."""
    return PostgresChangeFeeds(shared_database.connect_as_owner)


@pytest.fixture
def feed_on(feeds: PostgresChangeFeeds) -> None:
    """Turn the change feed of the tests' namespace on."""
    feeds.set(ChangeFeed(namespace="ns", enabled=True, contents=False))


@pytest.fixture
def auth(cluster: postgres.EmbeddedPostgres, database: str) -> Iterator[Pool]:
    """Connections with the rights of the function `auth`."""
    with auth_pool(cluster, database) as opened:
        yield opened


@pytest.fixture
def server(auth: Pool, tmp_path: Path) -> AuthServer:
    """An authorization server that gives each person access to the same namespace."""
    return AuthServer(auth, tmp_path, [PeopleRule(who="*", namespace="team")])


@pytest.fixture
def stands(pool: Pool) -> Callable[[dict[str, Any]], bool]:
    """Function that returns whether `mcp` accepts the access token in an answer of the token endpoint."""

    def look(tokens: dict[str, Any]) -> bool:
        claims = jwt.decode(tokens["access_token"], options={"verify_signature": False})
        return find_standing_grant(pool, UUID(claims["grant"])) is not None

    return look
