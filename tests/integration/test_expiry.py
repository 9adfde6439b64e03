"""Expiry: no tool shows an expired memory, its content can be stored again, and a scheduled run removes its row."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

import pytest

from mnemosyne.adapters.database import retention
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.database.retention import Retention
from mnemosyne.app import operations
from mnemosyne.app.operations.retention import (
    ApplyRetention,
    ClearRetention,
    ListRetention,
    PreviewRetention,
    SetRetention,
)
from mnemosyne.app.operator import EXPIRY_SECONDS, OwnerStores, expire_memories
from mnemosyne.cli.system import LocalSystem, pages
from mnemosyne.domain.memory import IngestState
from mnemosyne.domain.message import decode
from mnemosyne.domain.outcome import OutcomeCursor
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.errors import ItemUnavailable
from mnemosyne.service import ingest
from tests.fakes import FakeServices, memories_in, request
from tests.integration.test_reading import ARGUMENTS
from tests.memories import EMBEDDER, list_memories, status_of, store, store_content
from tests.records import deletion, version
from tests.shared_database import SharedDatabase
from tests.tools import answer_of, call_tool, error_of

SOON = datetime.now(UTC) + timedelta(days=1)
LATER = SOON + timedelta(days=1)


@pytest.fixture
def expire(owner: Connection) -> Callable[[UUID], object]:
    """Function that sets the expiry of a memory to the past."""
    return lambda memory_id: owner.run("UPDATE memories SET expires_at = now() WHERE id = :id", id=memory_id)


@pytest.fixture
def set_lifetimes(shared_database: SharedDatabase) -> Callable[..., object]:
    """Function that sets the default and the maximum lifetime of the tests' namespace."""

    def write(default: timedelta | None = None, maximum: timedelta | None = None) -> None:
        lifetimes = {"default": default, "maximum": maximum}
        seconds = {name: int(value.total_seconds()) if value else None for name, value in lifetimes.items()}
        Retention(shared_database.connect_as_owner).set("ns", seconds)

    return write


def expiry_of(services: FakeServices, memory_id: UUID) -> datetime | None:
    memory = services.memories.fetch(memory_id)
    assert memory
    return memory.expires_at


@pytest.mark.parametrize("tool", ARGUMENTS)
def test_each_tool_answers_for_an_expired_memory_as_if_its_row_were_removed(
    tool: str, services: FakeServices, expire: Callable[[UUID], object], owner: Connection
) -> None:
    memory_id = store_content(services.memories, "The oolong is on shelf 7.", session="s")
    gone = store_content(services.memories, "The oolong is on shelf 9 now.", session="s", tags=["gone"])
    arguments = {name: value.format(id=memory_id) for name, value in ARGUMENTS[tool].items()}
    expire(gone)
    before = call_tool(services, tool, **arguments)
    assert owner.one("SELECT remove_expired(10) AS removed")["removed"] == 1
    after = call_tool(services, tool, **arguments)
    assert _without_measurements(before.structured_content) == _without_measurements(after.structured_content)
    assert "shelf 9" not in str(before.structured_content)


def _without_measurements(answer: Any) -> Any:
    """Return the answer without durations, sizes on disk and access times."""
    if isinstance(answer, dict):
        measured = ("_ms", "storage_bytes", "bytes", "debug")
        return {name: _without_measurements(value) for name, value in answer.items() if not name.endswith(measured)}
    return [_without_measurements(value) for value in answer] if isinstance(answer, list) else answer


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get_memory", {}),
        ("update_memory", {"title": "t"}),
        ("update_memory", {"pinned": True}),
        ("rate_memory", {"rating": 1}),
        ("delete_memory", {}),
    ],
)
def test_an_expired_memory_is_not_found(
    tool: str, arguments: dict[str, Any], services: FakeServices, expire: Callable[[UUID], object]
) -> None:
    gone = store_content(services.memories, "The oolong is on shelf 9 now.")
    expire(gone)
    assert str(gone) in error_of(services, tool, id=str(gone), **arguments)


