"""An operator with a clone of the repository, the real gcloud and the real terraform, on a fake of Google's APIs.

gcloud and Terraform's state backend call one server on loopback; Terraform uses the checker's provider.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes_wire.google.apis import PROJECT, GoogleApis, succeeded
from tests.fakes_wire.google.environment import gcloud_environment
from tests.operations import workflow
from tests.terraform.workspace import GOGC, ROOT, Workspace, write_program, write_small_source


class Scripts:
    """A directory with a copy of the scripts in infra/deploy, whose functions run one by one.

    A whole `make deploy` takes ten times as long as a function.
    """

    apis: GoogleApis
    """The APIs that the real gcloud calls, in the scripts of the fixture `checks`."""

    def __init__(self, home: Path, environment: Mapping[str, str] | None = None) -> None:
        self.home = home
        self.tfvars = home / "terraform/terraform.tfvars"
        """The path of terraform.tfvars. The file does not exist yet."""
        (home / "terraform/modules/mnemosyne").mkdir(parents=True)
        shutil.copytree(ROOT / "infra/deploy", home / "infra/deploy")
        (home / "bin").mkdir()
        self.environment = {**(environment or {}), "PATH": f"{home}/bin:{os.environ['PATH']}", "PROJECT": PROJECT}

    def program(self, name: str, script: str) -> None:
        """Let a shell script replace a program that the scripts call."""
        write_program(self.home / "bin" / name, script)

    def run(self, command: str, *, answer: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command of bash, such as a function of `common.sh`, `preflight.sh` or `deploy`."""
        functions = (ROOT / "infra/deploy/deploy").read_text().partition("\nenable_apis\n")[0]
        return subprocess.run(
            ["bash", "-c", f"{functions}\n{command}", "infra/deploy/deploy"],
            cwd=self.home,
            env=self.environment | environment,
            input=answer,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def scripts(tmp_path: Path) -> Scripts:
    """Scripts whose gcloud and terraform a test replaces."""
    return Scripts(tmp_path)


@pytest.fixture
def checks(tmp_path: Path) -> Iterator[Scripts]:
    """Scripts with the real gcloud on a fake of Google's APIs. Terraform's state is empty."""
    if shutil.which("gcloud") is None:
        pytest.skip("NOT TESTED: gcloud is not installed")
    with GoogleApis().serving() as apis:
        new_scripts = Scripts(tmp_path, gcloud_environment(apis.host, tmp_path))
        new_scripts.apis = apis
        new_scripts.program("terraform", ":")
        yield new_scripts


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
        self.environment = {
            **gcloud_environment(apis.host, home),
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


@pytest.fixture
def operator(tmp_path: Path, empty: Workspace) -> Iterator[Operator]:
    """An operator whose terraform uses the checker's providers (tfcheck) instead of Google's."""
    if shutil.which("gcloud") is None:
        pytest.skip("NOT TESTED: gcloud is not installed")
    with GoogleApis().serving() as apis:
        new_operator = Operator(tmp_path, apis)

        def run(action: str, arguments: dict[str, Any], token: str) -> dict[str, Any]:
            new_operator.operations.append((action, arguments))
            return {"id": arguments["id"]}

        apis.workflows["stage-operate"] = workflow(run)
        apis.workflows["stage-check"] = lambda argument: succeeded({"mcp": {"status": "ok"}})
        with empty.provided(new_operator.clone / "terraform", new_operator.environment):
            yield new_operator
