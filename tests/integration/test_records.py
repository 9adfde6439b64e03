"""Versions and deletions of records, which are named by source and key."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo

import pytest
from mcp_types import TextContent

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.memory import Deletion, FailedRequest, IngestRequest, IngestState
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.domain.message import IngestMessage, decode
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.errors import Unavailable
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools import by_name
from mnemosyne.service import ingest
from tests.fakes import FAKE_SPACE, NOW, FakeEmbedder, FakeServices, memories_in, request
from tests.records import SOURCE, Records, deletion, records_in, version
from tests.tools import CALLER


@pytest.fixture
def records(pool: Pool) -> Records:
    """The records of one namespace."""
    return records_in(pool)


def test_a_newer_version_supersedes_the_current_one_and_its_outcome_names_it(records: Records) -> None:
    (old,) = records.deliver(version("1", "shelf 7", 1))
    (new,) = records.deliver(version("1", "shelf 8", 2))
    assert (new.state, new.note) == (
        IngestState.STORED,
        f"memory {old.memory_id} is superseded by memory {new.memory_id}",
    )
    assert records.memory(old).superseded_by == new.memory_id


def test_an_older_version_that_arrives_late_is_stored_as_superseded(records: Records) -> None:
    (new,) = records.deliver(version("1", "shelf 8", 2))
    (old,) = records.deliver(version("1", "shelf 7", 1))
    assert (old.state, old.note) == (
        IngestState.STORED,
        f"memory {old.memory_id} is superseded by memory {new.memory_id}",
    )
    assert records.visible() == {"shelf 8"}


def test_a_content_that_returns_is_the_same_memory_and_is_not_embedded_again(records: Records) -> None:
    (first,) = records.deliver(version("1", "on", 1))
    (other,) = records.deliver(version("1", "off", 2))
    (again,) = records.deliver(version("1", "on", 3))
    assert (again.state, again.memory_id) == (IngestState.DUPLICATE, first.memory_id)
    assert records.memory(other).superseded_by == first.memory_id
    assert records.visible() == {"on"}
    assert len(records.embedder.embedded) == 2


@pytest.mark.parametrize("contents", ["ab", "ba"])
def test_of_equal_timestamps_in_one_message_the_last_version_is_current(records: Records, contents: str) -> None:
    memories = [{"content": content, "timestamp": "2026-05-20", "source": SOURCE, "key": 1} for content in contents]
    data = json.dumps({"memories": memories}).encode()
    sent = Published(message_id="1", data=data, attributes={}, publish_time="2026-11-22T01:01:57.041Z")
    message = decode(sent, allowed_namespace=records.namespace)
    ingest.store(message, memories=records.store, embedder=records.embedder)
    assert records.visible() == {contents[-1]}


def test_the_memory_of_a_newer_version_with_the_same_content_takes_its_labels(records: Records) -> None:
    records.deliver(version("1", "tea", 1))
    (newer,) = records.deliver(version("1", "tea", 2, title="Tea", tags=("x",), metadata={"price": 2}))
    memory = records.memory(newer)
    assert (memory.title, memory.tags, memory.metadata) == ("Tea", ("x",), {"price": 2})
    assert memory.timestamp == NOW + timedelta(seconds=2)
    assert newer.note == "the memory now has the new metadata, tags, timestamp, title"


def test_the_memory_keeps_its_labels_for_an_older_version_with_the_same_content(records: Records) -> None:
    records.deliver(version("1", "tea", 2, title="Tea"))
    (older,) = records.deliver(version("1", "tea", 1, title="Other"))
    assert records.memory(older).title == "Tea"
    assert older.note == "the memory already exists, and these values of the request were not stored: timestamp, title"


@pytest.mark.parametrize(
    ("labels", "note"),
    [
        ({}, None),
        ({"title": "Tea"}, "the memory already exists, and these values of the request were not stored: title"),
        (
            {"tags": ("hot",), "metadata": {"n": 1.5}},
            "the memory already exists, and these values of the request were not stored: metadata, tags",
        ),
    ],
)
def test_a_duplicate_without_a_key_names_the_given_labels_that_were_not_taken(
    records: Records, labels: dict[str, object], note: str | None
) -> None:
    records.deliver(request("green tea", tags=("cold",), metadata={"n": 1}))
    (again,) = records.deliver(request("green tea", **labels))
    assert (again.state, again.note) == (IngestState.DUPLICATE, note)
    (first, twice) = records.deliver(request("black tea"), request("black tea", **labels))
    assert (first.state, twice.state, twice.note) == (IngestState.STORED, IngestState.DUPLICATE, note)


def test_a_duplicate_without_a_key_names_an_expiry_unless_the_memory_takes_it(records: Records) -> None:
    (at, later) = (datetime(2100, 1, 1, tzinfo=UTC), datetime(2100, 1, 2, tzinfo=UTC))
    records.deliver(request("green tea"))
    (kept,) = records.deliver(request("green tea", expires_at=at))
    assert kept.note == "the memory already exists, and these values of the request were not stored: expires_at"
    assert records.memory(kept).expires_at is None
    records.deliver(request("white tea", expires_at=at))
    (longer,) = records.deliver(request("white tea", expires_at=later))
    (shorter,) = records.deliver(request("white tea", expires_at=at))
    assert (longer.note, records.memory(longer).expires_at) == (None, later)
    assert shorter.note and shorter.note.endswith(": expires_at")
    (_, both) = records.deliver(request("red tea", expires_at=at), request("red tea", expires_at=later))
    assert (both.note, records.memory(both).expires_at) == (None, later)
    (_, both) = records.deliver(request("mint tea", expires_at=later), request("mint tea", expires_at=at))
    assert both.note and both.note.endswith(": expires_at")


def test_a_memory_superseded_by_a_person_stays_superseded_until_the_record_changes(records: Records) -> None:
    (current,) = records.deliver(version("1", "shelf 7", 1))
    (better,) = records.deliver(request("shelf 8, seen today"))
    assert current.memory_id
    records.store.update(current.memory_id, MemoryChange(superseded_by=better.memory_id))
    (again,) = records.deliver(version("1", "shelf 7", 2))
    assert again.note and f"superseded by {better.memory_id}" in again.note
    assert records.visible() == {"shelf 8, seen today"}


def test_a_version_older_than_a_deletion_is_not_stored_and_its_outcome_says_how_to_store_it(records: Records) -> None:
    records.deliver(deletion("1", 2))
    (late,) = records.deliver(version("1", "shelf 7", 1))
    assert (late.state, late.memory_id) == (IngestState.DELETED, None)
    assert late.error == (
        "the record was deleted at 2026-05-20T12:00:02Z, and this version is older: publish it with a later timestamp "
        "to store it"
    )
    assert records.embedder.embedded == []
    (later,) = records.deliver(version("1", "shelf 7", 3))
    assert later.state is IngestState.STORED


def test_the_latest_version_that_a_deletion_does_not_cover_is_current(records: Records) -> None:
    records.deliver(*(version("1", f"shelf {second}", second, published=9) for second in (3, 4, 5)))
    records.deliver(version("1", "shelf 9", 6, published=1))
    records.deliver(deletion("1", 2))
    assert (records.visible(), records.stored()) == ({"shelf 5"}, {"shelf 3", "shelf 4", "shelf 5"})


def test_a_record_of_another_namespace_with_the_same_source_and_key_is_not_deleted(
    records: Records, pool: Pool
) -> None:
    records.deliver(version("1", "tea", 1))
    records_in(pool).deliver(version("1", "coffee", 1), deletion("1", 2))
    assert records.visible() == {"tea"}


def test_a_deletion_leaves_the_memory_that_is_current_in_another_record(records: Records) -> None:
    (stored, _) = records.deliver(version("1", "shared", 1), version("2", "shared", 1))
    (kept,) = records.deliver(deletion("1", 2))
    assert records.visible() == {"shared"}
    note = f"memory {stored.memory_id} is kept, because it is the current version of another record"
    assert (kept.state, kept.memory_id, kept.note) == (IngestState.DELETED, None, note)
    (gone,) = records.deliver(deletion("2", 2))
    assert records.stored() == set()
    assert (gone.state, gone.memory_id, gone.note) == (IngestState.DELETED, stored.memory_id, None)


@pytest.mark.parametrize("shared", [False, True])
def test_the_tool_that_deletes_a_record_names_the_memory_only_if_it_is_deleted(shared: bool, records: Records) -> None:
    (stored,) = records.deliver(version("1", "tea", -1))
    records.deliver(*[version("2", "tea", -1)] if shared else [])
    caller = replace(CALLER, namespace=records.namespace)
    answer = call(by_name()["delete_memory"], {"source": SOURCE, "key": "1"}, caller, FakeServices(records.store))
    note = f"memory {stored.memory_id} is kept, because it is the current version of another record"
    assert answer.structured_content
    assert answer.structured_content.get("id") == (None if shared else str(stored.memory_id))
    assert answer.structured_content.get("note") == (note if shared else None)
    text, *notes = (block.text for block in answer.content if isinstance(block, TextContent))
    assert text.startswith("Deleted all versions of the record.")
    assert (note in " ".join(notes)) == shared


@pytest.mark.parametrize(
    ("arrived", "visible", "stored"),
    [
        ([1, 2], set(), {"version 1"}),
        ([2, 1], set(), set()),
        ([1, 2, 3], {"version 3"}, {"version 1", "version 3"}),
        ([3, 2], {"version 3"}, {"version 3"}),
        ([1, 3, 2], {"version 3"}, {"version 1", "version 3"}),
        ([3, 2, 1], {"version 3"}, {"version 1", "version 3"}),
    ],
)
def test_a_version_that_arrives_after_its_expiry_leaves_no_earlier_version_current(
    arrived: list[int], visible: set[str], stored: set[str], records: Records
) -> None:
    for second in arrived:
        expires_at = NOW if second == 2 else None
        (outcome,) = records.deliver(version("1", f"version {second}", second, expires_at=expires_at))
        if second == 2:
            assert (outcome.state, outcome.memory_id) == (IngestState.DELETED, None)
            assert outcome.error == "it had expired at 2026-05-20T12:00:00Z"
    assert (records.visible(), records.stored()) == (visible, stored)


def test_a_version_that_has_expired_only_by_the_clock_of_the_function_is_current(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FastClock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "FastClock":
            return super().now(tz) + timedelta(hours=2)

    records.deliver(version("1", "old", 1))
    monkeypatch.setattr(ingest, "datetime", FastClock)
    records.deliver(version("1", "new", 2, expires_at=datetime.now(UTC) + timedelta(hours=1)))
    assert records.visible() == {"new"}


def test_an_expired_version_leaves_a_memory_that_is_current_in_another_record(records: Records) -> None:
    records.deliver(version("1", "shared", 1), version("2", "shared", 1))
    records.deliver(version("1", "expired", 2, expires_at=NOW))
    assert records.visible() == {"shared"}


@pytest.mark.parametrize("limit", [1, 2, 3, 1_000])
@pytest.mark.parametrize("newest", [3, 20], ids=["no version is left", "a later version is left"])
def test_a_deletion_in_several_transactions_reports_the_current_version(
    records: Records, monkeypatch: pytest.MonkeyPatch, newest: int, limit: int
) -> None:
    monkeypatch.setattr("mnemosyne.adapters.database.ingest_requests.DELETED_AT_ONCE", limit)
    versions = [version("1", f"shelf {second}", second, published=1) for second in (1, 2, newest)]
    current = records.deliver(*versions)[-1].memory_id
    (outcome,) = records.deliver(deletion("1", 9, published=0))
    deletes_all = newest == 3
    assert (outcome.state, outcome.memory_id) == (IngestState.DELETED, current if deletes_all else None)
    assert records.stored() == (set() if deletes_all else {"shelf 20"})


def test_the_request_of_a_deleted_memory_stays_deleted_when_it_is_redelivered(
    records: Records,
) -> None:
    items = [version("1", "tea", 1), request("coffee")]
    for outcome in records.deliver(*items):
        assert outcome.memory_id
        records.store.delete(outcome.memory_id)
    outcomes = records.deliver(*items)
    assert [outcome.state for outcome in outcomes] == [IngestState.DELETED] * 2
    assert outcomes[0].error == (
        "its memory was deleted later or has expired: ingest it again with a later timestamp to store it"
    )
    assert records.stored() == set()
    again = records.deliver(version("1", "tea", 2), request("coffee"))
    assert [outcome.state for outcome in again] == [IngestState.STORED] * 2


def test_an_earlier_version_does_not_come_back_when_the_current_memory_is_deleted(records: Records) -> None:
    records.deliver(version("1", "shelf 7", 1))
    (current,) = records.deliver(version("1", "shelf 8", 3))
    assert current.memory_id
    records.store.delete(current.memory_id)
    (late,) = records.deliver(version("1", "shelf 6", 2))
    assert (late.state, records.visible()) == (IngestState.DELETED, set())


@pytest.mark.parametrize("contents", [("first", "second"), ("first", "second", "third", "first")])
def test_a_record_of_an_immutable_source_keeps_its_first_content(pool: Pool, contents: tuple[str, ...]) -> None:
    records = records_in(pool, immutable=[SOURCE])
    (first, *later_outcomes) = (
        records.deliver(version("1", content, second))[0] for second, content in enumerate(contents, 1)
    )
    assert [other.state for other in later_outcomes] == [
        IngestState.DUPLICATE if content == "first" else IngestState.FAILED for content in contents[1:]
    ]
    assert later_outcomes[0].error == (
        f"memory {first.memory_id} has the first content of this record, and its source is immutable "
        "(MNEMOSYNE_IMMUTABLE_SOURCES): publish other content under another key"
    )
    assert records.stored() == {"first"}


def test_a_version_that_an_immutable_record_refuses_repeatedly_is_announced_once(pool: Pool) -> None:
    records = records_in(pool, immutable=[SOURCE])
    records.deliver(version("1", "first", 1))
    late = version("1", "second", 2)
    records.deliver(late)
    records.store.mark_announced(records.store.unannounced_outcomes([late.request_id]))
    records.deliver(late)
    assert records.store.unannounced_outcomes([late.request_id]) == []


def test_an_immutable_record_keeps_the_earlier_of_two_contents_in_one_message(pool: Pool) -> None:
    records = records_in(pool, immutable=[SOURCE])
    outcomes = records.deliver(version("1", "second", 2), version("1", "first", 1), version("2", "free", 1))
    assert [outcome.state for outcome in outcomes] == [IngestState.FAILED, IngestState.STORED, IngestState.STORED]


def test_a_dead_lettered_version_that_an_immutable_record_refuses_is_not_stored_later(pool: Pool) -> None:
    records = records_in(pool, immutable=[SOURCE])
    records.deliver(version("1", "first", 1))
    late = version("1", "second", 2)
    given_up = FailedRequest(request_id=late.request_id, error="given up", external_id=late.external_id)
    letter = DeadLetter(message_id="7", data=b"{}", attributes={}, cause="given up", dead_lettered_at=NOW)
    records.store.give_up(letter, [given_up], contents={late.request_id: late.content_hash})
    (outcome,) = records.deliver(late)
    assert (outcome.state, records.stored()) == (IngestState.DEAD_LETTERED, {"first"})


@pytest.mark.parametrize(
    ("second", "state"), [(1, IngestState.DELETED), (2, IngestState.DELETED), (3, IngestState.STORED)]
)
def test_the_timestamps_decide_between_a_deletion_and_a_version_published_together(
    records: Records, second: int, state: IngestState
) -> None:
    together = version("1", "new", second, published=5)
    records.deliver(deletion("1", 2, published=5))
    (outcome,) = records.deliver(together)
    assert outcome.state is state


def test_two_contents_under_one_request_id_cannot_be_stored_at_the_same_time(records: Records, pool: Pool) -> None:
    first = request("a")
    other = replace(request("b"), request_id=first.request_id)
    elsewhere = memories_in(pool, records.namespace)
    with records.store.claim([first]) as claim, elsewhere.claim([other]) as late:
        assert (list(claim.new), list(late.new), list(late.busy)) == ([first], [], [other])


def test_a_memory_under_the_request_id_of_a_deletion_is_reported_as_lost(records: Records) -> None:
    gone = deletion("1", 1)
    records.deliver(gone)
    memory = replace(request("tea"), request_id=gone.request_id)
    result = ingest.store(
        IngestMessage(records.namespace, (memory,)), memories=records.store, embedder=records.embedder
    )
    assert str(gone.request_id) in result.dead_letter_reason


@pytest.mark.parametrize("second", [1, 3])
@pytest.mark.parametrize(
    "first",
    [request("tea"), version("2", "tea", 1), version("1", "tea", 2), deletion("2", 2)],
    ids=["memory", "version", "version of the record", "deletion of another record"],
)
def test_a_deletion_under_the_id_of_another_request_is_not_done_and_is_reported_as_lost(
    records: Records, first: IngestRequest | Deletion, second: int
) -> None:
    records.deliver(version("1", "shelf 7", 1))
    (outcome,) = records.deliver(first)
    before = records.stored()
    late = replace(deletion("1", second), request_id=first.request_id)
    message = IngestMessage(records.namespace, (), deletions=(late,))
    result = ingest.store(message, memories=records.store, embedder=records.embedder)
    assert "another request has this deletion's id" in result.dead_letter_reason
    assert result.dead_letter_reason.endswith(f"(request {first.request_id})")
    assert records.stored() == before
    assert records.store.statuses([first.request_id])[first.request_id] == outcome
    letter = DeadLetter(message_id="7", data=b"{}", attributes={}, cause="late", dead_lettered_at=NOW)
    waiting = message.waiting("late")
    stored_letter = records.store.give_up(letter, waiting, contents=message.contents)
    assert stored_letter
    assert stored_letter.has_unreported_part


def test_a_completed_deletion_is_not_kept_as_a_dead_letter(records: Records) -> None:
    records.deliver(gone := deletion("1", 1))
    message = IngestMessage(records.namespace, (), deletions=(gone,))
    assert ingest.store(message, memories=records.store, embedder=records.embedder).dead_letter_reason == ""
    letter = DeadLetter(message_id="7", data=b"{}", attributes={}, cause="late", dead_lettered_at=NOW)
    waiting = message.waiting("late")
    assert records.store.give_up(letter, waiting, contents=message.contents) is None


def test_a_deletion_waits_while_its_request_id_is_locked(records: Records, pool: Pool) -> None:
    records.deliver(version("1", "tea", 1))
    late = replace(deletion("1", 2), request_id=(other := request("milk")).request_id)
    with (
        memories_in(pool, records.namespace).claim([other]),
        pytest.raises(Unavailable),
    ):
        records.deliver(late)
    assert records.stored() == {"tea"}
    (outcome,) = records.deliver(late)
    assert (outcome.state, records.stored()) == (IngestState.DELETED, set())


def test_two_versions_of_a_record_cannot_be_stored_at_the_same_time(records: Records, pool: Pool) -> None:
    old, new, another = version("1", "a", 1), version("1", "b", 2), version("2", "c", 1)
    elsewhere = memories_in(pool, records.namespace)
    with records.store.claim([old]), elsewhere.claim([new, another]) as late:
        assert (list(late.new), list(late.busy)) == ([another], [new])


def test_a_record_that_is_deleted_while_its_version_is_embedded_stays_deleted(records: Records) -> None:
    late = version("1", "tea", 1)
    with pytest.raises(Unavailable), records.store.claim([late]) as claim:
        records.store.delete_records([deletion("1", 2)])
        claim.store(claim.new, [FakeEmbedder().embed_documents([late.content])], FAKE_SPACE.model)
    (outcome,) = records.deliver(late)
    assert (outcome.state, records.stored()) == (IngestState.DELETED, set())


def test_the_function_for_tools_can_delete_records_and_cannot_change_their_versions(owner: Connection) -> None:
    (rights,) = owner.run(
        "SELECT has_function_privilege('mcp', 'delete_records(text, jsonb, integer)', 'EXECUTE') AS deleting,"
        " has_table_privilege('mcp', 'source_keys', 'SELECT, INSERT, UPDATE, DELETE') AS versions,"
        " has_table_privilege('mcp', 'ingest_requests', 'INSERT, UPDATE, DELETE') AS requests,"
        " has_function_privilege('mcp', 'record_versions(text, jsonb)', 'EXECUTE') AS recording"
    )
    assert list(rights) == [True, False, False, False]
