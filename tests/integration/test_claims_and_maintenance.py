"""Claims and maintenance do not wait for each other, because no transaction is open while texts are embedded."""

import itertools
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import pytest

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.memory_database import read_embedding_space
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.database.reembedding import STRAGGLERS, Reembedding
from mnemosyne.cli.local import postgres
from mnemosyne.cli.reembed import USELESS_ROUNDS, _embed_and_switch
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.memory import IngestRequest, IngestState
from mnemosyne.domain.message import IngestMessage
from mnemosyne.errors import EmbeddingModelChanged, Unavailable
from mnemosyne.service import ingest
from tests.fakes import FAKE_SPACE, FakeEmbedder, memories_in, request
from tests.operations import LocalOperations

pytestmark = pytest.mark.own_database

CLAIMED = """
FROM pg_locks WHERE locktype = 'advisory'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
OTHER = EmbeddingSpace("fake", "other", 128)


class _OtherEmbedder(FakeEmbedder):
    model, dimension = OTHER.model, OTHER.dimension


def _store(store: MemoryStore, *requests: IngestRequest) -> list[IngestState]:
    outcomes = ingest.store(IngestMessage("ns", requests), memories=store, embedder=FakeEmbedder()).outcomes
    return [outcomes[request.request_id].state for request in requests]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE INDEX CONCURRENTLY another ON memories (title)",
        "LOCK TABLE memories, ingest_requests, source_keys IN ACCESS EXCLUSIVE MODE",
        "VACUUM FULL memories",
    ],
)
def test_maintenance_does_not_wait_for_a_claim(store: MemoryStore, owner: Connection, statement: str) -> None:
    owner.script("SET lock_timeout = '2s'")
    _store(store, request("stored before"))
    with store.claim([request("a"), request("stored before")]) as claim:
        assert [ingest_request.content for ingest_request in claim.new] == ["a"]
        owner.run_file(f"BEGIN; {statement}; COMMIT" if statement.startswith("LOCK") else statement)


def test_a_claim_during_which_memories_move_to_another_space_stores_nothing(
    store: MemoryStore, owner: Connection
) -> None:
    ingest_request = request("a")
    _store(store, request("stored before"))
    move = Reembedding(owner, _OtherEmbedder(), OTHER)
    with pytest.raises(EmbeddingModelChanged), store.claim([ingest_request]) as claim:
        move.begin()
        while move.fill(10):
            pass
        move.index()
        assert move.switch()
        claim.store(claim.new, [FakeEmbedder().embed_documents(["a"])], FAKE_SPACE.model)
    assert store.statuses([ingest_request.request_id]) == {}


@pytest.mark.parametrize("fault", [None, RuntimeError("crash"), Unavailable("the embedder is away")])
def test_a_finished_claim_leaves_no_lock_and_no_timeout_in_its_session(
    cluster: postgres.EmbeddedPostgres, database: str, owner: Connection, fault: Exception | None
) -> None:
    pool = Pool(connection_factory(cluster.url(postgres.RUNTIME_USER, database)), 1)
    store = memories_in(pool)
    try:
        with store.claim([request("a"), request("b")]):
            assert owner.run_file(f"SELECT count(*) {CLAIMED}") == [[4]]
            if fault:
                raise fault
    except (RuntimeError, Unavailable) as exc:
        assert exc is fault
    assert owner.run_file(f"SELECT count(*) {CLAIMED}") == [[0]]
    with pool.connection() as connection:
        assert connection.script("SHOW idle_session_timeout") == [["0"]]
    pool.close()


def test_the_contents_of_a_claim_whose_session_ended_can_be_claimed_by_others(
    store: MemoryStore, owner: Connection
) -> None:
    ingest_request = request("a")
    with pytest.raises(Unavailable), store.claim([ingest_request]) as claim:
        owner.run_file(f"SELECT DISTINCT pg_terminate_backend(pid) {CLAIMED}")
        claim.store(claim.new, [FakeEmbedder().embed_documents(["a"])], FAKE_SPACE.model)
    assert _store(store, ingest_request) == [IngestState.STORED]


class _BusyMove(Reembedding):
    """A move during which, in its first rounds, as many new memories are stored as each round embeds."""

    def __init__(self, owner: Connection, store: MemoryStore, rounds: int) -> None:
        super().__init__(owner, _OtherEmbedder(), OTHER)
        self._store, self._rounds, self._contents = store, rounds, (f"memory {number}" for number in itertools.count())

    def store_more(self, count: int) -> None:
        _store(self._store, *map(request, itertools.islice(self._contents, count)))

    def fill(self, limit: int) -> int:
        filled = super().fill(limit)
        if self._rounds > 0:
            self.store_more(filled)
        return filled

    def index(self) -> None:
        super().index()
        self._rounds -= 1


@pytest.mark.parametrize(("rounds", "moves"), [(USELESS_ROUNDS - 1, True), (USELESS_ROUNDS + 1, False)])
def test_a_move_ends_although_memories_are_stored_as_fast_as_they_are_moved(
    owner: Connection, store: MemoryStore, rounds: int, moves: bool
) -> None:
    move = _BusyMove(owner, store, rounds)
    move.store_more(STRAGGLERS + 10)
    move.begin()
    operator = SimpleNamespace(space_of=partial(EmbeddingSpace, "fake"), move_to=lambda target: nullcontext(move))
    target = {"model": OTHER.model, "dimension": OTHER.dimension}
    with nullcontext() if moves else pytest.raises(Unavailable, match="as fast as old ones are embedded"):
        _embed_and_switch(LocalOperations(operator), target, move.missing(), 40)
    assert (read_embedding_space(owner).model == OTHER.model) is moves
