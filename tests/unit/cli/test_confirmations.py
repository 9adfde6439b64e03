"""Commands that ask before they delete something."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from mnemosyne.app.operations.operation import Operation
from mnemosyne.cli import dead_letters, forget, retention


@pytest.mark.parametrize(
    ("module", "command", "arguments", "otherwise"),
    [
        (forget, forget.forget, ["--tag", "crew"], "give --yes, or --confirm with the token of --dry-run"),
        (dead_letters, dead_letters.drop, ["--all"], "give --yes"),
        (retention, retention.set_, ["--default", "9d"], "give --yes"),
    ],
)
def test_a_question_without_an_answer_names_the_option_that_replaces_it(
    monkeypatch: pytest.MonkeyPatch, module: Any, command: click.Command, arguments: list[str], otherwise: str
) -> None:
    answer = {"expired": 1, "token": "t", "memories": 1, "holds": [], "page": [], "message_ids": ["7"]}
    operations: list[str] = []

    def run(operation: Operation) -> dict[str, Any]:
        operations.append(type(operation).__name__)
        return answer

    for name in ("owners_system", "memory_system"):
        monkeypatch.setattr(module, name, lambda **_: nullcontext(SimpleNamespace(run=run)), raising=False)
    no_answer = CliRunner().invoke(command, [*arguments, "--project", "ours"], input="")
    assert str(no_answer.exception) == f"standard input has no answer, so nothing was changed: {otherwise}"
    refused = CliRunner().invoke(command, [*arguments, "--project", "ours"], input="n\n")
    assert (refused.exit_code, "Aborted!" in refused.output) == (1, True)
    assert len(operations) == 2  # only the two previews, and no deletion