def test_a_content_whose_memory_has_expired_is_stored_as_a_new_memory(
    services: FakeServices, expire: Callable[[UUID], object]
) -> None:
    first, again = request("oolong"), request("oolong")
    gone = store(services.memories, first)[first.request_id].memory_id
    assert gone
    expire(gone)
    outcome = store(services.memories, again)[again.request_id]
    assert (outcome.state, outcome.memory_id == gone) == (IngestState.STORED, False)
    assert status_of(services.memories, first.request_id).state is IngestState.DELETED


def test_a_redelivery_does_not_store_an_expired_memory_again(
    services: FakeServices, expire: Callable[[UUID], object]
) -> None:
    ingest_request = request("oolong")
    gone = store(services.memories, ingest_request)[ingest_request.request_id].memory_id
    assert gone
    expire(gone)
    store(services.memories, ingest_request)
    assert list_memories(services.memories) == []


def test_a_memory_that_expired_before_it_was_stored_is_reported_as_deleted(services: FakeServices) -> None:
    body = b'{"memories": [{"content": "late", "timestamp": "2019-01-01", "expires_at": "2020-01-01"}]}'
    message = decode(
        Published(data=body, attributes={"namespace": "ns"}, message_id="1", publish_time="2026-01-01T00:00:00Z")
    )
    result = ingest.store(message, memories=services.memories, embedder=EMBEDDER)
    (outcome,) = result.outcomes.values()
    assert (outcome.state, outcome.error) == (IngestState.DELETED, "it had expired at 2020-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"expires_at": SOON}, {"expires_at": LATER}, LATER),
        ({"expires_at": LATER}, {"expires_at": SOON}, LATER),
        ({"expires_at": SOON}, {}, None),
        ({}, {"expires_at": SOON}, None),
    ],
)
@pytest.mark.parametrize("together", [False, True])
def test_a_content_sent_twice_has_the_longer_of_the_two_lifetimes(
    first: dict[str, Any], second: dict[str, Any], expected: datetime | None, together: bool, services: FakeServices
) -> None:
    requests = [request("oolong", **first), request("oolong", **second)]
    for delivery in [requests] if together else [[ingest_request] for ingest_request in requests]:
        outcomes = store(services.memories, *delivery)
    memory_id = outcomes[requests[1].request_id].memory_id
    assert memory_id
    assert expiry_of(services, memory_id) == expected


@pytest.mark.parametrize("pinned_first", [True, False])
@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("other", [{}, {"expires_at": SOON}, {"expires_at": SOON, "pinned": True}])
@pytest.mark.parametrize("before", [{}, {"maximum": timedelta(days=30)}, {"default": timedelta(days=7)}])
def test_a_content_that_one_of_two_requests_pins_outlasts_the_default_lifetime(
    before: dict[str, timedelta],
    other: dict[str, Any],
    together: bool,
    pinned_first: bool,
    services: FakeServices,
    owner: Connection,
    set_lifetimes: Callable[..., object],
) -> None:
    if before:
        set_lifetimes(before.get("default"), before.get("maximum"))
    fields = [{"pinned": True}, other]
    requests = [request("oolong", **each) for each in (fields if pinned_first else reversed(fields))]
    for delivery in [requests] if together else [[ingest_request] for ingest_request in requests]:
        outcomes = store(services.memories, *delivery)
    memory_id = outcomes[requests[1].request_id].memory_id
    assert memory_id
    maximum = before.get("maximum")
    expires_at = expiry_of(services, memory_id)
    assert (expires_at is None) == (maximum is None)
    assert maximum is None or (expires_at and expires_at > datetime.now(UTC) + maximum - timedelta(hours=1))
    set_lifetimes(timedelta(days=1), maximum)
    owner.run("SELECT apply_retention('ns', NULL, 10)")
    assert expiry_of(services, memory_id) == expires_at


