"""Deletions of records by source and key: the report and the audit trail."""

import pytest

from mnemosyne.adapters.database.connections import Connection
from tests.fakes import FakeServices
from tests.records import SOURCE, Records, deletion, version
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
