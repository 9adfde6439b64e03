"""Without the extra `local`, help and commands for a server work; other commands name the extra in one sentence."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
EXTRA = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["local"]
PACKAGES = [re.split(r"[^\w-]", requirement, maxsplit=1)[0].replace("-", "_") for requirement in EXTRA]
WITHOUT = f"""
import sys
for name in {PACKAGES!r}:
    sys.modules[name] = None  # importing it raises ModuleNotFoundError
from mnemosyne.cli.main import cli, main
"""
HELP = """
from click.testing import CliRunner
def walk(command, path):
    result = CliRunner().invoke(cli, [*path, "--help"])
    print(path, result.exit_code, len(result.output) > 50)
    for name, one in getattr(command, "commands", {}).items():
        walk(one, [*path, name])
walk(cli, [])
"""


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MNEMOSYNE_")}
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + program, *arguments], env=environment, capture_output=True, text=True
    )


def test_help_of_every_command_is_printed() -> None:
    completed = _run(HELP)
    lines = completed.stdout.splitlines()
    assert len(lines) > 25, completed.stderr[-500:]
    assert all(line.endswith("] 0 True") for line in lines)


@pytest.mark.parametrize("command", ["dev", "stdio", "doctor", "keys list", "search tea --data-dir nowhere"])
def test_a_command_on_a_local_system_names_the_extra_in_one_line(command: str) -> None:
    completed = _run("main()", *command.split())
    assert completed.returncode == 1
    (line,) = completed.stderr.splitlines()
    assert re.match(r"mnemosyne: this needs the package \w+, which the extra `local` installs: pip install ", line)


def test_a_command_on_a_server_works() -> None:
    completed = _run("main()", "search", "tea", "--url", "http://127.0.0.1:9/mcp")
    assert "http://127.0.0.1:9/mcp cannot be reached" in completed.stderr
