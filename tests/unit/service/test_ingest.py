"""Storing of messages, and the outcomes that are reported for their requests."""

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest
import time_machine

from mnemosyne.domain.dead_letter import DeadLetterKind
from mnemosyne.domain.memory import FailedRequest, IngestRequest, IngestState
from mnemosyne.domain.message import IngestMessage, encode
from mnemosyne.errors import InvalidRequest, ItemUnavailable, MnemosyneError, Unavailable
from mnemosyne.ids import issue_request_id
from mnemosyne.ports.embedder import Vector
from mnemosyne.service import dead_letters, group_commit, ingest, request_status
from tests.fakes import NOW, FakeEmbedder, FakeServices, request
from tests.memories import list_memories, make_dead_letter, status_of


def _store(services: FakeServices, *requests: IngestRequest) -> list[IngestState]:
    message = IngestMessage("ns", requests)
    outcome = ingest.store(message, memories=services.memories, embedder=services.embedder)
    return [outcome.outcomes[request.request_id].state for request in message.requests]


def _id_issued(age: timedelta, namespace: str = "ns") -> UUID:
    with time_machine.travel(NOW - age, tick=False):
        return issue_request_id(namespace)


def test_the_same_content_is_a_duplicate_and_is_not_embedded_again(services: FakeServices) -> None:
    _store(services, request("a"))
    assert _store(services, request("a")) == [IngestState.DUPLICATE]
    assert services.embedder.embedded == ["a"]


def test_the_same_content_twice_in_one_message_is_one_memory(services: FakeServices) -> None:
    assert _store(services, request("a"), request("b"), request("a")) == [
        IngestState.STORED,
        IngestState.STORED,
        IngestState.DUPLICATE,
    ]
    assert len(list_memories(services.memories)) == 2
    assert services.embedder.embedded == ["a", "b"]


def test_a_temporary_fault_stores_nothing_and_is_shown_in_the_status(services: FakeServices) -> None:
    services.embedder.away = True
    waiting = request("a")
    with pytest.raises(Unavailable):
        _store(services, waiting)
    status = status_of(services.memories, waiting.request_id)
    assert not list_memories(services.memories)
    assert (status.state, status.attempts, status.error) == (IngestState.QUEUED, 1, "the embedder is away")


def test_a_message_whose_content_another_delivery_is_storing_is_redelivered(services: FakeServices) -> None:
    mine = request("a")
    with services.memories.claim([mine]), pytest.raises(Unavailable, match="another delivery"):
        _store(services, mine)
    assert not list_memories(services.memories)


@pytest.mark.parametrize(
    ("request_id", "state"),
    [
        (_id_issued(timedelta(seconds=1)), IngestState.QUEUED),
        (_id_issued(timedelta(days=6, hours=23)), IngestState.QUEUED),
        (_id_issued(timedelta(days=7)), IngestState.UNKNOWN),
        (_id_issued(timedelta(minutes=-5)), IngestState.UNKNOWN),
        (_id_issued(timedelta(seconds=1), "another"), IngestState.UNKNOWN),
        (UUID(int=int((NOW.timestamp() - 1) * 1000) << 80 | 7 << 76 | 2 << 62), IngestState.UNKNOWN),
        (uuid4(), IngestState.UNKNOWN),
    ],
)
def test_an_unknown_request_is_queued_only_if_this_server_issued_it_within_the_retention(
    services: FakeServices, request_id: UUID, state: IngestState
) -> None:
    (status,) = request_status.status([request_id], memories=services.memories, clock=services.clock)
    assert status.state is state


def test_statuses_are_returned_in_the_order_of_the_ids(services: FakeServices) -> None:
    first, second = request("a"), request("b")
    _store(services, first)
    request_ids = [second.request_id, first.request_id]
    statuses = request_status.status(request_ids, memories=services.memories, clock=services.clock)
    assert [status.request_id for status in statuses] == request_ids


