"""The change feed: one event for each transaction that changed a memory, in the order of the memory's changes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from mnemosyne.adapters.database.change_feed import PostgresChangeFeeds
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import PostgresMemories
from mnemosyne.app.operator import OwnerStores
from mnemosyne.cli.system import LocalSystem
from mnemosyne.domain.change_feed import ChangeCursor, ChangeEvent, ChangeFeed
from mnemosyne.domain.memory import Deletion, ExternalId
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.ids import deletion_id
from mnemosyne.service.operations.change_feed import ListFeeds, SetFeed
from tests.database_errors import permission_denied
from tests.fakes import NOW, request, store_of
from tests.memories import rate, store, store_content, store_contents
from tests.shared_database import SharedDatabase

SOON = datetime.now(UTC) + timedelta(days=1)


@pytest.fixture
def feeds(shared_database: SharedDatabase) -> PostgresChangeFeeds:
    """The owner's view of the feeds."""
    return PostgresChangeFeeds(shared_database.connect_as_owner)


@pytest.fixture
def on(feeds: PostgresChangeFeeds) -> None:
    """Turn the feed of the tests' namespace on."""
    feeds.set(ChangeFeed(namespace="ns", enabled=True, contents=False))


class Reader:
    """Follows a feed, pass by pass."""

    def __init__(self, memories: PostgresMemories, *, since: timedelta | None = None, limit: int = 100) -> None:
        self._memories, self._limit = memories, limit
        self.cursor = ChangeCursor(since=since)

    def read(self, *, between_pages: Callable[[], object] = lambda: None) -> list[ChangeEvent]:
        events: list[ChangeEvent] = []
        while True:
            page = self._memories.changes(self._limit, after=self.cursor)
            events += page.events
            self.cursor = page.after
            if page.is_last:
                return events
            between_pages()


def read(memories: PostgresMemories, **options: Any) -> list[tuple[str, UUID, tuple[str, ...]]]:
    """Return kind, memory and fields of each event."""
    return [(event.kind.value, event.memory_id, tuple(event.fields)) for event in Reader(memories, **options).read()]


@pytest.fixture
def sessions(shared_database: SharedDatabase) -> Iterator[Callable[[], Connection]]:
    """Open sessions of the owner."""
    with ExitStack() as opened:

        def open_() -> Connection:
            connection = shared_database.connect_as_owner()
            opened.callback(connection.close)
            return connection

        yield open_


def test_without_a_feed_no_event_is_recorded(memories: PostgresMemories, shared_database: SharedDatabase) -> None:
    memory_id = store_content(memories, "oolong")
    rate(memories, memory_id, 1)
    memories.update(memory_id, MemoryChange(title="another"))
    memories.delete(memory_id)
    assert shared_database.owner.run("SELECT * FROM memory_changes") == []


@pytest.mark.usefixtures("on")
def test_a_change_of_each_kind_is_one_event(memories: PostgresMemories, shared_database: SharedDatabase) -> None:
    reader = Reader(memories)

    def kinds() -> list[tuple[str, UUID, tuple[str, ...]]]:
        return [(event.kind.value, event.memory_id, tuple(event.fields)) for event in reader.read()]

    older, newer = store_contents(memories, "oolong", "sencha")
    assert sorted(kinds()) == sorted([("created", older, ()), ("created", newer, ())])
    memories.update(older, MemoryChange(title="tea", tags=("a",), expires_at=SOON))
    assert kinds() == [("updated", older, ("expires_at", "tags", "title"))]
    memories.update(older, MemoryChange(superseded_by=newer, title="old tea"))
    assert kinds() == [("superseded", older, ("superseded_by", "title"))]
    memories.update(older, MemoryChange(not_superseded=True))
    assert kinds() == [("updated", older, ("superseded_by",))]
    rate(memories, newer, 1, by="ada")
    assert kinds() == [("rated", newer, ("rating",))]
    rate(memories, newer, None, by="ada")
    assert kinds() == [("rated", newer, ("rating",))]
    rate(memories, newer, -1)
    memories.delete(newer)
    assert kinds() == [("rated", newer, ("rating",)), ("deleted", newer, ())]
    shared_database.owner.run("UPDATE memories SET expires_at = now() WHERE id = :id", id=older)
    assert kinds() == [("updated", older, ("expires_at",))]
    shared_database.owner.run("SELECT remove_expired(10)")
    assert kinds() == [("expired", older, ())]
    assert kinds() == []


