"""A version of a record that its source names by a key is one request, however often it is sent."""

from typing import Any

import pytest

from mnemosyne.domain.memory import Origin, content_hash
from mnemosyne.domain.principal import LOCAL
from mnemosyne.ids import version_id
from mnemosyne.mcp.calls import call
from mnemosyne.mcp.tools.ingest import INGEST_MEMORIES, INGEST_MEMORY
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
