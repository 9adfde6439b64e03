"""Each outcome is listed once, whatever the order in which transactions commit, and whatever the reader's clock is."""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import time_machine

from mnemosyne.adapters.database import ingest_sql
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.app.operations.outcomes import ListOutcomes
from mnemosyne.cli.local import postgres
from mnemosyne.cli.outcomes import outcome_rows
from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.memory import FailedRequest
from mnemosyne.domain.outcome import OutcomeCursor
from mnemosyne.ids import new_id
from tests.fakes import NOW
from tests.operations import LocalOperations, OfStore

FAIL = """
INSERT INTO ingest_requests (namespace, request_id, state, error, updated_at)
VALUES ('ns', :request_id, 'failed', 'no good', clock_timestamp() - CAST(:age AS interval))
ON CONFLICT (namespace, request_id) DO UPDATE SET updated_at = EXCLUDED.updated_at
"""
SHIFTS = [timedelta(hours=-1), timedelta(hours=1)]
Connect = Callable[[], Connection]


@pytest.fixture
def connect(cluster: postgres.EmbeddedPostgres, database: str) -> Iterator[Connect]:
    """Function that opens a database session of the owner."""
    with ExitStack() as opened:

        def open_() -> Connection:
            connection = connection_factory(cluster.url(postgres.OWNER, database))()
            opened.callback(connection.close)
            return connection

        yield open_


def _fail(session: Connection, request_id: UUID, *, age: str = "0") -> UUID:
    session.run(FAIL, request_id=request_id, age=age)
    return request_id


class Reader:
    """A reader that follows outcomes. Each call of `read` (a pass) returns the outcomes since the previous pass."""

    def __init__(self, store: MemoryStore, *, since: float | None = None, limit: int = 2) -> None:
        self._store, self._limit = store, limit
        self.cursor = OutcomeCursor(since=since)

    def read(self, *, between_pages: Callable[[], object] = lambda: None) -> list[UUID]:
        listed_ids: list[UUID] = []
        while True:
            page = self._store.outcomes(self._limit, after=self.cursor)
            listed_ids += [outcome.request_id for outcome in page.outcomes]
            self.cursor = page.after
            if page.is_last:
                return listed_ids
            between_pages()


@pytest.mark.parametrize("seed", range(3))
def test_each_outcome_is_shown_once_in_whatever_order_transactions_commit(
    store: MemoryStore, connect: Connect, seed: int
) -> None:
    pick = random.Random(seed)
    reader = Reader(store, limit=pick.choice([1, 2, 100]))
    sessions = [connect() for _ in range(5)]
    under_way: dict[int, ExitStack] = {}
    request_ids: list[UUID] = []
    listed_ids: list[UUID] = []
    for _ in range(60):
        number = pick.randrange(len(sessions))
        if pick.random() < 0.3:
            listed_ids += reader.read()
        elif number in under_way and pick.random() < 0.4:
            under_way.pop(number).close()
        else:
            if number not in under_way:
                under_way[number] = ExitStack()
                under_way[number].enter_context(sessions[number].transaction())
            request_ids.append(_fail(sessions[number], new_id()))
    for transaction in under_way.values():
        transaction.close()
    listed_ids += reader.read()
    assert sorted(listed_ids) == sorted(request_ids)


def test_an_outcome_written_long_before_its_commit_is_shown(store: MemoryStore, connect: Connect) -> None:
    reader, slow = Reader(store, since=60), connect()
    with slow.transaction():
        late = _fail(slow, new_id(), age="3 hours")
        assert reader.read() == []
    assert reader.read() == [late]


def test_a_change_that_is_rolled_back_is_never_shown(store: MemoryStore, connect: Connect) -> None:
    reader, session = Reader(store), connect()
    request_id = new_id()
    with pytest.raises(ZeroDivisionError), session.transaction():
        _fail(session, request_id)
        raise ZeroDivisionError
    assert reader.read() == []
    _fail(session, request_id)
    assert reader.read() == [request_id]


def test_an_outcome_that_changes_between_two_pages_is_shown_in_the_next_pass(
    store: MemoryStore, connect: Connect
) -> None:
    reader, session = Reader(store, limit=1), connect()
    first, second = (_fail(session, new_id()) for _ in range(2))
    assert reader.read(between_pages=lambda: _fail(session, second)) == [first]
    assert reader.read() == [second]


def test_a_message_without_a_request_that_commits_late_is_shown_once(store: MemoryStore, connect: Connect) -> None:
    slow = connect()
    store.outcomes(10, after=OutcomeCursor())
    with slow.transaction():
        slow.run(
            "INSERT INTO dead_letters (namespace, message_id, data, attributes, cause, lost)"
            " VALUES ('ns', 'slow', '', '{}', 'unreadable', true)"
        )
        letter = DeadLetter(message_id="fast", data=b"", attributes={}, cause="unreadable", dead_lettered_at=NOW)
        store.store_dead_letter(letter)
        first = store.outcomes(10, after=OutcomeCursor())
    second = store.outcomes(10, after=first.after)
    third = store.outcomes(10, after=second.after)
    assert [[letter.message_id for letter in page.unreported] for page in (first, second, third)] == [
        ["fast"],
        ["slow"],
        [],
    ]


EVENT = {"ce-specversion": "1.0", "ce-source": "crm", "ce-id": "4711"}


