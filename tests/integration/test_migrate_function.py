"""The `migrate` function: migrations and grants, and its responses and logs on failure."""

import io
import json
import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from starlette.testclient import TestClient

from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.api_keys import PostgresApiKeyStore
from mnemosyne.adapters.database.blocked_people import PostgresBlockedPeople
from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.adapters.database.grants import PostgresGrantStore
from mnemosyne.adapters.database.quotas import PostgresQuotas
from mnemosyne.app import migrate
from mnemosyne.cli.local import postgres
from mnemosyne.http.admin.app import build_app
from mnemosyne.observability import configure_logging
from mnemosyne.settings import Settings

USER = "mcp@test-project.iam"


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Log entries of the test, in Cloud Logging's format."""
    stream = io.StringIO()
    before = logging.root.handlers[:]
    configure_logging("INFO", stream)
    yield stream
    logging.root.handlers[:] = before


def _lines(log: io.StringIO, event: str) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, log.getvalue().splitlines()) if line.get("event") == event]


def _as_owner(cluster: postgres.EmbeddedPostgres, name: str, statement: str) -> None:
    owner = connection_factory(cluster.url(postgres.OWNER, name))()
    owner.script(statement)
    owner.close()


@pytest.fixture
def user(cluster: postgres.EmbeddedPostgres) -> Iterator[str]:
    owner = connection_factory(cluster.url(postgres.OWNER, postgres.OWNER))()
    owner.script(f'CREATE ROLE "{USER}" LOGIN')
    yield USER
    owner.script(f'DROP ROLE "{USER}"')
    owner.close()


@pytest.fixture
def migrating(cluster: postgres.EmbeddedPostgres, new_database: Callable[..., str]) -> Callable[..., tuple[Any, str]]:
    """A client of the function on an empty database, and that database's name."""

    def make(**changed: str) -> tuple[Any, str]:
        name = new_database(empty=True)
        environment = {
            "MNEMOSYNE_DATABASE_URL": cluster.url(postgres.OWNER, name),
            "MNEMOSYNE_TOPIC": "projects/p/topics/t",
            "MNEMOSYNE_EMBEDDER": "gemini",
            **changed,
        }
        settings = Settings.from_environment(environment)
        owner = connection_factory(cluster.url(postgres.OWNER, name))
        run = build_app(
            partial(migrate.migrate, settings),
            PostgresApiKeyStore(owner),
            PostgresQuotas(owner),
            PostgresGrantStore(owner),
            PostgresBlockedPeople(owner),
            identify=lambda authorization: None,
            report=migrate.report,
        )
        return TestClient(run), name

    return make


def test_it_applies_what_is_missing_and_then_nothing(migrating: Any) -> None:
    client, _ = migrating()
    assert client.post("/").json()["applied"] == [one.label for one in migrations.bundled()]
    assert client.post("/").json() == {"applied": []}


def test_the_users_named_may_do_what_the_functions_do(
    migrating: Any, cluster: postgres.EmbeddedPostgres, user: str
) -> None:
    client, name = migrating(MNEMOSYNE_RUNTIME_USERS=user)
    assert client.post("/").status_code == 200
    connection = connection_factory(cluster.url(user, name))()
    assert connection.run("SELECT count(*) FROM memories") == [[0]]
    connection.close()
    owner = connection_factory(cluster.url(postgres.OWNER, name))()
    owner.script(f'DROP OWNED BY "{user}"')
    owner.close()


def test_each_user_is_granted_the_role_of_its_function_however_often_it_runs(
    migrating: Any, cluster: postgres.EmbeddedPostgres, user: str
) -> None:
    client, name = migrating(MNEMOSYNE_RUNTIME_USERS=f"ingest={user}")
    owner = connection_factory(cluster.url(postgres.OWNER, name))()

    def roles() -> set[str]:
        rows = owner.run(
            "SELECT r.rolname FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid"
            " JOIN pg_roles u ON u.oid = m.member WHERE u.rolname = :user",
            user=user,
        )
        return {row[0] for row in rows}

    assert client.post("/").status_code == 200
    assert roles() == {"mnemosyne_ingest"}
    client.post("/")
    assert roles() == {"mnemosyne_ingest"}
    owner.script(f'DROP OWNED BY "{user}"')
    owner.close()


def test_a_user_that_is_not_there_is_named(migrating: Any) -> None:
    client, _ = migrating(MNEMOSYNE_RUNTIME_USERS='no"body')
    response = client.post("/")
    assert response.status_code == 500
    assert 'cannot be granted to the database user no"body' in response.json()["error"]