def test_a_content_that_no_request_pins_without_an_expiry_keeps_the_default_lifetime(
    services: FakeServices, set_lifetimes: Callable[..., object]
) -> None:
    set_lifetimes(timedelta(days=7))
    memory_id = store_content(services.memories, "oolong", pinned=True, expires_at=SOON)
    store_content(services.memories, "oolong")
    memory = services.memories.fetch(memory_id)
    assert memory and memory.expires_at
    assert (memory.pinned, round((memory.expires_at - datetime.now(UTC)) / timedelta(days=1))) == (False, 7)


@pytest.mark.parametrize(("days", "note"), [(60, None), (1, "expires_at")])
def test_the_note_of_a_duplicate_compares_its_expiry_with_the_default_lifetime(
    services: FakeServices, set_lifetimes: Callable[..., object], days: int, note: str | None
) -> None:
    set_lifetimes(timedelta(days=7))
    store_content(services.memories, "oolong")
    again = request("oolong", expires_at=datetime.now(UTC) + timedelta(days=days))
    outcome = store(services.memories, again)[again.request_id]
    assert (outcome.note or "").rpartition(": ")[2] == (note or "")


def test_a_duplicate_does_not_extend_the_expiry_of_a_memory_of_another_namespace(services: FakeServices) -> None:
    other = services.memories_of("other")
    memory_id = store_content(other, "oolong", expires_at=SOON)
    for _ in range(2):
        store(services.memories, request("oolong", expires_at=LATER))
    memory = other.fetch(memory_id)
    assert memory and memory.expires_at == SOON


def test_a_redelivered_request_does_not_extend_the_lifetime_of_its_memory(
    services: FakeServices, set_lifetimes: Callable[..., object], owner: Connection
) -> None:
    set_lifetimes(timedelta(days=7))
    ingest_request = request("oolong")
    memory_id = store(services.memories, ingest_request)[ingest_request.request_id].memory_id
    assert memory_id
    owner.run("UPDATE memories SET expires_at = :soon WHERE id = :id", soon=SOON, id=memory_id)
    store(services.memories, ingest_request)
    assert expiry_of(services, memory_id) == SOON


def test_a_version_that_is_not_stored_does_not_extend_the_expiry_of_a_memory_with_its_content(
    services: FakeServices,
) -> None:
    sencha = store_content(services.memories, "sencha", expires_at=SOON)
    oolong = store_content(services.memories, "oolong", expires_at=SOON)
    services.memories.delete_records([deletion("1", 9)])
    outcomes = store(services.memories, version("1", "sencha", 2), version("2", "oolong", 2))
    assert {outcome.state for outcome in outcomes.values()} == {IngestState.DELETED, IngestState.DUPLICATE}
    assert (expiry_of(services, sencha), expiry_of(services, oolong)) == (SOON, None)


@pytest.mark.parametrize(
    ("fields", "days"),
    [({}, 7), ({"pinned": True}, 30), ({"expires_at": SOON}, 1), ({"expires_at": SOON + timedelta(days=300)}, 30)],
)
def test_the_default_lifetime_applies_to_memories_without_an_expiry_and_the_maximum_to_all(
    fields: dict[str, Any], days: int, services: FakeServices, set_lifetimes: Callable[..., object]
) -> None:
    set_lifetimes(timedelta(days=7), timedelta(days=30))
    expires_at = expiry_of(services, store_content(services.memories, "oolong", **fields))
    assert expires_at
    assert round((expires_at - datetime.now(UTC)) / timedelta(days=1)) == days


def test_an_expiry_can_be_changed_and_removed(services: FakeServices) -> None:
    memory_id = store_content(services.memories, "oolong")
    changed = answer_of(services, "update_memory", id=str(memory_id), expires_at=SOON.isoformat())
    assert datetime.fromisoformat(changed["expires_at"]) == SOON
    assert expiry_of(services, memory_id) == SOON
    answer_of(services, "update_memory", id=str(memory_id), expires_at="none")
    assert expiry_of(services, memory_id) is None


