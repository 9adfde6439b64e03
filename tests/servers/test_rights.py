"""Database rights on each server: of the roles, of the functions' users, and of the owner."""

from collections.abc import Callable, Iterator

import pytest

from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.cli.local import postgres
from mnemosyne.errors import MigrationFailed, Misconfigured
from tests.database_errors import permission_denied
from tests.fakes import FAKE_SPACE
from tests.servers import catalog
from tests.servers.conftest import CLOUD_SQL, DEFAULT
from tests.servers.server import LOGINS, Server
from tests.servers.test_adoption import OldDatabase

ROLES = ("auth", "dead_letter", "import_object", "ingest", "mcp", "runtime")


@pytest.fixture
def stranger(cluster: Server, database: str) -> Iterator[Connection]:
    """A connection of a user without any role."""
    name = cluster.login("stranger")
    cluster.as_superuser(f'CREATE ROLE "{name}" LOGIN')
    with cluster.connection("stranger", database) as connection:
        yield connection
    cluster.as_superuser(f'DROP ROLE "{name}"')


def test_a_function_s_role_cannot_log_in_and_has_no_special_attribute(owner: Connection) -> None:
    assert catalog.roles(owner) == [
        f"role mnemosyne_{role}, login f, superuser f, creates roles f, bypasses row security f, replicates f"
        for role in ROLES
    ]


def test_each_user_is_a_member_of_only_its_function_s_role(cluster: Server, owner: Connection) -> None:
    for user, function in LOGINS.items():
        granted = owner.run(
            "SELECT r.rolname, m.admin_option FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid"
            " JOIN pg_roles u ON u.oid = m.member WHERE u.rolname = :name",
            name=cluster.login(user),
        )
        assert granted == [[f"mnemosyne_{function or 'runtime'}", False]]


def test_a_user_without_a_role_can_use_no_table_and_no_security_definer_function(
    stranger: Connection,
) -> None:
    tables = stranger.run(
        "SELECT relname FROM pg_class WHERE relnamespace = CAST('public' AS regnamespace) AND relkind IN ('r', 'v')"
        " AND (has_table_privilege(oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')"
        " OR has_any_column_privilege(oid, 'SELECT, INSERT, UPDATE'))"
    )
    functions = stranger.run(
        "SELECT proname FROM pg_proc WHERE pronamespace = CAST('public' AS regnamespace) AND prosecdef"
        " AND has_function_privilege(oid, 'EXECUTE')"
    )
    assert (tables, functions) == ([], [])
    with permission_denied("permission denied for table memories"):
        stranger.script("SELECT count(*) FROM memories")


def test_the_owner_can_grant_a_role_repeatedly(cluster: Server, owner: Connection, stranger: Connection) -> None:
    for _ in range(2):
        migrations.grant_runtime_role(owner, [f"ingest={cluster.login('stranger')}"])
    assert stranger.script("SELECT count(*) FROM ingest_requests") == [[0]]


def test_a_missing_user_is_named_in_the_error(owner: Connection) -> None:
    with pytest.raises(Misconfigured, match="mnemosyne_mcp cannot be granted to the database user nobody@my-project"):
        migrations.grant_runtime_role(owner, ["mcp=nobody@my-project.iam"])


@pytest.mark.parametrize(
    "statement",
    [
        "SET ROLE mnemosyne_{other}",
        "GRANT mnemosyne_{other} TO CURRENT_USER",
        "CREATE TABLE public.mine (x integer)",
        "CREATE ROLE mine",
        "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
        "CREATE OR REPLACE FUNCTION find_api_key(p_id text) RETURNS SETOF api_keys LANGUAGE sql AS ''",
    ],
)
def test_a_function_s_user_cannot_gain_rights(cluster: Server, database: str, statement: str) -> None:
    for user in LOGINS:
        other = "auth" if user != "auth" else "runtime"
        refused = permission_denied("permission denied|must be owner|must have admin option")
        with cluster.connection(user, database) as connection, refused:
            connection.run_file(statement.format(other=other))


@pytest.mark.parametrize(
    "server",
    [name if name == DEFAULT else pytest.param(name, marks=pytest.mark.nightly) for name in CLOUD_SQL],
    indirect=True,
)
def test_a_table_of_another_user_is_adopted_after_that_user_transfers_it(
    server: Server, new_database: Callable[..., str]
) -> None:
    name = new_database(empty=True)
    with server.connection("other owner", name) as other, server.connection(postgres.OWNER, name) as owner:
        OldDatabase(other, FAKE_SPACE.dimension)
        with pytest.raises(MigrationFailed, match=r"as postgres, run ALTER TABLE memories OWNER TO"):
            migrations.migrate(owner, migrations.schema_files(), space=FAKE_SPACE)
        (before,) = other.run("SELECT count(*) FROM memories")
        other.script("ALTER TABLE memories OWNER TO cloudsqlsuperuser")
        migrations.migrate(owner, migrations.schema_files(), space=FAKE_SPACE)
        assert owner.run("SELECT count(*) FROM memories") == [before]
