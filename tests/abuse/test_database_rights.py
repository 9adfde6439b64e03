"""The database user of each deployed function has only the rights that the function needs."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.cli.local import postgres
from tests.database_errors import permission_denied

DELIVERIES = {"memories", "memory_chunks", "ingest_requests", "dead_letters"}
CHANGED_TABLES = {
    "mcp": {"memories", "memory_ratings", "audit_events"},
    "ingest": DELIVERIES,
    "dead_letter": DELIVERIES,
    "import_object": {"ingest_requests", "dead_letters", "object_imports", "object_import_lines"},
    "auth": {f"oauth_{name}" for name in ("clients", "requests", "grants", "codes", "refresh_tokens", "consents")},
}
"""The tables that each user may change."""
CALLS_FOR_ADA = """
SELECT format('SELECT %I(%s)', p.proname, string_agg(a.value, ', ' ORDER BY a.place))
FROM pg_proc p CROSS JOIN LATERAL (
    SELECT place, CASE place WHEN 1 THEN '''ada''' ELSE format('CAST(NULL AS %s)', CAST(type AS regtype)) END AS value
    FROM unnest(p.proargtypes) WITH ORDINALITY AS t (type, place)
) AS a
WHERE p.prosecdef AND p.pronamespace = CAST('public' AS regnamespace) AND p.proargnames[1] = 'p_namespace'
GROUP BY p.oid
"""
"""A call, for the namespace ada, of each function that bypasses row-level security and has a parameter for it."""


@pytest.fixture
def session_of(cluster: postgres.EmbeddedPostgres, database: str) -> Iterator[Callable[[str], Connection]]:
    """Function that opens a connection to the database as the database user of one of the deployed functions."""
    opened: list[Connection] = []

    def make(user: str) -> Connection:
        opened.append(connection_factory(cluster.url(user, database))())
        return opened[-1]

    yield make
    for connection in opened:
        connection.close()


def test_functions_that_bypass_row_level_security_use_only_the_session_s_namespace(
    owner: Connection, session_of: Callable[[str], Connection]
) -> None:
    connection, calls = session_of(postgres.RUNTIME_USER), owner.run(CALLS_FOR_ADA)
    assert len(calls) > 30
    for (call,), namespace in itertools.product(calls, ("", "bob")):
        with permission_denied("not for that namespace"), connection.transaction():
            connection.run("SELECT set_config('mnemosyne.namespace', :namespace, true)", namespace=namespace)
            connection.run(call)


@pytest.mark.parametrize("user", CHANGED_TABLES)
def test_each_function_can_change_only_the_tables_that_it_needs(
    session_of: Callable[[str], Connection], user: str
) -> None:
    tables = session_of(user).script(
        "SELECT relname FROM pg_class WHERE relnamespace = CAST('public' AS regnamespace) AND relkind = 'r'"
        " AND (has_table_privilege(oid, 'INSERT, UPDATE, DELETE, TRUNCATE')"
        " OR has_any_column_privilege(oid, 'INSERT, UPDATE'))"
    )
    assert {name for (name,) in tables} == CHANGED_TABLES[user]


@pytest.mark.parametrize(
    ("user", "statement"),
    [
        ("mcp", "INSERT INTO memories DEFAULT VALUES"),
        ("mcp", "UPDATE memories SET content = 'x'"),
        ("mcp", "UPDATE memories SET namespace = 'x'"),
        ("mcp", "SELECT * FROM namespace_words"),
        ("ingest", "SELECT content FROM memories"),
        ("ingest", "DELETE FROM memories"),
        ("ingest", "UPDATE memories SET title = 'x'"),
        ("ingest", "SELECT * FROM find_api_key('x')"),
        ("dead_letter", "SELECT content FROM memories"),
        ("dead_letter", "DELETE FROM memories"),
        ("dead_letter", "SELECT * FROM find_api_key('x')"),
        ("import_object", "SELECT id FROM memories"),
        ("import_object", "DELETE FROM ingest_requests"),
        ("auth", "SELECT id FROM memories"),
        ("auth", "SELECT * FROM find_api_key('x')"),
        ("mcp", "SELECT * FROM oauth_grants"),
        ("ingest", "SELECT * FROM oauth_clients"),
    ],
)
def test_each_function_has_only_the_database_rights_that_it_needs(
    session_of: Callable[[str], Connection], user: str, statement: str
) -> None:
    with permission_denied():
        session_of(user).script(statement)
