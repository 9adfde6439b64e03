"""The `migrate` function: migrations and grants, and its responses and logs on failure."""

import io
import json
import logging
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from starlette.testclient import TestClient

from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.app import migrate, operations
from mnemosyne.app.operations.access import (
    CreateKey,
    ListGrants,
    ListKeys,
    LockOut,
    RevokeGrants,
    RevokeKey,
)
from mnemosyne.app.operations.dead_letters import ListDeadLetters
from mnemosyne.app.operations.operation import Operation
from mnemosyne.app.operator import OwnerStores, announce_changes
from mnemosyne.cli.local import postgres
from mnemosyne.domain.sealing import ANSWER, REQUEST, KeyPair
from mnemosyne.errors import InvalidRequest, Misconfigured, NotFound, Unavailable
from mnemosyne.http.admin import app as admin
from mnemosyne.http.admin.app import build_app
from mnemosyne.http.admin.sealed import PART_BYTES, Run
from mnemosyne.observability import configure_logging
from mnemosyne.settings import Settings
from tests.operations import CalledDirectly
from tests.shared_database import SharedDatabase

USER = "mcp@test-project.iam"


def _run(operator: Any) -> Run:
    return lambda action, arguments, token: operations.run(
        operations.read_operation(action, arguments), operator, f"google:{token}"
    )


def _app(run: Run, **changed: Callable[[], Any]) -> TestClient:
    functions: dict[str, Any] = {"migrate": list, "expire": dict, "announce": dict} | changed
    return TestClient(
        build_app(
            functions.pop("migrate"), run, **functions, identify=lambda authorization: None, report=migrate.log_failure
        )
    )


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
    """Function that creates an empty or migrated database. It returns a client of `migrate` and the database's name."""

    def make(*, empty: bool = True, **changed: str) -> tuple[Any, str]:
        name = new_database(empty=empty)
        environment = {
            "MNEMOSYNE_DATABASE_URL": cluster.url(postgres.OWNER, name),
            "MNEMOSYNE_TOPIC": "projects/p/topics/t",
            "MNEMOSYNE_EMBEDDER": "gemini",
            **changed,
        }
        settings = Settings.from_environment(environment)
        owner = connection_factory(cluster.url(postgres.OWNER, name))
        return _app(_run(OwnerStores(owner)), migrate=partial(migrate.migrate, settings)), name

    return make


@pytest.fixture
def deployment(shared_database: SharedDatabase) -> CalledDirectly:
    """A deployment whose `migrate` runs an operator's operations on the shared database."""
    return CalledDirectly(_app(_run(OwnerStores(shared_database.connect_as_owner))), token="ada@example.com")


def test_migrate_applies_pending_migrations_and_the_second_time_none(migrating: Any) -> None:
    client, _ = migrating()
    assert client.post("/").json()["applied"] == [migration.label for migration in migrations.schema_files()]
    assert client.post("/").json() == {"applied": []}


def test_migrate_publishes_the_events_of_change_feeds(cluster: postgres.EmbeddedPostgres, database: str) -> None:
    url = cluster.url(postgres.OWNER, database)
    values = {"MNEMOSYNE_DATABASE_URL": url, "MNEMOSYNE_TOPIC": "projects/p/topics/t", "MNEMOSYNE_EMBEDDER": "gemini"}
    settings = Settings.from_environment(values)
    app = _app(_run(OwnerStores(connection_factory(url))), announce=partial(announce_changes, settings))
    answer = app.post("/announce")
    assert (answer.status_code, answer.json()) == (200, {"announced": 0})  # There is no topic.


@pytest.mark.parametrize(("prefix", "role"), [("", "mnemosyne_runtime"), ("ingest=", "mnemosyne_ingest")])
def test_each_user_has_the_role_of_its_function_after_repeated_runs(
    migrating: Any, cluster: postgres.EmbeddedPostgres, user: str, prefix: str, role: str
) -> None:
    client, name = migrating(empty=False, MNEMOSYNE_RUNTIME_USERS=f"{prefix}{user}")
    owner = connection_factory(cluster.url(postgres.OWNER, name))()

    for _ in range(2):
        assert client.post("/").status_code == 200
        roles = owner.run(
            "SELECT r.rolname FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid"
            " JOIN pg_roles u ON u.oid = m.member WHERE u.rolname = :user",
            user=user,
        )
        assert roles == [[role]]
    owner.script(f'DROP OWNED BY "{user}"')
    owner.close()


