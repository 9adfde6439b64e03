"""The list of requests, with the provenance and the first words of each."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.domain.message import decode
from mnemosyne.domain.provenance import Publisher
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools import by_name
from mnemosyne.service import dead_letters, ingest
from tests.fakes import NOW, FakeServices, request
from tests.memories import store_content
from tests.tools import CALLER, answer_of

LAPTOP = replace(CALLER, name="laptop")


def _letter(message_id: str, data: bytes, attributes: Mapping[str, str], **fields: Any) -> DeadLetter:
    return DeadLetter(
        message_id=message_id, data=data, attributes=attributes, cause="away", dead_lettered_at=NOW, **fields
    )


def _deliver(services: FakeServices, *, fails: bool = False) -> None:
    """Store the messages in the queue, or dead-letter them."""
    for number, (data, attributes) in enumerate(services.queue.messages):
        message = decode(Published(message_id=str(number), data=data, attributes=attributes))
        if fails:
            dead_letters.give_up(_letter(str(number), data, attributes), message, memories=services.memories)
        else:
            ingest.store(message, memories=services.memories, embedder=services.embedder)
    services.queue.messages.clear()


def _send(services: FakeServices, name: str, /, **arguments: Any) -> None:
    assert not call(by_name()[name], arguments, LAPTOP, services).is_error


def _requests(services: FakeServices, **arguments: Any) -> Sequence[dict[str, Any]]:
    return list(answer_of(services, "list_requests", **arguments)["requests"])


@pytest.mark.parametrize("named", [{}, {"source": "crm", "key": "7"}])
def test_a_request_has_its_client_and_first_words(services: FakeServices, named: dict[str, str]) -> None:
    store_content(services.memories, "Ada prefers tea.")
    for content in ("Ada prefers tea.", "Ada prefers green tea."):
        _send(services, "ingest_memory", content=content, timestamp="2026-05-20", **named)
    _deliver(services)
    listed = {(row["state"], row["first_words"]) for row in _requests(services) if row["client"] == "laptop"}
    assert listed == {("duplicate", "Ada prefers tea."), ("stored", "Ada prefers green tea.")}


def test_an_imported_request_has_its_file_line_and_first_words(services: FakeServices) -> None:
    text = '{"content": "one", "timestamp": "2026-05-20"}\nno JSON\n{"content": "two", "timestamp": "the other day"}\n'
    _send(services, "import_memories", name="notes.jsonl", text=text, first_line=10)
    _deliver(services)
    fields = ("import_name", "import_line", "state", "first_words")
    assert {tuple(row[field] for field in fields) for row in _requests(services)} == {
        ("notes.jsonl", 10, "stored", "one"),
        ("notes.jsonl", 11, "failed", None),
        ("notes.jsonl", 12, "failed", "two"),
    }


def test_a_request_names_its_dead_letter_until_stored_and_its_words_until_deleted(services: FakeServices) -> None:
    def listed() -> tuple[Any, ...]:
        (row,) = _requests(services)
        return tuple(row[field] for field in ("state", "dead_letter", "first_words", "client"))

    _send(services, "ingest_memory", content="Ada prefers tea.")
    _deliver(services, fails=True)
    assert listed() == ("dead_lettered", "0", "Ada prefers tea.", "laptop")
    assert answer_of(services, "redrive", message_ids=["0"])["letters"] == 1
    _deliver(services)
    assert listed() == ("stored", None, "Ada prefers tea.", "laptop")
    answer_of(services, "delete_memory", id=_requests(services)[0]["memory_id"])
    assert listed() == ("deleted", None, None, "laptop")


def test_a_dead_letter_that_fails_again_keeps_its_id(services: FakeServices) -> None:
    _send(services, "ingest_memory", content="Ada prefers tea.")
    _deliver(services, fails=True)
    answer_of(services, "redrive", message_id="0")
    ((data, attributes),) = services.queue.messages
    published = Published(message_id="99", data=data, attributes=attributes)
    message = decode(published)
    services.memories.record_attempt(message.waiting("away"))
    letter = _letter("99", data, attributes, letter_id=published.letter_id)
    dead_letters.give_up(letter, message, memories=services.memories)
    (given_up,) = _requests(services)
    assert given_up["dead_letter"] == "0"


def test_the_first_page_counts_the_requests_of_each_state(services: FakeServices) -> None:
    for content in ("one", "two", "two"):
        _send(services, "ingest_memory", content=content)
    _deliver(services)
    _send(services, "ingest_memory", content="three")
    _deliver(services, fails=True)
    first = answer_of(services, "list_requests", limit=2)
    assert first["counts"] == {"stored": 2, "duplicate": 1, "dead_lettered": 1}
    assert "counts" not in answer_of(services, "list_requests", cursor=first["next_cursor"])


def test_requests_of_other_publishers_are_listed_without_a_client(services: FakeServices) -> None:
    ingest_request: IngestRequest = request("published to the topic")
    services.queue.publish("ns", [ingest_request], Publisher())
    _deliver(services)
    (row,) = _requests(services)
    assert (row["client"], row["first_words"]) == (None, "published to the topic")
