"""`mnemosyne doctor` reports each fault with its fix."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mnemosyne.adapters.embedders.offline import SPACE
from mnemosyne.cli.local import postgres
from mnemosyne.cli.main import cli
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.errors import Misconfigured, ServiceError, Unavailable

OTHER_SPACE = EmbeddingSpace("gemini", "gemini-embedding-001", 768)


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
    names = "settings, postgresql, pgvector, schema, embedding space, role, languages, topic, embedder, authentication"
    assert ", ".join(checks) == names


def test_an_empty_database_is_reported_with_the_command_to_migrate(
    examine: Any, new_database: Callable[..., str]
) -> None:
    checks = examine(name=new_database(empty=True))
    assert all("mnemosyne migrate" in checks[name]["remedy"] for name in ("schema", "pgvector"))


IDENTITY = {
    "MNEMOSYNE_AUTH_MODE": "oidc",
    "MNEMOSYNE_OIDC_ISSUER": "http://127.0.0.1:9/x",
    "MNEMOSYNE_OIDC_AUDIENCE": "us",
}
# Arguments of `examine`, the check that fails, and parts of its fields `seen` and `remedy`.
FAULTS: Mapping[str, tuple[dict[str, Any], str, str, str]] = {
    "invalid settings": (
        {"MNEMOSYNE_TOPIC": "nowhere", "MNEMOSYNE_DB_POOL_SIZE": "0"},
        "settings",
        "MNEMOSYNE_DB_POOL_SIZE: Input should be greater than or equal to 1, got '0'; MNEMOSYNE_TOPIC must be ",
        "docs/settings.md",
    ),
    "an unreachable database": (
        {"MNEMOSYNE_DATABASE_URL": "postgresql://u@127.0.0.1:9/d"},
        "database",
        "the database cannot be reached (cannot connect to 127.0.0.1, port 9: ",
        "docs/runbook.md",
    ),
    "a missing database user": ({"user": "nobody"}, "database", 'role "nobody" does not exist', "MNEMOSYNE_DB_USER"),
    "another embedding space": (
        {"space": OTHER_SPACE, "MNEMOSYNE_EMBEDDER": "offline"},
        "embedding space",
        "embeddings of gemini-embedding-001 at dimension 768",
        "mnemosyne reembed",
    ),
    "a queue that cannot be written": (
        {"MNEMOSYNE_TOPIC": "file:///nowhere/queue.db"},
        "topic",
        "the queue file /nowhere/queue.db cannot be opened or written",
        "the data directory is writable",
    ),
    "an identity provider": (IDENTITY, "authentication", "does not respond", "MNEMOSYNE_OIDC_ISSUER"),
    "an embedder without a key": (
        {"space": OTHER_SPACE, "MNEMOSYNE_EMBEDDER": "gemini"},
        "embedder",
        "the Gemini client cannot be created",
        "set GEMINI_API_KEY",
    ),
    "a missing user of a function": (
        {"user": postgres.OWNER, "MNEMOSYNE_RUNTIME_USERS": "mcp=mcp,ingest=nobody"},
        "role",
        "nobody does not exist",
        "run `make deploy`, which creates the user",
    ),
    "the owner as a function's user": (
        {"user": postgres.OWNER, "MNEMOSYNE_RUNTIME_USERS": f"mcp=mcp,ingest={postgres.OWNER}"},
        "role",
        f"{postgres.OWNER} is not bound",
        "a role that does not own the schema",
    ),
}


def test_the_embedder_is_checked_although_the_database_is_unreachable(examine: Any) -> None:
    assert examine(MNEMOSYNE_DATABASE_URL="postgresql://u@127.0.0.1:9/d")["embedder"]["ok"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_a_failed_check_with_its_fix(examine: Any, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    arguments, name, seen, remedy = FAULTS[fault]
    check = examine(**arguments)[name]
    assert not check["ok"]
    assert seen in check["seen"]
    assert remedy in check["remedy"]


# Arguments of `examine`, a check that does not fail, a part of its field `seen`, and whether it is a warning.
NO_FAULTS: Mapping[str, tuple[dict[str, Any], str, str, bool]] = {
    "no embedder in the settings": ({"space": OTHER_SPACE}, "embedding space", str(OTHER_SPACE), False),
    "a function's database user": ({"user": "mcp"}, "role", "mcp", False),
    "the owner": ({"user": postgres.OWNER}, "role", "not bound by row-level security", True),
    "the owner and the functions' users": (
        {"user": postgres.OWNER, "MNEMOSYNE_RUNTIME_USERS": f"mcp=mcp,{postgres.RUNTIME_USER}"},
        "role",
        "mcp",
        False,
    ),
    "an unknown variable": ({"MNEMOSYNE_DB_POOLSIZE": "9"}, "settings", "unknown: MNEMOSYNE_DB_POOLSIZE", True),
}


@pytest.mark.parametrize("system", NO_FAULTS)
def test_a_check_without_a_fault_is_ok_and_may_be_a_warning(examine: Any, system: str) -> None:
    arguments, name, seen, is_warning = NO_FAULTS[system]
    check = examine(**arguments)[name]
    assert (check["ok"], check["warning"]) == (True, is_warning)
    assert seen in check["seen"]


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (Unavailable("it failed", next_step="read the log of the database", detail="XX000"), "read the log"),
        (Unavailable("it failed", detail="XX000"), "run the command again"),
        (Misconfigured("it failed", detail="XX000"), "do what the message says"),
    ],
)
def test_a_local_system_whose_database_fails_at_the_start_is_a_failed_check(
    error: ServiceError, remedy: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "mnemosyne" / "postgres").mkdir(parents=True)
    (tmp_path / "mnemosyne" / "postgres" / "PG_VERSION").touch()

    def fail(*arguments: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr("mnemosyne.cli.doctor.open_services", fail)
    (check,) = json.loads(CliRunner().invoke(cli, ["doctor", "--json"]).stdout)
    assert check.pop("remedy").startswith(remedy)
    assert check == {"name": "local system", "ok": False, "warning": False, "seen": "it failed (XX000)"}


def test_without_gcloud_a_command_on_a_deployment_says_where_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Unavailable, match="gcloud could not call the deployment: it is not installed, or not in PATH"):
        CliRunner().invoke(cli, ["doctor", "--project", "my-project"], catch_exceptions=False)
