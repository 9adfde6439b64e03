"""The migration of a deployment, by the function `migrate` and by a job.

It embeds one word as a test of the embedder, and an error says what to change.
"""

import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.app import migrate
from mnemosyne.app.migrate import check_embedding
from mnemosyne.cli.local import postgres
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.errors import Misconfigured
from mnemosyne.observability import configure_logging
from mnemosyne.settings import Settings
from tests.fakes_wire.gemini import GeminiServer, error

MODEL = "gemini-embedding-001"
SPACE = EmbeddingSpace("gemini", MODEL, 768)
PROJECT = "test-project"
REGION = "europe-west12"
NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"
ANOTHER = "move to another model: first run `mnemosyne reembed --project MY-PROJECT --model MODEL"
ELSEWHERE = (
    "set embedding_location (GOOGLE_CLOUD_LOCATION) to eu, us, global or a region that offers it and run "
    f"`make deploy`; else {ANOTHER}"
)

# Error messages of the services, copied from public reports.
ON_VERTEX = [
    (
        404,
        f"Publisher Model `projects/{PROJECT}/locations/{REGION}/publishers/google/models/{MODEL}` was not found or "
        "your project does not have access to it. Please ensure you are using a valid model version.",
        f"the model {MODEL} is not available at {REGION}: {ELSEWHERE}",
    ),
    (
        400,
        f"Unsupported region for Vertex AI, got {REGION}",
        f"the model {MODEL} is not available at {REGION}: {ELSEWHERE}",
    ),
    (
        403,
        "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/p' (or it "
        "may not exist).",
        f"run `make deploy`, which grants roles/aiplatform.user; else {ANOTHER}",
    ),
    (
        403,
        "Vertex AI API has not been used in project 123 before or it is disabled. Enable it by visiting the console.",
        f"the embedding API is not enabled in project {PROJECT}: run `make deploy`, which enables aiplatform",
    ),
    (
        403,
        f"{MODEL} is a legacy model and is not open to new projects.",
        f"the model {MODEL} is restricted in this project: {ANOTHER}",
    ),
    (
        429,
        "Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model with base model: "
        "gemini-embedding. Please submit a quota increase request.",
        f"the quota of {MODEL} at {REGION} is exhausted or zero: request a higher quota, or lower",
    ),
    (
        400,
        "Unable to submit request because output_dimensionality must be in the range [1, 512].",
        f"the model {MODEL} does not support dimension 768: {ANOTHER}",
    ),
    (500, "Internal error encountered.", f"{MODEL} could not embed one word: the embedding service does not work"),
]
WITH_A_KEY = [
    (
        400,
        "API key not valid. Please pass a valid API key.",
        "add a valid key to the secret gemini_api_key_secret (GEMINI",
    ),
    (
        400,
        "User location is not supported for the API use.",
        "not available at the location of this caller: leave gemini_api_key_secret empty to use Vertex AI and run "
        f"`make deploy`; else {ANOTHER}",
    ),
    (
        404,
        f"models/{MODEL} is not found for API version v1beta, or is not supported for embedContent.",
        f"the model {MODEL} is not available with this API key: {ANOTHER}",
    ),
]


@pytest.fixture
def url(cluster: postgres.EmbeddedPostgres, new_database: Callable[..., str]) -> str:
    """An empty database."""
    return cluster.url(postgres.OWNER, new_database(empty=True))


@pytest.fixture
def owner(url: str) -> Iterator[Connection]:
    connection = connection_factory(url)()
    yield connection
    connection.close()


def _environment(url: str, **changed: str) -> dict[str, str]:
    return {
        "MNEMOSYNE_DATABASE_URL": url,
        "MNEMOSYNE_TOPIC": "projects/p/topics/t",
        "MNEMOSYNE_EMBEDDER": "gemini",
        "MNEMOSYNE_EMBEDDING_MODEL": MODEL,
        "GOOGLE_CLOUD_PROJECT": PROJECT,
        **changed,
    }


def _vertex(url: str = NOWHERE) -> Settings:
    return Settings.from_environment(_environment(url, GOOGLE_GENAI_USE_VERTEXAI="true", GOOGLE_CLOUD_LOCATION=REGION))


def _with_key(url: str = NOWHERE) -> Settings:
    return Settings.from_environment(_environment(url))


@pytest.mark.parametrize(
    ("settings", "status", "message", "expected"),
    [
        *((_vertex, *answer) for answer in ON_VERTEX),
        *((_with_key, *answer) for answer in WITH_A_KEY),
    ],
    ids=[f"{where}: {status} {message[:20]}" for where, answers in (("vertex", ON_VERTEX), ("key", WITH_A_KEY))
         for status, message, _ in answers],
)  # fmt: skip
def test_a_model_that_cannot_be_used_fails_with_the_variable_to_change(
    gemini: GeminiServer, settings: Callable[[], Settings], status: int, message: str, expected: str
) -> None:
    gemini.fault = lambda server: error(status, message)
    with pytest.raises(Misconfigured) as failed:
        check_embedding(settings(), SPACE, patience=0.0)
    assert expected in str(failed.value)
    assert f"answered {status}: " in str(failed.value)
    assert message.partition(".")[0] in str(failed.value)