@pytest.mark.usefixtures("on")
def test_a_memory_that_is_removed_with_the_setting_forgotten_is_forgotten(
    memories: PostgresMemories, shared_database: SharedDatabase
) -> None:
    first, second = store_contents(memories, "oolong", "sencha")
    reader = Reader(memories)
    reader.read()
    owner = shared_database.owner
    with owner.transaction():
        owner.run("SELECT set_config('mnemosyne.removal', 'forgotten', true)")
        owner.run("DELETE FROM memories WHERE id = :id", id=first)
    owner.run("DELETE FROM memories WHERE id = :id", id=second)
    assert [(event.kind.value, event.memory_id) for event in reader.read()] == [
        ("forgotten", first),
        ("deleted", second),
    ]


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize("again", ["the same content", "the same request"])
def test_a_repeated_memory_is_no_event(memories: PostgresMemories, again: str) -> None:
    made = request("oolong")
    store(memories, made)
    reader = Reader(memories)
    assert len(reader.read()) == 1
    store(memories, made if again == "the same request" else request("oolong"))
    assert reader.read() == []


@pytest.mark.usefixtures("on")
def test_labels_that_stay_the_same_are_no_event(memories: PostgresMemories) -> None:
    memory_id = store_content(memories, "oolong", title="tea")
    reader = Reader(memories)
    reader.read()
    memories.update(memory_id, MemoryChange(title="tea"))
    rate(memories, memory_id, None)
    assert reader.read() == []


@pytest.mark.usefixtures("on")
def test_versions_of_a_record_are_created_superseded_and_deleted(memories: PostgresMemories) -> None:
    name = ExternalId(source="crm", key="7")
    first = store_content(memories, "oolong", external_id=name)
    reader = Reader(memories)
    reader.read()
    second = store_content(memories, "sencha", external_id=name, timestamp=NOW + timedelta(days=1))
    events = {(event.kind.value, event.memory_id, event.superseded_by) for event in reader.read()}
    assert events == {("created", second, None), ("superseded", first, second)}
    at = NOW + timedelta(days=2)
    deletion = Deletion(request_id=deletion_id(name.source, name.key, at), external_id=name, timestamp=at, published=at)
    memories.delete_records([deletion])
    assert {(event.kind.value, event.memory_id) for event in reader.read()} == {("deleted", first), ("deleted", second)}


@pytest.mark.usefixtures("on")
def test_a_transaction_that_changes_a_memory_several_times_makes_one_event(
    memories: PostgresMemories, shared_database: SharedDatabase
) -> None:
    memory_id = store_content(memories, "oolong")
    reader, owner = Reader(memories), shared_database.owner
    reader.read()
    with owner.transaction():
        owner.run("UPDATE memories SET title = 'a' WHERE id = :id", id=memory_id)
        owner.run("UPDATE memories SET superseded_by = gen_random_uuid() WHERE id = :id", id=memory_id)
        owner.run("UPDATE memories SET pinned = true WHERE id = :id", id=memory_id)
    (event,) = reader.read()
    assert (event.kind.value, event.fields) == ("superseded", ("pinned", "superseded_by", "title"))
    with owner.transaction():
        owner.run("UPDATE memories SET superseded_by = NULL WHERE id = :id", id=memory_id)
        owner.run("DELETE FROM memories WHERE id = :id", id=memory_id)
    (event,) = reader.read()
    assert (event.kind.value, event.fields) == ("deleted", ())


