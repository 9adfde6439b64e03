"""Forgetting: which memories are removed and which stay. Redelivered messages do not store removed memories again."""

import json
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from click.testing import Result

from mnemosyne.adapters.database.change_feed import ChangeFeeds
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.domain.change_feed import ChangeCursor, ChangeFeed
from mnemosyne.domain.dead_letter import DeadLetter, DeadLetterKind
from mnemosyne.domain.forgetting import Selection
from mnemosyne.domain.memory import ExternalId, IngestRequest, IngestState, KeysetCursor
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.domain.message import FORGOTTEN, as_failed, decode, encode
from mnemosyne.domain.metadata_filter import Operator, condition
from mnemosyne.domain.pubsub_message import FIRST_PUBLISHED, Published
from mnemosyne.domain.search import Filters
from mnemosyne.errors import Conflict, InvalidRequest, ItemUnavailable, NotFound, Unavailable
from mnemosyne.mcp import cursors
from mnemosyne.mcp.tools.forget import ForgetArguments
from mnemosyne.service import dead_letters, forgetting, redrives
from mnemosyne.service.deliveries import Push, give_up
from mnemosyne.service.deliveries import store as deliver
from tests.fakes import NOW, FakeServices, request
from tests.memories import EMBEDDER, list_memories, rate, status_of, store, store_content, store_contents
from tests.tools import answer_of, error_of

ALL = Selection()
TEA = Selection(filters=Filters(tags=("tea",), include_superseded=True))
BEFORE, AFTER = datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


def forget(services: FakeServices, selection: Selection = ALL) -> UUID:
    """Forget the memories of a selection, and return the id of this forgetting."""
    forgetting_id = begin(services, selection)
    proceed(services, forgetting_id)
    return forgetting_id


def begin(services: FakeServices, selection: Selection) -> UUID:
    token = services.memories.preview_forgetting(selection, 1).token
    return forgetting.begin(selection, token, "somebody", memories=services.memories)


def proceed(services: FakeServices, forgetting_id: UUID) -> None:
    forgetting.proceed(forgetting_id, memories=services.memories, deadline=time.monotonic() + 60)


def push(*requests: IngestRequest, published: datetime = BEFORE, message_id: str = "1") -> Push:
    """Return the delivery of a message with the given publish time."""
    data, attributes = encode("ns", requests, "")
    named = attributes | {FIRST_PUBLISHED: published.isoformat()}
    return Push(Published(message_id=message_id, data=data, attributes=named), 1)


def in_order(when: str, receive: Callable[[], object], forget_: Callable[[], object]) -> None:
    """Receive a message `before` or `after` the forgetting."""
    for step in (receive, forget_) if when == "before" else (forget_, receive):
        step()


def _unchecked(data: bytes, published: datetime = BEFORE, message_id: str = "1") -> Push:
    """Return the delivery of a message with any data."""
    attributes = {"namespace": "ns", FIRST_PUBLISHED: published.isoformat()}
    return Push(Published(message_id=message_id, data=data, attributes=attributes), 1)


def titles(services: FakeServices) -> list[str]:
    return sorted(memory.title for memory in list_memories(services.memories))


def test_a_forgotten_memory_makes_an_event_without_contents(services: FakeServices, feeds: ChangeFeeds) -> None:
    feeds.set(ChangeFeed(namespace="ns", enabled=True, contents=True))
    remaining, gone = (store_content(services.memories, text, tags=[text]) for text in ("coffee", "tea"))
    forget(services, TEA)
    page = services.memories.changes(100, after=ChangeCursor())
    events = [(event.kind.value, event.memory_id, event.contents is None) for event in page.events]
    assert events == [("created", remaining, False), ("created", gone, True), ("forgotten", gone, True)]


SELECTIONS = {
    "ids": lambda ids: Selection(ids=(ids["oolong"],)),
    "tags": lambda ids: TEA,
    "session": lambda ids: Selection(filters=Filters(session="kitchen", include_superseded=True)),
    "time": lambda ids: Selection(filters=Filters(before=datetime(2021, 1, 1, tzinfo=UTC), include_superseded=True)),
    "metadata": lambda ids: Selection(
        filters=Filters(metadata=(condition("shop.name", Operator.EQUAL, ["Ada's"]),), include_superseded=True)
    ),
}