@pytest.mark.parametrize(
    ("before", "cause"),
    [
        ("CREATE VIEW api_keys AS SELECT 1", '0001 baseline failed: 42P07 relation "api_keys" already exists'),
        ("CREATE TABLE memories (id uuid, content text)", "90_adopt_memories failed: 42703 column"),
        ("CREATE SCHEMA other; CREATE TABLE schema_migrations (id int)", "schema_migrations failed: 42703 column"),
    ],
    ids=["a relation in the way", "another server's table", "another tool's bookkeeping"],
)
def test_a_failed_migration_is_answered_and_logged_with_file_sqlstate_and_message(
    migrating: Any, cluster: postgres.EmbeddedPostgres, log: io.StringIO, before: str, cause: str
) -> None:
    client, name = migrating()
    _as_owner(cluster, name, before)
    response = client.post("/")
    assert response.status_code == 500
    assert response.json()["error"].startswith(cause)
    (line,) = _lines(log, "migration_failed")
    assert line["error"] == response.json()["error"]
    assert "CREATE TABLE" not in log.getvalue()


@pytest.mark.parametrize(
    ("path", "body", "event"),
    [
        ("/keys", {"action": "list"}, "key_change_failed"),
        ("/quotas", {"action": "list"}, "quota_change_failed"),
        ("/grants", {"action": "list"}, "grant_change_failed"),
    ],
)
def test_every_other_failure_is_answered_and_logged_with_its_cause(
    migrating: Any, log: io.StringIO, path: str, body: dict[str, str], event: str
) -> None:
    client, _ = migrating()  # on which nothing was migrated
    response = client.post(path, json=body)
    assert response.status_code == 500
    assert '42P01 relation "' in response.json()["error"]
    assert [line["error"] for line in _lines(log, event)] == [response.json()["error"]]


def test_a_database_that_cannot_be_reached_is_answered_503_with_the_cause(log: io.StringIO) -> None:
    away = connection_factory("postgresql://owner:a-secret@127.0.0.1:9/nothing")
    app = build_app(
        list,
        PostgresApiKeyStore(away),
        PostgresQuotas(away),
        PostgresGrantStore(away),
        PostgresBlockedPeople(away),
        identify=lambda authorization: None,
        report=migrate.report,
    )
    response = TestClient(app).post("/keys", json={"action": "list"})
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert "cannot be reached (InterfaceError: Can't create a connection to host 127.0.0.1" in response.json()["error"]
    assert "a-secret" not in response.text + log.getvalue()


def test_a_key_made_elsewhere_is_kept_by_its_hash_and_listed_without_it(migrating: Any) -> None:
    client, _ = migrating()
    client.post("/")
    made = {"id": "a" * 12, "name": "me", "namespace": "ada", "scopes": ["read"], "secret_hash": "0" * 64}
    assert client.post("/keys", json={"action": "create", **made}).json() == {"id": "a" * 12}
    (listed,) = client.post("/keys", json={"action": "list"}).json()["keys"]
    assert (listed["name"], listed["namespace"], listed["scopes"]) == ("me", "ada", ["read"])
    assert "0" * 64 not in str(listed)
    assert client.post("/keys", json={"action": "revoke", "id": "a" * 12}).status_code == 200
    assert client.post("/keys", json={"action": "list"}).json()["keys"][0]["revoked_at"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"action": "create"}, 400),
        ({"action": "create", "id": "a" * 12, "secret_hash": "short"}, 400),
        ({"action": "create", "id": "a" * 12, "secret_hash": "0" * 64, "scopes": ["all"]}, 400),
        ({"action": "explode"}, 400),
        ({"action": "revoke", "id": "b" * 12}, 404),
    ],
)
def test_a_bad_key_request_is_refused(migrating: Any, body: dict[str, Any], status: int) -> None:
    client, _ = migrating()
    client.post("/")
    response = client.post("/keys", json=body)
    assert response.status_code == status
    assert response.json()["error"]


def test_grants_are_listed_and_ended_through_it(migrating: Any, cluster: postgres.EmbeddedPostgres) -> None:
    client, database = migrating()
    client.post("/")
    owner = connection_factory(cluster.url(postgres.OWNER, database))()
    for number, person in enumerate(("ada@example.com", "bob@example.com", "ada@example.com")):
        owner.run(
            "INSERT INTO oauth_grants (id, subject, person, namespace, client_id, client_name, scopes, "
            "resource, expires_at) "
            "VALUES (CAST(:id AS uuid), '1', :person, 'n', 'c', 'C', '{read}', 'r', now() + interval '1 day')",
            id=f"00000000-0000-7000-8000-00000000000{number}",
            person=person,
        )
    owner.close()
    listed = client.post("/grants", json={"action": "list", "person": "Ada@example.com"}).json()["grants"]
    assert [one["id"][-1] for one in listed] == ["0", "2"]
    revoked = client.post("/grants", json={"action": "revoke", "person": "ada@example.com"}).json()["revoked"]
    assert [one[-1] for one in revoked] == ["0", "2"]
    (left,) = client.post("/grants", json={"action": "list"}).json()["grants"]
    assert left["person"] == "bob@example.com"
    assert client.post("/grants", json={"action": "revoke", "ids": [listed[0]["id"]]}).status_code == 404
    assert client.post("/grants", json={"action": "revoke"}).status_code == 400
