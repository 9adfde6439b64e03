"""`mnemosyne doctor` reports each fault with its fix."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mnemosyne.adapters.embedders.offline import SPACE
from mnemosyne.cli.local import postgres
from mnemosyne.cli.main import cli
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.errors import Unavailable


@pytest.fixture
def examine(
    cluster: postgres.EmbeddedPostgres, migrated: Callable[[EmbeddingSpace], str], tmp_path: Path
) -> Callable[..., dict[str, dict[str, Any]]]:
    """Function that runs the command on the database of an embedding space, and returns its checks by name."""

    def run(*, space: EmbeddingSpace = SPACE, name: str = "", user: str = postgres.RUNTIME_USER, **changed: str) -> Any:
        environment = {
            "MNEMOSYNE_DATABASE_URL": cluster.url(user, name or migrated(space)),
            "MNEMOSYNE_TOPIC": f"file://{tmp_path}/queue.db",
            **changed,
        }
        result = CliRunner().invoke(cli, ["doctor", "--json"], env=environment)
        checks = json.loads(result.stdout)
        assert result.exit_code == int(any(not check["ok"] for check in checks))
        return {check["name"]: check for check in checks}

    return run


def test_a_system_without_a_fault_passes_all_checks(examine: Any) -> None:
    checks = examine()
    assert all(check["ok"] for check in checks.values()), checks
    assert set(checks) == {
        "settings", "postgresql", "pgvector", "schema", "embedding space", "role", "languages", "topic", "embedder",
        "authentication",
    }  # fmt: skip


def test_a_function_s_database_user_passes_all_checks(examine: Any) -> None:
    assert examine(user="mcp")["role"]["ok"]


def test_all_invalid_settings_are_named(examine: Any) -> None:
    checks = examine(MNEMOSYNE_TOPIC="nowhere", MNEMOSYNE_DB_POOL_SIZE="0")
    assert "MNEMOSYNE_TOPIC" in checks["settings"]["seen"]
    assert "MNEMOSYNE_DB_POOL_SIZE" in checks["settings"]["seen"]


def test_an_unreachable_database_is_reported(examine: Any) -> None:
    checks = examine(MNEMOSYNE_DATABASE_URL="postgresql://u@127.0.0.1:9/d")
    assert checks["database"]["seen"].startswith(
        "the database cannot be reached (cannot connect to 127.0.0.1, port 9: "
    )
    assert checks["embedder"]["ok"]


def test_a_missing_database_user_is_reported(examine: Any) -> None:
    assert 'role "nobody" does not exist' in examine(user="nobody")["database"]["seen"]


def test_an_empty_database_is_reported_with_the_command_to_migrate(
    examine: Any, new_database: Callable[..., str]
) -> None:
    checks = examine(name=new_database(empty=True))
    assert "mnemosyne migrate" in checks["schema"]["remedy"]
    assert "mnemosyne migrate" in checks["pgvector"]["remedy"]


def test_an_embedding_space_that_differs_from_the_settings_is_reported(examine: Any) -> None:
    checks = examine(space=EmbeddingSpace("gemini", "gemini-embedding-001", 768), MNEMOSYNE_EMBEDDER="offline")[
        "embedding space"
    ]
    assert "embeddings of gemini-embedding-001 at dimension 768" in checks["seen"]
    assert "mnemosyne reembed" in checks["remedy"]


def test_settings_without_an_embedder_do_not_contradict_the_database(examine: Any) -> None:
    check = examine(space=EmbeddingSpace("gemini", "gemini-embedding-001", 768))["embedding space"]
    assert (check["ok"], check["seen"]) == (True, "gemini-embedding-001 at dimension 768")


def test_the_owner_of_the_schema_passes_with_a_warning(examine: Any) -> None:
    role = examine(user=postgres.OWNER)["role"]
    assert "not bound by row-level security" in role["seen"]
    assert (role["ok"], role["warning"]) == (True, True)


def test_as_the_owner_doctor_checks_the_functions_database_users(examine: Any) -> None:
    role = examine(user=postgres.OWNER, MNEMOSYNE_RUNTIME_USERS=f"mcp=mcp,{postgres.RUNTIME_USER}")["role"]
    assert (role["ok"], role["warning"]) == (True, False)


@pytest.mark.parametrize(("user", "message"), [("nobody", "does not exist"), (postgres.OWNER, "not bound")])
def test_as_the_owner_doctor_names_a_function_s_user_with_wrong_rights(examine: Any, user: str, message: str) -> None:
    role = examine(user=postgres.OWNER, MNEMOSYNE_RUNTIME_USERS=f"mcp=mcp,ingest={user}")["role"]
    assert not role["ok"]
    assert role["seen"].startswith(user) and message in role["seen"]


def test_a_queue_that_cannot_be_written_is_reported(examine: Any) -> None:
    assert not examine(MNEMOSYNE_TOPIC="file:///nowhere/queue.db")["topic"]["ok"]


def test_an_identity_provider_that_does_not_answer_is_reported(examine: Any) -> None:
    checks = examine(
        MNEMOSYNE_AUTH_MODE="oidc", MNEMOSYNE_OIDC_ISSUER="http://127.0.0.1:9/x", MNEMOSYNE_OIDC_AUDIENCE="us"
    )
    assert "does not respond" in checks["authentication"]["seen"]
    assert "MNEMOSYNE_OIDC_ISSUER" in checks["authentication"]["remedy"]


def test_an_embedder_without_a_key_is_reported(examine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    checks = examine(space=EmbeddingSpace("gemini", "gemini-embedding-2", 768), MNEMOSYNE_EMBEDDER="gemini")
    assert "set GEMINI_API_KEY" in checks["embedder"]["remedy"]


def test_an_unknown_variable_is_a_warning(examine: Any) -> None:
    checks = examine(MNEMOSYNE_DB_POOLSIZE="9")
    assert (checks["settings"]["seen"], checks["settings"]["warning"]) == ("unknown: MNEMOSYNE_DB_POOLSIZE", True)


def test_a_local_system_whose_database_fails_at_the_start_is_a_failed_check(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "mnemosyne" / "postgres").mkdir(parents=True)
    (tmp_path / "mnemosyne" / "postgres" / "PG_VERSION").touch()

    def fail(*arguments: Any, **options: Any) -> None:
        raise Unavailable(
            "the database reported an internal error", next_step="read the log of the database", detail="XX000"
        )

    monkeypatch.setattr("mnemosyne.cli.doctor.open_services", fail)
    (check,) = json.loads(CliRunner().invoke(cli, ["doctor", "--json"]).stdout)
    assert check == {
        "name": "local system",
        "ok": False,
        "warning": False,
        "seen": "the database reported an internal error (XX000)",
        "remedy": "read the log of the database",
    }


def test_without_gcloud_a_command_on_a_deployment_says_where_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Unavailable, match="gcloud could not call the deployment: it is not installed, or not in PATH"):
        CliRunner().invoke(cli, ["doctor", "--project", "my-project"], catch_exceptions=False)