@pytest.mark.parametrize("by", SELECTIONS)
def test_exactly_the_selected_memories_are_forgotten(by: str, services: FakeServices) -> None:
    ids = {
        "oolong": store_content(
            services.memories,
            "oolong",
            tags=("Tea",),
            session="kitchen",
            timestamp=datetime(2020, 5, 1, tzinfo=UTC),
            metadata={"shop": {"name": "Ada's"}},
        ),
        "espresso": store_content(services.memories, "espresso", tags=("coffee",), session="bar"),
    }
    selection = SELECTIONS[by](ids)
    preview = services.memories.preview_forgetting(selection, 10)
    assert [memory.id for memory in preview.page] == [ids["oolong"]]
    forget(services, selection)
    assert titles(services) == ["espresso"]


def test_superseded_and_expired_memories_are_selected(services: FakeServices, owner: Connection) -> None:
    old, new, expired = (store_content(services.memories, content, tags=("tea",)) for content in ("a", "b", "c"))
    services.memories.update(old, MemoryChange(superseded_by=new))
    owner.run("UPDATE memories SET expires_at = now() WHERE id = :id", id=expired)
    forget(services, TEA)
    assert owner.one("SELECT count(*) AS n FROM memories")["n"] == 0


def test_rows_that_depend_on_a_forgotten_memory_are_removed_and_counted(
    services: FakeServices, owner: Connection
) -> None:
    long = store_content(services.memories, "oolong " * 400)
    store_content(services.memories, "sencha")
    rate(services.memories, long, 1, "useful")
    chunks = owner.one("SELECT count(*) AS n FROM memory_chunks")["n"]
    state = forgetting.read(forget(services), memories=services.memories)
    assert state.counts == {"memories": 2, "memory_words": 2, "memory_ratings": 1, "memory_chunks": chunks}
    for table in ("memories", "memory_chunks", "memory_words", "memory_ratings"):
        assert owner.one(f"SELECT count(*) AS n FROM {table}")["n"] == 0


def test_a_memory_superseded_by_a_forgotten_one_gets_its_successor(services: FakeServices) -> None:
    first, second, third, fourth = (store_content(services.memories, content) for content in "abcd")
    for old, new in ((first, second), (second, third), (third, fourth)):
        services.memories.update(old, MemoryChange(superseded_by=new))
    forget(services, Selection(ids=(second, third)))
    memory = services.memories.fetch(first)
    assert memory
    assert memory.superseded_by == fourth


def _supersede_many(services: FakeServices) -> tuple[list[UUID], UUID, UUID]:
    """Store 53 memories, the memory that supersedes them, and its successor, and return their ids."""
    *many, last, successor = store_contents(services.memories, *(f"note {n}" for n in range(55)))
    for old in many:
        services.memories.update(old, MemoryChange(superseded_by=last))
    services.memories.update(last, MemoryChange(superseded_by=successor))
    return many, last, successor


@pytest.mark.parametrize("remove", ["forget", "delete", "delete_many"])
def test_the_removal_of_a_memory_that_superseded_many_changes_fifty_of_them(
    services: FakeServices, remove: str
) -> None:
    """Each changed memory must be indexed again, so a change of all of them could reach the statement timeout."""
    _, last, successor = _supersede_many(services)
    removals: dict[str, Callable[[], object]] = {
        "forget": lambda: forget(services, Selection(ids=(last,))),
        "delete": lambda: services.memories.delete(last),
        "delete_many": lambda: services.memories.delete_many([last]),
    }
    removals[remove]()
    successors = Counter(memory.superseded_by for memory in list_memories(services.memories))
    assert successors == {successor: 50, last: 3, None: 1}


