"""`mnemosyne holds place` reports the hold even if a later step fails."""

from contextlib import nullcontext
from typing import Any

import pytest
from click.testing import CliRunner

from mnemosyne.app.operations.holds import SuspendExpiry
from mnemosyne.app.operations.operation import Operation
from mnemosyne.cli import holds
from mnemosyne.errors import Unavailable

ID = "0192f3a4-643f-7f9f-8bdd-01b104fff04f"


@pytest.mark.parametrize("fault", [Unavailable("the database is not available"), KeyboardInterrupt()])
def test_a_hold_whose_memories_could_not_all_be_suspended_is_reported_as_placed(
    monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    class FakeSystem:
        def run(self, operation: Operation) -> dict[str, Any]:
            if isinstance(operation, SuspendExpiry):
                raise fault
            return {"id": ID}

    monkeypatch.setattr(holds, "owners_system", lambda **_: nullcontext(FakeSystem()))
    result = CliRunner().invoke(holds.place_, ["--all", "--namespace", "ns", "--reason", "case 7", "--project", "ours"])
    assert result.exit_code != 0
    assert f"the hold {ID} is in force" in result.output
