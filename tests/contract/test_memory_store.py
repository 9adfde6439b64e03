"""Contract of the MemoryStore: memories, requests, searches and dead letters."""

import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.domain.dead_letter import DeadLetter, DeadLetterKind
from mnemosyne.domain.memory import Cursor, ExternalId, FailedRequest, IngestRequest, IngestState, IngestStatus
from mnemosyne.domain.memory_changes import DeletedMemory, MemoryChange
from mnemosyne.domain.metadata_filter import Operator, condition
from mnemosyne.domain.outcome import OutcomeCursor
from mnemosyne.domain.parsing import KEY_LIMIT, SOURCE_LIMIT
from mnemosyne.domain.search import Filters, SearchMode, SearchQuery, TagMatch
from mnemosyne.errors import Conflict, NotFound
from tests.fakes import NOW, request, store_of
from tests.memories import (
    embed,
    make_dead_letter,
    rate,
    search,
    store,
    store_content,
    store_contents,
    unstored,
)
from tests.searching import find


def test_a_stored_memory_is_read_back_unchanged(memories: MemoryStore) -> None:
    content = "TITLE: T\nTAGS: NULL, {x}, q\"uote\n🜚 שלום \\ % _ ' \t end"
    metadata = {"a": [1, 2.5, None, True, "é"], "b": {"c": {}}, "d": "\\u0000 literally"}
    when = datetime(2026, 5, 20, 14, 30, 15, 123456, tzinfo=UTC)
    ingest_request = request(content, tags=("a,b", " Ünï "), metadata=metadata, timestamp=when)
    outcome = store(memories, ingest_request)[ingest_request.request_id]
    assert outcome.memory_id
    memory = memories.fetch(outcome.memory_id)
    assert memory
    assert (memory.content, memory.title, memory.timestamp) == (content, "T", when)
    assert memory.tags == ("a,b", "Ünï", "NULL", "{x}", 'q"uote')
    assert memory.metadata == metadata
    assert (memory.content_hash, memory.embedding_model) == (ingest_request.content_hash, "fake")


def test_a_content_with_more_words_than_a_sparse_vector_can_hold_is_stored_and_found(memories: MemoryStore) -> None:
    """A sparse vector has at most 16,000 elements: https://github.com/pgvector/pgvector#sparsevec-type.

    A tsvector has no position above 16,383: https://www.postgresql.org/docs/current/textsearch-limitations.html.
    """
    words = [chr(0x4E00 + number) for number in [0] * 16_400 + [*range(20_000)]]
    memory_id = store_content(memories, f"ledger {' '.join(words)} ledger")
    hits = find(memories, SearchQuery(query="ledger"), None).hits
    assert [hit.id for hit in hits] == [memory_id]


def test_the_same_content_in_another_session_is_another_memory(memories: MemoryStore) -> None:
    first, again = request("Yes, please.", session="one"), request("Yes, please.", session="one")
    other, alone = request("Yes, please.", session="two"), request("Yes, please.")
    outcomes = store(memories, first, again, other, alone)
    states = [outcomes[ingest_request.request_id].state for ingest_request in (first, again, other, alone)]
    assert states == [IngestState.STORED, IngestState.DUPLICATE, IngestState.STORED, IngestState.STORED]
    listed = memories.list(Filters(session="two"), 10)
    first_and_alone = memories.list(Filters(not_session="two"), 10)
    assert {other.id for other in first_and_alone} == {
        outcomes[memory.request_id].memory_id for memory in (first, alone)
    }
    assert [memory.id for memory in listed] == [outcomes[other.request_id].memory_id]


def test_a_request_with_a_final_outcome_keeps_it_after_a_delete(memories: MemoryStore) -> None:
    ingest_request = request("a")
    outcome = store(memories, ingest_request)[ingest_request.request_id]
    assert outcome.memory_id and memories.delete(outcome.memory_id) == DeletedMemory(title="a")
    assert store(memories, ingest_request)[ingest_request.request_id] == outcome
    assert memories.fetch(outcome.memory_id) is None