def test_the_successor_of_a_forgotten_memory_gets_the_older_memories_that_are_not_forgotten(
    services: FakeServices,
) -> None:
    many, last, successor = _supersede_many(services)
    forget(services, Selection(ids=(last, *many[3:])))
    successors = Counter(memory.superseded_by for memory in list_memories(services.memories))
    assert successors == {successor: 3, None: 1}


def test_memories_of_another_namespace_are_not_forgotten(services: FakeServices) -> None:
    other_memory = store_content(services.memories_of("other"), "oolong")
    store_content(services.memories, "oolong")
    forget(services)
    assert [memory.id for memory in list_memories(services.memories_of("other"))] == [other_memory]


CHANGES: dict[str, Callable[[FakeServices, UUID], object]] = {
    "a memory was stored": lambda services, _: store_content(services.memories, "assam", tags=("tea",)),
    "a memory was deleted": lambda services, memory_id: services.memories.delete(memory_id),
    "a tag was removed": lambda services, memory_id: services.memories.update(memory_id, MemoryChange(tags=())),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_dry_run_s_token_is_refused_if_the_selected_memories_changed(change: str, services: FakeServices) -> None:
    memory_id = store_content(services.memories, "oolong", tags=("tea",))
    store_content(services.memories, "sencha", tags=("tea",))
    token = services.memories.preview_forgetting(TEA, 1).token
    CHANGES[change](services, memory_id)
    titles_before = titles(services)
    with pytest.raises(Conflict, match="make another dry run"):
        forgetting.begin(TEA, token, "", memories=services.memories)
    assert titles(services) == titles_before


def test_a_dry_run_s_token_is_refused_for_another_selection_or_namespace(services: FakeServices) -> None:
    memory_id = store_content(services.memories, "oolong", tags=("tea",))
    token = services.memories.preview_forgetting(TEA, 1).token
    for namespace, selection in (("ns", ALL), ("ns", Selection(ids=(memory_id,))), ("other", TEA)):
        with pytest.raises(Conflict):
            forgetting.begin(selection, token, "", memories=services.memories_of(namespace))


def test_a_selection_is_exactly_one_of_ids_filters_and_all() -> None:
    nothing = Filters(include_superseded=True)
    for ids, filters, everything in (([], nothing, False), ([UUID(int=1)], nothing, True), ([], TEA.filters, True)):
        with pytest.raises(InvalidRequest, match="give either ids, or filters"):
            Selection.of(ids, filters, everything=everything)


@pytest.mark.parametrize("deliveries", [1, 2])
def test_a_selected_memory_published_before_the_forgetting_is_not_stored_later(
    services: FakeServices, deliveries: int
) -> None:
    forget(services, TEA)
    ingest_request = request("a tea that was on its way", tags=("tea",))
    for _ in range(deliveries):
        deliver(push(ingest_request, request("coffee", tags=("coffee",))), services)
    assert titles(services) == ["coffee"]
    status = status_of(services.memories, ingest_request.request_id)
    assert (status.state, "was forgotten" in (status.error or "")) == (IngestState.DELETED, True)
    assert services.memories.dead_letters(10) == []


def test_an_earlier_message_does_not_store_the_content_of_a_forgotten_memory(services: FakeServices) -> None:
    memory_id = store_content(services.memories, "oolong")
    forget(services, Selection(ids=(memory_id,)))
    deliver(push(request("oolong"), request("sencha")), services)
    assert titles(services) == ["sencha"]


def test_a_memory_published_after_the_forgetting_is_stored(services: FakeServices) -> None:
    ingest_request = request("oolong", tags=("tea",))
    store(services.memories, ingest_request)
    forget(services, TEA)
    deliver(push(request("oolong", tags=("tea",)), published=AFTER), services)
    assert titles(services) == ["oolong"]


def test_a_redelivered_request_does_not_restore_its_forgotten_memory(services: FakeServices) -> None:
    ingest_request = request("oolong")
    deliver(push(ingest_request), services)
    forget(services)
    for published in (BEFORE, AFTER):
        deliver(push(ingest_request, published=published), services)
    assert titles(services) == []


def test_a_memory_that_is_embedded_while_a_forgetting_begins_is_not_stored(services: FakeServices) -> None:
    ingest_request = request("oolong", published=BEFORE)
    with services.memories.claim([ingest_request]) as claim:
        forget(services)
        with pytest.raises(Unavailable, match="a forgetting has begun"):
            claim.store(claim.new, [EMBEDDER.embed_documents([ingest_request.content])], EMBEDDER.model)
    deliver(push(ingest_request), services)
    assert titles(services) == []


def test_forgetting_clears_the_texts_of_a_queued_request_but_keeps_its_row(
    services: FakeServices, owner: Connection
) -> None:
    ingest_request = request("a secret recipe for oolong")
    services.memories.record_attempt([as_failed(ingest_request, "the model has no quota for a secret recipe")])
    forget(services)
    row = owner.one("SELECT state, error, note, provenance FROM ingest_requests")
    assert "secret" not in json.dumps(row.by_name)
    assert row["state"] == "deleted"


class Letters(FakeServices):
    """Services with a dead-lettered message."""

    def give_up(self, delivery: Push) -> None:
        self.embedder.fault = ItemUnavailable("the model fails at this text")
        try:
            with suppress(ItemUnavailable):
                give_up(delivery, self)
            give_up(delivery, self)
        finally:
            self.embedder.fault = None


@pytest.fixture
def letters(services: FakeServices) -> Letters:
    return Letters(services.memories)


def _requests_in(letter: DeadLetter) -> list[str]:
    message = Published(message_id="1", data=letter.data, attributes=letter.attributes)
    return [request.content for request in decode(message).requests]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_dead_letter_keeps_only_what_is_not_forgotten(letters: Letters, when: str) -> None:
    tea, coffee = request("a pot of tea", tags=("tea",)), request("a cup of coffee")
    in_order(when, lambda: letters.give_up(push(tea, coffee)), lambda: forget(letters, TEA))
    (letter,) = letters.memories.dead_letters(10)
    assert _requests_in(letter) == ["a cup of coffee"]
    assert b"pot of tea" not in letter.data
    redrives.redrive(letter.message_id, memories=letters.memories, queue=letters.queue)
    ((data, attributes),) = letters.queue.messages
    deliver(Push(Published(message_id="2", data=data, attributes=attributes), 1), letters)
    assert titles(letters) == ["a cup of coffee"]
    assert status_of(letters.memories, tea.request_id).state is IngestState.DELETED
    assert status_of(letters.memories, coffee.request_id).state is IngestState.STORED


PARTLY = "a part of the message was forgotten"
TWICE = "01932c07-8000-7000-8000-000000000001"
QUOTA = "the namespace's quota of 0 memories is used up: delete some"
NEWER = "schema_version 2 is newer than 1, the newest version that this release of Mnemosyne reads"
CONFLICT = "another content or record has this request's id: publish it under a new id"
REFUSED = "another request has the id of an invalid memory or deletion: correct it, and publish it under a new id"
CAUSES = {
    QUOTA: QUOTA,
    NEWER: NEWER,
    f"{CONFLICT} (request 1)": CONFLICT,
    f"{REFUSED}; error: tags must be an array, got a pot (request 1)": "",
    f"{CONFLICT} (request 1); {REFUSED}; error: tags must be an array, got a pot (request 2)": CONFLICT,
    "the embedding service answered 500: a pot of tea": "",
}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("cause", "kept"), CAUSES.items())
def test_a_partly_forgotten_dead_letter_keeps_the_part_of_its_cause_that_quotes_no_memory(
    letters: Letters, cause: str, kept: str, when: str
) -> None:
    texts = ("tea", "a pot of tea"), ("green", "green tea"), ("coffee", "a cup of coffee")
    sent = push(*(request(text, tags=(tag,)) for tag, text in texts))
    letter = sent.dead_letter(cause, DeadLetterKind.OVER_QUOTA)
    store_letter = partial(dead_letters.store_over_quota, letter, memories=letters.memories)
    in_order(when, store_letter, lambda: forget(letters, TEA))
    forget(letters, Selection(filters=Filters(tags=("green",), include_superseded=True)))
    (remaining,) = letters.memories.dead_letters(10)
    assert remaining.cause == (f"{kept}; {PARTLY}" if kept else PARTLY)


