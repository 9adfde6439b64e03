"""The commands that `mnemosyne dev` prints can be pasted into another terminal."""

import shlex
import sys
from pathlib import Path

import pytest

from mnemosyne.cli.clients import command, how_to_connect

FOLDERS = ["bin", ".venv/bin", "My Programs/bin", "it's (new)/$HOME", 'Größe & "Co"']


@pytest.fixture
def program(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `mnemosyne` in a folder of the working directory. It is not in PATH."""
    program = tmp_path / str(request.param) / "mnemosyne"
    program.parent.mkdir(parents=True)
    program.touch(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    return program


@pytest.mark.parametrize("program", FOLDERS, indirect=True)
@pytest.mark.parametrize("is_relative", [False, True], ids=["absolute", "relative"])
def test_the_command_is_one_absolute_path_for_a_shell(
    program: Path, is_relative: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(program.relative_to(tmp_path) if is_relative else program), "dev"])
    assert shlex.split(command()) == [str(program)]
    lines = how_to_connect("http://127.0.0.1:8080/mcp", "/data").splitlines()
    (line,) = (line for line in lines if " remember " in line)
    assert shlex.split(line)[:2] == [str(program), "remember"]


@pytest.mark.parametrize("program", FOLDERS, indirect=True)
def test_a_program_in_path_is_called_by_its_name(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(program), "dev"])
    monkeypatch.setenv("PATH", str(program.parent))
    assert command() == "mnemosyne"
    monkeypatch.setattr(sys, "argv", ["/elsewhere/__main__.py", "dev"])
    assert command() == "mnemosyne"