def test_a_claim_that_ends_in_an_error_is_free_afterwards(memories: MemoryStore) -> None:
    ingest_request = request("a")
    with pytest.raises(RuntimeError, match="crash"), memories.claim([ingest_request]):
        raise RuntimeError("crash")
    assert memories.statuses([ingest_request.request_id]) == {}
    assert store(memories, ingest_request)[ingest_request.request_id].state is IngestState.STORED


def test_memories_stored_by_a_claim_are_kept_if_it_ends_in_an_error(memories: MemoryStore) -> None:
    ingest_request = request("a")
    with pytest.raises(RuntimeError, match="crash"), memories.claim([ingest_request]) as claim:
        outcomes = claim.store(claim.new, [embed("a")], "fake")
        raise RuntimeError("crash")
    assert store(memories, ingest_request) == outcomes


def test_attempts_are_counted_until_the_outcome(memories: MemoryStore) -> None:
    ingest_request = request("a")
    memories.record_attempt([unstored(ingest_request, "first")])
    memories.record_attempt([unstored(ingest_request, "second")])
    waiting = memories.statuses([ingest_request.request_id])[ingest_request.request_id]
    assert (waiting.state, waiting.attempts, waiting.error) == (IngestState.QUEUED, 2, "second")
    status = store(memories, ingest_request)[ingest_request.request_id]
    assert (status.state, status.attempts, status.error) == (IngestState.STORED, 3, None)


def test_the_status_of_a_request_with_the_id_of_a_memory_is_that_of_the_request(memories: MemoryStore) -> None:
    memory_id = store_content(memories, "a")
    status = memories.statuses([memory_id])[memory_id]
    assert (status.state, "get_memory" in (status.error or "")) == (IngestState.UNKNOWN, True)
    again = replace(request("a"), request_id=memory_id)
    store(memories, again)
    assert memories.statuses([memory_id])[memory_id].state is IngestState.DUPLICATE


def test_the_nearest_memories_come_first(memories: MemoryStore) -> None:
    for content in ("green tea", "black tea leaves", "fast cars"):
        store_content(memories, content)
    hits = search(memories, "green tea", limit=2)
    assert [hit.content for hit in hits] == ["green tea", "black tea leaves"]
    assert hits[0].relevance == pytest.approx(1.0, abs=1e-3)
    assert hits[0].score == hits[0].relevance
    assert hits[1].relevance is not None
    assert 0.0 <= hits[1].relevance < 0.9


def test_a_long_memory_is_found_by_its_best_chunk_and_only_once(memories: MemoryStore) -> None:
    long = "Filler about nothing much. " * 60 + " ".join(f"The vault number {n} opens with mango." for n in range(9))
    store_content(memories, long)
    store_content(memories, "a vault of filler")
    hits = search(memories, "vault number opens with mango")
    assert [hit.content for hit in hits] == [long, "a vault of filler"]


def test_mode_exact_lists_the_newest_first_with_relevance_1(memories: MemoryStore) -> None:
    for day in (2, 3, 1):
        store_content(memories, f"day {day}", timestamp=NOW + timedelta(days=day))
    hits = search(memories, "day", mode=SearchMode.EXACT, limit=2)
    assert [(hit.content, hit.relevance) for hit in hits] == [("day 3", 1.0), ("day 2", 1.0)]


def test_without_a_query_the_newest_in_the_filter_come_first(memories: MemoryStore) -> None:
    for day in (2, 3, 1):
        store_content(memories, f"day {day}", timestamp=NOW + timedelta(days=day), tags=("x",))
    for mode in SearchMode:
        hits = search(memories, None, mode=mode, filters=Filters(tags=("x",)), limit=2)
        assert [(hit.content, hit.relevance) for hit in hits] == [("day 3", None), ("day 2", None)]


def test_a_rating_changes_the_order_only_of_a_search_with_quality_weight(memories: MemoryStore) -> None:
    near, far = store_contents(memories, "green tea", "green tea leaves in a box")
    for _ in range(5):
        rate(memories, far, 1)
        rate(memories, near, -1)
    assert [hit.id for hit in search(memories, "green tea")] == [near, far]
    by_quality = search(memories, "green tea", quality_weight=1.0)
    assert [hit.id for hit in by_quality] == [far, near]
    assert [hit.score for hit in by_quality] == [hit.quality for hit in by_quality]