class PoisonedEmbedder(FakeEmbedder):
    """Embedder that fails for texts with the word poison, and counts the texts of each call."""

    def __init__(self, error: MnemosyneError) -> None:
        super().__init__()
        self.error = error
        self.calls: list[int] = []

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.calls.append(len(texts))
        if any("poison" in text for text in texts):
            raise self.error
        return super().embed_documents(texts)


REFUSAL = InvalidRequest("the model refuses this content")
"""The error of a model with a safety filter."""


def test_an_unreadable_memory_fails_and_the_others_are_stored(services: FakeServices) -> None:
    good, bad = request("a"), request("b")
    message = IngestMessage("ns", (good,), (FailedRequest(request_id=bad.request_id, error="unreadable"),))
    ingest.store(message, memories=services.memories, embedder=services.embedder)
    assert status_of(services.memories, good.request_id).state is IngestState.STORED
    assert status_of(services.memories, bad.request_id).error == "unreadable"


def _bury(services: FakeServices, *requests: IngestRequest) -> None:
    data, attributes = encode("ns", requests, "")
    letter = replace(make_dead_letter("m1"), data=data, attributes=attributes, kind=DeadLetterKind.EXPIRED)
    dead_letters.give_up(letter, IngestMessage("ns", requests), memories=services.memories)


def test_a_dead_letter_is_recorded_with_its_last_error_and_message(services: FakeServices) -> None:
    waiting, stored = request("a"), request("b")
    _store(services, stored)
    services.memories.record_attempt([FailedRequest(request_id=waiting.request_id, error="the embedder is away")])
    ids = [waiting.request_id, stored.request_id]
    _bury(services, waiting, stored)
    statuses = services.memories.statuses(ids)
    assert statuses[waiting.request_id].state is IngestState.DEAD_LETTERED
    assert statuses[waiting.request_id].error == "the embedder is away"
    assert statuses[stored.request_id].state is IngestState.STORED
    assert [dead_letter.cause for dead_letter in services.memories.dead_letters(100)] == ["the embedder is away"]


def test_a_dead_letter_whose_requests_all_have_a_final_state_is_not_kept(services: FakeServices) -> None:
    ingest_request = request("b")
    _store(services, ingest_request)
    _bury(services, ingest_request)
    assert services.memories.dead_letters(100) == []


def test_another_content_under_the_id_of_a_stored_request_is_reported(services: FakeServices) -> None:
    first = request("a")
    _store(services, first)
    other = replace(request("b"), request_id=first.request_id)
    message = IngestMessage("ns", (other,))
    outcome = ingest.store(message, memories=services.memories, embedder=services.embedder)
    assert outcome.dead_letter_reason == (
        f"another content or record has this request's id: publish it under a new id (request {first.request_id})"
    )
    assert services.embedder.embedded == ["a"]