@pytest.mark.parametrize("tag", ["tea", "coffee"])
def test_the_cause_of_a_partly_forgotten_message_is_read_from_its_remaining_part(letters: Letters, tag: str) -> None:
    tea = {"content": "green tea", "timestamp": BEFORE.isoformat(), "tags": ["tea"]}
    twice = {**tea, "tags": [tag], "request_id": TWICE}
    body = {"memories": [tea, {**twice, "content": "a"}, {**twice, "content": "b"}, {"content": "x"}]}
    deliver(_unchecked(json.dumps(body).encode()), letters)
    forget(letters, TEA)
    (remaining,) = letters.memories.dead_letters(10)
    conflict = f"memories[2] has the request_id {TWICE} of another memory; {PARTLY}"
    assert remaining.cause == (PARTLY if tag == "tea" else conflict)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_dead_letter_with_only_forgotten_memories_is_removed(letters: Letters, when: str) -> None:
    message = push(request("a pot of tea", tags=("tea",)))
    in_order(when, lambda: letters.give_up(message), lambda: forget(letters, TEA))
    assert letters.memories.dead_letters(10) == []


@pytest.mark.parametrize(("selection", "remaining"), [(ALL, 0), (TEA, 1)])
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_unreadable_dead_letter_is_removed_only_if_all_memories_are_forgotten(
    letters: Letters, selection: Selection, remaining: int, when: str
) -> None:
    in_order(when, lambda: deliver(_unchecked(b"not JSON"), letters), lambda: forget(letters, selection))
    assert len(letters.memories.dead_letters(10)) == remaining