def _rows(
    store: MemoryStore, *, source: str | None = None, since: float | None = None, follow: bool = False
) -> Iterator[dict[str, Any]]:
    operation = ListOutcomes(namespace=store.namespace, source=source, after=OutcomeCursor(since=since))
    return outcome_rows(LocalOperations(OfStore(store)), operation, follow=follow)


OF_A_SOURCE = {
    "an attribute": (b"{", {"source": "crm", "key": "4711"}),
    "an event in attributes": (b"{", EVENT),
    "an event in the data": (b'{"specversion": "1.0", "source": "crm", "id": "4711", "data": 5}', {}),
    "the data": (b'{"source": "crm", "key": "4711", "memories": []}', {}),
}


@pytest.mark.parametrize(("data", "attributes"), OF_A_SOURCE.values(), ids=OF_A_SOURCE.keys())
def test_a_message_without_requests_is_an_outcome_of_the_source_that_it_names(
    store: MemoryStore, data: bytes, attributes: dict[str, str]
) -> None:
    for message_id, changed in (("7", attributes), ("8", {"source": "wiki"})):
        letter = DeadLetter(message_id=message_id, data=data, attributes=changed, cause="no", dead_lettered_at=NOW)
        store.store_dead_letter(letter)
    (row,) = _rows(store, source="crm")
    assert (row["message_id"], row["source"], row["key"]) == ("7", "crm", "4711")


@pytest.mark.parametrize("shift", SHIFTS)
def test_the_age_of_outcomes_is_measured_by_the_database_s_clock(
    store: MemoryStore, connect: Connect, shift: timedelta
) -> None:
    session = connect()
    _fail(session, new_id(), age="2 hours")
    fresh = [_fail(session, new_id(), age=age) for age in ("20 minutes", "1 second")]
    with time_machine.travel(datetime.now(UTC) + shift):
        rows = list(_rows(store, since=30 * 60))
    assert [row["request_id"] for row in rows] == [str(request_id) for request_id in fresh]


@pytest.mark.parametrize("shift", SHIFTS)
def test_outcomes_are_followed_whatever_the_time_of_the_reader_s_clock(
    store: MemoryStore, connect: Connect, shift: timedelta
) -> None:
    session = connect()
    with time_machine.travel(datetime.now(UTC) + shift):
        following = _rows(store, since=60, follow=True)
        for _ in range(2):
            expected = _fail(session, new_id())
            assert next(following)["request_id"] == str(expected)


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_outcomes_come_in_the_order_of_transaction_numbers_and_not_of_their_digits(
    store: MemoryStore, connect: Connect, limit: int
) -> None:
    session = connect()
    request_ids = [_fail(session, new_id()) for _ in range(5)]
    for request_id, transaction in zip(request_ids, ("8", "9", "10", "99", "100"), strict=True):
        session.run(
            "UPDATE ingest_requests SET changed_in = CAST(CAST(:changed_in AS text) AS xid8)"
            " WHERE request_id = :request_id",
            changed_in=transaction,
            request_id=request_id,
        )
    assert Reader(store, limit=limit).read() == request_ids


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_outcomes_of_one_transaction_are_shown_once_on_several_pages(
    store: MemoryStore, connect: Connect, limit: int
) -> None:
    session = connect()
    with session.transaction():
        request_ids = sorted(_fail(session, new_id()) for _ in range(5))
    assert Reader(store, limit=limit).read() == request_ids


def test_outcomes_of_a_dump_from_a_server_with_more_transactions_are_shown(
    store: MemoryStore, connect: Connect
) -> None:
    session = connect()
    restored = _fail(session, new_id())
    session.run("UPDATE ingest_requests SET changed_in = '1000000000000'")
    reader = Reader(store)
    assert reader.read() == [restored]
    fresh = _fail(session, new_id())
    assert reader.read() == [fresh]


@pytest.mark.own_database
@pytest.mark.parametrize("follows", [True, False])
def test_a_pass_over_a_large_namespace_reads_only_the_new_outcomes(connect: Connect, *, follows: bool) -> None:
    session = connect()
    session.run(
        "INSERT INTO ingest_requests (namespace, request_id, state, updated_at)"
        " SELECT 'ns', gen_random_uuid(), 'stored', now() - interval '1 day' FROM generate_series(1, 5000)"
    )
    session.script("VACUUM ANALYZE ingest_requests")
    (before,) = session.run(ingest_sql.OUTCOMES_BEGIN, since=60)
    fresh = _fail(session, new_id())
    (now,) = session.run(ingest_sql.OUTCOMES_BEGIN, since=60)
    values = {
        "namespace": "ns", "source": None, "seen": before["until"] if follows else None, "until": now["until"],
        "begin": None if follows else now["begin"], "cursor_transaction": "0", "cursor_id": UUID(int=0), "limit": 1_000,
    }  # fmt: skip
    assert [row["request_id"] for row in session.run(ingest_sql.OUTCOMES, **values)] == [fresh]
    ((plan,),) = session.run(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {ingest_sql.OUTCOMES}", **values)
    assert plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"] < 40


def test_a_request_that_is_queued_again_is_not_shown_as_an_outcome(store: MemoryStore) -> None:
    reader = Reader(store)
    store.record_attempt([FailedRequest(request_id=new_id(), error="away")])
    assert reader.read() == []
