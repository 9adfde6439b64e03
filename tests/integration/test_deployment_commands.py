"""Operator commands on a deployment, with the real gcloud on a fake of Google's APIs."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes_wire.google.apis import PROJECT, GoogleApis, failed, succeeded
from tests.fakes_wire.google.environment import gcloud_environment

COMMAND = Path(sys.executable).with_name("mnemosyne")


class Deployment:
    """A deployment whose workflow records the requests, and answers with a value or an error that a test sets."""

    def __init__(self, apis: GoogleApis, home: Path) -> None:
        self.requests: list[dict[str, Any]] = []
        self.answer: dict[str, Any] = succeeded({})
        self._environment = os.environ | gcloud_environment(apis.host, home)
        apis.workflows["memory-operate"] = self._execute

    def _execute(self, argument: str | None) -> dict[str, Any]:
        self.requests.append(json.loads(argument or "null"))
        return self.answer

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run mnemosyne with the options that select the deployment."""
        chosen = ("--project", PROJECT, "--deployment", "memory", "--json")
        return subprocess.run(
            [COMMAND, *arguments, *chosen], env=self._environment, capture_output=True, text=True, check=False
        )


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    if shutil.which("gcloud") is None:
        pytest.skip("NOT TESTED: gcloud is not installed")
    with GoogleApis().serving() as apis:
        yield Deployment(apis, tmp_path)


@pytest.mark.parametrize(
    ("arguments", "answer", "request_"),
    [
        (("keys", "list"), {"keys": []}, {"path": "keys", "body": {"action": "list"}}),
        (("keys", "revoke", "abc"), {}, {"path": "keys", "body": {"action": "revoke", "id": "abc"}}),
        (("quota", "list"), {"quotas": []}, {"path": "quotas", "body": {"action": "list"}}),
        (("grants", "list"), {"grants": []}, {"path": "grants", "body": {"action": "list"}}),
        (("people", "list"), {"blocked": []}, {"path": "people", "body": {"action": "list"}}),
        (
            ("people", "block", "Eve@Example.com"),
            {"who": "eve@example.com", "revoked": []},
            {"path": "people", "body": {"action": "block", "who": "eve@example.com"}},
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_command_posts_its_body_to_its_path(
    deployment: Deployment, arguments: tuple[str, ...], answer: dict[str, Any], request_: dict[str, Any]
) -> None:
    deployment.answer = succeeded(answer)
    done = deployment.command(*arguments)
    assert done.returncode == 0, done.stderr
    (sent,) = deployment.requests
    assert sent["path"] == request_["path"]
    assert request_["body"].items() <= sent["body"].items()


def test_a_command_reports_the_reason_of_the_function(deployment: Deployment) -> None:
    payload = {"code": 400, "message": "HTTP server responded with error code 400", "body": {"error": "no such key"}}
    deployment.answer = failed(payload, "HTTP server responded with error code 400")
    done = deployment.command("keys", "revoke", "abc")
    assert done.returncode != 0
    assert "no such key" in done.stderr