def test_a_change_affects_only_the_named_fields(memories: MemoryStore) -> None:
    memory_id = store_content(memories, "a", tags=("old",), metadata={"k": 1})
    changed = memories.update(memory_id, MemoryChange(tags=("New",), title="T"))
    assert changed
    assert (changed.title, changed.tags, changed.metadata, changed.content) == ("T", ("New",), {"k": 1}, "a")
    assert [hit.id for hit in search(memories, None, filters=Filters(tags=("new",)))] == [memory_id]
    assert search(memories, None, filters=Filters(tags=("old",))) == []
    emptied = memories.update(memory_id, MemoryChange(tags=(), metadata={}))
    assert emptied
    assert (emptied.tags, emptied.metadata, emptied.title) == ((), {}, "T")


def test_a_superseded_memory_is_left_out_unless_requested(memories: MemoryStore) -> None:
    old, new = store_content(memories, "green tea old"), store_content(memories, "green tea new")
    memories.update(old, MemoryChange(superseded_by=new))
    for mode in SearchMode:
        assert {hit.id for hit in search(memories, "green tea", mode=mode)} == {new}
        with_old = search(memories, "green tea", mode=mode, filters=Filters(include_superseded=True))
        assert {hit.id: hit.superseded_by for hit in with_old} == {old: new, new: None}
    memories.update(old, MemoryChange(not_superseded=True))
    assert len(search(memories, "green tea")) == 2


def test_a_circle_of_supersessions_is_refused(memories: MemoryStore) -> None:
    first, second, third = (store_content(memories, content) for content in ("1", "2", "3"))
    memories.update(first, MemoryChange(superseded_by=second))
    memories.update(second, MemoryChange(superseded_by=third))
    with pytest.raises(Conflict, match="cycle"):
        memories.update(third, MemoryChange(superseded_by=first))


def test_a_memory_of_another_namespace_cannot_supersede(memories: MemoryStore) -> None:
    mine, theirs = store_content(memories, "a"), store_content(store_of(memories, "other"), "b")
    with pytest.raises(NotFound, match="superseded_by must be the id of a memory"):
        memories.update(mine, MemoryChange(superseded_by=theirs))


