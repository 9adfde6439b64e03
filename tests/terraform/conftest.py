"""Fixtures with the real terraform binary and the provider's schema and rules, offline."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.terraform.gcloud_operator import operator
from tests.terraform.monitoring import ENTRIES, NOTIFIED, Monitoring
from tests.terraform.workspace import GOGC, ROOT, TERRAFORM, TFCHECK, Workspace, workspace, write_small_source

__all__ = ["ROOT", "TERRAFORM", "Plan", "operator", "tfcheck"]


def tfcheck(
    directory: Path, *arguments: str, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the checker with Terraform variables; skips with a reason where terraform is not installed."""
    if shutil.which("terraform") is None:
        pytest.skip("NOT TESTED: terraform is not installed")
    command = [sys.executable, str(TFCHECK), str(directory), *arguments]
    environment = os.environ | GOGC | {f"TF_VAR_{name}": value for name, value in (variables or {}).items()}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=1800)


EVERYTHING = {
    "project_number": "123456789012",
    "auth_mode": "oauth",
    "oauth_client_id": "upstream-client",
    "oauth_client_secret": "upstream-secret",
    "oauth_people": [{"who": "@example.com", "namespace": "team", "scopes": ["read"]}, {"who": "*"}],
    "outcomes": True,
    "reranking_model": "semantic-ranker-fast-004",
    "publishers": {"crm": {"namespace": "support", "members": ["group:crm@example.com"]}},
    "buckets": {"exports": {"bucket": "acme-exports", "namespace": "archive"}},
}
"""Variables that create every function and every grant, with addresses that the plan shows."""


class Plan:
    """Terraform's plan for an empty project, and the source archive that Terraform built."""

    def __init__(self, text: str, archive: Path) -> None:
        self.text = text
        self.archive = archive


def planned(variables: Mapping[str, object], *options: str) -> Iterator[Plan]:
    """Plan with the variables and Terraform's options, until the generator is closed."""
    chosen = [
        f"-var={name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in variables.items()
    ]
    completed = tfcheck(
        TERRAFORM, "plan", "--keep", "-v", "--", "-var=project=my-project", *chosen, *options, "-no-color"
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    scratch = next(line for line in completed.stdout.splitlines() if line.startswith("scratch copy: "))
    copy = Path(scratch.removeprefix("scratch copy: "))
    text = completed.stdout.replace("module.mnemosyne.", "")
    yield Plan(text, copy / ".terraform" / "mnemosyne-functions.zip")
    shutil.rmtree(copy.parents[1])


@pytest.fixture(scope="package")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plan]:
    """A plan with every part and a small source, which takes a third of the time of the real one."""
    source = tmp_path_factory.mktemp("source")
    write_small_source(source / "functions", "small")
    yield from planned({**EVERYTHING, "source_dir": str(source)})


@pytest.fixture(scope="session")
def empty() -> Iterator[Workspace]:
    """A project without a deployment, for tests that only plan."""
    with workspace() as new_workspace:
        yield new_workspace


@pytest.fixture(scope="session")
def _applied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, bytes]]:
    """A deployment, and its state. It was applied without another program than terraform."""
    with workspace(environment={"PATH": str(tmp_path_factory.mktemp("no_programs"))}) as new_workspace:
        new_workspace.apply()
        yield new_workspace, (new_workspace.directory / "terraform.tfstate").read_bytes()


@pytest.fixture
def deployed(_applied: tuple[Workspace, bytes]) -> Workspace:
    """A deployment with the default of every variable, in the state after its first apply."""
    new_workspace, state = _applied
    new_workspace.restore(state)
    return new_workspace


@pytest.fixture(scope="session")
def monitoring() -> Monitoring:
    """A deployment named `mem` that notifies somebody, with a publisher and a bucket."""
    with workspace() as new_workspace:
        new_workspace.apply(name="mem", **NOTIFIED, **ENTRIES)
        return Monitoring(new_workspace.shown())
