"""The change feed lists each event once, only in its own namespace.

A memory's events are in the order of its changes.
"""

import json
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

import pytest
from click.testing import Result

from mnemosyne.adapters.database.change_feed import _BEGIN, _PAGE, ChangeFeeds
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.app.operations.change_feed import ListChanges, ListFeeds, SetFeed
from mnemosyne.app.operator import OwnerStores
from mnemosyne.cli.changes import change_rows
from mnemosyne.cli.system import LocalSystem
from mnemosyne.domain.change_feed import ChangeCursor, ChangeFeed
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.errors import Unavailable
from tests.change_feed import Reader, read_kinds
from tests.database_errors import permission_denied
from tests.fakes import store_of
from tests.memories import rate, store_content, store_contents
from tests.operations import LocalOperations, OfStore
from tests.shared_database import SharedDatabase


@pytest.mark.usefixtures("feed_on")
@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_a_change_between_two_pages_is_listed_in_the_next_pass(memories: MemoryStore, limit: int) -> None:
    ids = store_contents(memories, *(f"tea {n}" for n in range(5)))
    reader = Reader(memories, limit=limit)
    numbers = iter(range(100))
    first = reader.read(between_pages=lambda: memories.update(ids[0], MemoryChange(title=f"title {next(numbers)}")))
    assert sorted(event.memory_id for event in first) == sorted(ids)
    assert len(reader.read()) == next(numbers)


@pytest.mark.own_database
@pytest.mark.parametrize("is_analyzed", [True, False])
def test_a_pass_over_a_large_feed_reads_only_the_new_events(owner: Connection, *, is_analyzed: bool) -> None:
    owner.run(
        "INSERT INTO memory_changes (namespace, memory_id, kind, fields)"
        " SELECT 'ns', gen_random_uuid(), 'created', '{}' FROM generate_series(1, 20000)"
    )
    owner.script("VACUUM ANALYZE memory_changes" if is_analyzed else "VACUUM memory_changes")
    first = owner.one(_BEGIN, namespace="ns", seen=None, since=None)
    owner.run(
        "INSERT INTO memory_changes (namespace, memory_id, kind, fields)"
        " SELECT 'ns', gen_random_uuid(), 'created', '{}' FROM generate_series(1, 5)"
    )
    values = {"namespace": "ns", "seen": first["until"], "since": None}
    begin = owner.one(_BEGIN, **values)
    place = {"until": begin["until"], "sequence": begin["sequence"], "begin": None, "limit": 500, "bytes": 1_000}
    page = {"namespace": "ns", "seen": first["until"], **place}
    assert len(owner.run(_PAGE, **page)) == 5
    for statement, parameters in ((_BEGIN, values), (_PAGE, page)):
        ((plan,),) = owner.run(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", **parameters)
        assert plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"] < 40


@pytest.mark.usefixtures("feed_on")
def test_changes_since_a_time_are_listed(memories: MemoryStore, owner: Connection) -> None:
    old, _ = store_contents(memories, "oolong", "sencha")
    owner.run("UPDATE memory_changes SET at = now() - interval '2 hours' WHERE memory_id = :id", id=old)
    assert len(read_kinds(memories, since=3_600)) == 1
    assert len(read_kinds(memories)) == 2


def test_contents_are_listed_only_if_the_feed_has_them(memories: MemoryStore, feeds: ChangeFeeds) -> None:
    feeds.set(ChangeFeed(namespace="ns", enabled=True, contents=False))
    store_content(memories, "oolong", title="tea", tags=["a"], metadata={"shelf": 7})
    assert [event.contents for event in Reader(memories).read()] == [None]
    feeds.set(ChangeFeed(namespace="ns", enabled=True, contents=True))
    (event,) = Reader(memories).read()
    assert event.contents == {"content": "oolong", "title": "tea", "tags": ["a"], "metadata": {"shelf": 7}}
    assert event.values["memory"]["content"] == "oolong"


def test_an_event_of_a_removed_memory_has_no_contents(
    memories: MemoryStore, feeds: ChangeFeeds, owner: Connection
) -> None:
    feeds.set(ChangeFeed(namespace="ns", enabled=True, contents=True))
    deleted, expired = store_contents(memories, "oolong", "sencha")
    memories.delete(deleted)
    owner.run("UPDATE memories SET expires_at = now() WHERE id = :id", id=expired)
    assert [event.contents for event in Reader(memories).read()] == [None] * 4
    with feeds.announcer() as announcer:
        assert announcer
        assert [event.contents for event in announcer.unannounced_events(100)] == [None] * 4


@pytest.mark.parametrize("fault", [None, Unavailable("the topic did not accept all messages")])
def test_the_next_announcer_publishes_although_the_server_has_not_noticed_that_the_last_one_ended(
    feeds: ChangeFeeds, shared_database: SharedDatabase, fault: Exception | None
) -> None:
    connection = shared_database.connect_as_owner()
    with closing(connection), pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "close", lambda: None)
        with suppress(Unavailable), ChangeFeeds(lambda: connection).announcer() as announcer:
            assert announcer
            if fault:
                raise fault
        with feeds.announcer() as following:
            assert following


