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

    def as_owner(self, statement: Any) -> None:
        owner = connection_factory(self._cluster.url(postgres.OWNER, self._name))()
        owner.run_file(statement)
        owner.close()

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


def test_a_database_of_another_program_gets_503(
    cluster: postgres.EmbeddedPostgres, new_database: Callable[..., str], tmp_path: Path
) -> None:
    status, checks = Deployment(cluster, new_database(empty=True), tmp_path).health()
    assert status == 503
    assert "mnemosyne migrate" in checks["schema"]["remedy"]


def test_a_pending_migration_gets_503(
    cluster: postgres.EmbeddedPostgres, new_database: Callable[..., str], tmp_path: Path
) -> None:
    deployment = Deployment(cluster, new_database(), tmp_path)
    deployment.as_owner("DELETE FROM schema_repeatables WHERE name = (SELECT min(name) FROM schema_repeatables)")
    status, checks = deployment.health()
    assert (status, checks["schema"]["ok"]) == (503, False)


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


def test_a_function_gets_503_when_a_backup_has_brought_back_earlier_sql_functions(
    deployed: Callable[..., Deployment],
) -> None:
    deployment = deployed()
    deployment.as_owner("UPDATE schema_repeatables SET checksum = 'earlier', earlier_checksums = '{}'")
    status, checks = deployment.health()
    deployment.migrate(migrations.schema_files())
    assert (status, checks["schema"]["ok"]) == (503, False)
    assert deployment.health()[0] == 200


@pytest.mark.parametrize(
    "settings",
    [{"MNEMOSYNE_EMBEDDING_MODEL": "gemini-embedding-001"}, {"MNEMOSYNE_EMBEDDING_DIMENSION": "1536"}],
    ids=["model", "dimension"],
)
def test_settings_with_another_model_or_dimension_than_the_memories_get_503(
    deployed: Callable[..., Deployment], settings: dict[str, str]
) -> None:
    status, checks = deployed(GEMINI).health(MNEMOSYNE_EMBEDDER="gemini", **settings)
    assert (status, checks["embedding space"]["ok"]) == (503, False)
    assert "mnemosyne reembed" in checks["embedding space"]["remedy"]


def test_a_model_with_vectors_of_another_dimension_gets_503(
    deployed: Callable[..., Deployment], gemini: GeminiServer
) -> None:
    gemini.fault = lambda _: (200, {"embeddings": [{"values": [1.0] * 63}]})
    status, checks = deployed(GEMINI).health(MNEMOSYNE_EMBEDDER="gemini")
    assert (status, checks["embedder"]["ok"]) == (503, False)


def test_a_read_only_database_gets_503(deployed: Callable[..., Deployment]) -> None:
    deployment = deployed()
    deployment.user = "reading"
    deployment.as_owner("CREATE ROLE reading LOGIN IN ROLE mnemosyne_runtime")
    deployment.as_owner("ALTER ROLE reading SET default_transaction_read_only = on")
    try:
        status, checks = deployment.health()
    finally:
        deployment.as_owner("DROP ROLE reading")
    assert (status, checks["postgresql"]["seen"]) == (503, "the database is read-only")
    assert "default_transaction_read_only" in checks["postgresql"]["remedy"]


def test_a_function_that_logs_in_as_the_owner_of_the_schema_gets_503(deployed: Callable[..., Deployment]) -> None:
    deployment = deployed()
    deployment.user = postgres.OWNER
    status, checks = deployment.health()
    assert (status, checks["role"]["ok"]) == (503, False)
    assert "is not bound by row-level security" in checks["role"]["seen"]


def test_a_function_whose_role_bypasses_row_level_security_gets_503(deployed: Callable[..., Deployment]) -> None:
    deployment = deployed()
    deployment.user = "bypassing"
    deployment.as_owner("CREATE ROLE bypassing LOGIN BYPASSRLS IN ROLE mnemosyne_runtime")
    try:
        status, checks = deployment.health()
    finally:
        deployment.as_owner("DROP ROLE bypassing")
    assert (status, checks["role"]["ok"]) == (503, False)


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
