"""The `migrate` function: applies what is missing as the owner, lets the functions' users in, and fails loudly."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from infra.local import postgres
from mnemosyne import bootstrap
from mnemosyne.adapters.connections import opener
from mnemosyne.http.migrate import build_app
from mnemosyne.settings import Settings

USER = "mcp@test-project.iam"


@pytest.fixture
def user(cluster: postgres.EmbeddedPostgres) -> Iterator[str]:
    owner = opener(cluster.url(postgres.OWNER, postgres.OWNER))()
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
        run = build_app(lambda: [one.name for one in bootstrap.migrate(settings)])
        return TestClient(run), name

    return make


def test_it_applies_what_is_missing_and_then_nothing(migrating: Any) -> None:
    client, _ = migrating()
    assert client.post("/").json()["applied"] == [one.name for one in bootstrap.migrations()]
    assert client.post("/").json() == {"applied": []}


def test_the_users_named_may_do_what_the_functions_do(
    migrating: Any, cluster: postgres.EmbeddedPostgres, user: str
) -> None:
    client, name = migrating(MNEMOSYNE_RUNTIME_USERS=user)
    assert client.post("/").status_code == 200
    session = opener(cluster.url(user, name))()
    assert session.run("SELECT count(*) FROM memories") == [[0]]
    session.close()
    owner = opener(cluster.url(postgres.OWNER, name))()
    owner.script(f'DROP OWNED BY "{user}"')
    owner.close()


def test_a_user_that_is_not_there_is_named(migrating: Any) -> None:
    client, _ = migrating(MNEMOSYNE_RUNTIME_USERS='no"body')
    response = client.post("/")
    assert response.status_code == 500
    assert 'no"body cannot be admitted' in response.json()["error"]


def test_a_failed_migration_is_a_failed_call(migrating: Any, cluster: postgres.EmbeddedPostgres) -> None:
    client, name = migrating()
    owner = opener(cluster.url(postgres.OWNER, name))()
    owner.script("CREATE TABLE memories (id uuid, content text)")
    owner.close()
    response = client.post("/")
    assert response.status_code == 500
    assert "error" in response.json()