def test_a_date_of_expiry_is_a_day_in_the_callers_time_zone(services: FakeServices) -> None:
    memory_id = store_content(services.memories, "oolong")
    midnight = datetime.fromisoformat("2099-01-01T00:00+05:30")
    arguments = {"expires_at": "2099-01-01", "timezone": "Asia/Kolkata"}
    changed = answer_of(services, "update_memory", id=str(memory_id), **arguments)
    assert datetime.fromisoformat(changed["expires_at"]) == midnight
    answer_of(services, "update_memory", id=str(memory_id), expires_at="2099-01-01T00:00:00Z", timezone="Asia/Kolkata")
    assert expiry_of(services, memory_id) == datetime(2099, 1, 1, tzinfo=UTC)
    assert "IANA" in error_of(services, "update_memory", id=str(memory_id), title="tea", timezone="Mars")
    for latest in ({"expires_at": "9999-12-31T23:00", "timezone": "America/New_York"}, {"timezone": "Asia/Kolkata"}):
        assert error_of(services, "update_memory", id=str(memory_id), **latest)


def test_an_expiry_in_the_past_is_refused(services: FakeServices) -> None:
    memory_id = store_content(services.memories, "oolong")
    assert "must be in the future" in error_of(services, "update_memory", id=str(memory_id), expires_at="2020-01-01")
    assert "must be in the future" in error_of(services, "ingest_memory", content="tea", expires_at="2020-01-01")
    assert services.memories.fetch(memory_id)


def test_a_memory_whose_default_lifetime_has_passed_stays_pinned(
    services: FakeServices, set_lifetimes: Callable[..., object], owner: Connection
) -> None:
    set_lifetimes(timedelta(days=1), None)
    memory_id = store_content(services.memories, "oolong", pinned=True)
    owner.run("UPDATE memories SET last_seen_at = now() - interval '2 days'")
    assert "would expire at once" in error_of(services, "update_memory", id=str(memory_id), pinned=False)
    memory = services.memories.fetch(memory_id)
    assert memory
    assert memory.pinned


def test_answers_show_when_a_memory_expires(services: FakeServices) -> None:
    memory_id = store_content(services.memories, "The oolong is on shelf 7.", expires_at=SOON)
    moment = SOON.isoformat().replace("+00:00", "Z")
    for tool, arguments in (("memory_search", {"query": "oolong"}), ("get_memory", {"id": str(memory_id)})):
        assert f"{memory_id} expires at {moment}" in str(call_tool(services, tool, **arguments).content)
    assert moment in str(answer_of(services, "export_memories"))


@pytest.fixture
def system(shared_database: SharedDatabase) -> LocalSystem:
    """The system of the tests' database, for an operator's operations."""
    return LocalSystem(OwnerStores(shared_database.connect_as_owner))


def test_new_lifetimes_also_apply_to_stored_memories(
    services: FakeServices, system: LocalSystem, owner: Connection
) -> None:
    old, pinned, expiring = (
        store_content(services.memories, "old"),
        store_content(services.memories, "pinned", pinned=True),
        store_content(services.memories, "given", expires_at=SOON),
    )
    new = store_content(services.memories, "new")
    owner.run("UPDATE memories SET last_seen_at = now() - interval '8 days' WHERE id <> :new", new=new)
    week = 7 * 86_400
    assert system.run(PreviewRetention(namespace="ns", default=week)) == {"expired": 1}
    assert services.memories.fetch(old)
    system.run(SetRetention(namespace="ns", default=week))
    assert sum(page["changed"] for page in pages(system, ApplyRetention(namespace="ns"))) == 2
    assert services.memories.fetch(old) is None
    assert expiry_of(services, pinned) is None
    assert expiry_of(services, expiring) == SOON
    assert expiry_of(services, new)
    system.run(ClearRetention(namespace="ns"))
    list(pages(system, ApplyRetention(namespace="ns")))
    assert expiry_of(services, new) is None
    assert services.memories.fetch(old) is None


