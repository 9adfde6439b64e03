"""A message is stored in slices, that is, in small transactions. If one fails, the results of the earlier ones stay."""

from collections.abc import Callable, Sequence

import pytest

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.domain.memory import IngestRequest, IngestState
from mnemosyne.domain.message import IngestMessage
from mnemosyne.errors import Broken, ItemUnavailable, Unavailable
from mnemosyne.ports.embedder import Vector
from mnemosyne.service import group_commit, ingest
from tests.fakes import FakeEmbedder, request
from tests.records import deletion, version

pytestmark = pytest.mark.slow

SLICE = 30
"""Maximum number of chunks of a slice in these tests."""
TRANSACTIONS = """
SELECT CAST(sum(chunks) AS integer) AS chunks, count(*) AS memories FROM (
    SELECT m.xmin, 1 + (SELECT count(*) FROM memory_chunks c WHERE c.memory_id = m.id) AS chunks FROM memories m
) AS stored GROUP BY CAST(xmin AS text)
"""


@pytest.fixture(autouse=True)
def _small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make slices smaller than in production, so that a message of several slices has few chunks."""
    monkeypatch.setattr(group_commit, "SLICE_CHUNKS", SLICE)


def _text(name: object, chunks: int = 1) -> str:
    """Make a text that the fake embedder splits into about this number of distinct chunks."""
    return f"{name} " + " ".join(f"{name}.{n:04}" for n in range(26 * (chunks - 1)))


def _message(*chunks: int) -> IngestMessage:
    return IngestMessage("ns", tuple(request(_text(n, count)) for n, count in enumerate(chunks)))


def _deliver(store: MemoryStore, message: IngestMessage, embedder: FakeEmbedder) -> list[IngestState]:
    outcomes = ingest.store(message, memories=store, embedder=embedder).outcomes
    return [outcomes[id_].state for id_ in message.request_ids]


@pytest.mark.parametrize(
    "chunks", [[1] * 50, [10] * 8, [72], [1, 72, 1], [18, 1, 1, 18, 1, 18]], ids=lambda chunks: str(sum(chunks))
)
def test_the_size_of_a_transaction_does_not_depend_on_the_size_of_the_message(
    store: MemoryStore, owner: Connection, chunks: list[int]
) -> None:
    message, embedder = _message(*chunks), FakeEmbedder()
    assert _deliver(store, message, embedder) == [IngestState.STORED] * len(chunks)
    transactions = owner.run(TRANSACTIONS)
    assert all(transaction["chunks"] <= 1.2 * SLICE or transaction["memories"] == 1 for transaction in transactions), (
        transactions
    )
    assert sum(transaction["chunks"] for transaction in transactions) == len(embedder.embedded)


class _Interrupted(FakeEmbedder):
    """Embedder that becomes unavailable after it has embedded a number of texts."""

    def __init__(self, texts: int) -> None:
        super().__init__()
        self.left = texts

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.left -= len(texts)
        self.away = self.left < 0
        return super().embed_documents(texts)


@pytest.mark.parametrize("texts", [12, 40])
def test_texts_of_committed_slices_are_not_embedded_again(store: MemoryStore, texts: int) -> None:
    message, interrupted, embedder = _message(*[6] * 12), _Interrupted(texts), FakeEmbedder()
    with pytest.raises(Unavailable):
        _deliver(store, message, interrupted)
    states = {status.state for status in store.statuses(message.request_ids).values()}
    assert states == ({IngestState.QUEUED} if texts < SLICE else {IngestState.QUEUED, IngestState.STORED})
    assert _deliver(store, message, embedder) == [IngestState.STORED] * 12
    assert set(interrupted.embedded).isdisjoint(embedder.embedded)


@pytest.mark.parametrize(("largest", "count"), [(1, 5), (3, 20), (10, 11)])
def test_a_slice_that_times_out_is_stored_in_smaller_slices(
    store: MemoryStore, fails: Callable[..., None], largest: int, count: int
) -> None:
    fails(f"count(*) > {largest}")
    message, embedder = _message(*[1] * count), FakeEmbedder()
    assert _deliver(store, message, embedder) == [IngestState.STORED] * count
    assert len(embedder.embedded) == count


@pytest.mark.parametrize("slow", [0, 4])
def test_a_single_memory_that_times_out_is_redelivered_and_the_others_are_stored(
    store: MemoryStore, owner: Connection, fails: Callable[..., None], slow: int
) -> None:
    fails(f"bool_or(content LIKE '{slow} %')")
    message, embedder = _message(1, 18, 1, 18, 1), FakeEmbedder()
    with pytest.raises(ItemUnavailable):
        _deliver(store, message, embedder)
    statuses = store.statuses(message.request_ids)
    expected = [IngestState.QUEUED if n == slow else IngestState.STORED for n in range(5)]
    assert [statuses[id_].state for id_ in message.request_ids] == expected
    assert "time limit" in (statuses[message.request_ids[slow]].error or "")
    owner.script("DROP TRIGGER fail ON memories")
    assert _deliver(store, message, embedder) == [IngestState.STORED] * 5


@pytest.mark.parametrize(("state", "bad"), [("22001", 0), ("22P05", 2), ("54000", 4)])
def test_a_memory_that_the_database_refuses_fails_and_the_others_are_stored(
    store: MemoryStore, fails: Callable[..., None], state: str, bad: int
) -> None:
    fails(f"bool_or(content LIKE '{bad} %')", state)
    message, embedder = _message(1, 18, 1, 18, 1), FakeEmbedder()
    expected = [IngestState.FAILED if n == bad else IngestState.STORED for n in range(5)]
    assert _deliver(store, message, embedder) == expected
    assert len(embedder.embedded) == len(set(embedder.embedded))


@pytest.mark.parametrize("count", [1, 20])
@pytest.mark.parametrize(("state", "error"), [("57014", Unavailable), ("22001", Broken)])
def test_an_error_that_occurs_for_every_memory_marks_no_memory_as_failed(
    store: MemoryStore,
    owner: Connection,
    fails: Callable[..., None],
    state: str,
    error: type[Unavailable],
    count: int,
) -> None:
    fails("count(*) > 0", state)
    message, embedder = _message(*[1] * count), FakeEmbedder()
    with pytest.raises(error) as raised:
        _deliver(store, message, embedder)
    assert type(raised.value) is error
    assert {status.state for status in store.statuses(message.request_ids).values()} == {IngestState.QUEUED}
    assert owner.run("SELECT count(*) FROM memories") == [[0]]


@pytest.mark.parametrize(("largest", "versions"), [(100, 101), (10, 25), (1, 3)])
def test_a_deletion_that_times_out_is_done_in_smaller_transactions(
    store: MemoryStore, owner: Connection, fails: Callable[..., None], largest: int, versions: int
) -> None:
    _deliver(store, IngestMessage("ns", tuple(version("k", f"{n}", n) for n in range(versions))), FakeEmbedder())
    fails(f"count(*) > {largest}", change="DELETE", rows="OLD")
    too_long = deletion("k", versions)
    message = IngestMessage("ns", (), deletions=(too_long,))
    assert _deliver(store, message, FakeEmbedder()) == [IngestState.DELETED]
    assert owner.run("SELECT count(*) FROM memories") == [[0]]


def _version(second: int) -> IngestRequest:
    return version("k", _text(second, 18), second, published=second)


@pytest.mark.parametrize("seconds", [(0, 1, 2), (1, 2, 0), (2, 1, 0)])
def test_the_latest_version_is_current_however_versions_are_divided_into_slices(
    store: MemoryStore, owner: Connection, seconds: tuple[int, ...]
) -> None:
    _deliver(store, IngestMessage("ns", tuple(map(_version, seconds))), FakeEmbedder())
    assert owner.run("SELECT count(DISTINCT CAST(xmin AS text)) FROM memory_chunks") == [[len(seconds)]]
    ((current,),) = owner.run("SELECT content FROM memories WHERE superseded_by IS NULL")
    assert current == _text(2, 18)
