"""Operator commands on a deployment, with the real gcloud on a fake of Google's APIs, and a real database."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.app import operations
from mnemosyne.app.operator import SystemOperator
from mnemosyne.cli.local import postgres
from mnemosyne.domain.message import encode
from mnemosyne.settings import Settings
from tests.dev import COMMAND
from tests.fakes import request
from tests.fakes_wire.google.apis import PROJECT, GoogleApis, failed
from tests.fakes_wire.google.environment import gcloud_environment
from tests.memories import make_dead_letter, store_contents
from tests.operations import workflow

pytestmark = pytest.mark.slow

CHOSEN = ("--project", PROJECT, "--deployment", "memory")


class Deployment:
    """A deployment: a database, and a workflow that runs operations on it.

    The machine that runs the commands has no settings of the deployment.
    """

    def __init__(self, apis: GoogleApis, home: Path, settings: Settings) -> None:
        self.apis = apis
        self._operator = SystemOperator(settings)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MNEMOSYNE_")}
        self._environment = inherited | gcloud_environment(apis.host, home)
        apis.workflows["memory-operate"] = workflow(self._run)

    def _run(self, action: str, arguments: Any, token: str) -> dict[str, Any]:
        return operations.run(operations.read_operation(action, arguments), self._operator, "google:ada@example.com")

    def close(self) -> None:
        """Close the connections of the operations."""
        self._operator._services.close()

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run mnemosyne with the options that select the deployment."""
        return subprocess.run(
            [COMMAND, *arguments, *CHOSEN], env=self._environment, capture_output=True, text=True, check=False
        )


@pytest.fixture
def deployment(
    cluster: postgres.EmbeddedPostgres, database: str, store: MemoryStore, tmp_path: Path
) -> Iterator[Deployment]:
    """A deployment whose settings name another embedding model than the database, as on an operator's machine."""
    if shutil.which("gcloud") is None:
        pytest.skip("NOT TESTED: gcloud is not installed")
    settings = Settings.from_environment(
        {
            "MNEMOSYNE_DATABASE_URL": cluster.url(postgres.OWNER, database),
            "MNEMOSYNE_TOPIC": f"file://{tmp_path}/queue.db",
            "MNEMOSYNE_DB_POOL_SIZE": "1",
        }
    )
    with GoogleApis().serving() as apis:
        made = Deployment(apis, tmp_path, settings)
        yield made
        made.close()


def test_a_dead_letter_is_redriven(deployment: Deployment, store: MemoryStore) -> None:
    data, attributes = encode(store.namespace, [request("tea")], "")
    store.store_dead_letter(replace(make_dead_letter("m0"), data=data, attributes=attributes))
    redriven = deployment.command("redrive", "--message-id", "m0", "--namespace", store.namespace, "--json")
    assert [letter["message_id"] for letter in json.loads(redriven.stdout)["redriven"]] == ["m0"], redriven.stderr


def test_memories_are_exported_and_outcomes_listed_without_a_trace_in_google_s_logs(
    deployment: Deployment, store: MemoryStore
) -> None:
    """The requests and answers of the operations are encrypted, so Google's logs do not contain the memories."""
    store_contents(store, "tea", "coffee " * 3_000)
    of = ("--namespace", store.namespace)
    exported = deployment.command("export", *of)
    lines = [json.loads(line) for line in exported.stdout.splitlines()]
    assert {line["content"] for line in lines if "content" in line} == {"tea", "coffee " * 3_000}, exported.stderr
    outcomes = deployment.command("outcomes", *of, "--json")
    assert [json.loads(line)["state"] for line in outcomes.stdout.splitlines()] == ["stored", "stored"]
    executions = json.dumps(deployment.apis.executions)
    assert not [word for word in ("coffee", "export", store.namespace) if f'"{word}' in executions]


def test_doctor_reports_no_problem_for_the_owner(deployment: Deployment) -> None:
    completed = deployment.command("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(completed.stdout)}
    assert {name for name, check in checks.items() if not check["ok"]} <= {"embedder"}, completed.stdout
    assert {"postgresql", "schema", "embedding space", "role", "topic"} <= set(checks)


def test_a_command_reports_the_reason_of_the_function(deployment: Deployment) -> None:
    completed = deployment.command("keys", "revoke", "abc")
    assert completed.returncode == 1
    assert completed.stderr.strip() == "mnemosyne: no key has the id abc: see `mnemosyne keys list`"


def test_a_workflow_that_fails_is_reported(deployment: Deployment) -> None:
    payload = {"code": 403, "message": "HTTP server responded with error code 403"}
    deployment.apis.workflows["memory-operate"] = lambda argument: failed(payload, "no right to call")
    completed = deployment.command("keys", "list")
    assert completed.returncode == 1
    assert "no right to call" in completed.stderr
