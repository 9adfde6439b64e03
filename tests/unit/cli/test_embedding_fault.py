"""What commands print while the embedding service refuses every text."""

from contextlib import nullcontext
from typing import Any

import pytest

from mnemosyne.domain.health import Check
from tests.unit.cli.conftest import UseServer, UseSystem, invoke

CAUSE = "the project has a problem with its billing"


def test_a_queued_memory_has_the_cause(use_server: UseServer) -> None:
    answers = {
        "ingest_memory": {"status": "queued", "request_id": "7"},
        "ingest_status": {"requests": [{"error": CAUSE, "attempts": 2}]},
    }
    use_server(lambda tool, arguments: answers[tool])
    result = invoke("remember 'The puerh is in the cellar.' --data-dir x")
    assert result.exit_code == 0
    assert result.stdout == "Queued as request 7: the server stores it as soon as it can.\n"
    assert result.stderr == f"The last of 2 attempts failed: {CAUSE}\n"


def test_a_search_by_words_only_has_the_cause(use_server: UseServer) -> None:
    use_server(lambda tool, arguments: {"memories": [], "degraded": f"searched by words only: {CAUSE}"})
    assert invoke("search oolong --data-dir x").stderr == f"searched by words only: {CAUSE}\n"


def test_outcomes_count_the_waiting_requests_with_the_last_error(use_system: UseSystem) -> None:
    def run(operation: Any) -> dict[str, Any]:
        if operation.action == "outcome_waiting":
            return {"waiting": 1, "error": CAUSE}
        return {"outcomes": [], "after": {}, "is_last": True}

    use_system(run)
    waiting = f"1 request was attempted and will be delivered again. The last attempt failed: {CAUSE}"
    assert waiting in invoke("outcomes --data-dir x").stderr


def test_doctor_fails_with_the_cause_and_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    check = Check("embedder", CAUSE, "link an open billing account")
    monkeypatch.setattr("mnemosyne.cli.doctor.open_services", lambda *_, **options: nullcontext())
    monkeypatch.setattr("mnemosyne.cli.doctor.examination.examine", lambda services: [check])
    result = invoke("doctor --data-dir x")
    assert result.exit_code == 1
    assert f"WRONG  embedder          {CAUSE}" in result.stdout
    assert "→ link an open billing account" in result.stdout
