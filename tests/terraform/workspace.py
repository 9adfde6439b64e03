"""A terraform working directory on a copy of the configuration, with the checker's provider instead of Google's.

The provider has the schema and the rules of the real one (tfcheck/), keeps its resources in Terraform's state, and
answers reads as the API does. `terraform` is the real program.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.terraform.state_server import StateServer

ROOT = Path(__file__).parents[2]
TERRAFORM = ROOT / "terraform"
MODULE = TERRAFORM / "modules" / "mnemosyne"
PROVIDER = Path(__file__).parent / "tfcheck" / "lib" / "provider.py"
PROGRAM = shutil.which("terraform") or ""
GOGC = {"GOGC": "400"}
"""Environment variable that lets the Go program terraform collect garbage less often, which saves time. Without garbage
collection, page faults would take more time than is saved."""
SCHEMA = "8.7.0"
"""Version of Google's provider. The checker has the schema of this version."""
PROJECT = "my-project"


@dataclass(frozen=True)
class Done:
    """The exit status and the output of a run of terraform."""

    status: int
    printed: str


class Workspace:
    """A working directory of terraform with its own state, and a fake cloud, for which a test can set faults."""

    def __init__(self, directory: Path, environment: Mapping[str, str] | None, *, small: bool) -> None:
        self._scratch = Path(tempfile.mkdtemp(prefix="tfcheck-")).resolve()
        self.directory = _copy(directory.resolve(), self._scratch)
        self.state = self._scratch / "state.json"
        """Terraform's state."""
        self._functions = next(
            (above / "functions" for above in self.directory.parents if (above / "functions").is_symlink()), None
        )
        if small and self._functions:
            self._functions.unlink()
            write_small_source(self._functions, str(directory))
        configuration = self._scratch / "cli.tfrc"
        configuration.write_text(
            f'provider_installation {{\n  filesystem_mirror {{\n    path = "{self._scratch}"\n  }}\n}}\n'
        )
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TF_")},
            **GOGC,
            "CHECKPOINT_DISABLE": "1",
            "TF_CLI_CONFIG_FILE": str(configuration),
            "TF_IN_AUTOMATION": "1",
            **{f"TFCHECK_{name}": f"{self._scratch}/{name}.json" for name in ("FAILURES", "DRIFT", "HTTP")},
            **(environment or {}),
        }
        """The environment variables that terraform runs with."""
        self._serving = ExitStack()
        server = self._serving.enter_context(StateServer(self.state).serving())
        (self.directory / "tfcheck_override.tf").write_text(server.backend)
        self.run("get")
        self._types = _named_types(self.directory)
        self._providers = self._provide(self.directory, self.environment)
        self.run("init", "-input=false")

    def _provide(self, directory: Path, environment: dict[str, str]) -> subprocess.Popen[str]:
        """Start a process with the providers, and let terraform attach to it through the environment."""
        process = subprocess.Popen(
            [sys.executable, "-I", str(PROVIDER), *self._types],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=directory,
            text=True,
        )
        assert process.stdout is not None
        environment["TF_REATTACH_PROVIDERS"] = process.stdout.readline().strip()
        return process

    def _terraform(self, *arguments: str, lines: str = "") -> Done:
        completed = subprocess.run(
            [PROGRAM, *arguments],
            env=self.environment,
            cwd=self.directory,
            text=True,
            input=lines,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        return Done(completed.returncode, completed.stdout)

    def run(self, *arguments: str, ok: bool = True) -> Done:
        """Run terraform. If `ok` is true, the test fails if terraform fails."""
        done = self._terraform(*arguments, "-no-color")
        assert not ok or done.status in (0, 2), done.printed
        return done

    def apply(self, *options: str, **variables: object) -> Done:
        """Apply with the variables. The test fails if the apply fails."""
        return self.run("apply", "-auto-approve", "-input=false", *options, *_variables(variables))

    def try_apply(self, *options: str, **variables: object) -> Done:
        """Apply with the variables, and return the result even after a failure."""
        return self.run("apply", "-auto-approve", "-input=false", *options, *_variables(variables), ok=False)

    def fail(self, **messages: str) -> None:
        """Make each later apply of these resource types fail with a message. Without arguments, no apply fails."""
        Path(self.environment["TFCHECK_FAILURES"]).write_text(json.dumps(messages))

    def drift(self, changes: Mapping[str, object]) -> None:
        """Change what the fake cloud returns when Terraform reads a resource.

        The keys are the type and the name of a resource. None means that the resource no longer exists.
        """
        Path(self.environment["TFCHECK_DRIFT"]).write_text(json.dumps(changes))

    def answer(self, bodies: Mapping[str, str]) -> None:
        """Set the bodies that HTTP requests of Terraform get as answers, by URL. All other answers are empty."""
        Path(self.environment["TFCHECK_HTTP"]).write_text(json.dumps(bodies))

    def restore(self, state: bytes) -> None:
        """Set the deployment back to `state`. Remove all faults, drift, HTTP answers and changes of the source."""
        self.state.write_bytes(state)
        self.fail()
        self.drift({})
        self.answer({})
        self.change_source(str(TERRAFORM))

    def change_source(self, comment: str) -> None:
        """Change the functions' source, which changes the archive."""
        assert self._functions
        (self._functions / "main.py").write_text(f"# {comment}\n")

    def plan(self, *options: str, **variables: object) -> Done:
        """Make a plan. The status of the result is 0 without changes, 1 after an error, and 2 with changes."""
        where = self.directory / "plan"
        arguments = ("-input=false", "-lock=false", "-detailed-exitcode", f"-out={where}")
        return self.run("plan", *arguments, *options, *_variables(variables), ok=False)

    def nulls(self, module: Path) -> str:
        """Return the option of terraform that sets each variable of a module to null, except the required variables."""
        text = "\n".join(file.read_text() for file in module.glob("variables*.tf"))
        optional = re.findall(r'(?ms)^variable "(\w+)" \{\n(?:(?!^\}).)*?^  default ', text)
        (self.directory / "nulls.tfvars").write_text("".join(f"{name} = null\n" for name in optional))
        return "-var-file=nulls.tfvars"

    def changes(self) -> dict[str, list[str]]:
        """Return the actions of the last plan by address: create, update or delete. A replacement has two actions."""
        return changes_of(self.planned())

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the root module."""
        done = self._terraform("console", *_variables({}), lines=f"jsonencode({expression})\n")
        assert done.status == 0, done.printed
        return json.loads(json.loads(done.printed))

    def resources(self) -> list[dict[str, Any]]:
        """The resources in the state: address, address in the module, type and attributes."""
        resources = []
        for resource in json.loads(self.state.read_text())["resources"]:
            name = f"{'data.' if resource['mode'] == 'data' else ''}{resource['type']}.{resource['name']}"
            module = f"{resource['module']}." if "module" in resource else ""
            for instance in resource["instances"]:
                own = f"{name}[{json.dumps(instance['index_key'])}]" if "index_key" in instance else name
                values = {"type": resource["type"], "values": instance["attributes"]}
                resources.append({"address": f"{module}{own}", "address_in_module": own, **values})
        return resources

    def addresses(self) -> set[str]:
        """The addresses in the state."""
        return {resource["address"] for resource in self.resources()}

    def values(self) -> dict[str, dict[str, Any]]:
        """The attributes of the resources in the state, by address in the module."""
        return {resource["address_in_module"]: resource["values"] for resource in self.resources()}

    def schemas(self) -> dict[str, dict[str, set[str]]]:
        """The arguments that a configuration can set, by mode (managed or data) and type."""
        references: dict[str, dict[str, set[str]]] = {"managed": {}, "data": {}}
        schemas = json.loads(self._terraform("providers", "schema", "-json").printed)["provider_schemas"]
        for provider in schemas.values():
            for mode, kind in (("managed", "resource_schemas"), ("data", "data_source_schemas")):
                for name, schema in provider.get(kind, {}).items():
                    arguments = schema["block"].get("attributes", {}).items()
                    references[mode][name] = {
                        key for key, argument in arguments if argument.keys() & {"optional", "required"}
                    }
        return references

    def planned(self) -> dict[str, Any]:
        """The last plan as JSON."""
        document: dict[str, Any] = json.loads(self.run("show", "-json", str(self.directory / "plan")).printed)
        return document

    @contextmanager
    def provided(self, directory: Path, environment: dict[str, str]) -> Iterator[None]:
        """Let terraform use the checker's providers also in another directory, with this environment."""
        process = self._provide(directory, environment)
        try:
            yield
        finally:
            _end(process)

    def close(self) -> None:
        """Remove the working directory."""
        _end(self._providers)
        self._serving.close()
        shutil.rmtree(self._scratch, ignore_errors=True)


def _end(providers: subprocess.Popen[str]) -> None:
    """End the process of the providers by closing its standard input."""
    with providers:
        assert providers.stdin is not None
        providers.stdin.close()


def _copy(source: Path, scratch: Path) -> Path:
    """Copy a directory, with links to everything around it, up to the top of the repository."""
    within = source.relative_to(ROOT) if source.is_relative_to(ROOT) else Path(source.name)
    copy, real = scratch / "tree", source.parents[len(within.parts) - 1]
    copy.mkdir()
    for name in within.parts:
        for beside in real.iterdir() if real.is_relative_to(ROOT) else ():
            if beside.name not in (name, ".git", ".terraform"):
                (copy / beside.name).symlink_to(beside)
        copy, real = copy / name, real / name
        copy.mkdir()
    ignored = shutil.ignore_patterns(".terraform*", "*.tfstate*")
    shutil.copytree(source, copy, ignore=ignored, dirs_exist_ok=True)
    return copy


def _named_types(directory: Path) -> list[str]:
    """Return the types that the configuration names. Terraform decodes each served schema, so others are not served."""
    manifest = directory / ".terraform" / "modules" / "modules.json"
    modules = json.loads(manifest.read_text())["Modules"] if manifest.exists() else [{"Dir": "."}]
    files = [file for module in modules for file in (directory / module["Dir"]).glob("*.tf")]
    pattern = re.compile(r'^(?:resource|data|ephemeral) "(\w+)"', re.MULTILINE)
    return sorted({name for file in files for name in pattern.findall(file.read_text())})


def write_small_source(functions: Path, comment: str) -> None:
    """Write the smallest source that an archive can have. With another comment, the archive is different.

    Terraform hashes every file of the archive repeatedly, which takes more than half of a plan. test_archive.py looks
    at the real archive.
    """
    (functions / "mnemosyne").mkdir(parents=True)
    (functions / "main.py").write_text(f"# {comment}\n")
    (functions / "requirements.txt").write_text("")
    (functions / "mnemosyne" / "__init__.py").write_text("")


def write_program(file: Path, script: str) -> None:
    """Write an executable shell script."""
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


@contextmanager
def workspace(
    directory: Path = TERRAFORM, *, environment: Mapping[str, str] | None = None, small: bool = True
) -> Iterator[Workspace]:
    """Yield a working directory, by default with a small source of the functions. It is removed when the block ends.

    Skips with a reason where terraform is not installed.
    """
    if not PROGRAM:
        pytest.skip("NOT TESTED: terraform is not installed")
    new_workspace = Workspace(directory, environment, small=small)
    try:
        yield new_workspace
    finally:
        new_workspace.close()


def _variables(values: Mapping[str, object]) -> list[str]:
    variables: dict[str, object] = {"project": PROJECT, **values}
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in variables.items()}
    return [f"-var={name}={text}" for name, text in texts.items()]


def changes_of(plan: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the actions of a plan, by the resource's address."""
    actions = {change["address"]: change["change"]["actions"] for change in plan.get("resource_changes", [])}
    return {address: value for address, value in actions.items() if value not in (["no-op"], ["read"])}
