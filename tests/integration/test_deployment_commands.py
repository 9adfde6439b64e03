"""Operator commands on a deployment, with the real gcloud on a fake of Google's APIs, and a real database."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.app import operations
from mnemosyne.app.operator import SystemOperator
from mnemosyne.cli.local import postgres
from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.message import encode
from mnemosyne.settings import Settings
from tests.dev import COMMAND
from tests.fakes import NOW, request
from tests.fakes_wire.google.apis import PROJECT, GoogleApis, failed
from tests.fakes_wire.google.environment import gcloud_environment
from tests.memories import store_contents
from tests.operations import workflow

pytestmark = pytest.mark.slow

CHOSEN = ("--project", PROJECT, "--deployment", "memory")


class Deployment:
    """A deployment: a database, and a workflow that runs operations on it.

    The machine that runs the commands has no settings of the deployment.
    """

    def __init__(self, apis: GoogleApis, home: Path, settings: Settings) -> None:
        self.apis = apis
        self.operations: list[tuple[str, str]] = []
        """Name of each operation, and the caller's token."""
        self._operator = SystemOperator(settings)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MNEMOSYNE_")}
        self._environment = inherited | gcloud_environment(apis.host, home)
        apis.workflows["memory-operate"] = workflow(self._run)

    def _run(self, action: str, arguments: Any, token: str) -> dict[str, Any]:
        self.operations.append((action, token))
        return operations.run(operations.read_operation(action, arguments), self._operator, "google:ada@example.com")

    def close(self) -> None:
        """Close the connections of the operations."""
        self._operator._services.close()

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run mnemosyne with the options that select the deployment."""
        return subprocess.run(
            [COMMAND, *arguments, *CHOSEN], env=self._environment, capture_output=True, text=True, check=False
        )

    def json(self, *arguments: str) -> Any:
        """Run a command with --json and return what it prints."""
        completed = self.command(*arguments, "--json")
        assert completed.returncode == 0, completed.stderr + completed.stdout
        return json.loads(completed.stdout)


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


def _letter(store: MemoryStore, message_id: str, content: str) -> None:
    (data, attributes) = encode(store.namespace, [request(content)], "")
    letter = DeadLetter(
        message_id=message_id, data=data, attributes=attributes, cause="the model is away", dead_lettered_at=NOW
    )
    store.store_dead_letter(letter)


def test_dead_letters_are_listed_shown_redriven_and_dropped(deployment: Deployment, store: MemoryStore) -> None:
    for number in range(3):
        _letter(store, f"m{number}", f"content {number}")
    of = ("--namespace", store.namespace)
    listed = deployment.command("dead-letters", "list", *of)
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["m0", "m1", "m2"], listed.stderr
    letter_text = deployment.command("dead-letters", "show", "m1", *of)
    assert "content 1" in letter_text.stdout
    redriven = deployment.json("redrive", "--message-id", "m0", *of)
    assert [letter["message_id"] for letter in redriven["redriven"]] == ["m0"]
    dropped = deployment.command("dead-letters", "drop", "--all", "--yes", *of)
    assert "Dropped 3 dead letters." in dropped.stdout, dropped.stderr
    assert store.dead_letters(10) == []


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


def test_the_change_feed_of_a_deployment_is_turned_on_and_read(deployment: Deployment, store: MemoryStore) -> None:
    of = ("--namespace", store.namespace)
    on = deployment.command("change-feed", "on", "--contents", *of)
    assert "is on, with contents." in on.stdout, on.stderr
    store_contents(store, "tea", "coffee")
    changes = deployment.command("changes", *of, "--json")
    events = [json.loads(line) for line in changes.stdout.splitlines()]
    assert {(event["kind"], event["memory"]["content"]) for event in events} == {
        ("created", "tea"),
        ("created", "coffee"),
    }
    assert changes.stderr.endswith("2 changes: 2 created.\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("keys", "list"),
        *(
            pytest.param(arguments, marks=pytest.mark.nightly)
            for arguments in (("migrate", "--status"), ("quota", "list"), ("grants", "list"), ("lockouts", "list"))
        ),
    ],
    ids=" ".join,
)
def test_a_list_is_printed_as_json(deployment: Deployment, arguments: tuple[str, ...]) -> None:
    assert isinstance(deployment.json(*arguments), list)


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