def test_lifetimes_for_all_namespaces_do_not_change_namespaces_with_their_own(
    services: FakeServices, system: LocalSystem
) -> None:
    memory_id = store_content(services.memories, "oolong")
    system.run(SetRetention(namespace="ns", maximum=86_400 * 365))
    system.run(SetRetention(default=86_400))
    list(pages(system, ApplyRetention()))
    assert expiry_of(services, memory_id) is None
    assert _lifetimes(system) == {"": (86_400, None), "ns": (None, 86_400 * 365)}


def _lifetimes(system: LocalSystem) -> dict[str, tuple[int | None, int | None]]:
    listed = system.run(ListRetention())["namespaces"]
    return {row["namespace"]: (row["default"], row["maximum"]) for row in listed}


def test_a_namespace_keeps_the_lifetime_of_all_namespaces_that_is_not_given(system: LocalSystem) -> None:
    system.run(SetRetention(default=90))
    system.run(SetRetention(namespace="ns", maximum=100))
    assert _lifetimes(system) == {"": (90, None), "ns": (90, 100)}


def test_a_lifetime_that_is_not_given_does_not_change_and_the_log_has_both(
    shared_database: SharedDatabase, system: LocalSystem, caplog: pytest.LogCaptureFixture
) -> None:
    lifetimes: list[dict[str, Any]] = [{"default": 90}, {"maximum": 100}, {"default": "none"}]
    operator: Any = OwnerStores(shared_database.connect_as_owner)
    with caplog.at_level("INFO"):
        for changed in lifetimes:
            operations.run(SetRetention(namespace="ns", **changed), operator, "ada")
    events = [record.fields for record in caplog.records if record.msg == "audit"]  # type: ignore[attr-defined]
    assert [(event["default"], event["maximum"]) for event in events] == [(90, "none"), (90, 100), ("none", 100)]
    assert _lifetimes(system) == {"ns": (None, 100)}


def test_new_lifetimes_that_are_checked_first_include_the_lifetime_that_is_not_given(
    services: FakeServices, system: LocalSystem, owner: Connection
) -> None:
    store_content(services.memories, "oolong")
    system.run(SetRetention(namespace="ns", default=86_400))
    owner.run("UPDATE memories SET last_seen_at = now() - interval '2 days'")
    assert system.run(PreviewRetention(namespace="ns", maximum=86_400 * 9)) == {"expired": 1}
    assert system.run(PreviewRetention(namespace="ns", default="none", maximum=86_400 * 9)) == {"expired": 0}


def test_a_namespace_is_listed_with_the_lifetimes_that_apply_to_it(services: FakeServices, system: LocalSystem) -> None:
    store_content(services.memories, "oolong")
    system.run(SetRetention(default=86_400, maximum=86_400 * 365))
    list(pages(system, ApplyRetention()))
    listed = {row.pop("namespace"): row for row in system.run(ListRetention())["namespaces"]}
    assert listed["ns"] == {"default": 86_400, "maximum": 86_400 * 365, "expiring": 1}


def test_expired_memories_are_removed_with_their_dependent_rows(
    services: FakeServices, expire: Callable[[UUID], object], shared_database: SharedDatabase
) -> None:
    gone = [store_content(services.memories, f"oolong {number}") for number in range(3)]
    living = store_content(services.memories, "sencha")
    for memory_id in gone:
        expire(memory_id)
    removal = Retention(shared_database.connect_as_owner)
    assert [removal.remove_expired(), removal.remove_expired()] == [3, 0]
    for table in ("memories", "memory_words"):
        assert shared_database.owner.one(f"SELECT count(*) AS n FROM {table}")["n"] == 1
    assert services.memories.fetch(living)