def test_the_pages_of_a_list_have_no_gap_and_no_repetition(memories: MemoryStore) -> None:
    for number in range(7):
        store_content(memories, f"{number}", timestamp=NOW + timedelta(days=number // 2))
    listed_ids: list[str] = []
    beyond = None
    while page := memories.list(Filters(), 3, after=beyond):
        listed_ids += [head.title for head in page]
        beyond = Cursor(timestamp=page[-1].timestamp, id=page[-1].id)
    assert sorted(listed_ids) == [str(number) for number in range(7)]
    assert listed_ids[0] == "6"


def test_statistics_count_one_namespace(memories: MemoryStore) -> None:
    store_content(memories, "a", tags=("X", "y"), timestamp=NOW)
    store_content(memories, "b", tags=("x",), timestamp=NOW + timedelta(days=1))
    store_content(store_of(memories, "other"), "c")
    memories.record_attempt([unstored(request("w"), "waiting")])
    memories.give_up(make_dead_letter("1"), [unstored(request("g"), "given up")], contents={})
    memories.store_dead_letter(make_dead_letter("2"))
    stats = memories.stats()
    assert (stats.memories, stats.pending, stats.dead_lettered, stats.dead_letters) == (2, 1, 1, 2)
    assert {tag.lower(): count for tag, count in stats.tags.items()} == {"x": 2, "y": 1}
    assert stats.total_tags == 2
    assert (stats.oldest, stats.newest) == (NOW, NOW + timedelta(days=1))
    assert stats.storage_bytes > 0


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), {"1", "2", "3"}),
        (Filters(tags=("RED",)), {"1", "3"}),
        (Filters(tags=("red", "blue")), {"1", "2", "3"}),
        (Filters(tags=("red", "blue"), tag_match=TagMatch.ALL), {"3"}),
        (Filters(after=NOW + timedelta(days=2)), {"2", "3"}),
        (Filters(before=NOW + timedelta(days=2)), {"1"}),
        (Filters(session="odd"), {"1", "3"}),
        (Filters(session="Odd"), set()),
        (Filters(after=NOW + timedelta(days=2), before=NOW + timedelta(days=3), tags=("blue",)), {"2"}),
    ],
)
def test_filters_apply_equally_to_searches_and_lists(
    memories: MemoryStore, filters: Filters, expected: set[str]
) -> None:
    for number, tags in (("1", ("red",)), ("2", ("Blue",)), ("3", ("Red", "BLUE"))):
        when = NOW + timedelta(days=int(number))
        store_content(memories, number, tags=tags, timestamp=when, session="odd" if int(number) % 2 else None)
    for mode in (SearchMode.SEMANTIC, SearchMode.HYBRID):
        assert {hit.content for hit in search(memories, "1", mode=mode, filters=filters)} == expected
    assert {head.title for head in memories.list(filters, 10)} == expected


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([("project", Operator.EQUAL, ["apollo"])], {"a", "d"}),
        ([("project", Operator.EQUAL, ["apollo", "gemini"])], {"a", "b", "d"}),
        ([("size", Operator.EQUAL, ["3.0"])], {"a", "b"}),
        ([("version", Operator.EQUAL, ["1.10"])], {"a", "b"}),
        ([("version", Operator.EQUAL, ["1.1"])], {"b", "d"}),
        ([("account", Operator.EQUAL, ["1234567890123456789012345678901234567890"])], {"a"}),
        ([("account", Operator.EQUAL, ["1e300"])], {"b"}),
        ([("account", Operator.EQUAL, ["1e999999"])], {"c"}),
        ([("size", Operator.AT_LEAST, ["3"])], {"a", "c"}),
        ([("size", Operator.LESS, ["3.5"])], {"a"}),
        ([("due", Operator.AT_LEAST, ["2026-05-20"])], {"a", "b"}),
        ([("due", Operator.MORE, ["2026-05-20"]), ("due", Operator.LESS, ["2026-05-21"])], {"b"}),
        ([("owner.name", Operator.EQUAL, ["Ada"])], {"a", "c"}),
        ([("owner.name", Operator.EXISTS, [])], {"a", "c"}),
        ([("owner", Operator.MISSING, [])], {"b", "d", "e"}),
        ([("done", Operator.EQUAL, ["true"])], {"b"}),
        ([(r"a\.b", Operator.EQUAL, ["'\"%"])], {"e"}),
    ],
)
def test_metadata_conditions_apply_equally_to_searches_and_lists(
    memories: MemoryStore, conditions: list[tuple[str, Operator, list[str]]], expected: set[str]
) -> None:
    stored_metadata: dict[str, dict[str, object]] = {
        "a": {
            "project": "apollo",
            "size": 3,
            "due": "2026-05-20",
            "owner": {"name": "Ada"},
            "version": "1.10",
            "account": "1234567890123456789012345678901234567890",
        },
        "b": {
            "project": ["gemini", "mercury"],
            "size": "3",
            "due": "2026-05-20T14:00:00Z",
            "done": True,
            "version": 1.1,
            "account": 1e300,
        },
        "c": {"size": [1e3, 4], "owner": [{"name": "Bo"}, {"name": "Ada"}], "account": "1e999999"},
        "d": {"project": "apollo", "size": None, "due": "soon", "version": "1.1"},
        "e": {"a.b": "'\"%", "project": {"apollo": 1}, "done": "no"},
    }
    for content, metadata in stored_metadata.items():
        store_content(memories, content, metadata=metadata)
    store_content(store_of(memories, "other"), "of another", metadata={"project": "apollo"})
    filters = Filters(metadata=tuple(condition(*parts) for parts in conditions))
    assert {hit.content for hit in search(memories, "a", mode=SearchMode.HYBRID, filters=filters)} == expected
    assert {head.title for head in memories.list(filters, 10)} == expected