def test_a_forgetting_that_was_interrupted_continues(services: FakeServices, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemosyne.adapters.database.forgetting.FORGOTTEN_AT_ONCE", 2)
    for number in range(5):
        store_content(services.memories, f"tea {number}", tags=("tea",))
    forgetting_id = begin(services, TEA)
    state = forgetting.proceed(forgetting_id, memories=services.memories, deadline=0)
    assert (state.left, state.finished_at) == (3, None)
    (listed,) = services.memories.forgettings(10)
    assert (listed.id, listed.left, listed.finished_at, listed.selection["filters"]["any_tags"]) == (
        forgetting_id, 3, None, ["tea"],
    )  # fmt: skip
    proceed(services, forgetting_id)
    state = forgetting.read(forgetting_id, memories=services.memories)
    assert (state.left, state.counts["memories"], bool(state.finished_at)) == (0, 5, True)


def test_an_unknown_forgetting_id_is_an_error(services: FakeServices) -> None:
    with pytest.raises(NotFound, match="no forgetting has the id"):
        forgetting.read(UUID(int=7), memories=services.memories)


def test_the_tool_makes_a_dry_run_and_forgets_with_its_token(services: FakeServices) -> None:
    for number in range(3):
        store_content(services.memories, f"tea {number}", tags=("tea",), timestamp=BEFORE + timedelta(days=number))
    arguments: dict[str, Any] = {"tags": ["tea"], "limit": 2}
    dry = answer_of(services, "forget_memories", **arguments)
    assert ([memory["beginning"] for memory in dry["page"]], dry["memories"]) == (["tea 0", "tea 1"], 3)
    onward = answer_of(services, "forget_memories", **arguments, cursor=dry["next_cursor"])
    assert ([memory["beginning"] for memory in onward["page"]], onward["token"]) == (["tea 2"], dry["token"])
    assert len(titles(services)) == 3
    answer = answer_of(services, "forget_memories", **arguments, token=dry["token"])
    assert (answer["memories"], answer["left"], answer["finished"]) == (3, 0, True)
    again = answer_of(services, "forget_memories", forgetting_id=answer["forgetting_id"])
    assert again == answer
    assert "make another dry run" in error_of(services, "forget_memories", all=True, token=dry["token"])


def test_a_forgetting_with_memories_left_cannot_be_finished(services: FakeServices) -> None:
    store_content(services.memories, "oolong")
    forgetting_id = begin(services, ALL)
    services.memories.finish_forgetting(forgetting_id)
    assert forgetting.read(forgetting_id, memories=services.memories).finished_at is None
    later = cursors.encode(KeysetCursor(timestamp=AFTER, key="x"), ForgetArguments())
    answer = answer_of(services, "forget_memories", forgetting_id=str(forgetting_id), cursor=later)
    assert (answer["left"], answer["finished"], titles(services)) == (0, True, [])


def test_a_memory_published_during_the_forgetting_is_stored(services: FakeServices) -> None:
    old = store_content(services.memories, "oolong", tags=("tea",))
    forgetting_id = begin(services, TEA)
    ingest_request = request("oolong", tags=("tea",))
    deliver(push(ingest_request, published=AFTER), services)
    status = status_of(services.memories, ingest_request.request_id)
    assert (status.state, status.memory_id != old) == (IngestState.STORED, True)
    proceed(services, forgetting_id)
    assert [memory.id for memory in list_memories(services.memories)] == [status.memory_id]
    assert forgetting.read(forgetting_id, memories=services.memories).counts["memories"] == 1


@pytest.mark.parametrize("attempted", ["before", "during"])
def test_a_forgotten_failed_request_keeps_no_words_of_its_content(
    letters: Letters, owner: Connection, attempted: str
) -> None:
    ingest_request = request("a secret pot of tea", tags=("tea",))

    def fail() -> None:
        letters.embedder.fault = Unavailable("the model is not responding")
        with pytest.raises(Unavailable):
            deliver(push(ingest_request, request("coffee")), letters)
        letters.embedder.fault = None

    if attempted == "before":
        fail()
    forget(letters, TEA)
    if attempted == "during":
        fail()
    else:
        deliver(push(ingest_request), letters)
    assert "secret" not in str(_rows_of_requests(owner))


@pytest.mark.parametrize(
    "invalid",
    [{"tags": ["tea", 7]}, {"request_id": "mine"}, {"timestamp": 2026, "session": "kitchen"}],
)
@pytest.mark.parametrize("imported", [False, True], ids=["a message", "an import"])
def test_an_invalid_request_with_the_content_of_a_forgotten_memory_keeps_no_words(
    services: FakeServices, owner: Connection, invalid: dict[str, object], imported: bool
) -> None:
    memory = {"content": f"a secret pot{' of tea' * 30}", "timestamp": "2026-05-20T12:00:00Z", "tags": ["tea"]}
    bad = {**memory, **invalid}
    if imported:
        data, attributes = encode("ns", decode(_message(bad).message).rejected, "")
        deliver(Push(Published(message_id="1", data=data, attributes=attributes), 1), services)
    else:
        deliver(_message(bad), services)
    deliver(_message({**memory, "session": bad.get("session")}, message_id="2"), services)
    assert "secret" in str(_rows_of_requests(owner))
    forget(services, TEA)
    assert "secret" not in str(_rows_of_requests(owner))


def _rows_of_requests(owner: Connection) -> list[str]:
    rows = owner.run("SELECT CAST(to_jsonb(i) AS text) AS row FROM ingest_requests i")
    return [row["row"] for row in rows]


def test_a_dead_lettered_request_whose_letter_was_dropped_keeps_no_words_of_a_forgotten_memory(
    services: FakeServices, owner: Connection
) -> None:
    data, attributes = encode("ns", [request("a secret pot of tea")], "")
    waited = Published(message_id="1", data=data, attributes=attributes, publish_time=BEFORE.isoformat())
    give_up(Push(waited, 1), services)
    services.memories.drop_dead_letters(["1"])
    assert "secret" in str(_rows_of_requests(owner))
    store_content(services.memories, "a secret pot of tea", tags=("tea",))
    forget(services, TEA)
    assert "secret" not in str(_rows_of_requests(owner))


def test_a_record_is_stored_again_with_other_content_at_any_time(services: FakeServices) -> None:
    name, at = ExternalId("notes", "7"), datetime(2022, 1, 1, tzinfo=UTC)
    deliver(push(request("first", external_id=name, timestamp=at)), services)
    forget(services)
    deliver(push(request("second", external_id=name, timestamp=at), published=AFTER), services)
    assert titles(services) == ["second"]


INVALID = {"content": "a secret that is invalid", "timestamp": "tomorrow"}


def _message(*memories: object, message_id: str = "1") -> Push:
    return _unchecked(json.dumps({"memories": memories}).encode(), message_id=message_id)


@pytest.mark.parametrize("when", ["before", "after"])
def test_forgetting_all_memories_removes_the_texts_of_invalid_ones(
    letters: Letters, owner: Connection, when: str
) -> None:
    half_invalid = _message(INVALID, {"content": "oolong", "timestamp": "2026-05-20T12:00:00Z"})
    in_order(when, lambda: letters.give_up(half_invalid), lambda: forget(letters))
    assert letters.memories.dead_letters(10) == []
    assert "secret" not in str(_rows_of_requests(owner))


@pytest.mark.parametrize("selection", [ALL, TEA], ids=["all", "tea"])
@pytest.mark.parametrize("waited", [True, False])
def test_a_message_that_becomes_a_dead_letter_after_a_forgetting_brings_no_texts_of_invalid_memories_back(
    letters: Letters, owner: Connection, selection: Selection, waited: bool
) -> None:
    store_content(letters.memories, "a pot of tea", tags=("tea",))
    forget(letters, selection)
    delivery = _message(INVALID, {"content": "oolong", "timestamp": "2026-05-20T12:00:00Z"})
    if waited:  # the message has waited for six days, so the function does not try to store it
        give_up(replace(delivery, message=replace(delivery.message, publish_time=BEFORE.isoformat())), letters)
    else:
        letters.give_up(delivery)
    assert "secret" not in str(_rows_of_requests(owner))


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b'{"request_id": "%s", "content": ', "message data must be JSON"),
        (b'{"request_id": "%s", "memories": 7}', "memories must be an array with at least 1 item"),
    ],
)
def test_an_unreadable_message_published_after_a_forgetting_of_all_memories_has_failed(
    services: FakeServices, data: bytes, error: str
) -> None:
    forget(services)
    deliver(_unchecked(data % str(UUID(int=7)).encode(), AFTER), services)
    status = status_of(services.memories, UUID(int=7))
    assert (status.state, str(status.error).partition(":")[0]) == (IngestState.FAILED, error)


