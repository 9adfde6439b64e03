"""The report of an import from a bucket has the outcomes of this import, not of earlier imports."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.cli.local import postgres
from mnemosyne.domain.memory import FailedRequest, content_hash
from mnemosyne.domain.object_import import StoredObject
from mnemosyne.errors import InvalidRequest, Unavailable
from mnemosyne.formats.item import Item
from mnemosyne.ids import version_id
from mnemosyne.service import object_import
from mnemosyne.service.object_import import import_object
from tests.fakes import NOW
from tests.fakes_wire.cloud_storage import emulated_storage
from tests.integration.test_ways_in import NAMESPACE, System, opened_system
from tests.memories import make_dead_letter

RECORD = {"content": "tea", "timestamp": NOW.isoformat(), "source": "crm", "key": "1"}
EARLIER = FailedRequest(request_id=version_id("crm", "1", content_hash("tea"), NOW), error="no room")
TAKEN = str(EARLIER.request_id)
TWICE = f"request_id must be unique, got {TAKEN}: an earlier request has it"


def _record(content: str) -> dict[str, Any]:
    """Return a record with the request id TAKEN."""
    return {"content": content, "timestamp": NOW.isoformat(), "request_id": TAKEN}


@pytest.fixture
def system(cluster: postgres.EmbeddedPostgres, database: str, tmp_path: Path) -> Iterator[System]:
    with opened_system(cluster, database, tmp_path) as system:
        yield system


@pytest.fixture
def reported(system: System) -> Iterator[Callable[..., dict[str, Any]]]:
    """Function that imports an object with records, and returns the line of the last record in the report."""
    services: Any = system

    def import_record(
        pause: Callable[[float], object], *records: dict[str, Any], interruptions: int = 0
    ) -> dict[str, Any]:
        blob = storage.put("bucket", "rows.jsonl", "\n".join(map(json.dumps, records or [RECORD])).encode())
        stored_object = StoredObject(bucket="bucket", name="rows.jsonl", generation=blob.generation)
        for _ in range(interruptions):
            with pytest.raises(Unavailable):
                import_object(NAMESPACE, stored_object, services, message_id="1", budget=-1, pause=pause)
        import_object(NAMESPACE, stored_object, services, message_id="1", budget=3600, pause=pause)
        *_, line = map(json.loads, storage.objects["bucket", stored_object.report].data.splitlines())
        return dict(line)

    with emulated_storage() as storage:
        yield import_record


@pytest.fixture(params=["failed", "dead_lettered"])
def earlier_state(system: System, request: pytest.FixtureRequest) -> str:
    """The state of the record after an earlier import."""
    if request.param == "failed":
        system.memories.record_failures([EARLIER])
    else:
        system.memories.give_up(make_dead_letter("1"), [EARLIER], contents={})
    return str(request.param)


def test_a_record_that_failed_earlier_is_reported_with_the_outcome_of_its_new_attempt(
    system: System, reported: Callable[..., dict[str, Any]], earlier_state: str
) -> None:
    line = reported(system.deliver)
    assert (line["state"], line["error"]) == ("stored", None)


def test_a_record_that_fails_again_is_reported_with_its_new_error(
    system: System, reported: Callable[..., dict[str, Any]], earlier_state: str
) -> None:
    system.embedder.fault = InvalidRequest("the model refuses it")
    line = reported(system.deliver)
    assert (line["state"], line["error"]) == (earlier_state, "the model refuses it")


def test_an_earlier_outcome_is_reported_an_hour_after_the_object_was_read(
    system: System, reported: Callable[..., dict[str, Any]], earlier_state: str
) -> None:
    def an_hour_passes(seconds: float) -> None:
        with system.imports._transaction() as connection:
            for column in ("started_at", "read_at"):
                connection.run(f"UPDATE object_imports SET {column} = {column} - interval '1 hour'")
            connection.run("UPDATE ingest_requests SET updated_at = updated_at - interval '1 hour'")

    line = reported(an_hour_passes)
    assert (line["state"], line["error"]) == (earlier_state, "no room")


@pytest.fixture(params=[0, 2])
def interruptions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Number of deliveries that end after they have published one record."""
    monkeypatch.setattr("mnemosyne.service.object_import.BATCH_LIMIT", 1)
    return int(request.param)


def test_a_record_with_the_request_id_of_an_earlier_record_is_reported_as_failed(
    system: System, reported: Callable[..., dict[str, Any]], interruptions: int
) -> None:
    line = reported(system.deliver, _record("a"), _record("b"), interruptions=interruptions)
    error = f"request_id must be unique, got {TAKEN}: rows.jsonl:1 has it"
    assert (line["line"], line["state"], line["error"]) == (2, "failed", error)