@pytest.mark.parametrize(
    ("before", "cause"),
    [
        ("CREATE VIEW api_keys AS SELECT 1", '0001 baseline failed: 42P07 relation "api_keys" already exists'),
        ("CREATE TABLE memories (id uuid, content text)", "90_adopt_memories failed: 42703 column"),
        ("CREATE SCHEMA other; CREATE TABLE schema_migrations (id int)", "schema_migrations failed: 42703 column"),
    ],
    ids=["a relation in the way", "another server's table", "another tool's bookkeeping"],
)
def test_a_failed_migration_is_returned_and_logged_with_file_sqlstate_and_message(
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


def test_the_failure_of_an_operation_is_returned_and_logged_with_its_cause(migrating: Any, log: io.StringIO) -> None:
    client, _ = migrating()  # the database has no schema yet
    with pytest.raises(Misconfigured, match='42P01 relation "') as error:
        CalledDirectly(client).run(ListKeys())
    assert [line["error"] for line in _lines(log, "operation_failed")] == [str(error.value)]


def test_a_database_that_cannot_be_reached_is_the_error_of_an_operation(log: io.StringIO) -> None:
    away = connection_factory("postgresql://owner:a-secret@127.0.0.1:9/nothing")
    with pytest.raises(Unavailable, match="the database cannot be reached") as error:
        CalledDirectly(_app(_run(OwnerStores(away)))).run(ListKeys())
    assert "cannot connect to 127.0.0.1, port 9: " in log.getvalue()
    assert "a-secret" not in str(error.value) + log.getvalue()


def test_a_key_created_by_the_command_line_is_stored_as_a_hash_and_listed_without_it(
    deployment: CalledDirectly,
) -> None:
    assert deployment.run(
        CreateKey(id="a" * 12, name="me", namespace="ada", secret_hash="0" * 64, scopes=["read"])
    ) == {"id": "a" * 12}
    (listed,) = deployment.run(ListKeys())["keys"]
    assert (listed["name"], listed["namespace"], listed["scopes"]) == ("me", "ada", ["read"])
    assert "0" * 64 not in str(listed)
    deployment.run(RevokeKey(id="a" * 12))
    assert deployment.run(ListKeys())["keys"][0]["revoked_at"]


class _Unchecked(Operation):
    """An operation that this version of the server does not know, as a newer command line may send it."""

    action = "set by the test"
    arguments: dict[str, Any]

    def run(self, operator: Any) -> dict[str, Any]:
        raise AssertionError

    def model_dump(self, **options: Any) -> dict[str, Any]:
        return self.arguments


@pytest.mark.parametrize(
    ("action", "arguments", "kind"),
    [
        ("key_create", {}, InvalidRequest),
        ("key_create", {"id": "a" * 12, "secret_hash": "short"}, InvalidRequest),
        ("key_create", {"id": "a" * 12, "secret_hash": "0" * 64, "scopes": ["all"]}, InvalidRequest),
        ("key_explode", {}, InvalidRequest),
        ("key_revoke", {"id": "b" * 12}, NotFound),
        ("revoke_grant", {}, InvalidRequest),
    ],
)
def test_an_invalid_request_raises_the_same_error_locally_and_in_the_function(
    deployment: CalledDirectly,
    monkeypatch: pytest.MonkeyPatch,
    action: str,
    arguments: dict[str, Any],
    kind: type[Exception],
) -> None:
    monkeypatch.setattr(_Unchecked, "action", action)
    with pytest.raises(kind):
        deployment.run(_Unchecked(arguments=arguments))


def test_migrate_lists_and_ends_grants(deployment: CalledDirectly, shared_database: SharedDatabase) -> None:
    for number, person in enumerate(("ada@example.com", "bob@example.com", "ada@example.com")):
        shared_database.owner.run(
            "INSERT INTO oauth_grants (id, subject, person, namespace, client_id, client_name, scopes, "
            "resource, expires_at) "
            "VALUES (CAST(:id AS uuid), '1', :person, 'n', 'c', 'C', '{read}', 'r', now() + interval '1 day')",
            id=f"00000000-0000-7000-8000-00000000000{number}",
            person=person,
        )
    listed = deployment.run(ListGrants(person="Ada@example.com"))["grants"]
    assert [grant["id"][-1] for grant in listed] == ["0", "2"]
    revoked = deployment.run(RevokeGrants(person="ada@example.com"))["revoked"]
    assert [grant_id[-1] for grant_id in revoked] == ["0", "2"]
    (grant,) = deployment.run(ListGrants())["grants"]
    assert grant["person"] == "bob@example.com"
    with pytest.raises(NotFound):
        deployment.run(RevokeGrants(ids=[UUID(listed[0]["id"])]))


@pytest.mark.parametrize("length", [0, 1, PART_BYTES // 2, 1_000_000])
def test_an_answer_of_any_length_is_transferred_within_the_limits_of_workflows(length: int) -> None:
    texts = []

    def run(action: str, arguments: Any, token: str) -> dict[str, Any]:
        texts.append(random.Random(length).randbytes(length).hex())
        return {"text": texts[-1]}

    deployment = CalledDirectly(_app(run))
    assert deployment.run(ListKeys()) == {"text": texts[0]}
    assert len(texts) == 1
    assert max(len(json.dumps(body)) for body in deployment.bodies) < 140_000


def test_the_data_that_a_workflow_keeps_does_not_contain_the_request_or_the_answer_in_plain_text() -> None:
    deployment = CalledDirectly(_app(lambda *call: {"content": "the canary sings"}), token="a-token")
    assert deployment.run(ListDeadLetters(namespace="canary")) == {"content": "the canary sings"}
    bodies = json.dumps(deployment.bodies)
    assert not [word for word in ("canary", "a-token", "dead_letter_list") if word in bodies]


def test_an_answer_cannot_be_read_as_a_request_or_by_another_process() -> None:
    own_key, database_key, other = KeyPair(), KeyPair(), KeyPair()
    sealed = own_key.channel(database_key.public).seal(b"x", ANSWER)
    assert database_key.channel(own_key.public).open(sealed, ANSWER) == b"x"
    for channel, kind in ((database_key.channel(own_key.public), REQUEST), (other.channel(own_key.public), ANSWER)):
        with pytest.raises(InvalidRequest):
            channel.open(sealed, kind)
    with pytest.raises(InvalidRequest):
        own_key.channel("AAAA")


def test_after_a_restart_of_the_function_the_caller_retries_with_its_new_key() -> None:
    ran: list[str] = []

    def run(action: str, arguments: Any, token: str) -> dict[str, Any]:
        ran.append(action)
        return {}

    deployment = CalledDirectly(_app(run))
    deployment.run(ListKeys())
    deployment.client = _app(run)
    deployment.run(ListKeys())
    assert ran == ["key_list", "key_list"]


def test_a_request_repeated_by_the_workflow_runs_once() -> None:
    ran: list[str] = []

    def run(action: str, arguments: Any, token: str) -> dict[str, Any]:
        ran.append(action)
        return {"id": len(ran)}

    deployment = CalledDirectly(_app(run))
    assert deployment.run(ListKeys()) == {"id": 1}
    assert deployment.client.post("/operations", json=deployment.bodies[-2]).status_code == 200
    assert ran == ["key_list"]


def test_scheduled_jobs_run_during_a_long_operation_and_a_second_operation_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admin, "WAIT_SECONDS", 0.05)
    begun, end = threading.Event(), threading.Event()

    def run(action: str, arguments: Any, token: str) -> dict[str, Any]:
        begun.set()
        return {"ended": end.wait(60)}

    with _app(run) as client, ThreadPoolExecutor() as executor:
        operation = executor.submit(CalledDirectly(client).run, ListKeys())
        assert begun.wait(60)
        jobs = [client.post(path).status_code for path in ("/expire", "/announce")]
        refusals = [client.post(path, json={"client": "x"}) for path in ("/operations", "/")]
        end.set()
        assert operation.result() == {"ended": True}
        assert client.post("/").status_code == 200
    assert jobs == [200, 200]
    assert [refusal.status_code for refusal in refusals] == [429, 429]
    assert refusals[0].json()["error"].startswith("an earlier request to /operations still runs")


def test_the_audit_log_names_the_operator_and_the_operation(deployment: CalledDirectly, log: io.StringIO) -> None:
    deployment.run(LockOut(kind="person", who="Eve@example.com"))
    (line,) = _lines(log, "audit")
    assert (line["action"], line["principal"], line["outcome"]) == ("lock_out", "google:ada@example.com", "done")
    assert (line["person"], line["grants"]) == ("eve@example.com", [])
