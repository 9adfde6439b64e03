"""A memory that its source has a key for is stored once, however often the call is made again."""

from typing import Any

import pytest

from mnemosyne.domain.memory import Origin
from mnemosyne.domain.principal import LOCAL
from mnemosyne.ids import derived_id
from mnemosyne.mcp.calls import call
from mnemosyne.mcp.tools.ingest import INGEST_MEMORIES, INGEST_MEMORY
from tests.fakes import FakeServices

KEYED = {"content": "Ada: tea, please.", "source": "adk://app/ada", "key": "event-1"}


def _said(tool: Any, services: FakeServices, **arguments: Any) -> str:
    result = call(tool, arguments, LOCAL, services)
    assert result.is_error
    return result.content[0].text  # type: ignore[union-attr]


def test_the_request_has_the_id_of_its_source_and_key() -> None:
    services = FakeServices()
    ids = [call(INGEST_MEMORY, KEYED, LOCAL, services).structured_content["request_id"] for _ in range(2)]
    assert ids == [str(derived_id("adk://app/ada", "event-1"))] * 2
    ((_, (published,)), _) = services.queue.published
    assert published.origin == Origin("adk://app/ada", "event-1")


@pytest.mark.parametrize("left_out", ["source", "key"])
def test_one_without_the_other_is_refused(left_out: str) -> None:
    services = FakeServices()
    given = {name: value for name, value in KEYED.items() if name != left_out}
    assert "source and key must be given together" in _said(INGEST_MEMORY, services, **given)
    assert services.queue.published == []


def test_two_of_a_batch_cannot_have_the_same() -> None:
    services = FakeServices()
    said = _said(INGEST_MEMORIES, services, memories=[KEYED, KEYED | {"content": "other"}])
    assert said == "memories must have different source and key: two have the same"
    assert services.queue.published == []
