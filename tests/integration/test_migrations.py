"""The schema: result of the migrations, repeated runs, and the rights of each role."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memory_database import read_embedding_space
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.cli.local import postgres
from mnemosyne.cli.main import cli
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.errors import MigrationFailed, Misconfigured
from tests.fakes import FAKE_SPACE, FakeEmbedder, memories_in, request
from tests.waiting import wait_until

pytestmark = pytest.mark.own_database

CLOUD_SPACE = EmbeddingSpace("gemini", "gemini-embedding-001", 768)
SMALL = EmbeddingSpace("offline", "small", 8)


@pytest.fixture
def empty(cluster: postgres.EmbeddedPostgres, new_database: Callable[..., str]) -> Iterator[Connection]:
    """A connection as owner on an empty database."""
    connection = connection_factory(cluster.url(postgres.OWNER, new_database(empty=True)))()
    yield connection
    connection.close()


OLDER = migrations.SchemaFile(version=1, name="memories", sql="CREATE TABLE memories (id uuid)")
EDITED = replace(migrations.schema_files()[0], sql="CREATE TABLE memories (id uuid) -- edited later")
SECOND = migrations.SchemaFile(version=2, name="search", sql="SELECT 1")
OTHER_QUALITY = ("02_memory_quality", "2.0 + rating_count", "4.0 + rating_count")


@pytest.mark.parametrize(
    "applied", [[OLDER], [OLDER, SECOND], [EDITED], [EDITED, SECOND]], ids=["older", "older-2", "edited", "edited-2"]
)
def test_a_schema_of_another_version_is_refused_and_the_error_says_how_to_keep_its_memories(
    empty: Connection, applied: list[migrations.SchemaFile]
) -> None:
    migrations.migrate(empty, applied, space=SMALL)
    expected = r"0001 baseline was changed after.*export > memories.jsonl.*import memories.jsonl.*--data-dir NEW"
    with pytest.raises(Misconfigured, match=expected):
        migrations.migrate(empty, migrations.schema_files(), space=SMALL)
    assert empty.run("SELECT to_regclass('memories'), to_regclass('memory_words')") == [["memories", None]]


def test_a_file_that_fails_leaves_an_empty_database_empty(empty: Connection) -> None:
    for name in ("baseline", "02_words", "20_rights", "90_adopt_memories"):
        with pytest.raises(MigrationFailed, match=name):
            migrations.migrate(empty, _changed((name, "", ";SELECT no_such_function();")), space=SMALL)
        tables = empty.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
        assert tables == [["schema_migrations"], ["schema_repeatables"]], name
    assert migrations.migrate(empty, migrations.schema_files(), space=SMALL) == migrations.schema_files()


def _changed(*changes: tuple[str, str, str]) -> list[migrations.SchemaFile]:
    """Return the schema files with changes.

    A change has the name of a file, a part of its SQL, and the SQL that replaces the part. If the part is empty, the
    new SQL is appended to the file.
    """
    files = list(migrations.schema_files())
    for name, old, new in changes:
        (place,) = (place for place, file in enumerate(files) if file.name == name)
        files[place] = replace(files[place], sql=files[place].sql.replace(old, new) if old else files[place].sql + new)
    return files


def test_an_additional_right_is_revoked_when_the_rights_are_applied_again(owner: Connection) -> None:
    owner.script("GRANT DELETE ON memories, api_keys TO mnemosyne_ingest")
    migrations.migrate(owner, _changed(("20_rights", "", "-- changed")), space=FAKE_SPACE)
    rights = (
        "SELECT has_table_privilege('mnemosyne_ingest', t, 'DELETE') FROM unnest(ARRAY['memories', 'api_keys']) AS t"
    )
    assert owner.run(rights) == [[False], [False]]


def test_a_repeatable_file_is_applied_again_once_it_has_changed(owner: Connection) -> None:
    changed = _changed(OTHER_QUALITY)
    assert [file.label for file in migrations.migrate(owner, changed, space=FAKE_SPACE)] == ["02_memory_quality"]
    assert owner.one("SELECT memory_quality(0, 0) AS quality")["quality"] == pytest.approx(0.25)
    assert migrations.migrate(owner, changed, space=FAKE_SPACE) == []


ADD_OVERLOADS = """
DO $$
DECLARE
    own record;
