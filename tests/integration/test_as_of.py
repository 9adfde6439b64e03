"""Searches and reads with `as_of` have the results of that time, or are refused."""

import os
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.owner_store import Holds, Quotas
from mnemosyne.adapters.database.retention import Retention
from mnemosyne.domain.forgetting import Selection
from mnemosyne.domain.memory import ExternalId
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.domain.metadata_filter import Operator, condition
from mnemosyne.domain.search import Filters, SearchMode
from mnemosyne.errors import Conflict, InvalidRequest
from tests.fakes import NOW, FakeServices, request
from tests.integration.test_forgetting import forget
from tests.memories import search, store, store_content
from tests.shared_database import SharedDatabase
from tests.tools import answer_of, error_of

SEQUENCES = int(os.environ.get("AS_OF_SEQUENCES", "1"))
STEPS = 25
SEARCHES: tuple[Mapping[str, Any], ...] = (
    {"query": None},
    {"query": None, "filters": Filters(include_superseded=True)},
    {"query": None, "filters": Filters(tags=("tea",))},
    {"query": None, "filters": Filters(after=NOW + timedelta(days=1), include_superseded=True)},
    {"query": "leaf", "mode": SearchMode.EXACT},
    {"query": "leaf", "mode": SearchMode.SEMANTIC},
    {"query": "leaf", "mode": SearchMode.HYBRID, "filters": Filters(tags=("tea", "cup"))},
    {
        "query": "leaf",
        "mode": SearchMode.HYBRID,
        "filters": Filters(metadata=(condition("year", Operator.EQUAL, ["2024"]),)),
    },
)


@dataclass(frozen=True)
class Snapshot:
    """The results of searches at a time, and the record of each memory."""

    at: datetime
    found: list[dict[UUID, tuple[object, ...]]]
    records: dict[UUID, tuple[object, ...]]


class Namespace:
    """A namespace that changes at random."""

    def __init__(self, seed: int, memories: MemoryStore, owner: Connection) -> None:
        self.dice = random.Random(seed)
        self.memories = memories
        self.owner = owner
        self.ids: list[UUID] = []
        self.count = 0

    def store(self) -> None:
        self.count += 1
        tags = self.dice.choice([(), ("tea",), ("cup", "tea")])
        ingest_request = request(f"leaf {self.count}", tags=tags, timestamp=NOW + timedelta(hours=self.count))
        self.ids += [status.memory_id for status in store(self.memories, ingest_request).values() if status.memory_id]

    def version(self) -> None:
        """Store a version of one record. An earlier content that is sent again gets the labels of the new version."""
        self.count += 1
        ingest_request = request(
            f"leaf of the record, {self.dice.randrange(3)}",
            title=f"version {self.count}",
            metadata={"year": 2020 + self.dice.randrange(6)},
            timestamp=NOW + timedelta(hours=self.dice.randrange(100)),
            external_id=ExternalId("garden", "plant"),
        )
        ids = {status.memory_id for status in store(self.memories, ingest_request).values() if status.memory_id}
        self.ids += ids - set(self.ids)

    def label(self) -> None:
        change = self.dice.choice([
            MemoryChange(title=f"title {self.dice.random()}"),
            MemoryChange(tags=("cup",)),
            MemoryChange(tags=("tea", "pot")),
            MemoryChange(metadata={"year": self.dice.choice([2023, 2024])}),
        ])  # fmt: skip
        self.memories.update(self.dice.choice(self.ids), change)

    def supersede(self) -> None:
        older, newer = self.dice.sample(self.ids, 2) if len(self.ids) > 1 else (self.ids[0], None)
        change = MemoryChange(superseded_by=newer) if newer else MemoryChange(not_superseded=True)
        try:
            self.memories.update(older, change)
        except Conflict:  # otherwise the two memories would supersede each other
            self.memories.update(older, MemoryChange(not_superseded=True))

    def rename_tag(self) -> None:
        self.memories.change_tag(*self.dice.choice([("tea", "cup"), ("cup", "tea")]), 10)

    def snapshot(self) -> Snapshot:
        found = [self.found(arguments) for arguments in SEARCHES]
        return Snapshot(now(self.owner), found, {id_: self.record(id_) for id_ in self.ids})

    def found(self, arguments: Mapping[str, Any], as_of: datetime | None = None) -> dict[UUID, tuple[object, ...]]:
        filters = replace(arguments.get("filters", Filters()), as_of=as_of)
        hits = search(self.memories, **{**arguments, "filters": filters, "limit": 100})
        return {
            hit.id: (hit.title, hit.tags, hit.metadata, hit.timestamp, hit.superseded_by, hit.supersedes)
            for hit in hits
        }

    def record(self, memory_id: UUID, as_of: datetime | None = None) -> tuple[object, ...]:
        memory = self.memories.fetch(memory_id, as_of)
        assert memory
        return memory.title, memory.tags, memory.metadata, memory.timestamp, memory.superseded_by, memory.supersedes


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_searches_and_reads_with_as_of_have_the_results_of_that_time(
    seed: int, memories: MemoryStore, owner: Connection
) -> None:
    namespace = Namespace(seed, memories, owner)
    steps = [namespace.store, namespace.version, namespace.label, namespace.supersede, namespace.rename_tag]
    namespace.store()
    snapshots = []
    for _ in range(STEPS):
        namespace.dice.choice(steps)()
        snapshots.append(namespace.snapshot())
    for snapshot in snapshots:
        for arguments, hits in zip(SEARCHES, snapshot.found, strict=True):
            assert namespace.found(arguments, snapshot.at) == hits, arguments
        assert {id_: namespace.record(id_, snapshot.at) for id_ in snapshot.records} == snapshot.records
        for later in set(namespace.ids) - set(snapshot.records):
            assert memories.fetch(later, snapshot.at) is None