def test_changed_metadata_and_metadata_with_many_keys_are_found(memories: MemoryStore) -> None:
    changed = store_content(memories, "changed", metadata={"state": "open"})
    store_content(memories, "large", metadata={"state": "done", "many": {f"name {n}": n for n in range(1_000)}})
    memories.update(changed, MemoryChange(metadata={"state": "done"}))

    def ids_with(path: str, value: str) -> set[str]:
        filters = Filters(metadata=(condition(path, Operator.EQUAL, [value]),))
        return {head.title for head in memories.list(filters, 10)}

    assert ids_with("state", "open") == set()
    assert ids_with("state", "done") == {"changed", "large"}
    assert ids_with("many.name 999", "999") == {"large"}
    memories.update(changed, MemoryChange(metadata={}))
    assert ids_with("state", "done") == {"large"}


def test_deleting_an_unknown_memory_is_reported(memories: MemoryStore) -> None:
    mine = store_content(memories, "a")
    assert store_of(memories, "other").delete(mine) is None
    assert memories.delete(mine) == DeletedMemory(title="a")
    assert memories.delete(mine) is None


def test_twenty_concurrent_deliveries_store_one_memory(memories: MemoryStore) -> None:
    ingest_request = request("a")
    start = threading.Barrier(20)

    def deliver(_: int) -> IngestState | None:
        start.wait()
        outcome = store(memories, ingest_request).get(ingest_request.request_id)
        return outcome.state if outcome else None

    with ThreadPoolExecutor(20) as threads:
        states = set(threads.map(deliver, range(20)))
    assert states - {None} == {IngestState.STORED}
    assert len(memories.list(Filters(), 10)) == 1


def _unreported_letters(memories: MemoryStore) -> Sequence[DeadLetter]:
    return memories.outcomes(100, after=OutcomeCursor()).unreported


def test_a_dead_letter_is_stored_completely_and_once(memories: MemoryStore) -> None:
    waiting = request("a")
    memories.record_attempt([unstored(waiting, "why")])
    dead_letter = replace(make_dead_letter("1"), kind=DeadLetterKind.EXPIRED)
    assert memories.give_up(dead_letter, [unstored(waiting, "given up")], contents={})
    assert memories.give_up(dead_letter, [unstored(waiting, "given up")], contents={}) is None
    (letter,) = memories.dead_letters(100)
    assert (letter.data, letter.attributes, letter.cause) == (b"\x00\xff{", {"k": "é"}, "why")
    assert store_of(memories, "other").dead_letters(100) == []
    assert memories.statuses([waiting.request_id])[waiting.request_id].state is IngestState.DEAD_LETTERED
    assert store(memories, waiting)[waiting.request_id].state is IngestState.STORED


def test_another_message_with_the_same_id_is_kept_as_another_dead_letter(memories: MemoryStore) -> None:
    for data in (b"one", b"two", b"two"):
        memories.store_dead_letter(replace(make_dead_letter("7"), data=data))
    third = replace(make_dead_letter("7"), data=b"three")
    memories.give_up(third, [unstored(request("a"), "given up")], contents={})
    letters = memories.dead_letters(100)
    assert sorted(dead_letter.data for dead_letter in letters) == [b"one", b"three", b"two"]
    assert len({dead_letter.message_id for dead_letter in letters}) == 3


def test_a_dead_letter_is_kept_unless_each_of_its_contents_is_stored(memories: MemoryStore) -> None:
    storable, failed = request("a"), request("b")
    store(memories, storable)
    memories.record_failures([unstored(failed, "no good")])

    def given_up(number: int, ingest_request: IngestRequest) -> DeadLetter | None:
        dead_letter = replace(make_dead_letter(str(number)), data=str(number).encode())
        contents = {ingest_request.request_id: ingest_request.content_hash}
        return memories.give_up(dead_letter, [unstored(ingest_request, "given up")], contents=contents)

    assert given_up(1, storable) is None
    conflicting = given_up(2, replace(storable, content="another"))
    assert conflicting and conflicting.has_unreported_part
    letter = given_up(3, failed)
    assert letter and not letter.has_unreported_part
    assert memories.statuses([failed.request_id])[failed.request_id].state is IngestState.FAILED
    assert given_up(4, failed), "a dead letter with another content is kept again"
    assert given_up(4, failed) is None
    assert [dead_letter.message_id for dead_letter in _unreported_letters(memories)] == ["2"]


