"""Legal holds: they prevent deletion, expiry and forgetting of memories until they are released."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from click.testing import Result

from mnemosyne.adapters.database.owner_store import Holds
from mnemosyne.adapters.database.retention import Retention
from mnemosyne.app.operations.holds import ListHolds, PlaceHold, ReleaseHold, SuspendExpiry
from mnemosyne.app.operations.retention import ApplyRetention
from mnemosyne.app.operator import OwnerStores
from mnemosyne.cli.system import LocalSystem, pages
from mnemosyne.domain.forgetting import Selection
from mnemosyne.domain.memory import Deletion, ExternalId, IngestState, IngestStatus
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.domain.metadata_filter import Operator, condition
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.domain.search import Filters
from mnemosyne.errors import Conflict, NotFound
from mnemosyne.ids import deletion_id
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools.read import get_memory
from mnemosyne.service import deliveries, forgetting
from tests.fakes import FakeOutcomes, FakeServices, request
from tests.integration.test_forgetting import forget, proceed, titles
from tests.memories import list_memories, store, store_content
from tests.shared_database import SharedDatabase
from tests.tools import answer_of, error_of

HELD = Selection(filters=Filters(tags=("case 7",), include_superseded=True))
REASON = "case 7 is before the court"


@pytest.fixture
def holds(shared_database: SharedDatabase) -> Holds:
    return Holds(shared_database.connect_as_owner)


@pytest.fixture
def hold_id(services: FakeServices, holds: Holds) -> UUID:
    """A memory under a hold."""
    holds.place("ns", HELD, REASON, "somebody")
    return store_content(services.memories, "oolong", tags=("case 7",))


REMOVALS: dict[str, Callable[[FakeServices, UUID], object]] = {
    "delete": lambda services, memory_id: services.memories.delete(memory_id),
    "delete several": lambda services, memory_id: services.memories.delete_many([memory_id]),
    "forget": lambda services, memory_id: forget(services, Selection(ids=(memory_id,))),
    "forget all": lambda services, _: forget(services),
    "remove its tag": lambda services, memory_id: services.memories.update(memory_id, MemoryChange(tags=())),
    "rename its tag": lambda services, _: services.memories.change_tag("case 7", "case 8", 10),
    "remove its tag from several": lambda services, memory_id: services.memories.change_tags(
        [memory_id], added=(), removed=("case 7",)
    ),
}


@pytest.mark.parametrize("removal", REMOVALS)
def test_a_held_memory_cannot_be_deleted_and_the_error_has_the_reason(
    removal: str, services: FakeServices, hold_id: UUID
) -> None:
    other = store_content(services.memories, "sencha")
    with pytest.raises(Conflict, match=f"legal hold .*{REASON}"):
        REMOVALS[removal](services, hold_id)
    memory = services.memories.fetch(hold_id)
    assert memory
    assert memory.tags == ("case 7",)
    assert services.memories.delete(other)


def test_a_tool_that_refuses_to_delete_a_held_memory_gives_the_reason(services: FakeServices, hold_id: UUID) -> None:
    assert REASON in error_of(services, "delete_memory", id=str(hold_id))
    dry = answer_of(services, "forget_memories", all=True)
    assert [hold["reason"] for hold in dry["holds"]] == [REASON]
    assert REASON in error_of(services, "forget_memories", all=True, token=dry["token"])


def test_the_record_for_people_has_the_hold_of_the_memory(services: FakeServices, holds: Holds) -> None:
    hold_id = holds.place("ns", HELD, REASON, "somebody")
    memory_id = store_content(services.memories, "oolong", tags=("case 7",))
    read = answer_of(services, "get_memory", id=str(memory_id), neighbours=True)
    assert read["hold"] == {"id": str(hold_id), "reason": REASON}
    other = store_content(services.memories, "sencha")
    assert "hold" not in answer_of(services, "get_memory", id=str(other), neighbours=True)
    assert "hold" not in answer_of(services, "get_memory", id=str(memory_id))
    holds.release("ns", hold_id)
    assert "hold" not in answer_of(services, "get_memory", id=str(memory_id), neighbours=True)


def test_a_caller_who_may_not_delete_a_held_memory_does_not_read_the_reason(
    services: FakeServices, hold_id: UUID
) -> None:
    reader = Principal(id="reader", namespace="ns", scopes=frozenset({Scope.READ}))
    result = call(get_memory, {"id": str(hold_id), "neighbours": True}, reader, services)
    assert result.structured_content
    assert REASON not in str(result)


@pytest.mark.parametrize("when", ["before the hold", "under the hold"])
def test_a_held_memory_does_not_expire(
    when: str, services: FakeServices, holds: Holds, shared_database: SharedDatabase
) -> None:
    def make() -> UUID:
        expires_at = datetime.now(UTC) + timedelta(days=1)
        return store_content(services.memories, "oolong", tags=("case 7",), expires_at=expires_at)

    memory_id = make() if when == "before the hold" else None
    hold_id = holds.place("ns", HELD, REASON, "somebody")
    while holds.suspend("ns", hold_id):
        pass
    memory_id = memory_id or make()
    memory = services.memories.fetch(memory_id)
    assert memory
    assert memory.expires_at is None
    assert holds.release("ns", hold_id)
    shared_database.owner.run("UPDATE memories SET given_expiry = now() - interval '1 hour'")
    Retention(shared_database.connect_as_owner).apply("ns")
    assert list_memories(services.memories) == []


ARRIVALS: dict[str, Callable[[FakeServices, UUID], object]] = {
    "tags": lambda services, memory_id: services.memories.update(memory_id, MemoryChange(tags=("case 7",))),
    "metadata": lambda services, memory_id: services.memories.update(memory_id, MemoryChange(metadata={"case": "7"})),
    "an added tag": lambda services, memory_id: services.memories.change_tags(
        [memory_id], added=("case 7",), removed=()
    ),
    "a renamed tag": lambda services, _: services.memories.change_tag("tea", "case 7", 10),
}


@pytest.mark.parametrize("arrival", ARRIVALS)
def test_a_memory_that_a_change_brings_under_a_hold_does_not_expire(
    arrival: str, services: FakeServices, holds: Holds
) -> None:
    expires_at = datetime.now(UTC) + timedelta(days=1)
    memory_id = store_content(services.memories, "oolong", tags=("tea",), expires_at=expires_at)
    holds.place("ns", HELD, REASON, "somebody")
    case = Filters(metadata=(condition("case", Operator.EQUAL, ("7",)),), include_superseded=True)
    holds.place("ns", Selection(filters=case), REASON, "somebody")
    ARRIVALS[arrival](services, memory_id)
    memory = services.memories.fetch(memory_id)
    assert memory
    assert memory.expires_at is None


def test_the_expiry_of_a_held_memory_can_be_changed_after_the_maximum_lifetime(
    services: FakeServices, hold_id: UUID, shared_database: SharedDatabase
) -> None:
    shared_database.owner.run("INSERT INTO retention (namespace, maximum_lifetime) VALUES ('ns', 60)")
    shared_database.owner.run("UPDATE memories SET last_seen_at = now() - interval '1 hour'")
    memory = answer_of(services, "update_memory", id=str(hold_id), expires_at="2090-01-01", pinned=True)
    assert (memory["pinned"], memory.get("expires_at")) == (True, None)
    given = shared_database.owner.one("SELECT given_expiry FROM memories")["given_expiry"]
    assert given == datetime(2090, 1, 1, tzinfo=UTC)


def test_a_hold_makes_an_expired_memory_visible_if_its_row_is_not_removed_yet(
    services: FakeServices, holds: Holds, shared_database: SharedDatabase
) -> None:
    memory_id = store_content(services.memories, "oolong", tags=("case 7",))
    shared_database.owner.run("UPDATE memories SET expires_at = now() - interval '1 minute'")
    hold_id = holds.place("ns", HELD, REASON, "somebody")
    assert Retention(shared_database.connect_as_owner).remove_expired() == 0
    ingest_request = request("oolong", tags=("case 7",))
    assert store(services.memories, ingest_request)[ingest_request.request_id].memory_id == memory_id
    while holds.suspend("ns", hold_id):
        pass
    assert [memory.id for memory in list_memories(services.memories)] == [memory_id]


def test_a_deletion_by_key_fails_under_a_hold_and_can_be_repeated_after_it(
    services: FakeServices, holds: Holds
) -> None:
    name = ExternalId("notes", "7")
    store(services.memories, request("oolong", external_id=name, tags=("case 7",), published=datetime.now(UTC)))
    hold_id = holds.place("ns", HELD, REASON, "somebody")
    now = datetime.now(UTC)
    request_id = deletion_id(name.source, name.key, now)
    deletion = Deletion(request_id=request_id, external_id=name, timestamp=now, published=now)
    outcome = services.memories.delete_records([deletion]).outcomes[deletion.request_id]
    assert (outcome.state, REASON in (outcome.error or "")) == (IngestState.FAILED, True)
    assert REASON in error_of(services, "delete_memory", source="notes", key="7")
    assert titles(services) == ["oolong"]
    holds.release("ns", hold_id)
    outcome = services.memories.delete_records([deletion]).outcomes[deletion.request_id]
    assert outcome.state is IngestState.DELETED
    assert titles(services) == []


def test_a_deletion_that_a_hold_prevents_repeatedly_is_announced_once(services: FakeServices, holds: Holds) -> None:
    topic = services.outcome_topic = FakeOutcomes()
    name = ExternalId("notes", "7")
    store(services.memories, request("oolong", external_id=name, tags=("case 7",), published=datetime.now(UTC)))
    hold_id = holds.place("ns", HELD, REASON, "somebody")
    deletion = {"op": "delete", "source": "notes", "key": "7", "timestamp": "2100-01-01"}

    def deliver(message_id: str) -> None:
        message = Published(message_id=message_id, data=json.dumps(deletion).encode(), attributes={"namespace": "ns"})
        deliveries.store(deliveries.Push(message, 1), services)

    deliver("1")
    deliver("2")
    assert [outcome.state for outcome in topic.told] == [IngestState.FAILED]
    holds.release("ns", hold_id)
    deliver("3")
    assert [outcome.state for outcome in topic.told] == [IngestState.FAILED, IngestState.DELETED]


@pytest.mark.parametrize("held", [True, False])
def test_a_deletion_checks_the_holds_of_all_versions_that_earlier_deletions_cover(
    services: FakeServices, holds: Holds, held: bool
) -> None:
    first, second = ExternalId("notes", "7"), ExternalId("notes", "8")
    start = datetime.now(UTC) - timedelta(hours=1)

    def publish(content: str, name: ExternalId, minutes: int) -> None:
        time = start + timedelta(minutes=minutes)
        tags = ("case 7",) if content == "oolong" else ()
        message = request(content, external_id=name, timestamp=time, published=time, tags=tags)
        store(services.memories, message)

    def delete(minutes: int) -> IngestStatus:
        time = start + timedelta(minutes=minutes)
        request_id = deletion_id(first.source, first.key, time)
        deletion = Deletion(request_id=request_id, external_id=first, timestamp=time, published=time)
        return services.memories.delete_records([deletion]).outcomes[request_id]

    publish("oolong", first, 10)
    publish("oolong", second, 10)
    if held:
        holds.place("ns", HELD, REASON, "somebody")
    assert delete(20).state is IngestState.DELETED  # the memory is kept: it is the current version of another record
    publish("sencha", second, 30)
    outcome = delete(5)  # the earlier deletion covers the memory, which is no current version any longer
    if held:
        assert (outcome.state, REASON in (outcome.error or "")) == (IngestState.FAILED, True)
    else:
        assert outcome.state is IngestState.DELETED
    assert sorted(titles(services)) == (["oolong", "sencha"] if held else ["sencha"])


def test_a_hold_that_is_placed_during_a_forgetting_stops_it(services: FakeServices, holds: Holds) -> None:
    store_content(services.memories, "oolong", tags=("case 7",))
    token = services.memories.preview_forgetting(HELD, 1).token
    forgetting_id = forgetting.begin(HELD, token, "", memories=services.memories)
    hold_id = holds.place("ns", HELD, REASON, "somebody")
    with pytest.raises(Conflict, match=REASON):
        proceed(services, forgetting_id)
    assert titles(services) == ["oolong"]
    holds.release("ns", hold_id)
    proceed(services, forgetting_id)
    assert titles(services) == []


def test_a_hold_applies_only_to_its_memories_and_namespace(services: FakeServices, hold_id: UUID) -> None:
    other = services.memories_of("other")
    assert other.delete(store_content(other, "oolong", tags=("case 7",)))
    assert services.memories.delete(store_content(services.memories, "sencha", tags=("case 8",)))


def test_operators_place_list_and_release_holds(services: FakeServices, shared_database: SharedDatabase) -> None:
    memory_id = store_content(services.memories, "oolong", expires_at=datetime.now(UTC) + timedelta(days=1))
    system = LocalSystem(OwnerStores(shared_database.connect_as_owner))
    placed = system.run(PlaceHold(namespace="ns", ids=[memory_id], reason=REASON))
    suspended = [page["suspended"] for page in pages(system, SuspendExpiry(namespace="ns", id=UUID(placed["id"])))]
    assert suspended == [1, 0]
    (hold,) = system.run(ListHolds(namespace="ns"))["holds"]
    assert (hold["id"], hold["selection"], hold["reason"]) == (placed["id"], {"ids": [str(memory_id)]}, REASON)
    assert hold["placed_by"].startswith("local:")
    assert system.run(ListHolds(namespace="other"))["holds"] == []
    system.run(ReleaseHold(namespace="ns", id=UUID(placed["id"])))
    assert sum(page["changed"] for page in pages(system, ApplyRetention(namespace="ns"))) == 1
    assert system.run(ListHolds())["holds"] == []


def test_memories_under_another_hold_are_not_reported_to_expire(
    services: FakeServices, hold_id: UUID, shared_database: SharedDatabase
) -> None:
    services.memories.update(hold_id, MemoryChange(expires_at=datetime.now(UTC) + timedelta(days=1)))
    system = LocalSystem(OwnerStores(shared_database.connect_as_owner))
    other = system.run(PlaceHold(namespace="ns", tags=["case 8"], reason=REASON))
    system.run(ReleaseHold(namespace="ns", id=UUID(other["id"])))
    assert sum(page["changed"] for page in pages(system, ApplyRetention(namespace="ns"))) == 0
    retention = Retention(shared_database.connect_as_owner)
    assert retention.count_expired("ns", 0, 0) == 0
    store_content(services.memories, "sencha")
    assert retention.count_expired("ns", 0, 0) == 1


def test_a_newer_version_of_a_held_record_does_not_change_the_held_tags(services: FakeServices, holds: Holds) -> None:
    name = ExternalId("notes", "7")

    def version(*tags: str, at: datetime) -> IngestStatus:
        ingest_request = request("oolong", external_id=name, tags=tags, timestamp=at, published=datetime.now(UTC))
        return store(services.memories, ingest_request)[ingest_request.request_id]

    version("case 7", at=datetime(2026, 1, 1, tzinfo=UTC))
    holds.place("ns", HELD, REASON, "somebody")
    outcome = version("other", at=datetime(2026, 1, 2, tzinfo=UTC))
    assert (outcome.state, "a legal hold keeps" in (outcome.note or "")) == (IngestState.DUPLICATE, True)
    (memory,) = list_memories(services.memories)
    assert memory.tags == ("case 7",)


def test_a_dry_run_of_a_held_memory_does_not_promise_a_forgetting(
    services: FakeServices, holds: Holds, command: Callable[..., Result]
) -> None:
    store_content(services.memories, "oolong", tags=("case 7",))
    dry_run = ("forget", "--namespace", "ns", "--tag", "case 7", "--dry-run")
    assert "with --confirm " in command(*dry_run).stdout
    hold_id = holds.place("ns", HELD, REASON, "somebody")
    output = command(*dry_run).stdout
    assert "--confirm" not in output
    assert f"The legal hold {hold_id} ({REASON}) keeps some of them" in output
    assert f"`mnemosyne holds release --namespace ns {hold_id}`" in output


def test_a_hold_that_does_not_exist_is_not_reported_as_released(command: Callable[..., Result]) -> None:
    result = command("holds", "release", "--namespace", "ns", str(UUID(int=0)))
    assert isinstance(result.exception, NotFound)
    assert "is released" not in result.output


def test_the_release_of_a_hold_can_be_repeated_after_an_interruption(
    services: FakeServices, holds: Holds, command: Callable[..., Result]
) -> None:
    hold_id = holds.place("ns", HELD, REASON, "somebody")
    store_content(services.memories, "oolong", tags=("case 7",), expires_at=datetime.now(UTC) + timedelta(days=1))
    holds.release("ns", hold_id)
    result = command("holds", "release", "--namespace", "ns", str(hold_id))
    assert result.exit_code == 0, result.output
    assert "1 memory has an expiry again" in result.stdout
