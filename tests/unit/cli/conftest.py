"""Run commands in the test's process, on a system that a function of the test replaces."""

import shlex
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mnemosyne.app.operations.operation import Operation
from mnemosyne.cli import (
    access,
    dead_letters,
    export,
    forget,
    grants,
    holds,
    keys,
    lockouts,
    migrate,
    redrive,
    reembed,
    retention,
)  # fmt: skip
from mnemosyne.cli.main import cli

MODULES = (access, dead_letters, export, forget, grants, holds, keys, lockouts, migrate, redrive, reembed, retention)
UseSystem = Callable[[Callable[[Operation], Any]], None]


@pytest.fixture
def use_system(monkeypatch: pytest.MonkeyPatch) -> UseSystem:
    """Function that lets commands use a system whose operations a function of the test runs."""

    def use(run: Callable[[Operation], Any]) -> None:
        for module in MODULES:
            for name in ("owners_system", "memory_system"):
                monkeypatch.setattr(module, name, lambda **_: nullcontext(SimpleNamespace(run=run)), raising=False)

    return use


def invoke(command: str, *arguments: str, answer: str | None = None) -> Result:
    """Run `mnemosyne` with the words of the command, and then the arguments. `answer` is its standard input."""
    return CliRunner().invoke(cli, [*shlex.split(command), *arguments], input=answer)


def refusal(command: str, *arguments: str) -> str:
    """Run a command that is refused as wrong usage, and return what it prints, on one line."""
    ended = invoke(command, *arguments)
    assert ended.exit_code == 2, ended.output
    return " ".join(ended.output.split())
