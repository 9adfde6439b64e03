"""The change feed records one event for each transaction that changed a memory."""

from contextlib import closing
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from mnemosyne.adapters.database.archive import Archive
from mnemosyne.adapters.database.change_feed import ChangeFeeds
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.reembedding import Reembedding
from mnemosyne.cli.export import _records
from mnemosyne.cli.local.postgres import OWNER, EmbeddedPostgres
from mnemosyne.domain.archive import ArchivedMemory, read_line
from mnemosyne.domain.change_feed import ChangeFeed
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.memory_changes import MemoryChange
from tests.change_feed import Reader
from tests.fakes import FakeEmbedder
from tests.memories import rate, store_content, store_contents
from tests.operations import LocalOperations, OfStore
from tests.shared_database import SharedDatabase

SOON = datetime.now(UTC) + timedelta(days=1)


class _OtherEmbedder(FakeEmbedder):
    model = "other"


class OfExport(OfStore):
    """An operator that exports the memories of one namespace."""

    def archive_of(self, namespace: str) -> Archive:
        return Archive(self.memories_of(namespace).database.pool.connection, namespace)


@pytest.mark.usefixtures("feed_on")
def test_a_change_of_each_kind_is_one_event(memories: MemoryStore, owner: Connection) -> None:
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
    owner.run("UPDATE memories SET expires_at = now() WHERE id = :id", id=older)
    assert kinds() == [("updated", older, ("expires_at",))]
    owner.run("SELECT remove_expired(10)")
    assert kinds() == [("expired", older, ())]
    assert kinds() == []


@pytest.mark.usefixtures("feed_on")
def test_a_transaction_that_changes_a_memory_several_times_makes_one_event(
    memories: MemoryStore, shared_database: SharedDatabase
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


READS = """
SELECT relname, seq_tup_read + coalesce(idx_tup_fetch, 0) AS rows, n_tup_ins + n_tup_upd + n_tup_del AS written,
    seq_scan + coalesce(idx_scan, 0) > 0 AS is_read
FROM pg_stat_xact_user_tables WHERE relname IN ('change_feeds', 'memory_changes') ORDER BY relname
"""


def test_without_a_change_feed_a_change_reads_only_the_empty_table_of_settings(
    memories: MemoryStore, shared_database: SharedDatabase
) -> None:
    memory_id = store_content(memories, "oolong")
    for statement, is_read in {
        "UPDATE memories SET last_seen_at = now() WHERE id = :id": False,
        "UPDATE memories SET title = title, expires_at = expires_at WHERE id = :id": False,
        "UPDATE memories SET title = 'another' WHERE id = :id": True,
        "DELETE FROM memories WHERE id = :id": True,
    }.items():
        # Use a new database session, because the view of read rows also counts earlier transactions of a session.
        with closing(shared_database.connect_as_owner()) as owner, owner.transaction():
            owner.run(statement, id=memory_id)
            read = {row["relname"]: (row["rows"], row["written"], row["is_read"]) for row in owner.run(READS)}
        assert read == {"change_feeds": (0, 0, is_read), "memory_changes": (0, 0, False)}, statement


@pytest.mark.usefixtures("feed_on")
def test_a_restored_memory_has_one_event_of_its_creation(
    memories: MemoryStore, shared_database: SharedDatabase
) -> None:
    older, newer = store_contents(memories, "oolong", "sencha")
    memories.update(older, MemoryChange(superseded_by=newer))
    rate(memories, older, 1)
    records = list(_records(LocalOperations(OfExport(memories)), "ns"))
    memories.delete_many([older, newer])
    reader = Reader(memories)
    reader.read()
    archive = Archive(lambda: closing(shared_database.connect_as_owner()), "ns")
    lines = [line for record in records if isinstance(line := read_line(record), ArchivedMemory)]
    assert archive.restore(lines, lambda space: FakeEmbedder()) == 2
    events = {event.memory_id: (event.kind.value, event.superseded_by) for event in reader.read()}
    assert events == {older: ("created", newer), newer: ("created", None)}


@pytest.mark.own_database
def test_a_move_to_another_embedding_space_makes_no_event(
    store: MemoryStore, cluster: EmbeddedPostgres, database: str
) -> None:
    connect = connection_factory(cluster.url(OWNER, database), socket_timeout=None, statement_seconds=0)
    ChangeFeeds(connect).set(ChangeFeed(namespace="ns", enabled=True, contents=False))
    store_contents(store, "oolong", "sencha")
    reader = Reader(store)
    assert len(reader.read()) == 2
    with closing(connect()) as connection:
        move = Reembedding(connection, _OtherEmbedder(), EmbeddingSpace("fake", _OtherEmbedder.model, 64))
        move.begin()
        assert move.fill(10) == 2
        move.index()
        assert move.switch()
    assert reader.read() == []
    with closing(connect()) as connection:
        connection.run("UPDATE memories SET pinned = true")
    assert len(reader.read()) == 2