def test_a_message_of_a_newer_schema_version_keeps_its_first_words_after_a_forgetting(
    services: FakeServices, owner: Connection
) -> None:
    forget(services)
    data = b'{"schema_version": 2, "content": "oolong", "timestamp": "2026-05-20"}'
    with pytest.raises(ItemUnavailable):
        deliver(_unchecked(data, AFTER), services)
    row = owner.one("SELECT provenance ->> 'first_words' AS words FROM ingest_requests")
    assert row["words"] == "oolong"


def _ids_in(letter: DeadLetter) -> set[UUID]:
    return set(decode(Published(message_id="1", data=letter.data, attributes=letter.attributes)).request_ids)


def test_a_rewritten_letter_keeps_its_invalid_memories_as_they_were(letters: Letters) -> None:
    tea, coffee = ({"content": tag, "timestamp": "2026-05-20T12:00:00Z", "tags": [tag]} for tag in ("tea", "coffee"))
    letters.give_up(_message(INVALID, tea, coffee))
    before = letters.memories.dead_letters(10)[0]
    ids = _ids_in(before)
    forget(letters, TEA)
    (letter,) = letters.memories.dead_letters(10)
    assert INVALID.items() <= json.loads(letter.data)["memories"][0].items()
    assert _ids_in(letter) == ids
    assert b'"tea"' not in letter.data