@pytest.mark.usefixtures("on")
def test_five_thousand_memories_stored_by_one_statement_make_five_thousand_events(
    memories: PostgresMemories, shared_database: SharedDatabase
) -> None:
    store_content(memories, "oolong")
    reader = Reader(memories)
    reader.read()
    shared_database.owner.run(
        "INSERT INTO memories (id, namespace, timestamp, content, title, content_hash, embedding_model, embedding)"
        " SELECT gen_random_uuid(), 'ns', now(), 'tea ' || n, 'tea', encode(sha256(CAST(n AS text)::bytea), 'hex'),"
        " m.embedding_model, m.embedding FROM memories m, generate_series(1, 5000) AS n"
    )
    events = reader.read()
    assert len({event.memory_id for event in events}) == len(events) == 5_000


@pytest.mark.usefixtures("on")
def test_a_change_that_is_rolled_back_is_no_event(memories: PostgresMemories, shared_database: SharedDatabase) -> None:
    memory_id = store_content(memories, "oolong")
    reader, owner = Reader(memories), shared_database.owner
    reader.read()
    with pytest.raises(ZeroDivisionError), owner.transaction():
        owner.run("DELETE FROM memories WHERE id = :id", id=memory_id)
        raise ZeroDivisionError
    assert reader.read() == []


@pytest.mark.usefixtures("on")
def test_a_change_that_commits_after_later_ones_is_listed_once_it_commits(
    memories: PostgresMemories, sessions: Callable[[], Connection]
) -> None:
    slow, fast = store_contents(memories, "oolong", "sencha")
    reader, session = Reader(memories), sessions()
    reader.read()
    with session.transaction():
        session.run("UPDATE memories SET title = 'slow' WHERE id = :id", id=slow)
        memories.update(fast, MemoryChange(title="fast"))
        assert [event.memory_id for event in reader.read()] == [fast]
        assert reader.read() == []
    assert [event.memory_id for event in reader.read()] == [slow]
    assert reader.read() == []


@pytest.mark.usefixtures("on")
def test_changes_of_a_memory_are_in_order_even_if_the_later_transaction_began_first(
    memories: PostgresMemories, sessions: Callable[[], Connection]
) -> None:
    memory_id, other = store_contents(memories, "oolong", "sencha")
    reader, early = Reader(memories, limit=1), sessions()
    reader.read()
    with early.transaction():
        early.run("UPDATE memories SET title = 'early' WHERE id = :id", id=other)
        memories.update(memory_id, MemoryChange(title="first"))
        early.run("UPDATE memories SET pinned = true WHERE id = :id", id=memory_id)
    events = [event for event in reader.read() if event.memory_id == memory_id]
    assert [tuple(event.fields) for event in events] == [("title",), ("pinned",)]


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_a_change_between_two_pages_is_left_to_the_next_pass(memories: PostgresMemories, limit: int) -> None:
    ids = store_contents(memories, *(f"tea {n}" for n in range(5)))
    reader = Reader(memories, limit=limit)
    made = iter(range(100))
    first = reader.read(between_pages=lambda: memories.update(ids[0], MemoryChange(title=f"title {next(made)}")))
    assert sorted(event.memory_id for event in first) == sorted(ids)
    assert len(reader.read()) == next(made)


@pytest.mark.usefixtures("on")
def test_changes_since_a_time_are_listed(memories: PostgresMemories, shared_database: SharedDatabase) -> None:
    old, _ = store_contents(memories, "oolong", "sencha")
    shared_database.owner.run("UPDATE memory_changes SET at = now() - interval '2 hours' WHERE memory_id = :id", id=old)
    assert len(read(memories, since=timedelta(hours=1))) == 1
    assert len(read(memories)) == 2


def test_contents_are_listed_only_if_the_feed_has_them(
    memories: PostgresMemories, feeds: PostgresChangeFeeds, shared_database: SharedDatabase
) -> None:
    feeds.set(ChangeFeed(namespace="ns", enabled=True, contents=False))
    store_content(memories, "oolong", title="tea", tags=["a"], metadata={"shelf": 7})
    assert [event.contents for event in Reader(memories).read()] == [None]
    feeds.set(ChangeFeed(namespace="ns", enabled=True, contents=True))
    (event,) = Reader(memories).read()
    assert event.contents == {"content": "oolong", "title": "tea", "tags": ["a"], "metadata": {"shelf": 7}}
    assert event.values["memory"]["content"] == "oolong"


