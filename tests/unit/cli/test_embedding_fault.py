"""What commands print while the embedding service refuses every text."""

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from mnemosyne.cli.doctor import doctor
from mnemosyne.cli.outcomes import outcomes
from mnemosyne.cli.remember import remember, search
from mnemosyne.domain.health import Check

CAUSE = "the project has a problem with its billing"
ANSWERS = {
    "ingest_memory": {"status": "queued", "request_id": "7"},
    "ingest_status": {"requests": [{"error": CAUSE, "attempts": 2}]},
    "memory_search": {"memories": [], "degraded": f"searched by words only: {CAUSE}"},
}

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Function that runs a command on a system whose embedder has a fault."""

    def operate(operation: Any) -> dict[str, Any]:
        if operation.action == "outcome_waiting":
            return {"waiting": 1, "error": CAUSE}
        return {"outcomes": [], "after": {}, "is_last": True}

    check = Check("embedder", CAUSE, "link an open billing account")
    client = SimpleNamespace(call=lambda tool, arguments: ANSWERS[tool])
    monkeypatch.setattr("mnemosyne.cli.remember.tool_client", lambda *_, **options: nullcontext(client))
    monkeypatch.setattr("mnemosyne.cli.outcomes.memory_system", lambda **_: nullcontext(SimpleNamespace(run=operate)))
    monkeypatch.setattr("mnemosyne.cli.doctor.open_services", lambda *_, **options: nullcontext())
    monkeypatch.setattr("mnemosyne.cli.doctor.examination.examine", lambda services: [check])

    def invoke(command: click.Command, *arguments: str) -> Result:
        return CliRunner().invoke(command, [*arguments, "--data-dir", "x"])

    return invoke


def test_a_queued_memory_has_the_cause(run: Run) -> None:
    result = run(remember, "The puerh is in the cellar.")
    assert result.exit_code == 0
    assert result.stdout == "Queued as request 7: the server stores it as soon as it can.\n"
    assert result.stderr == f"The last of 2 attempts failed: {CAUSE}\n"


def test_a_search_by_words_only_has_the_cause(run: Run) -> None:
    assert run(search, "oolong").stderr == f"searched by words only: {CAUSE}\n"


def test_outcomes_count_the_waiting_requests_with_the_last_error(run: Run) -> None:
    assert (
        "1 request was attempted and will be delivered again. The last attempt failed: " + CAUSE in run(outcomes).stderr
    )


def test_doctor_fails_with_the_cause_and_the_fix(run: Run) -> None:
    result = run(doctor)
    assert result.exit_code == 1
    assert f"WRONG  embedder          {CAUSE}" in result.stdout
    assert "→ link an open billing account" in result.stdout