class Today(FakeServices):
    """Services with the clock of the database."""

    def clock(self) -> datetime:
        return datetime.now(UTC)


@pytest.fixture
def services(memories: MemoryStore) -> Today:
    return Today(memories)


REMOVALS: dict[str, Callable[[FakeServices, UUID, Connection], object]] = {
    "deleted": lambda services, memory_id, _: services.memories.delete(memory_id),
    "forgotten": lambda services, memory_id, _: forget(services, Selection(ids=(memory_id,))),
    "expired, and its row exists": lambda _, memory_id, owner: expire(owner, memory_id, "SELECT 1"),
    "expired, and its row is removed": lambda _, memory_id, owner: expire(
        owner, memory_id, "SELECT remove_expired(10)"
    ),
}


def expire(owner: Connection, memory_id: UUID, then: str) -> None:
    owner.run("UPDATE memories SET expires_at = now() WHERE id = :id", id=memory_id)
    owner.run(then)


@pytest.mark.parametrize("removal", REMOVALS)
def test_a_search_is_refused_exactly_for_times_at_which_a_removed_memory_existed(
    removal: str, services: FakeServices, owner: Connection
) -> None:
    memory_id = store_content(services.memories, "oolong")
    before = now(owner)
    gone = store_content(services.memories, "sencha")
    during = now(owner)
    REMOVALS[removal](services, gone, owner)
    after = now(owner)
    assert found(services, before) == found(services, after) == {memory_id}
    refusal = error_of(services, "memory_search", query="tea", as_of=during.isoformat())
    assert f"as_of {during.isoformat(timespec='microseconds')[:-6]}Z cannot be answered" in refusal
    named = refusal.split("give as_of ")[1].split(" or later")[0]
    assert found(services, datetime.fromisoformat(named)) == {memory_id}
    assert services.memories.fetch(memory_id, during)


