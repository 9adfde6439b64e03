"""The state machine finds known faults: each test adds one fault to the code. CI runs this file every night."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from mnemosyne.service import ingest
from tests.model.machine import Machine
from tests.model.test_machine import SEQUENCES

SQL = Path(__file__).parents[2] / "functions" / "mnemosyne" / "db" / "functions"
MOST = 1_000
"""Maximum number of sequences that the state machine may need to find a fault."""
FAULTS = {
    "a failure replaces an outcome": (
        "11_request_states.sql",
        "WHEN p_state IN ('stored', 'duplicate', 'deleted') THEN NULL\n",
        "WHEN p_state IN ('deleted') OR p_event = p_state THEN NULL\n",
    ),
    "a version published before a deletion is stored after it": (
        "11_record_versions.sql",
        "OR coalesce(p_published < (p_key).deleted_published, false);",
        ";",
    ),
    "a dead letter in flight is redriven once more": (
        "14_redrive.sql",
        "WHEN p_redriven_at IS NOT NULL THEN p_redriven_at + interval '24 hours'",
        "WHEN p_redriven_at IS NOT NULL THEN p_redriven_at",
    ),
    "two deliveries store one content at once": (
        "11_claim_requests.sql",
        "AND pg_try_advisory_lock(content)",
        "AND true",
    ),
    "the earlier version of a record comes back when the current one is deleted": (
        "11_delete_records.sql",
        "ELSE greatest(k.deleted_at, k.version_at) END\n",
        "ELSE k.deleted_at END\n",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_database_is_found(machine: type[Machine], fault: str) -> None:
    file, right, wrong = FAULTS[fault]
    text = (SQL / file).read_text()
    assert text.count(right) == 1
    machine.database().owner.run_file(text.replace(right, wrong))
    _find(machine, fault)


def test_a_message_acknowledged_while_another_delivery_stores_its_content_is_found(
    machine: type[Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    def add(self: ingest.Stored, other: ingest.Stored) -> None:
        other.busy = set()
        real(self, other)

    real: Callable[[ingest.Stored, ingest.Stored], None] = ingest.Stored.add
    monkeypatch.setattr(ingest.Stored, "add", add)
    _find(machine, "busy")


def _find(machine: type[Machine], fault: str) -> None:
    is_detected = False
    try:
        run_state_machine_as_test(machine, settings=settings(SEQUENCES, max_examples=MOST, phases=[Phase.generate]))
    except Exception as exc:  # noqa: BLE001  (the database may reject the fault)
        is_detected = True
        print(f"{fault}: found in sequence {machine.sequences}: {type(exc).__name__}")
    assert is_detected, f"{MOST} sequences did not find it: {fault}"
