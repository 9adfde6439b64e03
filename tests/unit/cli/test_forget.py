"""The commands that `mnemosyne forget` prints work on the same system and namespace."""

import re
import shlex
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import pytest
from click.testing import CliRunner

from mnemosyne.app.operations.forgetting import BeginForgetting, ContinueForgetting
from mnemosyne.app.operations.operation import Operation
from mnemosyne.cli import forget
from mnemosyne.cli.main import cli
from mnemosyne.errors import NotFound

ID = "0192f3a4-643f-7f9f-8bdd-01b104fff04f"
TARGETS = [
    ["--data-dir", "/my data", "--namespace", "team"],
    ["--project", "ours", "--region", "us-east1", "--deployment", "staging"],
]


class FakeSystem:
    """A system with one memory. `stop` is raised in the middle of a forgetting."""

    def __init__(self, stop: BaseException | None = None, holds: Sequence[dict[str, str]] = ()) -> None:
        self._stop = stop
        self._holds = holds

    def run(self, operation: Operation) -> dict[str, Any]:
        if isinstance(operation, BeginForgetting):
            return {"id": ID}
        if isinstance(operation, ContinueForgetting):
            if self._stop:
                raise self._stop
            return {"memories": 1}
        return {"token": "t", "memories": 1, "holds": self._holds, "page": [], "cursor": None}


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target[0])
@pytest.mark.parametrize("stop", [None, KeyboardInterrupt()])
def test_the_next_command_names_the_target_of_this_command(
    monkeypatch: pytest.MonkeyPatch, target: list[str], stop: BaseException | None
) -> None:
    monkeypatch.setattr(forget, "memory_system", lambda **_: nullcontext(FakeSystem(stop)))
    result = CliRunner().invoke(forget.forget, [*target, "--id", ID, "--yes"])
    (command,) = re.findall("`mnemosyne (.*)`", result.output)
    words = shlex.split(command)
    assert words[0] == ("forget" if stop else "receipt")
    for option, value in zip(target[::2], target[1::2], strict=True):
        assert words[words.index(option) + 1] == value


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target[0])
def test_the_command_that_releases_a_hold_names_the_target_of_this_command(
    monkeypatch: pytest.MonkeyPatch, target: list[str]
) -> None:
    system = FakeSystem(holds=[{"id": ID, "reason": "case 7"}])
    monkeypatch.setattr(forget, "memory_system", lambda **_: nullcontext(system))
    result = CliRunner().invoke(forget.forget, [*target, "--id", ID, "--dry-run"])
    (command,) = re.findall("`mnemosyne holds release (.*)`", result.output)
    words = shlex.split(command)
    assert words[-1] == ID
    assert not {*target} - {*words}


def test_an_unknown_forgetting_is_not_called_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forget, "memory_system", lambda **_: nullcontext(FakeSystem(NotFound("no forgetting"))))
    result = CliRunner().invoke(forget.forget, ["--data-dir", "x", "--continue", ID])
    assert isinstance(result.exception, NotFound)
    assert result.output == ""


@pytest.mark.parametrize("command", [["forget", "--yes"], ["holds", "place", "--reason", "case 7"]])
def test_tags_with_commas_are_refused_before_anything_is_selected(command: list[str]) -> None:
    result = CliRunner().invoke(cli, [*command, "--data-dir", "x", "--tag", "a,b"])
    assert result.exit_code == 2
    assert "'a,b': repeat --tag for each" in " ".join(result.output.split())
