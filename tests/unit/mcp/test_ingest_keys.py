"""A version of a record with source and key is one request, however often it is sent."""

from typing import Any
from uuid import UUID

import pytest
from mcp_types import CallToolResult

from mnemosyne.domain.memory import ExternalId, FailedRequest, content_hash
from mnemosyne.domain.message import decode
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.domain.search import Filters
from mnemosyne.ids import version_id
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools.ingest import ingest_memory
from mnemosyne.service import ingest
from tests.fakes import NOW, FakeServices
from tests.memories import list_memories, store
from tests.tools import CALLER, answer_of, error_of

RECORD = {"source": "adk://app/ada", "key": "event-1", "timestamp": "2026-05-20T12:00:00Z"}
KEYED = RECORD | {"content": "Ada: tea, please."}
VERSION_ID = version_id("adk://app/ada", "event-1", content_hash("Ada: tea, please."), NOW)


def test_a_request_id_is_derived_from_the_record_s_version() -> None:
    services = FakeServices()
    ids = [answer_of(services, "ingest_memory", **KEYED)["request_id"] for _ in range(2)]
    assert ids == [str(VERSION_ID)] * 2
    ((_, (published,)), _) = services.queue.published
    assert published.external_id == ExternalId("adk://app/ada", "event-1")


def _looked_up(services: FakeServices, queued: CallToolResult) -> dict[str, Any] | None:
    """Return the answer that a call with `wait` would get now. Return None if the request has no outcome yet."""
    assert ingest_memory.outcome and queued.structured_content
    reply = ingest_memory.outcome(queued.structured_content, CALLER, services)
    return reply.result.model_dump(mode="json") if reply else None


def _fail(services: FakeServices) -> UUID:
    services.memories.record_failures([FailedRequest(request_id=VERSION_ID, error="no room")])
    return VERSION_ID


def test_a_waiting_call_returns_a_failure_but_no_earlier_one(services: FakeServices) -> None:
    for _ in range(2):
        queued = call(ingest_memory, KEYED | {"wait": 5}, CALLER, services)
        assert _looked_up(services, queued) is None
        failed = _fail(services)
        status = _looked_up(services, queued)
        assert status == {"status": "failed", "request_id": str(failed), "error": "no room"}


def test_a_waiting_call_returns_at_once_if_the_same_version_is_stored(services: FakeServices) -> None:
    call(ingest_memory, KEYED, CALLER, services)
    ((_, (published,)),) = services.queue.published
    store(services.memories, published)
    status = _looked_up(services, call(ingest_memory, KEYED | {"wait": 5}, CALLER, services))
    assert status and status["status"] == "stored"


def _deliver(services: FakeServices) -> None:
    """Deliver the published messages."""
    for data, attributes in services.queue.messages:
        published = Published(message_id="", data=data, attributes=attributes, publish_time=NOW.isoformat())
        message = decode(published)
        ingest.store(message, memories=services.memories_of(message.namespace), embedder=services.embedder)
    services.queue.messages.clear()


NAMED = {"content": "tea", "request_id": "0192f3a4-0000-7000-8000-000000000000"}
DELETED = {"op": "delete", "source": "crm", "key": "1", "request_id": NAMED["request_id"]}


@pytest.mark.parametrize("other", [NAMED | {"content": "coffee"}, NAMED | {"session": "s"}, DELETED])
@pytest.mark.parametrize("deleted", [False, True])
def test_a_waiting_call_returns_its_own_outcome(other: dict[str, Any], deleted: bool, services: FakeServices) -> None:
    call(ingest_memory, NAMED, CALLER, services)
    _deliver(services)
    if deleted:
        (memory,) = list_memories(services.memories)
        services.memories.delete(memory.id)
    state = "deleted" if deleted else "stored"
    assert error_of(services, "ingest_memory", **other, wait=5) == (
        f"request_id must be unique, got {NAMED['request_id']}: an earlier request has it, with the outcome "
        f"{state}; nothing was stored"
    )
    assert services.queue.messages == []


def test_a_waiting_deletion_does_not_return_the_outcome_of_another_record_s_deletion(services: FakeServices) -> None:
    call(ingest_memory, DELETED, CALLER, services)
    _deliver(services)
    assert error_of(services, "ingest_memory", **DELETED | {"key": "2"}, wait=5).startswith("request_id must be unique")
    again = call(ingest_memory, DELETED | {"wait": 5}, CALLER, services)
    status = _looked_up(services, again)
    assert status and status["status"] == "deleted"


def test_an_attempt_without_an_outcome_is_not_an_earlier_outcome(services: FakeServices) -> None:
    postponed = FailedRequest(request_id=UUID(NAMED["request_id"]), error="the embedder is away")
    services.memories_of(CALLER.namespace).record_attempt([postponed])
    answer = call(ingest_memory, NAMED | {"wait": 5}, CALLER, services).structured_content
    assert answer == {"status": "queued", "request_id": NAMED["request_id"]}


def test_a_record_whose_key_is_a_number_is_deleted_by_the_number(services: FakeServices) -> None:
    call(ingest_memory, KEYED | {"key": 4711}, CALLER, services)
    ((data, attributes),) = services.queue.messages
    store(services.memories, *decode(Published(message_id="", data=data, attributes=attributes)).requests)
    assert answer_of(services, "delete_memory", source=KEYED["source"], key=4711)["id"]
    assert list_memories(services.memories) == []
    error = error_of(services, "delete_memory", source=KEYED["source"], key=2.5)
    assert error.startswith("key must be a string, got 2.5")


def test_a_batch_may_have_several_versions_of_a_record_and_a_repeated_version_is_one_request() -> None:
    memories = [KEYED, KEYED, KEYED | {"content": "other"}, KEYED | {"timestamp": "2026-05-20T12:00:01Z"}]
    first, again, *others = answer_of(FakeServices(), "ingest_memories", memories=memories)["request_ids"]
    assert (first, len({first, *others})) == (again, 3)


VERSION = {"source": "crm", "key": "1"}
DELETION = VERSION | {"op": "DELETE"}


@pytest.mark.parametrize(
    ("batch", "current"),
    [
        ([VERSION | {"content": content} for content in ("shelf 9", "shelf 8", "shelf 7")], ["shelf 7"]),
        ([VERSION | {"content": "shelf 7"}, DELETION], []),
        ([DELETION, VERSION | {"content": "shelf 7"}], ["shelf 7"]),
        ([VERSION | {"content": "shelf 7"}, DELETION, VERSION | {"content": "shelf 8"}], ["shelf 8"]),
    ],
    ids=["versions", "deleted last", "stored last", "replaced"],
)
def test_a_batch_takes_effect_in_order(batch: list[dict[str, Any]], current: list[str], services: FakeServices) -> None:
    answer_of(services, "ingest_memories", memories=batch)
    _deliver(services)
    assert [memory.title for memory in services.memories.list(Filters(), 10)] == current