def test_of_two_memories_with_one_id_only_the_selected_one_is_forgotten(letters: Letters) -> None:
    same = {"request_id": str(UUID(int=7)), "timestamp": "2026-05-20T12:00:00Z"}
    deliver(_message({**same, "content": "coffee"}, {**same, "content": "a secret", "tags": ["tea"]}), letters)
    forget(letters, TEA)
    (letter,) = letters.memories.dead_letters(10)
    assert b"secret" not in letter.data
    assert b"coffee" in letter.data


def test_two_forgotten_memories_with_one_id_are_one_deleted_request(letters: Letters) -> None:
    same = {"request_id": str(UUID(int=7)), "timestamp": "2026-05-20T12:00:00Z", "tags": ["tea"]}
    letters.give_up(_message({**same, "content": "oolong"}, {**same, "content": "sencha"}))
    state = forgetting.read(forget(letters, TEA), memories=letters.memories)
    assert state.finished_at
    status = status_of(letters.memories, UUID(int=7))
    assert (status.state, status.content_hash) == (IngestState.DELETED, request("oolong").content_hash)


def test_a_finished_forgetting_does_not_change_when_it_is_repeated(services: FakeServices) -> None:
    store_content(services.memories, "oolong")
    forgetting_id = forget(services)
    state = forgetting.read(forgetting_id, memories=services.memories)
    proceed(services, forgetting_id)
    assert forgetting.read(forgetting_id, memories=services.memories) == state


