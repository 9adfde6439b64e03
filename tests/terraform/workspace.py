"""A terraform working directory on a copy of the configuration, with the checker's provider in the place of Google's.

The provider has the real one's schema and rules (tfcheck/), keeps what it made in terraform's own state, and answers
reads as the API does. `terraform` is the real program.
"""

import importlib.util
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TERRAFORM = ROOT / "terraform"
MODULE = TERRAFORM / "modules" / "mnemosyne"
TFCHECK = Path(__file__).parent / "tfcheck" / "tfcheck"
LOWER_BOUND = "7.32.0"
NEWEST = "8.7.0"
PROJECT = "my-project"
HOLDS_DATA = (
    "google_sql_database_instance.this",
    "google_sql_database.this",
    "google_pubsub_topic.ingest",
    "google_pubsub_topic.dead_letter",
    "google_pubsub_subscription.ingest",
    "google_pubsub_subscription.dead_letter",
    "google_secret_manager_secret.owner_password",
)
"""What, made anew, would have lost what was in it."""


@dataclass(frozen=True)
class Done:
    """How a run of terraform ended, and what it printed."""

    status: int
    printed: str


class Workspace:
    """One working directory, with a state of its own."""

    def __init__(self, directory: Path, schema: str = NEWEST, environment: Mapping[str, str] | None = None) -> None:
        loader = SourceFileLoader("tfcheck_program", str(TFCHECK))
        spec = importlib.util.spec_from_loader("tfcheck_program", loader)
        assert spec is not None
        program: Any = importlib.util.module_from_spec(spec)
        loader.exec_module(program)
        _, options = program.arguments([str(directory), "plan"])
        chosen = {"dir": str(directory), "schema": {"google": schema}, "only_named_types": True}
        self._run = program.Run(options | chosen)
        self.directory = Path(self._run.work)
        for above in self.directory.parents:
            if (above / "functions").is_symlink():
                (above / "functions").unlink()
                write_small_source(above / "functions", str(directory))
        # Go collects less often in a run this short: a fifth of its CPU.
        self._run.env.update({"GOGC": "400"} | dict(environment or {}))
        (self.directory / "tfcheck_override.tf").write_text('terraform {\n  backend "local" {}\n}\n')
        required = self._run.required()
        assert required is not None
        self._run.mirror(required)
        self.run("init", "-input=false")

    @property
    def environment(self) -> dict[str, str]:
        """The variables that terraform runs with."""
        environment: dict[str, str] = self._run.env
        return environment

    def run(self, *arguments: str, ok: bool = True) -> Done:
        """Run terraform; fails the test where it fails and should not."""
        status, printed = self._run.terraform(*arguments, "-no-color")
        assert not ok or status in (0, 2), printed
        return Done(status, printed)

    def apply(self, **variables: object) -> Done:
        """Apply with those variables."""
        return self.run("apply", "-auto-approve", "-input=false", *_variables(variables))

    def plan(self, *options: str, **variables: object) -> Done:
        """Plan on the state as it is; status 0: nothing to do, 1: refused, 2: changes."""
        where = self.directory / "plan"
        arguments = ("-input=false", "-lock=false", "-detailed-exitcode", f"-out={where}")
        return self.run("plan", *arguments, *options, *_variables(variables), ok=False)

    def changes(self) -> dict[str, list[str]]:
        """What the last plan would do, by address: create, update, delete; two for a replacement."""
        shown = json.loads(self._run.terraform("show", "-json", str(self.directory / "plan"))[1])
        planned = {one["address"]: one["change"]["actions"] for one in shown.get("resource_changes", [])}
        return {address: actions for address, actions in planned.items() if actions not in (["no-op"], ["read"])}

    def addresses(self) -> set[str]:
        """What is in the state."""
        return set(self._run.terraform("state", "list")[1].split())

    def close(self) -> None:
        """Remove the working directory."""
        shutil.rmtree(self._run.scratch, ignore_errors=True)


def write_small_source(functions: Path, comment: str) -> None:
    """Write the least that the archive can be made of; another comment makes another archive.

    Terraform hashes every file of the archive over and over, which takes more than half of a plan. What is really in
    the archive is looked at by test_archive.py.
    """
    (functions / "mnemosyne").mkdir(parents=True)
    (functions / "main.py").write_text(f"# {comment}\n")
    (functions / "requirements.txt").write_text("")
    (functions / "mnemosyne" / "__init__.py").write_text("")


@contextmanager
def workspace(
    directory: Path = TERRAFORM, *, schema: str = NEWEST, environment: Mapping[str, str] | None = None
) -> Iterator[Workspace]:
    """A working directory until the context ends; skips loudly where terraform is not installed."""
    if shutil.which("terraform") is None:
        pytest.skip("NOT TESTED: terraform is not installed")
    made = Workspace(directory, schema, environment)
    try:
        yield made
    finally:
        made.close()


def without_gcloud(directory: Path) -> dict[str, str]:
    """An environment in which the provisioners' gcloud succeeds at everything and does nothing."""
    program = directory / "gcloud"
    program.write_text('#!/bin/sh\necho \'{"state": "SUCCEEDED"}\'\n')
    program.chmod(0o755)
    return {"PATH": f"{directory}{os.pathsep}{os.environ['PATH']}"}


def _variables(values: Mapping[str, object]) -> list[str]:
    given: dict[str, object] = {"project": PROJECT, **values}
    return [f"-var={name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in given.items()]


def made_anew(planned: Done) -> list[str]:
    """Of what holds data, what a plan with `-json` would delete."""
    messages = [json.loads(line) for line in planned.printed.splitlines() if line.startswith("{")]
    changes = [one["change"] for one in messages if one["type"] == "planned_change"]
    assert changes
    return [
        one["resource"]["addr"]
        for one in changes
        if one["action"] in ("delete", "replace") and one["resource"]["resource"] in HOLDS_DATA
    ]
