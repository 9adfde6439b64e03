"""What the server says happened, happened."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from mnemosyne.domain.memory import IngestState
from mnemosyne.domain.message import IngestMessage
from mnemosyne.errors import InvalidRequest, Unavailable
from mnemosyne.service import ingest

from tests.fakes import NOW, FakeServices, request


def _store(services: FakeServices, *requests: object) -> list[IngestState]:
    message = IngestMessage("ns", requests)  # type: ignore[arg-type]
    outcomes = ingest.store(message, memories=services.memories, embedder=services.embedder)
    return [outcome.state for outcome in outcomes]


def _id_made(age: timedelta) -> UUID:
    milliseconds = int((NOW - age).timestamp() * 1000)
    return UUID(int=milliseconds << 80 | 7 << 76 | 2 << 62)


def test_a_new_memory_is_stored() -> None:
    assert _store(FakeServices(), request("a")) == [IngestState.STORED]


def test_the_same_content_is_a_duplicate_and_buys_no_embedding() -> None:
    services = FakeServices()
    _store(services, request("a"))
    assert _store(services, request("a")) == [IngestState.DUPLICATE]
    assert services.embedder.embedded == ["a"]


def test_the_same_content_twice_in_one_message_is_one_memory() -> None:
    services = FakeServices()
    assert _store(services, request("a"), request("b"), request("a")) == [
        IngestState.STORED,
        IngestState.STORED,
        IngestState.DUPLICATE,
    ]
    assert len(services.memories.memories) == 2


def test_a_redelivered_message_keeps_its_outcome() -> None:
    services = FakeServices()
    again = request("a")
    _store(services, again)
    assert _store(services, again) == [IngestState.STORED]
    assert services.memories.requests["ns", again.request_id].attempts == 1


def test_redelivery_after_delete_does_not_resurrect_the_memory() -> None:
    services = FakeServices()
    first = request("a")
    _store(services, first)
    (memory_id,) = services.memories.memories
    services.memories.delete("ns", memory_id)
    _store(services, first)
    assert services.memories.memories == {}


def test_ingesting_anew_after_delete_stores_again() -> None:
    services = FakeServices()
    _store(services, request("a"))
    (memory_id,) = services.memories.memories
    services.memories.delete("ns", memory_id)
    assert _store(services, request("a")) == [IngestState.STORED]


def test_a_fault_that_may_pass_stores_nothing_and_shows_in_the_status() -> None:
    services = FakeServices()
    services.embedder.away = True
    waiting = request("a")
    with pytest.raises(Unavailable):
        _store(services, waiting)
    status = services.memories.requests["ns", waiting.request_id]
    assert services.memories.memories == {}
    assert (status.state, status.attempts, status.error) == (IngestState.QUEUED, 1, "the embedder is away")


def test_content_being_stored_by_another_delivery_is_redelivered() -> None:
    services = FakeServices()
    mine = request("a")
    services.memories.locked.add(("ns", mine.content_hash))
    with pytest.raises(Unavailable, match="another delivery"):
        _store(services, mine)
    assert services.memories.memories == {}


def test_a_queue_that_is_away_accepts_nothing() -> None:
    services = FakeServices()
    services.queue.away = True
    with pytest.raises(Unavailable):
        ingest.accept("ns", [request("a")], queue=services.queue)


@pytest.mark.parametrize(
    ("request_id", "state"),
    [
        (_id_made(timedelta(seconds=1)), IngestState.QUEUED),
        (_id_made(timedelta(days=6, hours=23)), IngestState.QUEUED),
        (_id_made(timedelta(days=7)), IngestState.UNKNOWN),
        (_id_made(timedelta(minutes=-5)), IngestState.UNKNOWN),
        (uuid4(), IngestState.UNKNOWN),
    ],
)
def test_a_request_not_yet_seen_is_queued_while_the_topic_may_hold_it(request_id: UUID, state: IngestState) -> None:
    services = FakeServices()
    (status,) = ingest.status("ns", [request_id], memories=services.memories, clock=services.clock)
    assert status.state is state


def test_statuses_come_in_the_order_asked() -> None:
    services = FakeServices()
    first, second = request("a"), request("b")
    _store(services, first)
    asked = [second.request_id, first.request_id]
    answered = ingest.status("ns", asked, memories=services.memories, clock=services.clock)
    assert [status.request_id for status in answered] == asked


def test_a_rejected_request_is_failed_with_its_cause() -> None:
    services = FakeServices()
    bad = request("a")
    ingest.reject("ns", bad.request_id, InvalidRequest("no good"), memories=services.memories)
    status = services.memories.requests["ns", bad.request_id]
    assert (status.state, status.error) == (IngestState.FAILED, "no good")
