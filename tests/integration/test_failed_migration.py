"""A migration that PostgreSQL refuses: the error has the file, the SQLSTATE and the server's message."""

from collections.abc import Callable, Iterator

import pytest

from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.migrations import SchemaFile
from mnemosyne.cli.local import postgres
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.errors import MigrationFailed

SPACE = EmbeddingSpace("gemini", "gemini-embedding-001", 768)
FAILURES = [
    ("CREATE TABLE x (id int);\nCREATE TABLE x (id int);", "42P07", 'relation "x" already exists'),
    ("SELECT 1;\n\nSELECT nothing_there;", "42703", 'column "nothing_there" does not exist; line 3'),
    ("SELECT to_text(1)", "42883", "function to_text(integer) does not exist; hint: No function matches the given"),
    ("CREATE EXTENSION no_such_extension", "0A000", "is not available; detail: Could not open extension control file"),
    ("DO $$ BEGIN RAISE EXCEPTION 'two rows lack a timestamp'; END $$", "P0001", "two rows lack a timestamp"),
    ("SET LOCAL statement_timeout = 1; SELECT pg_sleep(9)", "57014", "canceling statement due to statement timeout"),
    (
        "CREATE TABLE m (content text, size int CHECK (size > 1)); INSERT INTO m VALUES ('a secret diary', 0)",
        "23514",
        'new row for relation "m" violates check constraint "m_size_check"',
    ),
]


@pytest.fixture
def owner(cluster: postgres.EmbeddedPostgres, new_database: Callable[..., str]) -> Iterator[Connection]:
    """The owner of an empty database."""
    connection = connection_factory(cluster.url(postgres.OWNER, new_database(empty=True)), socket_timeout=None)()
    yield connection
    connection.close()


@pytest.mark.parametrize(("sql", "sqlstate", "message"), FAILURES, ids=[sqlstate for _, sqlstate, _ in FAILURES])
@pytest.mark.parametrize("version", [1, None], ids=["migration", "repeatable"])
def test_the_error_has_the_file_the_sqlstate_and_the_message_and_no_stored_text(
    owner: Connection, sql: str, sqlstate: str, message: str, version: int | None
) -> None:
    file = SchemaFile(version=version, name="broken", sql=sql)
    with pytest.raises(MigrationFailed) as caught:
        migrations.migrate(owner, [file], space=SPACE)
    failed = caught.value
    assert (failed.file, failed.sqlstate) == (file.label, sqlstate)
    assert message in failed.message
    assert str(failed) == f"{file.label} failed: {sqlstate} {failed.message}"
    assert "diary" not in str(failed)


def test_a_role_without_the_right_to_create_tables_gets_a_clear_error(
    owner: Connection, cluster: postgres.EmbeddedPostgres, new_database: Callable[..., str]
) -> None:
    name = new_database(empty=True)
    owner.script("CREATE ROLE stranger LOGIN")
    stranger = connection_factory(cluster.url("stranger", name))()
    try:
        with pytest.raises(
            MigrationFailed, match="schema_migrations failed: 42501 permission denied for schema public"
        ):
            migrations.migrate(stranger, migrations.schema_files(), space=SPACE)
    finally:
        stranger.close()
        owner.script("DROP ROLE stranger")
