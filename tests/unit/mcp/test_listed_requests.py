"""The list of requests, with the provenance and the first words of each."""

from collections.abc import Sequence
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


def _deliver(services: FakeServices, fails: str = "") -> None:
    """Store the messages in the queue, or dead-letter them."""
    for number, (data, attributes) in enumerate(services.queue.messages):
        message = decode(Published(message_id=str(number), data=data, attributes=attributes))
        if fails:
            letter = DeadLetter(
                message_id=str(number), data=data, attributes=attributes, cause=fails, dead_lettered_at=NOW
            )
            dead_letters.give_up(letter, message, memories=services.memories)
        else:
            ingest.store(message, memories=services.memories, embedder=services.embedder)
    services.queue.messages.clear()


def _send(services: FakeServices, name: str, /, **arguments: Any) -> None:
    assert not call(by_name()[name], arguments, LAPTOP, services).is_error


def _requests(services: FakeServices, **arguments: Any) -> Sequence[dict[str, Any]]:
    return list(answer_of(services, "list_requests", **arguments)["requests"])


@pytest.mark.parametrize("named", [{}, {"source": "crm", "key": "7"}])
def test_a_stored_request_has_its_client_and_first_words(services: FakeServices, named: dict[str, str]) -> None:
    _send(services, "ingest_memory", content="Ada prefers green tea to coffee.", timestamp="2026-05-20", **named)
    _deliver(services)
    (row,) = _requests(services)
    assert (row["client"], row["first_words"]) == ("laptop", "Ada prefers green tea to coffee.")


@pytest.mark.parametrize("named", [{}, {"source": "crm", "key": "7"}])
def test_a_duplicate_has_its_client(services: FakeServices, named: dict[str, str]) -> None:
    store_content(services.memories, "Ada prefers tea.")
    _send(services, "ingest_memory", content="Ada prefers tea.", timestamp="2026-05-20", **named)
    _deliver(services)
    (duplicate,) = _requests(services, state="duplicate")
    assert (duplicate["client"], duplicate["first_words"]) == ("laptop", "Ada prefers tea.")


def test_an_imported_request_has_its_file_and_line(services: FakeServices) -> None:
    text = '{"content": "one", "timestamp": "2026-05-20"}\nno JSON\n{"content": "two", "timestamp": "2026-05-20"}\n'
    _send(services, "import_memories", name="notes.jsonl", text=text, first_line=10)
    _deliver(services)
    listed = {
        (request["import_name"], request["import_line"], request["state"], request["first_words"])
        for request in _requests(services)
    }
    assert listed == {
        ("notes.jsonl", 10, "stored", "one"),
        ("notes.jsonl", 11, "failed", None),
        ("notes.jsonl", 12, "stored", "two"),
    }


def test_a_refused_record_has_its_first_words(services: FakeServices) -> None:
    text = '{"content": "Ada prefers tea.", "timestamp": "the other day"}\n'
    _send(services, "import_memories", name="notes.jsonl", text=text)
    _deliver(services)
    (failed,) = _requests(services, state="failed")
    assert failed["first_words"] == "Ada prefers tea."


def test_a_dead_lettered_request_names_its_dead_letter(services: FakeServices) -> None:
    _send(services, "ingest_memory", content="Ada prefers tea.")
    _deliver(services, fails="the embedder is away")
    (given_up,) = _requests(services)
    assert (given_up["dead_letter"], given_up["first_words"], given_up["client"]) == (
        "0",
        "Ada prefers tea.",
        "laptop",
    )
    assert answer_of(services, "redrive", message_ids=[given_up["dead_letter"]])["letters"] == 1


def test_a_dead_letter_that_fails_again_keeps_its_id(services: FakeServices) -> None:
    _send(services, "ingest_memory", content="Ada prefers tea.")
    _deliver(services, fails="away")
    answer_of(services, "redrive", message_id="0")
    ((data, attributes),) = services.queue.messages
    published = Published(message_id="99", data=data, attributes=attributes)
    message = decode(published)
    services.memories.record_attempt(message.waiting("away"))
    letter = DeadLetter(
        message_id="99", data=data, attributes=attributes, cause="away", dead_lettered_at=NOW,
        letter_id=published.letter_id,
    )  # fmt: skip
    dead_letters.give_up(letter, message, memories=services.memories)
    (given_up,) = _requests(services)
    assert given_up["dead_letter"] == "0"


def test_a_request_stored_after_a_redrive_names_no_dead_letter(services: FakeServices) -> None:
    _send(services, "ingest_memory", content="Ada prefers tea.")
    _deliver(services, fails="away")
    answer_of(services, "redrive", message_id="0")
    _deliver(services)
    (row,) = _requests(services)
    assert (row["state"], row["dead_letter"]) == ("stored", None)


def test_the_request_of_a_deleted_memory_shows_no_words(services: FakeServices) -> None:
    _send(services, "ingest_memory", content="a secret")
    _deliver(services, fails="away")
    answer_of(services, "redrive", message_id="0")
    _deliver(services)
    (row,) = _requests(services)
    answer_of(services, "delete_memory", id=row["memory_id"])
    (deleted,) = _requests(services)
    assert (deleted["state"], deleted["first_words"]) == ("deleted", None)


def test_the_first_page_counts_the_requests_of_each_state(services: FakeServices) -> None:
    for content in ("one", "two", "two"):
        _send(services, "ingest_memory", content=content)
    _deliver(services)
    _send(services, "ingest_memory", content="three")
    _deliver(services, fails="away")
    first = answer_of(services, "list_requests", limit=2)
    assert first["counts"] == {"stored": 2, "duplicate": 1, "dead_lettered": 1}
    assert "counts" not in answer_of(services, "list_requests", cursor=first["next_cursor"])


def test_requests_of_other_publishers_are_listed_without_a_client(services: FakeServices) -> None:
    ingest_request: IngestRequest = request("published to the topic")
    services.queue.publish("ns", [ingest_request], Publisher())
    _deliver(services)
    (row,) = _requests(services)
    assert (row["client"], row["first_words"]) == (None, "published to the topic")
