"""Commands that ask before they delete something."""

from typing import Any

import pytest

from mnemosyne.app.operations.operation import Operation
from tests.unit.cli.conftest import UseSystem, invoke


@pytest.mark.parametrize(
    ("command", "otherwise"),
    [
        ("forget --tag crew", "give --yes, or --confirm with the token of --dry-run"),
        ("dead-letters drop --all", "give --yes"),
        ("retention set --default 9d", "give --yes"),
    ],
)
def test_a_question_without_an_answer_names_the_option_that_replaces_it(
    use_system: UseSystem, command: str, otherwise: str
) -> None:
    operations: list[Operation] = []

    def run(operation: Operation) -> dict[str, Any]:
        operations.append(operation)
        return {"expired": 1, "token": "t", "memories": 1, "holds": [], "page": [], "message_ids": ["7"]}

    use_system(run)
    no_answer = invoke(f"{command} --project ours", answer="")
    assert str(no_answer.exception) == f"standard input has no answer, so nothing was changed: {otherwise}"
    refused = invoke(f"{command} --project ours", answer="n\n")
    assert (refused.exit_code, "Aborted!" in refused.output) == (1, True)
    assert len(operations) == 2  # only the two previews, and no deletion