def test_the_same_message_published_at_another_time_is_another_dead_letter(memories: MemoryStore) -> None:
    for number, when in enumerate(("10:00", "10:00", "11:00")):  # the first message was dead-lettered twice
        dead_letter = replace(make_dead_letter(str(number)), attributes={"first_published": when})
        memories.give_up(dead_letter, [unstored(request(f"{number}"), "given up")], contents={})
    assert [letter.attributes["first_published"] for letter in memories.dead_letters(100)] == ["10:00", "11:00"]


def test_a_dead_letter_is_marked_if_a_part_of_its_message_is_in_no_request(memories: MemoryStore) -> None:
    memories.give_up(make_dead_letter("1"), [unstored(request("a"), "given up")], contents={})
    assert _unreported_letters(memories) == []
    assert [memories.store_dead_letter(make_dead_letter("1")) for _ in range(2)] == [("1", False)] * 2
    assert [letter.message_id for letter in _unreported_letters(memories)] == ["1"]
    assert len(memories.dead_letters(100)) == 1


def test_a_request_that_fails_again_has_a_new_time_and_one_more_attempt(memories: MemoryStore) -> None:
    failed = request("a")
    listed_ids = []
    for _ in range(3):
        memories.record_failures([unstored(failed, "no good")])
        (status,) = memories.statuses([failed.request_id]).values()
        listed_ids.append((status.attempts, status.updated_at))
    assert [attempts for attempts, _ in listed_ids] == [1, 2, 3]
    assert len({updated_at for _, updated_at in listed_ids}) == 3


@pytest.mark.parametrize("is_deleted", [False, True])
def test_another_content_under_the_id_of_a_request_is_distinguished_from_a_redelivery(
    memories: MemoryStore, *, is_deleted: bool
) -> None:
    first = request("a")
    memory_id = store(memories, first)[first.request_id].memory_id
    assert memory_id
    if is_deleted:
        memories.delete(memory_id)
    with memories.claim([replace(first, content="b")]) as claim:
        assert (list(claim.new), list(claim.conflicting)) == ([], [first.request_id])
    with memories.claim([first]) as claim:
        assert (list(claim.conflicting), list(claim.new)) == ([], [])


def test_a_new_state_is_unannounced_although_the_earlier_state_was_announced(memories: MemoryStore) -> None:
    republished = request("a")
    memories.record_failures([unstored(republished, "no good")])
    unannounced = memories.unannounced_outcomes([republished.request_id])
    store(memories, republished)
    memories.mark_announced(unannounced)
    assert [outcome.state for outcome in memories.unannounced_outcomes([republished.request_id])] == [
        IngestState.STORED
    ]


def test_names_of_maximum_length_are_stored(memories: MemoryStore) -> None:
    pick = random.Random(1)
    source, key = ("".join(chr(pick.randrange(0x4E00, 0x9FFF)) for _ in range(n)) for n in (SOURCE_LIMIT, KEY_LIMIT))
    named = replace(request("a"), external_id=ExternalId(source, key))
    status = store(store_of(memories, "".join(chr(pick.randrange(0x4E00, 0x9FFF)) for _ in range(300))), named)
    assert status[named.request_id].state is IngestState.STORED