def test_the_database_and_the_functions_give_the_same_error(owner: Connection) -> None:
    assert owner.one("SELECT forgotten_error() AS error")["error"] == FORGOTTEN


def test_forgettings_are_listed_the_latest_first(services: FakeServices, command: Callable[..., Result]) -> None:
    for content in ("oolong", "sencha"):
        forget(services, Selection(ids=(store_content(services.memories, content),)))
    later, earlier = services.memories.forgettings(10)
    assert later.started_at > earlier.started_at
    assert [later.id] == [state.id for state in services.memories.forgettings(1)]
    assert services.memories_of("other").forgettings(10) == []
    lines = command("receipt", "list", "--namespace", "ns").output.splitlines()
    assert [line.split()[0] for line in lines] == [str(later.id), str(earlier.id)]
    assert all("  1 memory  finished " in line for line in lines)


def test_a_dry_run_of_a_time_in_words_can_be_confirmed_later(services: FakeServices) -> None:
    store_content(services.memories, "oolong", timestamp=NOW - timedelta(days=9))
    chosen = {"time_expr": "the past 3 months"}
    dry = answer_of(services, "forget_memories", **chosen)
    services.now = NOW + timedelta(minutes=5)
    assert answer_of(services, "forget_memories", **chosen, token=dry["token"])["memories"] == 1


def test_the_pages_of_a_dry_run_of_a_time_in_words_belong_to_one_set(services: FakeServices) -> None:
    for number in range(3):
        store_content(services.memories, f"tea {number}", timestamp=NOW - timedelta(days=9 - number))
    chosen = {"time_expr": "the past 3 months", "limit": 2}
    dry = answer_of(services, "forget_memories", **chosen)
    services.now = NOW + timedelta(minutes=5)
    rest = answer_of(services, "forget_memories", **chosen, token=dry["token"], cursor=dry["next_cursor"])
    assert (rest["token"], [memory["beginning"] for memory in rest["page"]]) == (dry["token"], ["tea 2"])
    assert len(titles(services)) == 3


def test_the_token_of_a_time_in_words_fits_no_other_time(services: FakeServices) -> None:
    store_content(services.memories, "oolong", timestamp=NOW - timedelta(days=9))
    dry = answer_of(services, "forget_memories", time_expr="the past 3 months")
    token, after, _ = dry["token"].split(" ")
    later = f"{token} {after} 2999-01-01T00:00:00Z"
    assert "make another dry run" in error_of(services, "forget_memories", time_expr="the past 3 months", token=later)