@pytest.mark.parametrize("end", ["a shorter lifetime", "the release of a hold"])
def test_a_memory_whose_new_expiry_is_in_the_past_was_visible_until_the_change(
    end: str, services: FakeServices, owner: Connection, shared_database: SharedDatabase
) -> None:
    expires_at = now(owner) + timedelta(days=1)
    memory_id = store_content(services.memories, "oolong", expires_at=expires_at)
    hold = None
    if end == "the release of a hold":
        hold = Holds(shared_database.connect_as_owner).place("ns", Selection(), "before the court", "somebody")
        Holds(shared_database.connect_as_owner).suspend("ns", hold)
        owner.run("UPDATE memories SET given_expiry = created_at + interval '1 us'")
    during = now(owner)
    assert found(services, during) == {memory_id}
    if hold:
        Holds(shared_database.connect_as_owner).release("ns", hold)
        Retention(shared_database.connect_as_owner).apply("ns")
    else:
        owner.run("UPDATE memories SET expires_at = created_at + interval '1 us'")
    assert services.memories.fetch(memory_id) is None
    assert "cannot be answered" in error_of(services, "memory_search", query="tea", as_of=during.isoformat())


def test_as_of_finds_the_near_duplicates_of_that_time(services: FakeServices, owner: Connection) -> None:
    texts = ("The oolong is on the top shelf", "The oolong is on the top shelf.")
    ids = [store_content(services.memories, text, title="shelf") for text in texts]
    then = now(owner)
    services.memories.update(ids[0], MemoryChange(tags=("tea",)))
    (hit,) = search(services.memories, "oolong shelf", mode=SearchMode.HYBRID, filters=Filters(as_of=then))
    assert {hit.id, *hit.near_duplicates} == set(ids)
    assert len(search(services.memories, "oolong shelf", mode=SearchMode.HYBRID)) == 2


@pytest.mark.parametrize(("then", "now_"), [({"k": "v" * 9_000}, {}), ({"k": "v"}, {"k": "v" * 9_000})])
def test_hits_are_cut_by_the_length_of_the_metadata_of_that_time(
    then: dict[str, str], now_: dict[str, str], services: FakeServices, owner: Connection
) -> None:
    memory_id = store_content(services.memories, "oolong", metadata=then)
    at = now(owner)
    services.memories.update(memory_id, MemoryChange(metadata=now_))
    (hit,) = search(services.memories, None, filters=Filters(as_of=at), characters=1_000)
    assert (hit.metadata, hit.truncated) == (({}, True) if len(then["k"]) > 1_000 else (then, False))


def test_times_before_a_restore_are_refused(services: FakeServices, owner: Connection) -> None:
    store_content(services.memories, "oolong")
    owner.run("UPDATE memories SET created_at = created_at - interval '9 days'")
    with pytest.raises(InvalidRequest, match="restored"):
        found(services, now(owner) - timedelta(days=30))


def test_a_memory_can_be_superseded_when_the_quota_is_used_up(
    services: FakeServices, shared_database: SharedDatabase
) -> None:
    older, newer = (store_content(services.memories, content) for content in ("oolong", "sencha"))
    Quotas(shared_database.connect_as_owner).set("ns", {"bytes": services.memories.quota().bytes})
    updated = services.memories.update(older, MemoryChange(superseded_by=newer))
    assert updated
    assert updated.superseded_by == newer


def test_a_time_refused_in_one_namespace_is_accepted_in_another(services: FakeServices, owner: Connection) -> None:
    store_content(services.memories_of("other"), "assam")
    gone = store_content(services.memories, "sencha")
    during = now(owner)
    services.memories.delete(gone)
    assert len(search(services.memories_of("other"), None, filters=Filters(as_of=during))) == 1


def test_removals_in_any_order_are_recorded_as_few_merged_periods(services: FakeServices, owner: Connection) -> None:
    ids = [store_content(services.memories, f"leaf {n}") for n in range(20)]
    for memory_id in random.Random(1).sample(ids, 20):
        services.memories.delete(memory_id)
    assert owner.one("SELECT count(*) AS n FROM incomplete_periods")["n"] == 1


def test_earlier_states_count_towards_the_quota_until_the_memory_is_deleted(services: FakeServices) -> None:
    memory_id = store_content(services.memories, "oolong", title="a title")
    before = services.memories.quota().bytes
    services.memories.update(memory_id, MemoryChange(title="another"))
    assert services.memories.quota().bytes == before + 200 + len("a title") + len("{}")
    services.memories.delete(memory_id)
    assert services.memories.quota().bytes == 0


