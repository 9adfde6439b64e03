"""Run commands in the test's process, with a function of the test instead of a system or a server."""

import shlex
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mnemosyne.app.operations.operation import Operation
from mnemosyne.cli import remember
from mnemosyne.cli.main import cli

WITH_SYSTEM = [
    "access", "dead_letters", "export", "forget", "grants", "holds", "keys", "lockouts", "migrate", "outcomes",
    "redrive", "reembed", "retention",
]  # fmt: skip
"""The modules whose commands run operations on a system."""
UseSystem = Callable[[Callable[[Operation], Any]], None]
UseServer = Callable[[Callable[[str, dict[str, Any]], Any]], None]


@pytest.fixture
def use_system(monkeypatch: pytest.MonkeyPatch) -> UseSystem:
    """Function that replaces the system of the commands. The argument of the function runs the operations."""

    def use(run: Callable[[Operation], Any]) -> None:
        for module in WITH_SYSTEM:
            for name in ("owners_system", "memory_system"):
                target = f"mnemosyne.cli.{module}.{name}"
                monkeypatch.setattr(target, lambda **_: nullcontext(SimpleNamespace(run=run)), raising=False)

    return use


@pytest.fixture
def use_server(monkeypatch: pytest.MonkeyPatch) -> UseServer:
    """Function that replaces the server of `mnemosyne remember` and `search`. Its argument answers the tool calls."""

    def use(call: Callable[[str, dict[str, Any]], Any]) -> None:
        monkeypatch.setattr(remember, "tool_client", lambda *_, **__: nullcontext(SimpleNamespace(call=call)))

    return use


def invoke(command: str, *arguments: str, answer: str | bytes | None = None) -> Result:
    """Run `mnemosyne` with the words of the command, and then the arguments. `answer` is its standard input."""
    return CliRunner().invoke(cli, [*shlex.split(command), *arguments], input=answer)


def refusal(command: str, *arguments: str) -> str:
    """Run a command that is refused as wrong usage, and return what it prints, on one line."""
    ended = invoke(command, *arguments)
    assert ended.exit_code == 2, ended.output
    return " ".join(ended.output.split())
