"""Group commit: messages that arrive together are stored together, and one failure does not affect another message."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.domain.message import IngestMessage
from mnemosyne.errors import (
    Broken,
    EmbeddingModelChanged,
    InvalidRequest,
    ItemUnavailable,
    Misconfigured,
    Unavailable,
    UncertainCommit,
)
from mnemosyne.ports.embedder import Vector
from mnemosyne.service import ingest
from mnemosyne.service.group_commit import SLICE_CHUNKS, SMALL, GroupCommit, Slice
from tests.fakes import FakeEmbedder, request
from tests.memories import list_memories
from tests.waiting import wait_until


class _Work:
    """The work of the group commit.

    It records the contents of each call. The first call waits until the test releases it.
    """

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.poison: Exception = ItemUnavailable("poison")
        """Raised if the item "poison" is among the items of a call."""
        self.fault: Exception | None = None
        """Raised by every call after the first, if it is set."""
        self.first_may_end = threading.Event()
        self.commit: GroupCommit[list[str]] = GroupCommit()
        self.threads = ThreadPoolExecutor(200)

    def __call__(self, requests: Sequence[IngestRequest]) -> list[str]:
        contents = [request.content for request in requests]
        self.calls.append(contents)
        if len(self.calls) == 1:
            assert self.first_may_end.wait(60)
        if "poison" in contents:
            raise self.poison
        if self.fault and len(self.calls) > 1:
            raise self.fault
        return contents

    def arrive(self, *requests: IngestRequest, namespace: str = "ns") -> "Future[list[str]]":
        """Store one message in a separate thread. Return when the message is in the queue of the group commit."""
        before = self._arrived(namespace)
        future = self.threads.submit(self.store, *requests, namespace=namespace)
        wait_until(lambda: future.done() or self._arrived(namespace) > before, "the message has taken its place")
        return future

    def store(self, *requests: IngestRequest, namespace: str = "ns", chunks: float | None = None) -> list[str]:
        part = Slice(list(requests), len(requests) if chunks is None else chunks)
        return self.commit.store(namespace, part, self)

    def _arrived(self, namespace: str) -> int:
        return len(self.commit._waiting.get(namespace, ()))


@pytest.fixture
def work() -> _Work:
    return _Work()


def _finish(work: _Work, *futures: "Future[list[str]]") -> list[list[str] | str]:
    work.first_may_end.set()
    ended = []
    for future in futures:
        error = future.exception(60)
        ended.append(str(error) if error else future.result())
    assert work.commit._waiting == {}
    return ended


def test_messages_that_arrive_during_a_transaction_are_stored_together_by_the_next(work: _Work) -> None:
    messages = [work.arrive(request(name)) for name in "abcd"]
    assert _finish(work, *messages) == [["a"], *[["b", "c", "d"]] * 3]
    assert work.calls == [["a"], ["b", "c", "d"]]


def test_a_message_of_another_namespace_does_not_wait(work: _Work) -> None:
    slow = work.arrive(request("a"))
    assert work.store(request("b"), namespace="other") == ["b"]
    _finish(work, slow)


@pytest.mark.parametrize("count", [1, SMALL + 1])
def test_a_large_slice_is_stored_at_once(work: _Work, count: int) -> None:
    slow = work.arrive(request("a"))
    large = [request(f"large {n}") for n in range(count)]
    assert len(work.store(*large, chunks=SMALL + 1)) == count
    _finish(work, slow)


def test_a_group_has_no_more_chunks_than_a_slice(work: _Work) -> None:
    messages = [work.arrive(*(request(f"{n} {m}") for m in range(SMALL))) for n in range(12)]
    _finish(work, *messages)
    assert [len(call) for call in work.calls] == [SMALL, SLICE_CHUNKS, SMALL]


@pytest.mark.parametrize("error", [ItemUnavailable, InvalidRequest, ValueError])
def test_an_item_that_fails_does_not_fail_the_others(work: _Work, error: type[Exception]) -> None:
    work.poison = error("poison")
    messages = [work.arrive(request(name)) for name in ("a", "b", "poison", "c")]
    assert _finish(work, *messages) == [["a"], ["b"], "poison", ["c"]]


@pytest.mark.parametrize("fault", [Unavailable, Broken, Misconfigured, UncertainCommit, EmbeddingModelChanged])
@pytest.mark.parametrize("count", [2, 10])
def test_a_fault_of_a_service_fails_the_group_without_further_attempts(
    work: _Work, fault: type[Exception], count: int
) -> None:
    work.fault = fault("all fail")
    messages = [work.arrive(request(f"{n}")) for n in range(count + 1)]
    assert _finish(work, *messages) == [["0"], *["all fail"] * count]
    assert [len(call) for call in work.calls] == [1, count]


def test_the_next_group_is_tried_after_a_fault_of_a_service(work: _Work) -> None:
    work.fault = Unavailable("all fail")
    messages = [work.arrive(*(request(f"{n} {m}") for m in range(SMALL))) for n in range(13)]
    ended = _finish(work, *messages)
    assert ended[1:] == ["all fail"] * 12
    assert [len(call) for call in work.calls] == [SMALL, SLICE_CHUNKS, 2 * SMALL]
    work.fault = None
    assert work.store(request("later")) == ["later"]


def test_a_request_delivered_twice_is_not_twice_in_the_same_group(work: _Work) -> None:
    twice = request("b")
    messages = [work.arrive(request("a")), work.arrive(twice), work.arrive(twice)]
    assert _finish(work, *messages) == [["a"], ["b"], ["b"]]
    assert work.calls == [["a"], ["b"], ["b"]]


def test_each_message_gets_the_outcomes_of_its_own_requests_only(memories: MemoryStore) -> None:
    commit = GroupCommit[ingest.Stored]()

    class _Slow(FakeEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
            if "first" in texts:
                wait_until(lambda: len(commit._waiting["ns"]) == len(messages), "all the others wait")
            return super().embed_documents(texts)

    embedder = _Slow()
    messages = [IngestMessage("ns", (request(name),)) for name in ("first", *"bcdefgh")]

    def store(message: IngestMessage) -> ingest.Stored:
        return ingest.store(message, memories=memories, embedder=embedder, group_commit=commit)

    with ThreadPoolExecutor(len(messages)) as threads:
        first = threads.submit(store, messages[0])
        wait_until(lambda: "ns" in commit._waiting, "the first is under way")
        results = [*threads.map(store, messages[1:])]
        results.insert(0, first.result(60))
    assert [set(result.outcomes) for result in results] == [set(message.request_ids) for message in messages]
    assert len(list_memories(memories)) == len(messages)
