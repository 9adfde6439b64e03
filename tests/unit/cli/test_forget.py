"""The commands that `mnemosyne forget` prints work on the same system and namespace."""

import re
import shlex
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
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
    """A system in which a selection matches `memories` memories. `stop` is raised in the middle of a forgetting."""

    def __init__(
        self, stop: BaseException | None = None, holds: Sequence[dict[str, str]] = (), memories: int = 1
    ) -> None:
        self._stop = stop
        self._holds = holds
        self._memories = memories
        self.operations: list[str] = []

    def run(self, operation: Operation) -> dict[str, Any]:
        self.operations.append(type(operation).__name__)
        if isinstance(operation, BeginForgetting):
            return {"id": ID}
        if isinstance(operation, ContinueForgetting):
            if self._stop:
                raise self._stop
            return {"memories": 1}
        return {"token": "t", "memories": self._memories, "holds": self._holds, "page": [], "cursor": None}


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


def test_without_stored_memories_the_question_is_about_messages_that_were_sent_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system = FakeSystem(memories=0)
    monkeypatch.setattr(forget, "memory_system", lambda **_: nullcontext(system))
    result = CliRunner().invoke(forget.forget, ["--data-dir", "x", "--tag", "tea"], input="y\n")
    assert "No stored memory matches. Forget the matching memories of messages that were sent before?" in result.output
    assert system.operations == ["PreviewForgetting", "BeginForgetting", "ContinueForgetting"]


@pytest.mark.parametrize("name", ["missing/receipt.json", "."])
def test_a_receipt_that_cannot_be_written_is_refused_before_anything_is_deleted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    system = FakeSystem()
    monkeypatch.setattr(forget, "memory_system", lambda **_: nullcontext(system))
    command = ["--data-dir", "x", "--id", ID, "--yes", "--receipt", str(tmp_path / name)]
    result = CliRunner().invoke(forget.forget, command)
    assert (result.exit_code, system.operations) == (2, [])


def test_the_id_of_a_forgetting_is_printed_even_if_its_receipt_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forget, "memory_system", lambda **_: nullcontext(FakeSystem()))
    monkeypatch.setattr(forget, "fetch_receipt", lambda *_: {})
    command = ["--data-dir", "x", "--id", ID, "--yes", "--receipt", "/dev/full"]
    result = CliRunner().invoke(forget.forget, command)
    assert isinstance(result.exception, OSError)
    assert f"1 memory forgotten. The forgetting's id is {ID}." in result.output
