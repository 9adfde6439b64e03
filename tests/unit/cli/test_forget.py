"""The commands that `mnemosyne forget` prints work on the same system and namespace."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.app.operations.forgetting import BeginForgetting, ContinueForgetting
from mnemosyne.app.operations.operation import Operation
from mnemosyne.cli import forget
from mnemosyne.errors import NotFound
from tests.unit.cli.conftest import UseSystem, invoke, refusal

ID = "0192f3a4-643f-7f9f-8bdd-01b104fff04f"
TARGETS = ["--data-dir '/my data' --namespace team", "--project ours --region us-east1 --deployment staging"]


@dataclass
class FakeSystem:
    """A system in which a selection matches `memories` memories. `stop` is raised in the middle of a forgetting."""

    stop: BaseException | None = None
    holds: Sequence[dict[str, str]] = ()
    memories: int = 1
    operations: list[str] = field(default_factory=list)

    def run(self, operation: Operation) -> dict[str, Any]:
        self.operations.append(type(operation).__name__)
        if isinstance(operation, BeginForgetting):
            return {"id": ID}
        if isinstance(operation, ContinueForgetting):
            if self.stop:
                raise self.stop
            return {"memories": 1}
        return {"token": "t", "memories": self.memories, "holds": self.holds, "page": [], "cursor": None}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("stop", [None, KeyboardInterrupt()])
def test_the_next_command_names_the_target_of_this_command(
    use_system: UseSystem, target: str, stop: BaseException | None
) -> None:
    use_system(FakeSystem(stop).run)
    (command,) = re.findall("`mnemosyne (.*)`", invoke(f"forget {target} --id {ID} --yes").output)
    assert command.startswith("forget " if stop else "receipt ")
    options = shlex.split(target)
    words = shlex.split(command)
    for option, value in zip(options[::2], options[1::2], strict=True):
        assert words[words.index(option) + 1] == value


@pytest.mark.parametrize("target", TARGETS)
def test_the_command_that_releases_a_hold_names_the_same_target(use_system: UseSystem, target: str) -> None:
    use_system(FakeSystem(holds=[{"id": ID, "reason": "case 7"}]).run)
    (command,) = re.findall("`mnemosyne holds release (.*)`", invoke(f"forget {target} --id {ID} --dry-run").output)
    words = shlex.split(command)
    assert words[-1] == ID
    assert not {*shlex.split(target)} - {*words}


def test_an_unknown_forgetting_is_not_called_interrupted(use_system: UseSystem) -> None:
    use_system(FakeSystem(NotFound("no forgetting")).run)
    result = invoke(f"forget --data-dir x --continue {ID}")
    assert isinstance(result.exception, NotFound)
    assert result.output == ""


@pytest.mark.parametrize("command", ["forget --yes", "holds place --reason case"])
def test_tags_with_commas_are_refused_before_anything_is_selected(command: str) -> None:
    assert "'a,b': repeat --tag for each" in refusal(f"{command} --data-dir x --tag a,b")


def test_without_stored_memories_the_question_is_about_messages_that_were_sent_before(use_system: UseSystem) -> None:
    system = FakeSystem(memories=0)
    use_system(system.run)
    result = invoke("forget --data-dir x --tag tea", answer="y\n")
    assert "No stored memory matches. Forget the matching memories of messages that were sent before?" in result.output
    assert system.operations == ["PreviewForgetting", "BeginForgetting", "ContinueForgetting"]


@pytest.mark.parametrize("name", ["missing/receipt.json", "."])
def test_a_receipt_that_cannot_be_written_is_refused_before_anything_is_deleted(
    use_system: UseSystem, tmp_path: Path, name: str
) -> None:
    system = FakeSystem()
    use_system(system.run)
    refusal(f"forget --data-dir x --id {ID} --yes --receipt {tmp_path / name}")
    assert system.operations == []


def test_the_id_of_a_forgetting_is_printed_even_if_its_receipt_cannot_be_written(
    use_system: UseSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_system(FakeSystem().run)
    monkeypatch.setattr(forget, "fetch_receipt", lambda *_: {})
    result = invoke(f"forget --data-dir x --id {ID} --yes --receipt /dev/full")
    assert isinstance(result.exception, OSError)
    assert f"1 memory forgotten. The forgetting's id is {ID}." in result.output
