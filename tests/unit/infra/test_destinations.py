"""What an import over MCP asks of the server."""

from typing import Any

import pytest

from mnemosyne.domain.memory import MemoryChange
from mnemosyne.domain.principal import LOCAL
from mnemosyne.mcp.calls import call
from mnemosyne.mcp.tools import TOOLS
from mnemosyne_cli.destinations import OverMcp
from tests.fakes import FakeServices, request


@pytest.mark.parametrize("tags", [(), ("gamma",)])
def test_a_memory_has_the_tags_it_had_elsewhere_even_where_it_had_none(
    monkeypatch: pytest.MonkeyPatch, tags: tuple[str, ...]
) -> None:
    services = FakeServices()
    with services.memories.claim(LOCAL.namespace, [request("a", tags=("alpha",))]) as claim:
        claim.store(claim.new, [services.embedder.embed_documents(["a"])], "fake")
    (memory_id,) = services.memories.memories

    def answer(self: OverMcp, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        (named,) = (one for one in TOOLS if one.name == tool)
        return call(named, arguments, LOCAL, services).structured_content or {}

    monkeypatch.setattr(OverMcp, "call", answer)
    OverMcp("http://localhost:8000/mcp").change(memory_id, MemoryChange(tags=tags))
    memory = services.memories.fetch(LOCAL.namespace, memory_id)
    assert memory
    assert memory.tags == tags
