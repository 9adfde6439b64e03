"""An operator with a clone of the repository, the real gcloud and the real terraform, on a fake of Google's APIs.

gcloud and Terraform's state backend call one server on loopback; Terraform uses the checker's provider.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes_wire.google.apis import PROJECT, GoogleApis, succeeded
from tests.fakes_wire.google.environment import gcloud_environment
from tests.operations import workflow
from tests.terraform.workspace import GOGC, ROOT, Workspace, write_small_source

BUCKET = f"{PROJECT}-terraform"


class Operator:
    """An operator with a gcloud log-in and a clone of the repository."""

    def __init__(self, home: Path, apis: GoogleApis) -> None:
        self.apis = apis
        self.operations: list[tuple[str, dict[str, Any]]] = []
        """Name and arguments of each operation that the deployment has run."""
        self.clone = home / "clone"
        large = ("node_modules", "artefacts", "dist")
        ignored = shutil.ignore_patterns(
            ".git", ".venv*", "functions", "tests", ".terraform", "__pycache__", ".*_cache", *large
        )
        shutil.copytree(ROOT, self.clone, ignore=ignored, symlinks=True)
        write_small_source(self.clone / "functions", "small")
        # Make the file older than the stamps (empty files) in .venv that record installations, so that `make key`
        # installs nothing.
        os.utime(self.clone / "functions" / "requirements.txt", (0, 0))
        (self.clone / ".venv").symlink_to(ROOT / ".venv")
        self._failures = home / "failures.json"
        self.environment = {
            **gcloud_environment(apis.host, home),
            "TFCHECK_FAILURES": str(self._failures),
            "CHECKPOINT_DISABLE": "1",
            **GOGC,
            "TF_IN_AUTOMATION": "1",
            "GOOGLE_OAUTH_ACCESS_TOKEN": "a-token",
            "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT": f"{apis.url}/storage/v1/",
        }

    def make(self, target: str, *variables: str, answer: str = "") -> subprocess.CompletedProcess[str]:
        """Run `make TARGET PROJECT=my-project …`, and answer its confirmation."""
        command = ["make", target, f"PROJECT={PROJECT}", *variables]
        return subprocess.run(
            command, cwd=self.clone, env=self.environment, input=answer, capture_output=True, text=True, timeout=1800
        )

    def deploy(self, *variables: str) -> subprocess.CompletedProcess[str]:
        """Run `make deploy` without a confirmation."""
        return self.make("deploy", "ARGS=-auto-approve", *variables)

    def preflight(self, *variables: str, resource: str = "random_id.database") -> subprocess.CompletedProcess[str]:
        """Run `make deploy`, but apply one resource instead of all."""
        return self.make("deploy", f"ARGS=-auto-approve -target=module.mnemosyne.{resource}", *variables)

    def fail(self, **messages: str) -> None:
        """Make each later apply of these resource types fail with a message. Without arguments, no apply fails."""
        self._failures.write_text(json.dumps(messages))

    def state_of(self, deployment: str = "mnemosyne") -> dict[str, Any]:
        """Return Terraform's state of a deployment, as it is stored in the bucket."""
        state: dict[str, Any] = json.loads(self.apis.buckets.known[BUCKET].objects[f"{deployment}/default.tfstate"])
        return state


@pytest.fixture
def refused_operator(tmp_path: Path) -> Iterator[Operator]:
    """An operator whose commands are refused before they run terraform."""
    if shutil.which("gcloud") is None:
        pytest.skip("NOT TESTED: gcloud is not installed")
    with GoogleApis().serving() as apis:
        new_operator = Operator(tmp_path, apis)

        def run(action: str, arguments: dict[str, Any], token: str) -> dict[str, Any]:
            new_operator.operations.append((action, arguments))
            return {"id": arguments["id"]}

        apis.workflows["mnemosyne-operate"] = workflow(run)
        apis.workflows["mnemosyne-check"] = lambda argument: succeeded({"mcp": {"status": "ok"}})
        yield new_operator


@pytest.fixture
def operator(refused_operator: Operator, empty: Workspace) -> Iterator[Operator]:
    """An operator whose terraform uses the checker's providers (tfcheck) instead of Google's."""
    with empty.provided(refused_operator.clone / "terraform", refused_operator.environment):
        yield refused_operator