@pytest.mark.parametrize("state", ["stored", "duplicate", "failed", "queued", "dead_lettered"])
def test_each_outcome_has_the_source_and_key_of_its_record(memories: MemoryStore, state: str) -> None:
    named = replace(request("a"), external_id=ExternalId("crm/tickets", "4711"))
    match state:
        case "duplicate":
            store_content(memories, "a")
            store(memories, named)
        case "stored":
            store(memories, named)
        case "failed":
            memories.record_failures([unstored(named, "no good")])
        case "queued":
            memories.record_attempt([unstored(named, "away")])
        case "dead_lettered":
            memories.give_up(make_dead_letter("1"), [unstored(named, "given up")], contents={})
    status = memories.statuses([named.request_id])[named.request_id]
    assert (status.state, status.external_id) == (state, ExternalId("crm/tickets", "4711"))


def test_the_outcomes_of_a_source_are_those_of_its_records_in_the_namespace(memories: MemoryStore) -> None:
    for source in ("crm", "wiki"):
        store(memories, replace(request(source), external_id=ExternalId(source, "1")))
    outcomes = memories.outcomes(100, after=OutcomeCursor(), source="crm").outcomes
    assert [outcome.external_id for outcome in outcomes] == [ExternalId("crm", "1")]
    assert not store_of(memories, "other").outcomes(100, after=OutcomeCursor()).outcomes


def test_each_list_of_outcomes_shows_a_deleted_memory_as_deleted(memories: MemoryStore) -> None:
    external_id = ExternalId("crm", "4711")
    ingest_request, other = replace(request("a"), external_id=external_id), request("b")
    store(memories, ingest_request)
    store(memories, other)
    memory_id = memories.statuses([ingest_request.request_id])[ingest_request.request_id].memory_id
    assert memory_id
    memories.delete(memory_id)
    page = memories.outcomes(100, after=OutcomeCursor())
    lists: list[Sequence[IngestStatus]] = [
        page.outcomes,
        list(memories.outcomes_of_keys("crm", ["4711"]).values()),
        memories.ingest_requests(None, 10),
        memories.ingest_requests(IngestState.DELETED, 10),
    ]
    for statuses in lists:
        (status,) = (listed for listed in statuses if listed.request_id == ingest_request.request_id)
        assert status.state is IngestState.DELETED
        assert "its memory was deleted later" in (status.error or "")
    assert [ingest_request.request_id for ingest_request in memories.ingest_requests(IngestState.STORED, 10)] == [
        other.request_id
    ]


def test_announcing_an_outcome_does_not_list_it_again(memories: MemoryStore) -> None:
    ingest_request = request("a")
    store(memories, ingest_request)
    first = memories.outcomes(100, after=OutcomeCursor())
    memories.mark_announced(memories.unannounced_outcomes([ingest_request.request_id]))
    assert not memories.outcomes(100, after=first.after).outcomes


def test_the_outcome_of_a_key_is_that_of_its_request_that_changed_last(memories: MemoryStore) -> None:
    external_id = ExternalId("crm", "4711")
    for content in ("a", "b"):
        store(memories, replace(request(content), external_id=external_id))
    last = replace(request("c"), external_id=external_id)
    memories.record_failures([FailedRequest(request_id=last.request_id, error="no good", external_id=external_id)])
    by_key = memories.outcomes_of_keys("crm", ["4711", "4712"])
    assert {key: (outcome.request_id, outcome.state) for key, outcome in by_key.items()} == {
        "4711": (last.request_id, IngestState.FAILED)
    }
    assert memories.outcomes_of_keys("wiki", ["4711"]) == {}


def test_an_outcome_is_unannounced_until_it_is_marked_and_again_when_it_changes(memories: MemoryStore) -> None:
    republished, waiting = request("a"), request("b")
    memories.record_failures([unstored(republished, "no good")])
    memories.record_attempt([unstored(waiting, "away")])
    both = [republished.request_id, waiting.request_id]
    assert [outcome.state for outcome in memories.unannounced_outcomes(both)] == [IngestState.FAILED]
    memories.mark_announced(memories.unannounced_outcomes(both))
    assert memories.unannounced_outcomes(both) == []
    store(memories, republished, waiting)
    assert {outcome.state for outcome in memories.unannounced_outcomes(both)} == {IngestState.STORED}
    assert len(memories.unannounced_outcomes(both)) == 2


