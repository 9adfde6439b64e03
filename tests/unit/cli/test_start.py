"""Ctrl-C while the command is imported."""

import importlib
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

_PROGRAM = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv = ["mnemosyne", "--version"]
from mnemosyne.cli.start import main
main()
"""


def _interrupted(module: str, *, ignored: bool = False) -> subprocess.CompletedProcess[str]:
    """Start the command, and interrupt it while it imports the module."""
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(module=module)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=(lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) if ignored else None,
    )


@pytest.mark.parametrize("module", ["mnemosyne.cli.main", "click"])
def test_ctrl_c_during_the_imports_ends_the_command_without_a_traceback(module: str) -> None:
    ended = _interrupted(module)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, "", "")


def test_an_ignored_ctrl_c_stays_ignored() -> None:
    ended = _interrupted("mnemosyne.cli.main", ignored=True)
    assert (ended.returncode, ended.stderr) == (0, "") and ended.stdout.startswith("mnemosyne")


def test_ctrl_c_in_a_command_is_handled_by_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from mnemosyne.cli import main, start

    handlers: list[object] = []
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(main, "main", lambda: handlers.append(signal.getsignal(signal.SIGINT)))
    start.main()
    assert handlers == [before] and signal.getsignal(signal.SIGINT) is before


def test_the_installed_commands_begin_with_this_module() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    for place in project["scripts"].values():
        module, _, name = place.partition(":")
        assert module == "mnemosyne.cli.start" and callable(getattr(importlib.import_module(module), name))