BEGIN
    FOR own IN
        SELECT p.proname, concat_ws(', ', nullif(oidvectortypes(p.proargtypes), ''), 'point') AS types
        FROM pg_proc p WHERE p.pronamespace = CAST('public' AS regnamespace) AND p.prokind = 'f'
            AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    LOOP
        EXECUTE format('CREATE FUNCTION %I(%s) RETURNS integer LANGUAGE sql RETURN 1', own.proname, own.types);
    END LOOP;
END
$$
"""
"""Adds a second function (overload) with the name of each function, as an earlier version would have left behind if
the signature of the function had changed since."""


def test_repeatable_files_apply_although_each_function_has_an_overload_with_an_earlier_signature(
    owner: Connection,
) -> None:
    owner.script(ADD_OVERLOADS)
    changed = [
        replace(file, sql=file.sql + "-- changed") if file.version is None else file
        for file in migrations.schema_files()
    ]
    files = [file.label for file in changed if file.version is None]
    assert [file.label for file in migrations.migrate(owner, changed, space=FAKE_SPACE)] == files


def test_repeatable_files_are_replaced_together_or_not_at_all(owner: Connection) -> None:
    broken = _changed(OTHER_QUALITY, ("12_find_api_key", "", "SELECT no_such_function();"))
    with pytest.raises(MigrationFailed):
        migrations.migrate(owner, broken, space=FAKE_SPACE)
    assert owner.one("SELECT memory_quality(0, 0) AS quality")["quality"] == pytest.approx(0.5)
    assert migrations.migrate(owner, migrations.schema_files(), space=FAKE_SPACE) == []


def test_the_dimension_is_read_from_the_catalog_of_an_empty_table(empty: Connection) -> None:
    migrations.migrate(empty, migrations.schema_files(), space=SMALL)
    assert read_embedding_space(empty, SMALL) == SMALL
    with pytest.raises(
        Misconfigured, match=r"embeddings of small at dimension 8, the settings say small at dimension 16"
    ) as refused:
        read_embedding_space(empty, EmbeddingSpace("offline", "small", 16))
    assert "`mnemosyne reembed --project MY-PROJECT --model small --dimension 16`" in refused.value.next_step


def test_a_database_without_schema_says_what_to_run(empty: Connection) -> None:
    with pytest.raises(Misconfigured, match="without Terraform, `mnemosyne migrate`"):
        read_embedding_space(empty, SMALL)


def test_the_numbers_of_migrations_must_have_no_gaps(tmp_path: Path) -> None:
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrations" / "0002_x.sql").write_text("SELECT 1")
    with pytest.raises(Misconfigured, match="without gaps"):
        migrations.read(tmp_path)


def test_the_runtime_role_owns_nothing_and_cannot_bypass_row_level_security(pool: Pool) -> None:
    with pool.connection() as connection:
        assert connection.run("SELECT count(*) FROM pg_tables WHERE tableowner = current_user") == [[0]]
        rows = connection.run("SELECT rolsuper, rolbypassrls, rolcreaterole FROM pg_roles WHERE rolname = current_user")
        assert rows == [[False, False, False]]


def test_no_gin_index_uses_a_pending_list(owner: Connection) -> None:
    """With a pending list, each search would read the complete list:
    https://www.postgresql.org/docs/current/gin.html."""
    slow = owner.run(
        "SELECT i.relname FROM pg_class i JOIN pg_am a ON a.oid = i.relam"
        " WHERE a.amname = 'gin' AND i.relnamespace = 'public'::regnamespace"
        " AND NOT coalesce(i.reloptions, '{}') @> ARRAY['fastupdate=off']"
    )
    assert slow == []