def test_the_text_null_can_be_a_tag(memories: MemoryStore) -> None:
    memory_id = store_content(memories, "a", tags=("NULL", 'q"x', "back\\s", "{}", "a,b"))
    for tag in ("null", 'Q"X', "back\\s", "{}", "a,b"):
        assert [hit.id for hit in search(memories, None, filters=Filters(tags=(tag,)))] == [memory_id], tag
    changed = memories.update(memory_id, MemoryChange(tags=("null", "NULL2")))
    assert changed and changed.tags == ("null", "NULL2")
    assert [head.tags for head in memories.list(Filters(tags=("Null",)), 10)] == [("null", "NULL2")]


def test_the_note_of_a_duplicate_says_that_its_memory_is_superseded(memories: MemoryStore) -> None:
    old, new = store_content(memories, "old"), store_content(memories, "new")
    memories.update(old, MemoryChange(superseded_by=new))
    again = request("old")
    outcome = store(memories, again)[again.request_id]
    assert (outcome.state, outcome.memory_id) == (IngestState.DUPLICATE, old)
    assert outcome.note and f"superseded by {new}" in outcome.note and "brings it back" in outcome.note


def test_two_concurrent_changes_cannot_make_a_circle_of_supersessions(memories: MemoryStore) -> None:
    for attempt in range(10):
        first, second = store_content(memories, f"one {attempt}"), store_content(memories, f"two {attempt}")
        start = threading.Barrier(2)

        def supersede(memory_id: UUID, successor: UUID, start: threading.Barrier = start) -> None:
            start.wait()
            with suppress(Conflict):
                memories.update(memory_id, MemoryChange(superseded_by=successor))

        threads = [threading.Thread(target=supersede, args=pair) for pair in ((first, second), (second, first))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        hits = search(memories, None, filters=Filters(after=NOW), limit=100)
        assert len({hit.id for hit in hits} & {first, second}) == 1


def test_a_shortened_content_has_a_snippet_around_the_words_of_the_query(memories: MemoryStore) -> None:
    store_content(memories, f"{'nothing of it ' * 300}In the end the zeppelins landed.{' and more' * 300}")
    store_content(memories, f"zeppelins stand here{' and more' * 600}")
    late, early = sorted(search(memories, "zeppelins landed", characters=2_000), key=lambda hit: hit.snippet is None)
    assert late.snippet and "the zeppelins landed." in late.snippet
    assert late.truncated and len(late.content) + len(late.snippet) + len("{}") <= 1_000
    assert early.truncated and early.snippet is None, "the shown part already has the words"


def test_a_complete_or_very_short_content_has_no_snippet(memories: MemoryStore) -> None:
    store_content(memories, f"{'nothing of it ' * 40}zeppelins")
    (hit,) = search(memories, "zeppelins")
    (short,) = search(memories, "zeppelins", characters=400)
    assert not hit.truncated and hit.snippet is None
    assert short.truncated and short.snippet is None


def test_the_words_of_titles_and_tags_are_found(memories: MemoryStore) -> None:
    titled = request("it was on the desk", title="spectacles")
    tagged = request("she sneezes in spring", tags=("hay fever",))
    store(memories, titled, tagged, request("nothing of the kind"))

    def hit_ids(query: str) -> list[str]:
        search_query = SearchQuery(query=query, mode=SearchMode.HYBRID)
        return [hit.content for hit in find(memories, search_query, None, model="", lexical_weight=0.5).hits][:1]

    assert hit_ids("whose spectacles?") == [titled.content]
    assert hit_ids("who has a fever?") == [tagged.content]


def test_words_of_changed_tags_are_found_at_once(memories: MemoryStore) -> None:
    outcomes = store(memories, request("she sneezes in spring", tags=("hay fever",)), request("nothing of the kind"))
    memory_id = next(iter(outcomes.values())).memory_id
    assert memory_id
    memories.update(memory_id, MemoryChange(tags=("allergy",)))
    search_query = SearchQuery(query="allergy", mode=SearchMode.HYBRID)
    ranking = find(memories, search_query, None, model="", lexical_weight=0.5)
    assert [hit.id for hit in ranking.hits if hit.relevance] == [memory_id]
