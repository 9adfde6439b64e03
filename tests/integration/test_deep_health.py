"""`/health?deep=1` fails on each fault that would make answers wrong or stop the storing of memories."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.adapters.embedders.offline import SPACE
from mnemosyne.app import doctor
from mnemosyne.app.container import ConfiguredServices
from mnemosyne.cli.local import postgres
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.health import Check
from mnemosyne.service.deliveries import store
from mnemosyne.settings import Settings
from tests.fakes_wire.gemini import GeminiServer
from tests.pushes import function_client

GEMINI = EmbeddingSpace("gemini", "gemini-embedding-2", 768)


class Deployment:
    """A database, and an internal function with some settings, whose `/health?deep=1` examines the database."""

    def __init__(self, cluster: postgres.EmbeddedPostgres, name: str, directory: Path) -> None:
        self._cluster = cluster
        self._name = name
        self._topic = f"file://{directory}/queue.db"
        self.user = postgres.RUNTIME_USER

    def as_owner(self, statement: str) -> None:
        with closing(connection_factory(self._cluster.url(postgres.OWNER, self._name))()) as owner:
            owner.run_file(statement)

    def migrate(self, files: list[migrations.SchemaFile]) -> None:
        with closing(connection_factory(self._cluster.url(postgres.OWNER, self._name))()) as owner:
            migrations.migrate(owner, files, space=SPACE)

    def services(self, **settings: str) -> ConfiguredServices:
        environment = {
            "MNEMOSYNE_DATABASE_URL": self._cluster.url(self.user, self._name),
            "MNEMOSYNE_TOPIC": self._topic,
            **settings,
        }
        return ConfiguredServices(Settings.from_environment(environment))

    def health(self, **settings: str) -> tuple[int, dict[str, dict[str, Any]]]:
        """Return the status and the checks by name."""
        services = self.services(**settings)
        client = function_client(store, services, examine=lambda: list(doctor.examine_dependencies(services)))
        answer = client.get("/health?deep=1")
        services.close()
        return answer.status_code, {check["name"]: check for check in answer.json()["checks"]}


@pytest.fixture
def deployed(
    cluster: postgres.EmbeddedPostgres, migrated: Callable[[EmbeddingSpace], str], tmp_path: Path
) -> Callable[..., Deployment]:
    """Function that returns a deployment on the database of an embedding space."""
    return lambda space=SPACE: Deployment(cluster, migrated(space), tmp_path)


def test_a_function_without_a_fault_gets_200(deployed: Callable[..., Deployment]) -> None:
    status, checks = deployed().health()
    assert status == 200, checks


def test_a_function_gets_200_when_a_later_version_has_replaced_sql_functions(
    deployed: Callable[..., Deployment],
) -> None:
    """This happens during an upgrade, after the migration and before the new functions are deployed.

    It also happens after a rollback of the traffic to earlier revisions.
    """
    deployment = deployed()
    files = migrations.schema_files()
    later, *_ = (replace(file, sql=f"{file.sql}-- later") for file in files if file.version is None)
    deployment.migrate([later if file.name == later.name else file for file in files])
    status, checks = deployment.health()
    assert status == 200, checks
    deployment.migrate(files)  # as `make deploy` of the earlier version does
    assert deployment.health()[0] == 200


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM schema_repeatables WHERE name = (SELECT min(name) FROM schema_repeatables)",
        "UPDATE schema_repeatables SET checksum = 'earlier', earlier_checksums = '{}'",
    ],
    ids=["a pending migration", "a backup with earlier SQL functions"],
)
def test_a_function_gets_503_until_the_schema_is_complete(deployed: Callable[..., Deployment], statement: str) -> None:
    deployment = deployed()
    deployment.as_owner(statement)
    status, checks = deployment.health()
    deployment.migrate(migrations.schema_files())
    assert (status, checks["schema"]["ok"]) == (503, False)
    assert "mnemosyne migrate" in checks["schema"]["remedy"]
    assert deployment.health()[0] == 200


@pytest.mark.parametrize(("dimension", "failing"), [("768", {"embedder"}), ("1536", {"embedder", "embedding space"})])
def test_a_dimension_that_the_memories_or_the_model_do_not_have_gets_503(
    deployed: Callable[..., Deployment], gemini: GeminiServer, dimension: str, failing: set[str]
) -> None:
    gemini.fault = lambda _: (200, {"embeddings": [{"values": [1.0] * 63}]})
    settings = {"MNEMOSYNE_EMBEDDER": "gemini", "MNEMOSYNE_EMBEDDING_DIMENSION": dimension}
    status, checks = deployed(GEMINI).health(**settings)
    remedies = {name: check["remedy"] for name, check in checks.items() if not check["ok"]}
    assert (status, {*remedies}) == (503, failing)
    assert all("mnemosyne reembed" in remedy for remedy in remedies.values())


# A statement about the database user, the check that fails, its field `seen`, and a part of its field `remedy`.
ROLES = {
    "reading": (
        "ALTER ROLE reading SET default_transaction_read_only = on",
        "postgresql",
        "the database is read-only",
        "default_transaction_read_only",
    ),
    "bypassing": (
        "ALTER ROLE bypassing BYPASSRLS",
        "role",
        "bypassing is not bound by row-level security",
        "has no BYPASSRLS",
    ),
}


@pytest.mark.parametrize("user", ROLES)
def test_a_function_whose_database_user_has_other_rights_gets_503(
    deployed: Callable[..., Deployment], user: str
) -> None:
    statement, check, seen, remedy = ROLES[user]
    deployment = deployed()
    deployment.user = user
    deployment.as_owner(f"CREATE ROLE {user} LOGIN IN ROLE mnemosyne_runtime; {statement}")
    try:
        status, checks = deployment.health()
    finally:
        deployment.as_owner(f"DROP ROLE {user}")
    assert (status, checks[check]["seen"]) == (503, seen)
    assert remedy in checks[check]["remedy"]


def test_a_function_that_logs_in_as_the_owner_of_the_schema_gets_503(deployed: Callable[..., Deployment]) -> None:
    deployment = deployed()
    deployment.user = postgres.OWNER
    status, checks = deployment.health()
    assert (status, checks["role"]["seen"]) == (503, f"{postgres.OWNER} is not bound by row-level security")
    assert "a role that does not own the schema" in checks["role"]["remedy"]


@pytest.mark.parametrize("examine", [doctor.examine_dependencies, doctor.examine])
def test_a_database_that_fails_between_two_checks_is_a_failed_check(
    examine: Callable[[ConfiguredServices], Iterator[Check]],
    deployed: Callable[..., Deployment],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mnemosyne.adapters.database.pool.CHECKOUT_TIMEOUT_SECONDS", 0)
    with closing(deployed().services(MNEMOSYNE_DB_POOL_SIZE="1")) as services:
        running = examine(services)
        checks = [next(check for check in running if check.name == "postgresql")]
        with services.pool.connection():
            checks += running
    failed = next(check for check in checks if check.name == "database")
    assert failed.seen == "all 1 database connections are busy"
    assert "docs/runbook.md" in str(failed.remedy)