def test_vectors_of_another_dimension_fail_with_the_variable_to_change(gemini: GeminiServer) -> None:
    gemini.fault = lambda server: (200, {"embeddings": [{"values": [1.0, 2.0]}]})
    with pytest.raises(Misconfigured, match=r"not support dimension 768: move to .*dimension 2"):
        check_embedding(_with_key(), SPACE, patience=60.0)


def test_a_service_that_cannot_be_reached_is_named_with_the_reason(
    gemini: GeminiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    with pytest.raises(Misconfigured, match=r"could not embed one word: .*ConnectError"):
        check_embedding(_with_key(), SPACE, patience=0.0)


def test_a_missing_right_is_retried_because_it_may_be_new(gemini: GeminiServer) -> None:
    gemini.fault = lambda server: error(403, "Permission denied") if server.calls <= 3 else None
    check_embedding(_vertex(), SPACE, patience=60.0, pause=0.0)
    assert (gemini.calls, gemini.texts) == (4, 1)


def test_a_missing_model_is_not_retried(gemini: GeminiServer) -> None:
    gemini.fault = lambda server: error(404, "not found")
    with pytest.raises(Misconfigured):
        check_embedding(_vertex(), SPACE, patience=60.0, pause=0.0)
    assert gemini.calls == 1


def test_a_deployment_embeds_one_word(gemini: GeminiServer, url: str) -> None:
    assert migrate.deploy(_vertex(url)) == [file.label for file in migrations.schema_files()]
    assert gemini.texts == 1


def test_a_failed_check_leaves_the_schema_migrated(gemini: GeminiServer, url: str, owner: Connection) -> None:
    gemini.fault = lambda server: error(404, "not found")
    with pytest.raises(Misconfigured, match="set embedding_location"):
        migrate.deploy(_vertex(url))
    assert owner.run("SELECT count(*) FROM memories") == [[0]]
    gemini.fault = None
    assert migrate.deploy(_vertex(url)) == []


def test_the_check_uses_the_model_of_the_stored_memories_and_not_of_the_settings(
    gemini: GeminiServer, url: str, owner: Connection
) -> None:
    migrate.migrate(_with_key(url))
    owner.script(
        "UPDATE embedding_space SET previous_provider = provider, previous_model = model, "
        "previous_dimension = 768, model = 'gemini-embedding-2'"
    )
    migrate.deploy(_with_key(url))
    assert gemini.requests[-1]["requests"][0]["model"] == "models/gemini-embedding-2"


def test_settings_of_another_model_than_the_memories_fail(gemini: GeminiServer, url: str) -> None:
    migrate.migrate(_with_key(url))
    changed = Settings.from_environment(_environment(url, MNEMOSYNE_EMBEDDING_MODEL="gemini-embedding-2"))
    with pytest.raises(Misconfigured, match="MNEMOSYNE_EMBEDDING_MODEL"):
        migrate.deploy(changed)


def _ends(log: str) -> list[dict[str, Any]]:
    """Return the log entries of a job that say whether it has succeeded or failed."""
    logged = [json.loads(line) for line in log.splitlines()]
    return [line for line in logged if line["event"] in ("migrated", "migration_failed")]


def test_the_job_ends_with_0_and_logs_what_it_applied(gemini: GeminiServer, url: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "mnemosyne.app.migrate"],
        env={**os.environ, "PYTHONPATH": "functions", **_environment(url)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    (line,) = _ends(run.stderr)
    assert (run.returncode, line["event"], line["files"][0]) == (0, "migrated", "0001 baseline")


JOB_FAULTS = {
    "settings": ({"MNEMOSYNE_EMBEDDER": "nobody"}, "MNEMOSYNE_EMBEDDER must be one of"),
    "database": (
        {"MNEMOSYNE_DATABASE_URL": "postgresql://nobody:a-secret@127.0.0.1:9/nothing"},
        "the database cannot be reached (InterfaceError: cannot connect to 127.0.0.1, port 9: ",
    ),
    "schema": ({}, '0001 baseline failed: 42P07 relation "api_keys" already exists'),
    "model": ({}, f"the model {MODEL} is not available with this API key"),
}


@pytest.mark.parametrize("fault", JOB_FAULTS)
def test_a_failed_job_ends_with_1_and_logs_one_line_with_the_reason(
    gemini: GeminiServer, url: str, owner: Connection, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    changed, reason = JOB_FAULTS[fault]
    for name, value in {**_environment(url), **changed}.items():
        monkeypatch.setenv(name, value)
    if fault == "schema":
        owner.script("CREATE VIEW api_keys AS SELECT 1")
    gemini.fault = lambda server: error(404, "not found")
    log, handlers = io.StringIO(), logging.root.handlers[:]
    monkeypatch.setattr(migrate, "configure_logging", partial(configure_logging, stream=log))
    code = migrate.main()
    logging.root.handlers[:] = handlers
    (line,) = _ends(log.getvalue())
    assert (code, line["event"], line["severity"]) == (1, "migration_failed", "ERROR")
    assert reason in line["error"]
    assert "a-secret" not in str(line)
    assert "CREATE TABLE" not in str(line)