@pytest.mark.parametrize("deletes", [True, False])
def test_a_record_with_the_request_id_of_an_earlier_import_is_reported_as_failed(
    system: System, reported: Callable[..., dict[str, Any]], deletes: bool
) -> None:
    second = {**RECORD, "request_id": TAKEN, **({"op": "delete"} if deletes else {"content": "b"})}
    assert [reported(system.deliver, _record("a"))["state"] for _ in range(2)] == ["stored", "duplicate"]
    line = reported(system.deliver, second, second)
    assert (line["line"], line["state"], line["error"]) == (2, "failed", TWICE)
    assert list(system.memories.dead_letters(10)) == []


def test_an_invalid_record_with_the_request_id_of_an_earlier_import_is_reported_as_failed(
    system: System, reported: Callable[..., dict[str, Any]]
) -> None:
    assert reported(system.deliver, _record("a"))["state"] == "stored"
    line = reported(system.deliver, {**RECORD, "key": "2"}, _record(" "))
    error = "content must contain at least one character that is not white space"
    assert (line["line"], line["state"], line["error"], line["memory_id"]) == (2, "failed", error, None)
    assert system.memories.statuses([EARLIER.request_id])[EARLIER.request_id].state == "stored"


def test_a_record_that_the_next_delivery_refuses_is_reported_as_failed(
    system: System, reported: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reported(system.deliver, _record("a"))["state"] == "stored"
    monkeypatch.setattr("mnemosyne.service.object_import.BATCH_BYTES", 800)
    long = {**RECORD, "key": "2", "content": "tea " * 100}
    line = reported(system.deliver, long, _record("b"), interruptions=1)
    assert (line["line"], line["state"], line["error"]) == (2, "failed", TWICE)


def test_a_delivery_reads_a_limited_number_of_published_records_again(
    system: System, reported: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemosyne.service.object_import.BATCH_LIMIT", 1)
    monkeypatch.setattr("mnemosyne.service.object_import.READ_AGAIN", 1)
    checked: list[int] = []

    def may_repeat(item: Item) -> bool:
        checked.append(item.line)
        return bool(item.fields)

    monkeypatch.setattr("mnemosyne.service.object_import.may_repeat", may_repeat)
    line = reported(system.deliver, RECORD, _record("a"), _record("b"), interruptions=2)
    error = f"request_id must be unique, got {TAKEN}: rows.jsonl:2 has it"
    assert (line["line"], line["state"], line["error"]) == (3, "failed", error)
    assert checked == [1, 2]


def test_a_repeated_record_is_reported_as_a_duplicate(
    system: System, reported: Callable[..., dict[str, Any]], interruptions: int
) -> None:
    line = reported(system.deliver, RECORD, {**RECORD, "key": "2"}, RECORD, interruptions=interruptions)
    assert (line["line"], line["state"]) == (3, "duplicate")


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("state", ["queued", "stored"])
def test_an_outcome_that_changes_while_the_report_is_written_is_in_the_report_of_the_next_delivery(
    system: System, monkeypatch: pytest.MonkeyPatch, count: int, state: str
) -> None:
    """An operator redrives the dead letter of a record after the outcomes were counted."""
    records = [{"content": f"tea {number}", "timestamp": NOW.isoformat()} for number in range(count)]
    system.embedder.fault = InvalidRequest("the model refuses it")
    wait_for_outcomes = object_import._wait_for_outcomes

    def redrive_afterwards(*arguments: Any) -> Any:
        counts = wait_for_outcomes(*arguments)
        monkeypatch.undo()
        last = "(SELECT max(CAST(request_id AS text)) FROM ingest_requests)"
        change = f"UPDATE ingest_requests SET state = '{state}' WHERE CAST(request_id AS text) = {last}"
        with system.imports._transaction() as connection:
            connection.run_file(change)
        return counts

    monkeypatch.setattr(object_import, "_wait_for_outcomes", redrive_afterwards)
    services: Any = system
    with emulated_storage() as storage:
        blob = storage.put("bucket", "rows.jsonl", "\n".join(map(json.dumps, records)).encode())
        stored_object = StoredObject(bucket="bucket", name="rows.jsonl", generation=blob.generation)

        def deliver() -> None:
            import_object(NAMESPACE, stored_object, services, message_id="1", budget=3600, pause=system.deliver)

        with pytest.raises(Unavailable, match="changed while the report was written"):
            deliver()
        assert ("bucket", stored_object.report) not in storage.objects
        with system.imports._transaction() as connection:
            connection.run_file("UPDATE ingest_requests SET state = 'stored' WHERE state = 'queued'")
        deliver()
        summary, *lines = map(json.loads, storage.objects["bucket", stored_object.report].data.splitlines())
    states = [line["state"] for line in lines]
    assert len(states) == count == sum(summary.get(name, 0) for name in set(states))
    assert states.count("stored") == summary["stored"] == 1