def test_after_more_than_200_changes_the_first_states_are_refused(services: FakeServices, owner: Connection) -> None:
    memory_id = store_content(services.memories, "oolong")
    first = now(owner)
    services.memories.update(memory_id, MemoryChange(title="first change"))
    services.memories.update(memory_id, MemoryChange(title="second change"))
    second = now(owner)
    owner.run(
        "INSERT INTO earlier_states SELECT e.memory_id, CAST(CAST(1000000 + n AS text) AS xid8), e.namespace,"
        " e.since + n * interval '1 us', e.since + n * interval '1 us', e.title, e.tags, e.tag_keys, e.metadata,"
        " e.timestamp FROM earlier_states e, generate_series(1, 198) AS n WHERE e.title = 'first change'"
    )
    services.memories.update(memory_id, MemoryChange(title="change 201"))
    assert "cannot be answered" in error_of(services, "get_memory", id=str(memory_id), as_of=first.isoformat())
    assert "cannot be answered" in error_of(services, "memory_search", query="tea", as_of=first.isoformat())
    assert answer_of(services, "get_memory", id=str(memory_id), as_of=second.isoformat())["title"] == "second change"


def test_a_memory_can_be_read_although_the_memory_that_it_superseded_has_lost_its_state(
    services: FakeServices, owner: Connection
) -> None:
    older, newer = (store_content(services.memories, content) for content in ("oolong", "sencha"))
    services.memories.update(older, MemoryChange(superseded_by=newer))
    then = now(owner)
    services.memories.update(older, MemoryChange(title="changed"))
    owner.run("DELETE FROM earlier_states WHERE superseded_by IS NOT NULL")
    memory = services.memories.fetch(newer, then)
    assert memory and memory.supersedes == ()


def test_a_date_as_as_of_means_the_end_of_the_day(services: FakeServices, owner: Connection) -> None:
    memory_id = store_content(services.memories, "oolong", title="first")
    owner.run("UPDATE memories SET created_at = now() - interval '9 days'")
    owner.run("DELETE FROM incomplete_periods")
    services.memories.update(memory_id, MemoryChange(title="second"))
    owner.run("UPDATE earlier_states SET since = now() - interval '9 days'")
    yesterday = (services.clock() - timedelta(days=1)).date().isoformat()
    answer = answer_of(services, "memory_search", query="oolong", as_of=yesterday)
    assert [memory["title"] for memory in answer["memories"]] == ["first"]
    assert answer["as_of"] == f"{yesterday}T23:59:59.999999Z"
    assert answer_of(services, "get_memory", id=str(memory_id), as_of=yesterday)["title"] == "first"
    assert answer_of(services, "get_memory", id=str(memory_id))["title"] == "second"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"as_of": "9000-01-01"}, "as_of must be a time in the past, got '9000-01-01'"),
        ({"as_of": "last week"}, "as_of must be YYYY-MM-DD, RFC 3339 or a local time"),
        ({"as_of": 2024}, "must be a date as text"),
        ({"as_of": "2001-01-01", "neighbours": True}, "omit as_of or neighbours"),
        ({"as_of": "2001-01-01"}, "at 2001-01-01T23:59:59.999999Z: omit as_of"),
    ],
)
def test_invalid_values_of_as_of_are_refused_by_name(
    arguments: dict[str, object], message: str, services: FakeServices
) -> None:
    memory_id = store_content(services.memories, "oolong")
    assert message in error_of(services, "get_memory", id=str(memory_id), **arguments)


def now(owner: Connection) -> datetime:
    moment: datetime = owner.one("SELECT clock_timestamp() AS now")["now"]
    return moment


def found(services: FakeServices, as_of: datetime) -> set[UUID]:
    return {hit.id for hit in search(services.memories, None, filters=Filters(as_of=as_of))}