def test_no_event_has_the_contents_of_a_memory_that_is_gone(
    memories: PostgresMemories, feeds: PostgresChangeFeeds, shared_database: SharedDatabase
) -> None:
    feeds.set(ChangeFeed(namespace="ns", enabled=True, contents=True))
    deleted, expired = store_contents(memories, "oolong", "sencha")
    memories.delete(deleted)
    shared_database.owner.run("UPDATE memories SET expires_at = now() WHERE id = :id", id=expired)
    assert [event.contents for event in Reader(memories).read()] == [None] * 4
    with feeds.announcer() as announcer:
        assert announcer
        assert [event.contents for event in announcer.unannounced(100)] == [None] * 4


def test_a_page_of_long_contents_ends_early_and_no_event_is_lost(
    memories: PostgresMemories, feeds: PostgresChangeFeeds
) -> None:
    feeds.set(ChangeFeed(namespace="ns", enabled=True, contents=True))
    ids = [store_content(memories, f"tea {n} " + "é" * 90_000) for n in range(14)]
    page = memories.changes(100, after=ChangeCursor())
    assert 1 < len(page.events) < 14
    assert [event.memory_id for event in Reader(memories).read()] == ids


def test_a_feed_of_all_namespaces_yields_to_the_setting_of_one(
    memories: PostgresMemories, feeds: PostgresChangeFeeds
) -> None:
    feeds.set(ChangeFeed(namespace="", enabled=True, contents=False))
    feeds.set(ChangeFeed(namespace="ns", enabled=False, contents=False))
    other = store_of(memories, "other")
    for space in (memories, other):
        store_content(space, "oolong")
    assert (len(read(memories)), len(read(other))) == (0, 1)
    assert [space.changes(1, after=ChangeCursor()).is_on for space in (memories, other)] == [False, True]


def test_a_feed_has_no_events_of_another_namespace(memories: PostgresMemories, feeds: PostgresChangeFeeds) -> None:
    feeds.set(ChangeFeed(namespace="", enabled=True, contents=True))
    mine, theirs = store_content(memories, "oolong"), store_content(store_of(memories, "other"), "sencha")
    assert read(memories) == [("created", mine, ())]
    assert read(store_of(memories, "other")) == [("created", theirs, ())]
    with memories.database.transaction("ns") as connection:
        assert [row["memory_id"] for row in connection.run("SELECT memory_id FROM memory_changes")] == [mine]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO memory_changes (namespace, memory_id, kind, fields)"
        " VALUES ('ns', gen_random_uuid(), 'created', '{}')",
        "UPDATE memory_changes SET namespace = 'ns'",
        "DELETE FROM memory_changes",
        "INSERT INTO change_feeds VALUES ('ns', true, true)",
        "UPDATE change_feeds SET contents = true",
    ],
)
def test_only_the_owner_writes_events_and_settings(memories: PostgresMemories, statement: Any) -> None:
    with permission_denied(), memories.database.transaction("ns") as connection:
        connection.run(statement)


def test_old_events_are_removed(
    memories: PostgresMemories, feeds: PostgresChangeFeeds, shared_database: SharedDatabase, on: None
) -> None:
    old, new = store_contents(memories, "oolong", "sencha")
    shared_database.owner.run("UPDATE memory_changes SET at = now() - interval '31 days' WHERE memory_id = :id", id=old)
    assert [feeds.remove_old(), feeds.remove_old()] == [1, 0]
    assert read(memories) == [("created", new, ())]


def test_an_operator_sets_and_lists_feeds(shared_database: SharedDatabase) -> None:
    system = LocalSystem(OwnerStores(shared_database.connect_as_owner))
    system.run(SetFeed(namespace="ns", enabled=True, contents=True))
    system.run(SetFeed(enabled=True))
    system.run(SetFeed(namespace="ns", enabled=False))
    assert system.run(ListFeeds()) == {
        "feeds": [
            {"namespace": "", "enabled": True, "contents": False},
            {"namespace": "ns", "enabled": False, "contents": False},
        ]
    }
