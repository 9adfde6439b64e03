"""The wheel with the extra `cloud`, in an empty environment: commands on a deployment, and the deployed functions."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from mnemosyne.cli.local.functions import free_port
from mnemosyne.cli.main import cli
from tests.waiting import wait_until
from tests.wheels import Installed

pytestmark = pytest.mark.slow

DEPLOYED = {
    "MNEMOSYNE_DATABASE_URL": "postgresql://mnemosyne@127.0.0.1:9/mnemosyne",
    "MNEMOSYNE_TOPIC": "projects/my-project/topics/mnemosyne-ingest",
    "GEMINI_API_KEY": "not-used",
}
"""A deployment's settings; no database listens there."""


HELP = """
from click.testing import CliRunner
from mnemosyne.cli.main import cli
def walk(command, path):
    result = CliRunner().invoke(cli, [*path, "--help"])
    print(path, result.exit_code, len(result.output) > 50)
    for name, one in getattr(command, "commands", {}).items():
        walk(one, [*path, name])
walk(cli, [])
"""


def test_help_of_every_command_is_printed(for_cloud: Installed) -> None:
    command: list[str | Path] = [for_cloud.bin / "python", "-c", HELP]
    completed = subprocess.run(command, env=for_cloud.environment, capture_output=True, text=True, check=False)
    lines = completed.stdout.splitlines()
    assert {f"[{name!r}] 0 True" for name in cli.commands} <= {*lines}, completed.stderr[-500:]
    assert all(line.endswith("] 0 True") for line in lines)


NIGHTLY = ["search tea --data-dir nowhere", "doctor", "stdio", "quota list --data-dir nowhere", "export"]


@pytest.mark.parametrize("command", ["dev", *(pytest.param(name, marks=pytest.mark.nightly) for name in NIGHTLY)])
def test_a_command_on_a_local_system_names_the_extra_in_one_line(for_cloud: Installed, command: str) -> None:
    completed = for_cloud.run(*command.split())
    assert completed.returncode == 1
    (line,) = completed.stderr.splitlines()
    assert re.match(r"mnemosyne: this needs the package \w+, which the extra `local` installs: pip install ", line)


@pytest.mark.parametrize("command", ["search tea", pytest.param("remember tea", marks=pytest.mark.nightly)])
def test_a_command_on_a_server_does_not_need_the_extra_local(for_cloud: Installed, command: str) -> None:
    completed = for_cloud.run(*command.split(), "--url", "http://127.0.0.1:9/mcp")
    assert completed.stderr.startswith("mnemosyne: http://127.0.0.1:9/mcp cannot be reached"), completed.stderr


OTHERS = [pytest.param(target, marks=pytest.mark.nightly) for target in ("ingest", "dead_letter")]


@pytest.mark.parametrize("target", ["mcp", *OTHERS])
def test_a_function_answers_its_health_route(for_cloud: Installed, target: str, tmp_path: Path) -> None:
    with _function(for_cloud, target, tmp_path / "log") as url:
        answer = httpx.get(f"{url}/health", timeout=10)
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@contextmanager
def _function(for_cloud: Installed, target: str, log: Path) -> Iterator[str]:
    """Start a function as Cloud Run does, with functions-framework of the same environment."""
    port = free_port()
    source = for_cloud.packages / "mnemosyne" / "app" / "functions.py"
    command: list[str | Path] = [for_cloud.bin / "functions-framework", "--source", source, "--host", "127.0.0.1"]
    environment = for_cloud.environment | DEPLOYED | {"FUNCTION_TARGET": target, "PORT": str(port)}
    with log.open("wb") as output, subprocess.Popen(command, env=environment, stdout=output, stderr=output) as process:
        try:
            wait_until(lambda: _listens(port) or process.poll() is not None, f"{target} listens", seconds=60)
            assert process.poll() is None, log.read_text()
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _listens(port: int) -> bool:
    try:
        httpx.get(f"http://127.0.0.1:{port}/", timeout=5)
    except httpx.TransportError:
        return False
    return True
