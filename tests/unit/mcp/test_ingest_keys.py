"""A version of a record that its source names by a key is one request, however often it is sent."""

from typing import Any
from uuid import UUID

import pytest
from mcp_types import CallToolResult

from mnemosyne.domain.memory import Origin, Unstored, content_hash
from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.principal import LOCAL
from mnemosyne.ids import version_id
from mnemosyne.mcp.calls import call
from mnemosyne.mcp.tools.ingest import INGEST_MEMORIES, INGEST_MEMORY
from mnemosyne.service import ingest
from tests.fakes import NOW, FakeServices

KEYED = {
    "content": "Ada: tea, please.",
    "timestamp": "2026-05-20T12:00:00Z",
    "source": "adk://app/ada",
    "key": "event-1",
}


def _said(tool: Any, services: FakeServices, **arguments: Any) -> str:
    result = call(tool, arguments, LOCAL, services)
    assert result.is_error
    return result.content[0].text  # type: ignore[union-attr]


def test_the_request_has_the_id_of_its_version() -> None:
    services = FakeServices()
    ids = [call(INGEST_MEMORY, KEYED, LOCAL, services).structured_content["request_id"] for _ in range(2)]
    version = version_id("adk://app/ada", "event-1", content_hash("Ada: tea, please."), NOW)
    assert ids == [str(version)] * 2
    ((_, (published,)), _) = services.queue.published
    assert published.origin == Origin("adk://app/ada", "event-1")


def _looked_up(services: FakeServices, queued: CallToolResult) -> dict[str, Any] | None:
    """What a call that waits is told now."""
    assert INGEST_MEMORY.outcome and queued.structured_content
    reply = INGEST_MEMORY.outcome(queued.structured_content, LOCAL, services)
    return reply.result.model_dump(mode="json") if reply else None


def _fail(services: FakeServices) -> UUID:
    failed = version_id("adk://app/ada", "event-1", content_hash("Ada: tea, please."), NOW)
    services.memories.record_failures(LOCAL.namespace, [Unstored(request_id=failed, error="no room")])
    return failed


def test_a_call_that_waits_is_not_told_of_an_earlier_failure_of_the_same_version() -> None:
    services = FakeServices()
    failed = _fail(services)
    queued = call(INGEST_MEMORY, KEYED | {"wait": 5}, LOCAL, services)
    assert _looked_up(services, queued) is None
    _fail(services)
    told = _looked_up(services, queued)
    assert told == {"status": "failed", "request_id": str(failed), "error": "no room"}


def test_a_call_that_waits_is_told_at_once_that_the_same_version_is_stored() -> None:
    services = FakeServices()
    call(INGEST_MEMORY, KEYED, LOCAL, services)
    ((_, (sent,)),) = services.queue.published
    message = IngestMessage(LOCAL.namespace, (sent,))
    ingest.store(message, memories=services.memories, embedder=services.embedder)
    told = _looked_up(services, call(INGEST_MEMORY, KEYED | {"wait": 5}, LOCAL, services))
    assert told and told["status"] == "stored"


def test_a_first_call_that_waits_is_told_of_any_outcome() -> None:
    services = FakeServices()
    queued = call(INGEST_MEMORY, KEYED | {"wait": 5}, LOCAL, services)
    assert queued.structured_content and set(queued.structured_content) == {"status", "request_id"}
    _fail(services)
    told = _looked_up(services, queued)
    assert told and told["status"] == "failed"


@pytest.mark.parametrize("left_out", ["source", "key"])
def test_one_without_the_other_is_refused(left_out: str) -> None:
    services = FakeServices()
    given = {name: value for name, value in KEYED.items() if name != left_out}
    assert "source and key must be given together" in _said(INGEST_MEMORY, services, **given)
    assert services.queue.published == []


def test_a_batch_may_have_two_versions_of_a_record() -> None:
    services = FakeServices()
    memories = [KEYED, KEYED | {"content": "other"}, KEYED | {"timestamp": "2026-05-20T12:00:01Z"}]
    queued = call(INGEST_MEMORIES, {"memories": memories}, LOCAL, services).structured_content
    assert len(set(queued["request_ids"])) == 3


def test_a_batch_cannot_have_one_version_twice() -> None:
    services = FakeServices()
    said = _said(INGEST_MEMORIES, services, memories=[KEYED, KEYED])
    assert said == "two memories have the same source, key, content and timestamp: send each once"
    assert services.queue.published == []
