"""Claims: the locks by which concurrent deliveries of the same contents exclude each other."""

import threading
from collections.abc import Callable
from contextlib import closing
from uuid import UUID

import pg8000.exceptions
import pytest

from mnemosyne.adapters.database import ingest_sql, rows
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.cli.local import postgres
from mnemosyne.domain.memory import IngestRequest, IngestState, IngestStatus
from mnemosyne.domain.memory_changes import DeletedMemory
from mnemosyne.errors import Unavailable
from tests.fakes import memories_in, request
from tests.memories import store as deliver
from tests.records import deletion, version
from tests.waiting import wait_until

WAITING = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'transactionid'
"""

WAITING_FOR_LOCK = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'
"""


def test_concurrent_duplicates_of_a_stored_content_do_not_block_each_other(store: MemoryStore, pool: Pool) -> None:
    deliver(store, request("a"))
    again = request("a")
    with pool.connection() as other, other.transaction():
        other.run("SELECT pg_advisory_xact_lock_shared(hashtextextended('ns' || :hash, 0))", hash=again.content_hash)
        with store.claim([again]) as claim:
            assert not claim.busy
            assert claim.already_final[again.request_id].state is IngestState.DUPLICATE


def test_deliveries_that_share_contents_do_not_wait_for_row_locks_of_each_other(store: MemoryStore, pool: Pool) -> None:
    deliver(store, request("a"), request("b"))
    theirs = rows.requests_json([request("a"), request("b")])
    with pool.connection() as other, other.transaction():
        other.run(ingest_sql.CLAIM, namespace="ns", requests=theirs, to_store=False, forget=False)
        outcomes = deliver(store, request("b"), request("a"))
    assert {outcome.state for outcome in outcomes.values()} == {IngestState.DUPLICATE}


@pytest.mark.parametrize("is_known", [True, False])
def test_a_stored_memory_can_be_read_while_others_of_its_message_are_embedded(
    store: MemoryStore, pool: Pool, *, is_known: bool
) -> None:
    (outcome,) = deliver(store, request("a")).values()
    ours = store if is_known else memories_in(pool)
    with ours.claim([request("a"), request("b")]) as claim:
        assert [ingest_request.content for ingest_request in claim.new] == ["b"]
        assert outcome.memory_id
        read = store.fetch(outcome.memory_id)
    assert read is not None


def test_the_statements_that_store_are_planned_only_for_the_first_messages(
    cluster: postgres.EmbeddedPostgres, database: str
) -> None:
    """PostgreSQL plans a prepared statement anew for the first five executions.

    Then it may use one generic plan for all values.
    """
    with closing(Pool(connection_factory(cluster.url(postgres.RUNTIME_USER, database)), 1)) as pool:
        for number in range(8):
            deliver(memories_in(pool), request(f"memory {number}"))
        with pool.connection() as connection:
            planned = connection.run("SELECT custom_plans AS plans FROM pg_prepared_statements")
    assert max(row["plans"] for row in planned) == 5


@pytest.mark.parametrize("state", ["57014", "53100", "40P01"])
def test_a_session_whose_store_was_rolled_back_stores_the_next_memory(
    cluster: postgres.EmbeddedPostgres, database: str, owner: Connection, fails: Callable[..., None], state: str
) -> None:
    fails("count(*) > 0", state)
    pool = Pool(connection_factory(cluster.url(postgres.RUNTIME_USER, database)), 1)
    store, ingest_request = memories_in(pool), request("a")
    with pytest.raises(Unavailable):
        deliver(store, ingest_request)
    owner.script("DROP TRIGGER fail ON memories")
    assert deliver(store, ingest_request)[ingest_request.request_id].state is IngestState.STORED
    pool.close()


def test_a_content_that_another_delivery_is_storing_is_reported_as_busy(store: MemoryStore, pool: Pool) -> None:
    deliver(store, request("a"))
    again = request("a")
    with pool.connection() as other, other.transaction():
        other.run("SELECT pg_advisory_xact_lock(hashtextextended('ns' || :hash, 0))", hash=again.content_hash)
        with store.claim([again]) as claim:
            assert [r.request_id for r in claim.busy] == [again.request_id]
            assert not claim.new


