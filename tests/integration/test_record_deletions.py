"""Deletions of records by source and key: the report, the audit trail, and a legal hold placed meanwhile."""

from typing import Any
from uuid import UUID

import pytest

from mnemosyne.adapters.database import ingest_sql
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.owner_store import Holds
from mnemosyne.adapters.database.rows import deletions_json
from mnemosyne.domain.forgetting import Selection
from mnemosyne.domain.memory import IngestState
from mnemosyne.domain.search import Filters
from tests.fakes import FakeServices
from tests.records import SOURCE, Records, deletion, version
from tests.shared_database import SharedDatabase
from tests.tools import call_tool, text_of

DELETED_AT_ONCE = "mnemosyne.adapters.database.ingest_requests.DELETED_AT_ONCE"


@pytest.fixture
def records(services: FakeServices) -> Records:
    """The records of the namespace of `services`."""
    return Records(services.memories_of("ns"))


def _events(owner: Connection) -> list[tuple[list[str], int]]:
    rows = owner.run(
        "SELECT ids, count FROM audit_events WHERE action = 'delete_memory' AND outcome = 'done' ORDER BY id"
    )
    return [(row["ids"], row["count"]) for row in rows]


@pytest.mark.parametrize("at_once", [1, 2, 1_000])
def test_a_deletion_by_key_is_recorded_in_its_transactions_with_the_deleted_memories(
    services: FakeServices, records: Records, owner: Connection, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(DELETED_AT_ONCE, at_once)
    memory_ids = {
        str(status.memory_id)
        for second in (-3, -2, -1)
        for status in records.deliver(version("1", f"v{second}", second))
    }
    call_tool(services, "delete_memory", source=SOURCE, key="1")
    events = _events(owner)
    assert {memory_id for ids, _ in events for memory_id in ids} == memory_ids
    assert sum(count for _, count in events) == 3
    assert all(len(ids) <= at_once for ids, _ in events)


def test_a_deletion_of_a_message_is_not_recorded(records: Records, owner: Connection) -> None:
    records.deliver(version("1", "tea", 1))
    records.deliver(deletion("1", 9))
    assert _events(owner) == []


@pytest.mark.parametrize("at_once", [1, 1_000])
@pytest.mark.parametrize("versions", [0, 1, 2, 3])
def test_the_tool_says_how_many_memories_of_the_record_it_has_deleted(
    services: FakeServices, records: Records, monkeypatch: pytest.MonkeyPatch, versions: int, at_once: int
) -> None:
    monkeypatch.setattr(DELETED_AT_ONCE, at_once)
    for second in range(versions):
        records.deliver(version("1", f"v{second}", second - versions))
    answer = call_tool(services, "delete_memory", source=SOURCE, key="1")
    assert answer.structured_content
    assert answer.structured_content.get("memories") == versions
    text = "Deleted all versions of the record" if versions else "The record has no current version"
    assert text_of(answer).startswith(text)
    assert (f"Deleted memories: {versions}." in text_of(answer)) == bool(versions)


def test_the_tool_reports_deleted_versions_of_a_record_without_a_current_version(
    services: FakeServices, records: Records
) -> None:
    records.deliver(version("1", "v1", -2))
    (current,) = records.deliver(version("1", "v2", -1))
    assert current.memory_id
    records.store.delete(current.memory_id)
    answer = call_tool(services, "delete_memory", source=SOURCE, key="1")
    assert records.stored() == set()
    assert text_of(answer).startswith("Deleted all versions of the record. Deleted memories: 1.")


@pytest.mark.parametrize("is_interrupted", [False, True], ids=["in one delivery", "in a later delivery"])
def test_a_deletion_that_a_hold_stops_halfway_reports_its_progress_and_leaves_a_current_version(
    records: Records, shared_database: SharedDatabase, monkeypatch: pytest.MonkeyPatch, is_interrupted: bool
) -> None:
    holds = Holds(shared_database.connect_as_owner)
    for second in range(3):
        records.deliver(version("1", f"v{second}", second))
    placed: list[UUID] = []

    def encode(*arguments: Any) -> str:
        if len(records.stored()) < 3 and not placed:
            selection = Selection.of([memory.id for memory in records.store.export(10)], Filters(), everything=False)
            placed.append(holds.place("ns", selection, "case 7", "me"))
        return deletions_json(*arguments)

    sent = deletion("1", 60)
    if is_interrupted:
        records.store._one(ingest_sql.DELETE_RECORDS, deletions=deletions_json([sent]), limit=1)
    monkeypatch.setattr(DELETED_AT_ONCE, 1)
    monkeypatch.setattr("mnemosyne.adapters.database.ingest_requests.deletions_json", encode)
    (outcome,) = records.deliver(sent)
    assert (outcome.state, len(records.stored())) == (IngestState.FAILED, 2)
    assert outcome.error
    assert "case 7" in outcome.error
    assert "nothing was changed" not in outcome.error
    assert is_interrupted or outcome.error.endswith("memories of the record that were deleted before: 1")
    records.deliver(version("1", "v9", 90))
    assert records.visible() == {"v9"}
    holds.release("ns", placed[0])
    (outcome,) = records.deliver(deletion("1", 100))
    assert (outcome.state, records.stored()) == (IngestState.DELETED, set())