def test_a_memory_that_expires_while_it_is_embedded_is_redelivered_and_not_stored(
    services: FakeServices, owner: Connection
) -> None:
    for content in ("oolong", "oolong " * 200):  # the second has chunks
        ingest_request = request(content, expires_at=datetime(2020, 1, 1, tzinfo=UTC))
        with pytest.raises(ItemUnavailable, match="expired while it was being stored"):
            store(services.memories, ingest_request)
    for table in ("memories", "memory_chunks", "ingest_requests"):
        assert owner.one(f"SELECT count(*) AS n FROM {table}")["n"] == 0


def test_an_expired_memory_is_reported_as_deleted_to_the_schemas_owner_too(
    services: FakeServices, expire: Callable[[UUID], object], shared_database: SharedDatabase
) -> None:
    ingest_request = request("oolong")
    gone = store(services.memories, ingest_request)[ingest_request.request_id].memory_id
    assert gone
    expire(gone)
    pool = Pool(shared_database.connect_as_owner, 1)
    as_owner = memories_in(pool)
    assert status_of(as_owner, ingest_request.request_id).state is IngestState.DELETED
    assert [outcome.state for outcome in as_owner.outcomes(10, after=OutcomeCursor()).outcomes] == [IngestState.DELETED]
    pool.close()


# -- the scheduled removal


def store_expired(services: FakeServices, owner: Connection, number: int) -> None:
    for index in range(number):
        store_content(services.memories, f"oolong {index}")
    owner.run("UPDATE memories SET expires_at = now()")


def count_memories(owner: Connection) -> int:
    counted: int = owner.one("SELECT count(*) AS n FROM memories")["n"]
    return counted


def audit_rows(owner: Connection) -> list[tuple[str, str, str, int]]:
    rows = owner.run(
        "SELECT principal, action, outcome, count FROM audit_events WHERE action = 'expire' ORDER BY at, id"
    )
    return [(row["principal"], row["action"], row["outcome"], row["count"]) for row in rows]


def clock_past_the_deadline_after(readings: int) -> Iterator[float]:
    """Yield the readings of a clock. The first `readings` are 0, and all later ones are after the deadline of a run."""
    return (0.0 if number < readings else EXPIRY_SECONDS + 1 for number in count())


def test_a_removal_stops_at_its_deadline_and_the_next_one_continues(
    services: FakeServices, shared_database: SharedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "REMOVED_AT_ONCE", 2)
    store_expired(services, shared_database.owner, 5)
    clock = clock_past_the_deadline_after(1)  # only the reading at the start of the run is before the deadline
    assert expire_memories(shared_database.connect_as_owner, lambda: next(clock)) == {"removed": 2}
    assert count_memories(shared_database.owner) == 3
    assert expire_memories(shared_database.connect_as_owner) == {"removed": 3}
    assert count_memories(shared_database.owner) == 0
    assert audit_rows(shared_database.owner) == [
        ("system:expiry", "expire", "done", 2),
        ("system:expiry", "expire", "done", 3),
    ]


def test_a_removal_pauses_after_each_batch_for_as_long_as_the_batch_took(
    services: FakeServices, shared_database: SharedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "REMOVED_AT_ONCE", 2)
    store_expired(services, shared_database.owner, 5)
    clock = iter([0.0, 3.0, 10.0, 14.0, 20.0, 25.0, 30.0])
    pauses: list[float] = []
    removal = Retention(shared_database.connect_as_owner)
    batches = list(removal.remove_all_expired(pauses.append, lambda: next(clock)))
    assert (batches, pauses) == ([2, 2, 1], [3.0, 4.0, 5.0])


def test_a_removal_without_expired_memories_has_no_audit_row(
    services: FakeServices, shared_database: SharedDatabase
) -> None:
    store_content(services.memories, "sencha")
    assert expire_memories(shared_database.connect_as_owner) == {"removed": 0}
    assert count_memories(shared_database.owner) == 1
    assert audit_rows(shared_database.owner) == []