def test_a_cached_content_deleted_by_another_process_is_stored_again(store: MemoryStore, pool: Pool) -> None:
    first, again, neighbour = request("a"), request("a"), request("b")
    (first_outcome,) = deliver(store, first).values()
    assert first_outcome.memory_id and memories_in(pool).delete(first_outcome.memory_id) == DeletedMemory(title="a")
    outcomes = deliver(store, again, neighbour)
    assert {outcome.state for outcome in outcomes.values()} == {IngestState.STORED}
    assert outcomes[again.request_id].memory_id not in (first_outcome.memory_id, None)


def test_a_duplicate_of_a_cached_content_needs_one_round_trip(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver(store, request("a"))
    trips = []

    def spied(name: str) -> Callable[..., object]:
        method: Callable[..., object] = getattr(Connection, name)

        def send(connection: Connection, sql: str, *rest: object, **named: object) -> object:
            trips.append(sql)
            return method(connection, sql, *rest, **named)

        return send

    for name in ("run", "script", "copy"):
        monkeypatch.setattr(Connection, name, spied(name))
    deliver(store, request("a"))
    assert len(trips) == 1, trips


@pytest.mark.parametrize("is_known", [True, False])
def test_an_outcome_recorded_by_a_concurrent_delivery_is_kept(
    store: MemoryStore, pool: Pool, owner: Connection, *, is_known: bool
) -> None:
    deliver(store, request("a"))
    ours, again = store if is_known else memories_in(pool), request("a")
    busy: list[IngestRequest] = []

    def claim_again() -> None:
        with ours.claim([again]) as claim:
            assert not claim.new
            busy.extend(claim.busy)

    delivery = threading.Thread(target=claim_again)
    with pool.connection() as other:
        with other.transaction():
            other.run("SELECT set_config('mnemosyne.namespace', 'ns', true)")
            other.run(
                "INSERT INTO ingest_requests (namespace, request_id, state, error) VALUES ('ns', :id, 'deleted', 'x')",
                id=again.request_id,
            )
            delivery.start()
            wait_until(lambda: owner.run(WAITING) == [[1]], "the delivery waits for the other one's outcome")
        delivery.join()
    assert [r.request_id for r in busy] == ([] if is_known else [again.request_id])
    status = store.statuses([again.request_id])[again.request_id]
    assert (status.state, status.error) == (IngestState.DELETED, "x")


@pytest.mark.parametrize("content_hash", ["a" * 63, "a" * 65, "A" * 64, "g" * 64])
def test_a_content_hash_must_have_64_hex_digits(owner: Connection, content_hash: str) -> None:
    with pytest.raises(pg8000.exceptions.DatabaseError, match="memories_content_hash_check"):
        owner.run(
            """
            INSERT INTO memories (id, namespace, "timestamp", content, title, content_hash, embedding_model, embedding)
            SELECT gen_random_uuid(), 'ns', now(), 'a', 'a', :content_hash, 'fake', array_fill(1::real, ARRAY[64])
            """,
            content_hash=content_hash,
        )


def test_a_claim_that_removes_an_expired_memory_does_not_deadlock_with_a_deletion_of_its_record(
    store: MemoryStore, pool: Pool, owner: Connection
) -> None:
    gone = version("a", "gone", 1)
    deliver(store, gone, version("b", "stays", 1))
    owner.run("UPDATE memories SET expires_at = now() WHERE content = 'gone'")
    answers: list[dict[UUID, IngestStatus]] = []
    requests = request("gone"), version("c", "stays", 2)
    claiming = threading.Thread(target=lambda: answers.append(deliver(memories_in(pool), *requests)))
    with owner.transaction():
        owner.run("SELECT set_config('mnemosyne.namespace', 'ns', true), lock_supersession('ns')")
        claiming.start()
        wait_until(lambda: bool(owner.one(WAITING_FOR_LOCK)["count"]), "the claim waits")
        deletions = rows.deletions_json([deletion("a", 3)])
        owner.run(ingest_sql.DELETE_RECORDS, namespace="ns", deletions=deletions, limit=10)
    claiming.join()
    assert [sorted(outcome.state for outcome in answer.values()) for answer in answers] == [["duplicate", "stored"]]
