"""The schema on each server: it can be applied to an empty database and is the same on all servers."""

from collections.abc import Callable, Iterator

import pytest

from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memory_database import read_embedding_space
from mnemosyne.cli.local import postgres
from mnemosyne.domain.embedding_space import EmbeddingSpace
from tests.fakes import FAKE_SPACE
from tests.servers import catalog
from tests.servers.conftest import DEFAULT, by_day
from tests.servers.server import CloudServer, Server

pytestmark = pytest.mark.parametrize("server", by_day(DEFAULT), indirect=True)
NewDatabase = Callable[..., str]


@pytest.fixture
def owner(server: Server, new_database: NewDatabase) -> Iterator[Connection]:
    """A connection of the schema's owner to an empty database."""
    with server.connection(postgres.OWNER, new_database(empty=True)) as connection:
        yield connection


@pytest.fixture
def expected(started: Callable[[str], Server]) -> list[str]:
    """The listing of the schema on the server that `mnemosyne dev` uses."""
    embedded = started("embedded")
    embedded.prepare()
    with embedded.connection(postgres.OWNER, postgres.DATABASE) as owner:
        return catalog.listing(owner)


def test_cloud_sql_s_owner_is_not_a_superuser_and_owns_no_database(server: Server, owner: Connection) -> None:
    rights = owner.one(
        "SELECT rolsuper, rolbypassrls, rolreplication, pg_get_userbyid(datdba) AS database_owner"
        " FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()"
    )
    of_cloud_sql = [False, False, False, "cloudsqlsuperuser"]
    assert list(rights) == (of_cloud_sql if isinstance(server, CloudServer) else [True, True, True, postgres.OWNER])


def test_pg_trgm_is_available_on_cloud_sql_and_not_in_the_embedded_server(server: Server, owner: Connection) -> None:
    offered = owner.run("SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'")
    assert offered == [[1 if isinstance(server, CloudServer) else 0]]


def test_the_schema_applied_to_an_empty_database_is_the_same_on_each_server(
    owner: Connection, expected: list[str]
) -> None:
    applied = migrations.migrate(owner, migrations.schema_files(), space=FAKE_SPACE)
    assert [migration.label for migration in applied] == [migration.label for migration in migrations.schema_files()]
    assert catalog.listing(owner) == expected
    assert catalog.extensions(owner) == ["plpgsql", "vector"]


def test_applying_the_schema_again_changes_nothing(owner: Connection, expected: list[str]) -> None:
    migrations.migrate(owner, migrations.schema_files(), space=FAKE_SPACE)
    assert migrations.migrate(owner, migrations.schema_files(), space=FAKE_SPACE) == []
    assert catalog.listing(owner) == expected


@pytest.mark.parametrize("user", ["the owner", "another user"])
def test_extensions_installed_before_do_not_change_the_schema(
    server: Server, new_database: NewDatabase, expected: list[str], user: str
) -> None:
    name = new_database(empty=True)
    with server.connection(postgres.OWNER, name) as owner:
        for extension in ("vector", "pg_trgm", "btree_gist"):
            if owner.run("SELECT FROM pg_available_extensions WHERE name = :extension", extension=extension):
                statement = f"CREATE EXTENSION {extension}"
                owner.run_file(statement) if user == "the owner" else server.as_superuser(statement, name)
        migrations.migrate(owner, migrations.schema_files(), space=FAKE_SPACE)
        assert catalog.listing(owner) == expected


@pytest.mark.parametrize(
    "space",
    [
        *(
            pytest.param(EmbeddingSpace("gemini", "gemini-embedding-001", dimension), marks=pytest.mark.nightly)
            for dimension in (768, 1536)
        ),
        EmbeddingSpace("gemini", "gemini-embedding-2", 3072),
        EmbeddingSpace("offline", "wordllama-l2-supercat-256", 256),
    ],
    ids=str,
)
def test_embeddings_have_the_provider_model_and_dimension_of_the_settings(
    owner: Connection, space: EmbeddingSpace
) -> None:
    migrations.migrate(owner, migrations.schema_files(), space=space)
    assert read_embedding_space(owner, space) == space
    columns = owner.run(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attname = 'embedding'"
        " AND attrelid IN (CAST('memories' AS regclass), CAST('memory_chunks' AS regclass))"
    )
    assert columns == [[f"halfvec({space.dimension})"]] * 2