def test_a_page_of_long_contents_ends_early_and_no_event_is_lost(
    memories: MemoryStore, feeds: ChangeFeeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemosyne.adapters.database.change_feed.CONTENT_BYTES", 20_000)
    feeds.set(ChangeFeed(namespace="ns", enabled=True, contents=True))
    ids = [store_content(memories, f"tea {n} " + "é" * 900) for n in range(14)]
    page = memories.changes(100, after=ChangeCursor())
    assert 1 < len(page.events) < 14
    assert [event.memory_id for event in Reader(memories).read()] == ids


def test_the_setting_of_a_namespace_overrides_the_setting_for_all_namespaces(
    memories: MemoryStore, feeds: ChangeFeeds
) -> None:
    feeds.set(ChangeFeed(namespace="", enabled=True, contents=False))
    feeds.set(ChangeFeed(namespace="ns", enabled=False, contents=False))
    other = store_of(memories, "other")
    for space in (memories, other):
        store_content(space, "oolong")
    assert (len(read_kinds(memories)), len(read_kinds(other))) == (0, 1)
    assert [space.changes(1, after=ChangeCursor()).is_on for space in (memories, other)] == [False, True]


def test_no_change_is_recorded_in_a_namespace_without_a_feed(
    memories: MemoryStore, feeds: ChangeFeeds, owner: Connection
) -> None:
    feeds.set(ChangeFeed(namespace="another", enabled=True, contents=False))
    memory_id = store_content(memories, "oolong")
    rate(memories, memory_id, 1)
    memories.update(memory_id, MemoryChange(title="another"))
    memories.delete(memory_id)
    assert owner.run("SELECT * FROM memory_changes") == []


def test_a_feed_has_no_events_of_another_namespace(memories: MemoryStore, feeds: ChangeFeeds) -> None:
    feeds.set(ChangeFeed(namespace="", enabled=True, contents=True))
    mine, theirs = store_content(memories, "oolong"), store_content(store_of(memories, "other"), "sencha")
    assert read_kinds(memories) == [("created", mine, ())]
    assert read_kinds(store_of(memories, "other")) == [("created", theirs, ())]
    with memories._transaction() as connection:
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
def test_only_the_owner_writes_events_and_settings(memories: MemoryStore, statement: Any) -> None:
    with permission_denied(), memories._transaction() as connection:
        connection.run(statement)


def test_old_events_are_removed(memories: MemoryStore, feeds: ChangeFeeds, owner: Connection, feed_on: None) -> None:
    old, new = store_contents(memories, "oolong", "sencha")
    owner.run("UPDATE memory_changes SET at = now() - interval '31 days' WHERE memory_id = :id", id=old)
    assert [feeds.remove_old(), feeds.remove_old()] == [1, 0]
    assert read_kinds(memories) == [("created", new, ())]


def test_changes_are_followed(memories: MemoryStore, feed_on: None) -> None:
    ids = store_contents(memories, "oolong", "sencha")
    operation = ListChanges(namespace="ns")
    rows = change_rows(LocalOperations(OfStore(memories)), operation, follow=True)
    assert {next(rows)["memory_id"] for _ in ids} == set(map(str, ids))
    for number in range(3):
        memories.update(ids[0], MemoryChange(title=f"title {number}"))
        row = next(rows)
        assert (row["kind"], row["memory_id"]) == ("updated", str(ids[0]))


def test_the_error_for_a_disabled_feed_says_how_to_enable_it(
    memories: MemoryStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list(change_rows(LocalOperations(OfStore(memories)), ListChanges(namespace="ns"), follow=False)) == []
    assert (
        "The change feed of namespace 'ns' is off: turn it on with `mnemosyne change-feed on --namespace ns`"
        in capsys.readouterr().err
    )


def test_the_commands_turn_the_feed_on_and_print_the_changes(
    memories: MemoryStore, command: Callable[..., Result]
) -> None:
    assert "'ns' is on, with contents." in command("change-feed", "on", "--contents", "--namespace", "ns").output
    store_contents(memories, "tea", "coffee")
    printed = command("changes", "--namespace", "ns", "--json")
    events = [json.loads(line) for line in printed.stdout.splitlines()]
    assert {(event["kind"], event["memory"]["content"]) for event in events} == {
        ("created", "tea"),
        ("created", "coffee"),
    }
    assert printed.stderr.endswith("2 changes: 2 created.\n")


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