@pytest.fixture
def _small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make slices smaller than in production, so that a message of several slices has few chunks."""
    monkeypatch.setattr(group_commit, "SLICE_CHUNKS", 5)


@pytest.mark.usefixtures("_small_slices")
@pytest.mark.parametrize("texts", [[8] * 3, [1, 8, 1], [3] * 4, [1] * 8], ids=lambda texts: str(len(texts)))
def test_each_delivery_continues_after_the_last_stored_slice_of_the_one_before(
    services: FakeServices, texts: list[int]
) -> None:
    requests = tuple(request(f"{n} {'word ' * 39 * count}") for n, count in enumerate(texts))
    message, embedded = IngestMessage("ns", requests), []
    for _ in group_commit.slices(requests, services.embedder.chunk_limit):
        before = len(services.embedder.embedded)
        with suppress(Unavailable):
            ingest.store(message, memories=services.memories, embedder=services.embedder, deadline=0.0)
        embedded.append(len(services.embedder.embedded) - before)
    assert len(embedded) > 1
    assert all(embedded)
    states = {status_of(services.memories, id_).state for id_ in message.request_ids}
    assert states == {IngestState.STORED}


@pytest.mark.usefixtures("_small_slices")
def test_requests_left_at_the_deadline_stay_queued_with_that_reason(services: FakeServices) -> None:
    message = IngestMessage("ns", tuple(request(f"{n} {'word ' * 39 * 8}") for n in range(2)))
    with pytest.raises(Unavailable, match="1 of the message's 2 requests were stored in the time of one delivery"):
        ingest.store(message, memories=services.memories, embedder=services.embedder, deadline=0.0)
    status = status_of(services.memories, message.request_ids[1])
    assert status.state is IngestState.QUEUED
    assert "the next delivery stores the others" in (status.error or "")


@pytest.mark.parametrize("poisoned", [{3, 4}, {9, 0, 5}, set(range(10))])
def test_texts_are_embedded_once_if_the_model_refuses_others(services: FakeServices, poisoned: set[int]) -> None:
    services.embedder = PoisonedEmbedder(REFUSAL)
    requests = [request(f"poison {n}" if n in poisoned else f"fine {n}") for n in range(10)]
    expected = [IngestState.FAILED if n in poisoned else IngestState.STORED for n in range(10)]
    assert _store(services, *requests) == expected
    errors = {status_of(services.memories, requests[n].request_id).error for n in poisoned}
    assert errors == {"the model refuses this content"}
    assert sorted(services.embedder.embedded) == sorted(f"fine {n}" for n in range(10) if n not in poisoned)


@pytest.mark.parametrize(("poisoned", "at"), [({0}, 0), ({0, 4, 8}, 5), ({9}, 10), (set(range(10)), 5)])
def test_a_used_id_is_reported_once_if_the_model_refuses_other_contents(
    services: FakeServices, poisoned: set[int], at: int
) -> None:
    first = request("a")
    _store(services, first)
    requests = [request(f"poison {n}" if n in poisoned else f"fine {n}") for n in range(10)]
    requests.insert(at, replace(request("b"), request_id=first.request_id))
    message = IngestMessage("ns", tuple(requests))
    outcome = ingest.store(message, memories=services.memories, embedder=PoisonedEmbedder(REFUSAL))
    assert outcome.conflicting == [first.request_id]


def _deliver(services: FakeServices, message: IngestMessage, deadline: float = math.inf) -> list[int]:
    """Deliver a message that cannot be stored as a whole, and return the number of texts in each call.

    The deadline is a number of calls, because the time of the clock is the number of calls.
    """
    services.embedder = embedder = PoisonedEmbedder(ItemUnavailable("no answer in time"))
    with pytest.MonkeyPatch.context() as patch:
        clock = SimpleNamespace(monotonic=lambda: len(embedder.calls), perf_counter=time.perf_counter)
        patch.setattr("mnemosyne.service.ingest.time", clock)
        with pytest.raises(Unavailable):
            ingest.store(message, memories=services.memories, embedder=embedder, deadline=deadline)
    return embedder.calls


def test_a_redelivery_embeds_only_the_requests_that_are_left(services: FakeServices) -> None:
    message = IngestMessage("ns", tuple(request("poison" if n == 99 else f"fine {n}") for n in range(100)))
    assert len(_deliver(services, message)) > 10
    assert _deliver(services, message) == [1, 1]


@pytest.mark.parametrize("poisoned", [0, 99])
def test_each_delivery_stores_half_of_the_requests_before_it_ends_at_the_deadline(
    services: FakeServices, poisoned: int
) -> None:
    message = IngestMessage("ns", tuple(request("poison" if n == poisoned else f"fine {n}") for n in range(100)))
    assert _deliver(services, message, deadline=3) == [100, 50, 50]
    assert len(list_memories(services.memories)) == 50
    assert _deliver(services, message, deadline=3) == [50, 25, 25]
    assert len(list_memories(services.memories)) == 75
