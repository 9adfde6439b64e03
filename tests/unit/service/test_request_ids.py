"""A request id belongs to one content of one record: another record under this id becomes a dead letter."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest

from mnemosyne.domain.memory import FailedRequest, IngestRequest, IngestState, Reading
from mnemosyne.domain.message import FORGOTTEN, as_failed, decode
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.service import deliveries
from mnemosyne.service.deliveries import Push
from tests.fakes import FakeServices
from tests.memories import list_memories, status_of

ID = "0192f3a4-643f-7f9f-8bdd-01b104fff04f"
TEA: dict[str, Any] = {"content": "green tea", "timestamp": "2026-05-20T12:00:00Z", "request_id": ID}
A, B = {**TEA, "source": "crm", "key": "a"}, {**TEA, "source": "crm", "key": "b"}
DELETION = {"op": "delete", "source": "crm", "key": "a", "request_id": ID, "timestamp": "2026-05-20T12:00:00Z"}
DIFFERENT = {
    "another key": (A, B),
    "another source": (A, {**A, "source": "shop"}),
    "no key": (A, TEA),
    "a key": (TEA, A),
    "a source without a key": (A, {**A, "key": None}),
    "another session": (A, {**A, "session": "s"}),
    "a deletion": (A, DELETION),
    "a deletion first": (DELETION, A),
    "a deletion of another record": (DELETION, {**DELETION, "key": "b"}),
}
INVALID = {
    "without a time": (A, {**A, "timestamp": None, "content": "black tea"}),
    "without content": (A, {**A, "content": ""}),
    "of another record": (A, {**B, "tags": 5}),
    "deletion": (A, {**DELETION, "key": None}),
    "deletion after a memory without a key": (TEA, {**DELETION, "timestamp": "tomorrow"}),
}
SAME = {
    "the same": (A, A),
    "other labels": (A, {**A, "title": "Tea", "tags": ["x"]}),
    "invalid labels": (A, {**A, "tags": 5}),
    "no key": (TEA, TEA),
    "the same deletion": (DELETION, DELETION),
    "failed under another key before": ({**B, "timestamp": ""}, TEA),
}


def _push(
    services: FakeServices,
    record: dict[str, Any],
    *,
    number: int = 1,
    is_late: bool = False,
    published: timedelta = timedelta(minutes=1),
) -> None:
    """Deliver a message that was published at the time now + `published`.

    By default, this is after all earlier outcomes.
    """
    time = (datetime.now(UTC) + published).isoformat()
    message = Published(message_id=str(number), data=json.dumps(record).encode(), attributes={}, publish_time=time)
    with patch.object(Push, "expires_soon", new=is_late):
        (deliveries.give_up if is_late else deliveries.store)(Push(message, 1, "ns"), services)


def _reading(record: dict[str, Any]) -> Reading:
    message = decode(Published(message_id="2", data=json.dumps(record).encode(), attributes={}), allowed_namespace="ns")
    readings: list[Reading] = [*message.requests, *message.deletions, *message.rejected]
    (reading,) = readings
    return reading


def _states(services: FakeServices) -> tuple[IngestState, int, int]:
    state = status_of(services.memories, UUID(ID)).state
    return state, len(list_memories(services.memories)), len(services.memories.dead_letters(10))


@pytest.mark.parametrize("is_late", [False, True], ids=["", "late"])
@pytest.mark.parametrize(("first", "second"), DIFFERENT.values(), ids=DIFFERENT)
def test_another_record_under_a_used_id_is_a_dead_letter(
    services: FakeServices, first: dict[str, Any], second: dict[str, Any], is_late: bool
) -> None:
    _push(services, first)
    assert not status_of(services.memories, UUID(ID)).belongs_to(_reading(second))
    state, memories, _ = _states(services)
    _push(services, second, number=2, is_late=is_late)
    assert _states(services) == (state, memories, 1)
    (letter,) = services.memories.dead_letters(10)
    assert (letter.message_id, letter.has_unreported_part) == ("2", True)


@pytest.mark.parametrize("is_late", [False, True], ids=["", "late"])
@pytest.mark.parametrize(("first", "second"), INVALID.values(), ids=INVALID)
def test_an_invalid_record_under_a_used_id_is_a_dead_letter(
    services: FakeServices, first: dict[str, Any], second: dict[str, Any], is_late: bool
) -> None:
    _push(services, first)
    _push(services, second, number=2, is_late=is_late)
    assert _states(services) == (IngestState.STORED, 1, 1)
    (letter,) = services.memories.dead_letters(10)
    assert letter.has_unreported_part
    if is_late:
        assert letter.cause.startswith("given up after")
    else:
        advice = (
            "another request has the id of an invalid memory or deletion: correct it, and publish it under a new id"
        )
        failure = _reading(second)
        assert isinstance(failure, FailedRequest)
        assert letter.cause == f"{advice}; error: {failure.error} (request {ID})"


@pytest.mark.parametrize("is_late", [False, True], ids=["", "late"])
@pytest.mark.parametrize("first", [TEA, A, DELETION], ids=["memory", "record", "deletion"])
def test_a_redelivery_of_an_invalid_record_that_was_corrected_under_its_id_changes_nothing(
    services: FakeServices, first: dict[str, Any], is_late: bool
) -> None:
    invalid, sent = {**first, "timestamp": "tomorrow", "content": "black tea"}, timedelta(minutes=-5)
    _push(services, invalid, published=sent)
    _push(services, first, number=2, published=timedelta(minutes=-4))
    states = _states(services)
    _push(services, invalid, published=sent, is_late=is_late)
    assert _states(services) == states
    assert states[2] == 0


@pytest.mark.parametrize(
    ("first", "second", "is_same"), [(TEA, TEA, True), (A, A, True), (TEA, A, False), (A, TEA, False)]
)
def test_the_status_of_a_deleted_memory_belongs_to_its_record_only(
    services: FakeServices, first: dict[str, Any], second: dict[str, Any], is_same: bool
) -> None:
    _push(services, first)
    (memory,) = list_memories(services.memories)
    services.memories.delete(memory.id)
    status = status_of(services.memories, UUID(ID))
    assert (status.state, status.belongs_to(_reading(second))) == (IngestState.DELETED, is_same)
    _push(services, second, number=2)
    assert len(services.memories.dead_letters(10)) == (0 if is_same else 1)


def test_the_status_of_a_forgotten_content_without_a_source_belongs_to_each_record(services: FakeServices) -> None:
    reading = _reading(TEA)
    assert isinstance(reading, IngestRequest)
    services.memories.record_deleted([as_failed(reading, FORGOTTEN)])
    status = status_of(services.memories, UUID(ID))
    assert status.state is IngestState.DELETED
    assert status.belongs_to(reading) and status.belongs_to(_reading(A))
    _push(services, A, number=2)
    assert services.memories.dead_letters(10) == []


@pytest.mark.parametrize(("first", "second"), SAME.values(), ids=SAME)
def test_a_request_that_is_published_again_does_not_become_a_dead_letter(
    services: FakeServices, first: dict[str, Any], second: dict[str, Any]
) -> None:
    _push(services, first)
    status = status_of(services.memories, UUID(ID))
    assert status.belongs_to(_reading(second)) == (status.state is not IngestState.FAILED)
    for number in (2, 3):
        _push(services, second, number=number)
        assert _states(services) == ((IngestState.DELETED, 0, 0) if "op" in second else (IngestState.STORED, 1, 0))
