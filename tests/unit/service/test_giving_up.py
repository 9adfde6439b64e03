"""`dead_letter` gives a message up if the message itself is the cause of a failure.

The texts of errors do not matter.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from mnemosyne.domain.dead_letter import DeadLetterKind
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.errors import ItemUnavailable, Unavailable
from mnemosyne.ports.embedder import Vector
from mnemosyne.service import dead_letters, deliveries
from mnemosyne.service.deliveries import Push
from tests.fakes import FakeServices
from tests.memories import make_dead_letter, status_of

ID = "0192f3a4-643f-7f9f-8bdd-01b104fff04f"
TEA: dict[str, Any] = {"content": "green tea", "timestamp": "2026-05-20T12:00:00Z", "request_id": ID}


def _push(record: dict[str, Any], number: int) -> Push:
    data = json.dumps(record).encode()
    return Push(Published(message_id=str(number), data=data, attributes={"namespace": "ns"}), 1)


def _without_a_row(services: FakeServices) -> None:
    pass


def _attempted(services: FakeServices, fault: Unavailable) -> None:
    services.embedder.fault = fault
    with pytest.raises(Unavailable):
        deliveries.store(_push(TEA, 1), services)


def _failed(services: FakeServices) -> None:
    deliveries.store(_push({**TEA, "timestamp": "tomorrow"}, 1), services)


def _dead_lettered(services: FakeServices) -> None:
    services.embedder.fault = ItemUnavailable("an obsolete cause")
    deliveries.give_up(_push({**TEA, "tags": ["first"]}, 1), services)
    services.memories.drop_dead_letters(["1"])


_waiting = partial(_attempted, fault=Unavailable("the service is away"))
_hindered = partial(_attempted, fault=ItemUnavailable("the model fails (Request id: 17)"))


@pytest.mark.parametrize(
    "prepare",
    [_without_a_row, _waiting, _hindered, _failed, _dead_lettered],
    ids=["without a row", "waiting", "hindered", "failed", "dead-lettered"],
)
def test_a_message_that_the_dead_letter_function_cannot_store_is_kept_with_the_latest_cause(
    services: FakeServices, prepare: Any
) -> None:
    prepare(services)
    services.embedder.fault = ItemUnavailable("the model fails (Request id: 18)")
    deliveries.give_up(_push(TEA, 2), services)
    (letter,) = services.memories.dead_letters(10)
    assert (letter.message_id, letter.cause) == ("2", "the model fails (Request id: 18)")
    if prepare is not _failed:
        assert status_of(services.memories, UUID(ID)).error == letter.cause


@pytest.mark.parametrize("is_slow", [False, True])
def test_a_message_is_stored_after_a_temporary_error_unless_the_first_attempt_was_slow(
    services: FakeServices, monkeypatch: pytest.MonkeyPatch, is_slow: bool
) -> None:
    embed_documents = services.embedder.embed_documents

    def fail_once(texts: Sequence[str]) -> Sequence[Vector]:
        monkeypatch.setattr(services.embedder, "embed_documents", embed_documents)
        raise ItemUnavailable("the statement took too long")

    monkeypatch.setattr(services.embedder, "embed_documents", fail_once)
    if is_slow:
        monkeypatch.setattr(deliveries, "DELIVERY_SECONDS", 0.0)
    deliveries.give_up(_push(TEA, 1), services)
    assert len(services.memories.dead_letters(10)) == (1 if is_slow else 0)
    assert status_of(services.memories, UUID(ID)).state == ("dead_lettered" if is_slow else "stored")


@pytest.mark.parametrize("record", [TEA, {**TEA, "content": "black tea"}, {"op": "delete", "request_id": ID}])
def test_a_message_of_a_newer_version_is_a_dead_letter_even_if_its_requests_are_final(
    services: FakeServices, record: dict[str, Any]
) -> None:
    deliveries.store(_push(TEA, 1), services)
    newer = _push({**record, "schema_version": 2}, 2)
    with pytest.raises(Unavailable):
        deliveries.store(newer, services)
    for _ in range(2):
        deliveries.give_up(newer, services)
    (letter,) = services.memories.dead_letters(10)
    assert letter.cause == "schema_version 2 is newer than 1, the newest version that this release of Mnemosyne reads"
    assert letter.has_unreported_part


QUOTED = {"unreadable", "conflict", "notification", "unstorable"}


@pytest.mark.parametrize("kind", DeadLetterKind)
def test_the_log_has_the_cause_of_a_dead_letter_only_if_the_cause_cannot_quote_the_message(
    services: FakeServices, caplog: pytest.LogCaptureFixture, kind: DeadLetterKind
) -> None:
    letter = replace(make_dead_letter("1"), cause="green tea", kind=kind)
    dead_letters.store_dead_letter(letter, memories=services.memories_of("ns"))
    (logged,) = [vars(record)["fields"] for record in caplog.records]
    assert (logged["error"] != "green tea") == (kind in QUOTED)