def test_an_older_version_runs_on_a_newer_schema(owner: Connection) -> None:
    newest = max(migration.version or 0 for migration in migrations.schema_files())
    older = [
        replace(migration, sql=f"{migration.sql}-- as it was") if migration.version is None else migration
        for migration in migrations.schema_files()
        if migration.version != newest
    ]
    assert migrations.migrate(owner, older, space=FAKE_SPACE) == []
    assert migrations.migrate(owner, older, space=FAKE_SPACE, repair=True) == []
    assert [migration.version for migration in migrations.status(owner, older)] == [
        migration.version for migration in older
    ]


@pytest.mark.parametrize("words", [5, 2_000])
def test_a_duplicate_updates_the_row_without_new_index_entries(
    cluster: postgres.EmbeddedPostgres, migrated: Callable[[EmbeddingSpace], str], words: int
) -> None:
    name, embedder = migrated(CLOUD_SPACE), FakeEmbedder()
    embedder.dimension = CLOUD_SPACE.dimension
    counts = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_all_tables WHERE relname = 'memories'"
    with (
        closing(connection_factory(cluster.url(postgres.OWNER, name))()) as owner,
        closing(Pool(connection_factory(cluster.url(postgres.RUNTIME_USER, name)), 1)) as pool,
    ):
        store = memories_in(pool, space=CLOUD_SPACE)

        def updates(attempt: int) -> tuple[int, int]:
            """Store four contents five times each. Count all updates, and the updates that added no index entries."""
            before, hot_before = owner.run(counts)[0]
            contents = [f"{attempt} {n} " + " ".join(f"word{n * m}" for m in range(words)) for n in range(4)]
            for content in contents * 5:
                again = request(content)
                with store.claim([again]) as claim:
                    if claim.new:
                        claim.store(claim.new, [embedder.embed_documents([content])], CLOUD_SPACE.model)
            with pool.connection() as connection:  # otherwise its statistics are reported up to ten seconds later
                connection.run("SELECT pg_stat_force_next_flush()")
            wait_until(lambda: owner.run(counts)[0]["n_tup_upd"] >= before + 16, "the server has counted 16 updates")
            after, hot_after = owner.run(counts)[0]
            return after - before, hot_after - hot_before

        # One success in five attempts is enough. While the server analyzes a table, it keeps old rows. If a page is
        # then full, an update needs new index entries.
        assert (16, 16) in map(updates, range(5))


DAMAGE = """
REVOKE INSERT ON memories FROM mnemosyne_ingest;
REVOKE EXECUTE ON FUNCTION memory_quality(integer, integer) FROM mnemosyne_mcp;
DROP FUNCTION find_api_key(text)
"""
WORKS = """
SELECT has_table_privilege('mnemosyne_ingest', 'memories', 'INSERT'),
    has_function_privilege('mnemosyne_mcp', 'memory_quality(integer, integer)', 'EXECUTE'),
    to_regprocedure('find_api_key(text)') IS NOT NULL
"""


def test_the_migrate_command_needs_only_the_database_url_and_restores_rights_and_functions(
    cluster: postgres.EmbeddedPostgres, new_database: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = cluster.url(postgres.OWNER, new_database(empty=True))
    monkeypatch.setenv("MNEMOSYNE_DATABASE_URL", url)
    completed = CliRunner().invoke(cli, ["migrate", "--json"])
    assert completed.exit_code == 0, completed.output
    assert all(file["applied_at"] for file in json.loads(completed.stdout))
    with closing(connection_factory(url)()) as owner:
        owner.run_file(DAMAGE)
        assert owner.run(WORKS) == [[False, False, False]]
        assert CliRunner().invoke(cli, ["migrate"]).exit_code == 0
        assert owner.run(WORKS) == [[True, True, True]]
