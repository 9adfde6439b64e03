"""What every MemoryStore does: the fake that unit tests lean on, and PostgreSQL."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from mnemosyne.domain.memory import IngestRequest, IngestState, IngestStatus
from mnemosyne.domain.search import Filters, TagMatch
from mnemosyne.ids import new_id
from mnemosyne.ports import MemoryStore

from tests.fakes import NOW, FakeEmbedder, FakeStore, request

EMBEDDER = FakeEmbedder()


@pytest.fixture(params=["fake", "postgres"])
def memories(request: pytest.FixtureRequest) -> MemoryStore:
    if request.param == "fake":
        return FakeStore()
    store: MemoryStore = request.getfixturevalue("store")
    return store


def _store(memories: MemoryStore, *requests: IngestRequest, namespace: str = "ns") -> dict[UUID, IngestStatus]:
    with memories.claim(namespace, requests) as claim:
        outcomes = dict(claim.settled)
        if claim.new:
            vectors = EMBEDDER.embed_documents([r.content for r in claim.new])
            outcomes |= claim.store(vectors, EMBEDDER.model)
    return outcomes


def _stored(memories: MemoryStore, content: str, *, namespace: str = "ns", **fields: Any) -> UUID:
    made = request(content, **fields)
    memory_id = _store(memories, made, namespace=namespace)[made.request_id].memory_id
    assert memory_id
    return memory_id


def test_everything_stored_comes_back_exactly(memories: MemoryStore) -> None:
    content = "TITLE: T\nTAGS: NULL, {x}, q\"uote\n🜚 שלום \\ % _ ' \t end"
    metadata = {"a": [1, 2.5, None, True, "é"], "b": {"c": {}}, "d": "\\u0000 literally"}
    when = datetime(2026, 5, 20, 14, 30, 15, 123456, tzinfo=UTC)
    made = request(content, tags=("a,b", " Ünï "), metadata=metadata, timestamp=when)
    outcome = _store(memories, made)[made.request_id]
    assert outcome.memory_id
    memory = memories.get("ns", outcome.memory_id)
    assert memory
    assert (memory.content, memory.title, memory.timestamp) == (content, "T", when)
    assert memory.tags == ("a,b", "Ünï", "NULL", "{x}", 'q"uote')
    assert memory.metadata == metadata
    assert (memory.content_hash, memory.embedding_model) == (made.content_hash, "fake")


def test_the_longest_content_comes_back_exactly(memories: MemoryStore) -> None:
    content = "é🜚" * 50_000
    memory = memories.get("ns", _stored(memories, content))
    assert memory and memory.content == content


def test_a_duplicate_names_the_memory_it_duplicates(memories: MemoryStore) -> None:
    first = _stored(memories, "a")
    again = request("a")
    outcome = _store(memories, again)[again.request_id]
    assert (outcome.state, outcome.memory_id, outcome.attempts) == (IngestState.DUPLICATE, first, 1)


def test_the_same_content_in_another_namespace_is_another_memory(memories: MemoryStore) -> None:
    mine = _stored(memories, "a")
    theirs = _stored(memories, "a", namespace="other")
    assert mine != theirs
    assert memories.get("ns", theirs) is None


def test_a_settled_request_keeps_its_outcome_after_a_delete(memories: MemoryStore) -> None:
    made = request("a")
    outcome = _store(memories, made)[made.request_id]
    assert outcome.memory_id and memories.delete("ns", outcome.memory_id) == "a"
    assert _store(memories, made)[made.request_id] == outcome
    assert memories.get("ns", outcome.memory_id) is None


def test_nothing_is_kept_of_a_claim_that_ends_in_an_error(memories: MemoryStore) -> None:
    made = request("a")
    with pytest.raises(RuntimeError, match="crash"), memories.claim("ns", [made]) as claim:
        claim.store(EMBEDDER.embed_documents(["a"]), "fake")
        raise RuntimeError("crash")
    assert memories.list("ns", Filters(), 10) == []
    assert memories.statuses("ns", [made.request_id]) == {}


def test_content_under_claim_is_busy_for_others_and_free_afterwards(memories: MemoryStore) -> None:
    first, second = request("a"), request("a")
    with memories.claim("ns", [first]) as claim, memories.claim("ns", [second, request("b")]) as other:
        assert [r.request_id for r in other.busy] == [second.request_id]
        assert [r.content for r in other.new] == ["b"]
        claim.store(EMBEDDER.embed_documents(["a"]), "fake")
    assert _store(memories, second)[second.request_id].state is IngestState.DUPLICATE


def test_attempts_are_counted_until_the_outcome(memories: MemoryStore) -> None:
    made = request("a")
    memories.record_attempt("ns", [made.request_id], "first")
    memories.record_attempt("ns", [made.request_id], "second")
    waiting = memories.statuses("ns", [made.request_id])[made.request_id]
    assert (waiting.state, waiting.attempts, waiting.error) == (IngestState.QUEUED, 2, "second")
    stored = _store(memories, made)[made.request_id]
    assert (stored.state, stored.attempts, stored.error) == (IngestState.STORED, 3, None)


def test_a_final_state_is_never_overwritten(memories: MemoryStore) -> None:
    made = request("a")
    _store(memories, made)
    memories.record_outcome("ns", [made.request_id], IngestState.FAILED, "late")
    assert memories.statuses("ns", [made.request_id])[made.request_id].state is IngestState.STORED


def test_statuses_of_another_namespace_are_unknown(memories: MemoryStore) -> None:
    made = request("a")
    _store(memories, made)
    assert memories.statuses("other", [made.request_id, new_id()]) == {}


def test_the_nearest_come_first(memories: MemoryStore) -> None:
    for content in ("green tea", "black tea leaves", "fast cars"):
        _stored(memories, content)
    hits = memories.search("ns", EMBEDDER.embed_query("green tea"), Filters(), 2)
    assert [hit.memory.content for hit in hits] == ["green tea", "black tea leaves"]
    assert hits[0].relevance == pytest.approx(1.0, abs=1e-3)
    assert 0.0 <= hits[1].relevance < hits[0].relevance


def test_a_search_stays_in_its_namespace(memories: MemoryStore) -> None:
    _stored(memories, "tea", namespace="other")
    assert memories.search("ns", EMBEDDER.embed_query("tea"), Filters(), 10) == []


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (Filters(), {"1", "2", "3"}),
        (Filters(tags=("RED",)), {"1", "3"}),
        (Filters(tags=("red", "blue")), {"1", "2", "3"}),
        (Filters(tags=("red", "blue"), tag_match=TagMatch.ALL), {"3"}),
        (Filters(tags=("none",)), set()),
        (Filters(after=NOW + timedelta(days=2)), {"2", "3"}),
        (Filters(before=NOW + timedelta(days=2)), {"1"}),
        (Filters(after=NOW + timedelta(days=2), before=NOW + timedelta(days=3), tags=("blue",)), {"2"}),
    ],
)
def test_filters_narrow_search_and_list_alike(memories: MemoryStore, filters: Filters, found: set[str]) -> None:
    for number, tags in (("1", ("red",)), ("2", ("Blue",)), ("3", ("Red", "BLUE"))):
        _stored(memories, number, tags=tags, timestamp=NOW + timedelta(days=int(number)))
    hits = memories.search("ns", EMBEDDER.embed_query("1"), filters, 10)
    assert {hit.memory.content for hit in hits} == found
    assert {head.title for head in memories.list("ns", filters, 10)} == found


def test_a_list_is_newest_first_and_no_longer_than_asked(memories: MemoryStore) -> None:
    for day in (2, 3, 1):
        _stored(memories, f"day {day}", timestamp=NOW + timedelta(days=day))
    assert [head.title for head in memories.list("ns", Filters(), 2)] == ["day 3", "day 2"]


def test_deleting_what_is_not_there_is_told(memories: MemoryStore) -> None:
    mine = _stored(memories, "a")
    assert memories.delete("other", mine) is None
    assert memories.delete("ns", mine) == "a"
    assert memories.delete("ns", mine) is None


def test_twenty_deliveries_at_once_store_one_memory(store: MemoryStore) -> None:
    made = request("a")
    start = threading.Barrier(8)
    stored: list[IngestState] = []

    def deliver() -> None:
        start.wait()
        outcome = _store(store, made).get(made.request_id)
        if outcome is not None:
            stored.append(outcome.state)

    threads = [threading.Thread(target=deliver) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(stored) == {IngestState.STORED}
    assert len(store.list("ns", Filters(), 10)) == 1
