"""A request logs a limited number of bytes, and the log contains no content, query or secret."""

import logging

import pytest

from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.errors import InvalidRequest, Unavailable
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools import by_name
from mnemosyne.service.api_keys import new_key
from mnemosyne.service.authenticate import ApiKeyAuthenticator
from tests.fakes import NOW, FakeServices, request
from tests.incidents import World
from tests.memories import list_memories

SEARCH_BYTES, INGEST_BYTES = 800, 1_500
"""Maximum bytes of all log lines for a search, and for a memory on its way from the tool to the database."""
SECRET = "xylophone"
"""A word that is in each text that users write in these tests."""
CALLER = Principal(
    id="key:01a21766e27a",
    namespace="user:ada@example.com",
    scopes=frozenset({Scope.ADMIN}),
    credential="key:01a21766e27a",
    client="Ada's laptop",
)


def size(lines: list[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _call_tool(world: World, tool: str, **arguments: object) -> None:
    with world.function("mcp"):
        call(by_name()[tool], arguments, CALLER, world.services)


def test_storing_a_memory_logs_at_most_1500_bytes(services: FakeServices) -> None:
    world = World(services)
    _call_tool(world, "ingest_memory", content="Ada prefers tea.", timestamp="2026-05-20T14:30:00Z")
    data, attributes = services.queue.messages[0]
    assert world.deliver(data=data, attributes=attributes) == 204
    assert {"audit", "tool_called", "ingest_embedded", "ingest_outcome", "push_handled"} == world.events
    assert size(world.lines) <= INGEST_BYTES, world.lines


def test_a_search_logs_at_most_800_bytes(services: FakeServices) -> None:
    world = World(services)
    world.deliver()
    world.lines.clear()
    _call_tool(world, "memory_search", query="what does Ada prefer")
    assert size(world.lines) <= SEARCH_BYTES, world.lines


def test_no_log_line_has_content_a_query_or_a_secret(services: FakeServices, caplog: pytest.LogCaptureFixture) -> None:
    world = World(services)
    caplog.set_level(logging.DEBUG)
    fields = {"tags": [SECRET], "title": SECRET, "metadata": {"a": SECRET}, "session": SECRET}
    for fault in (None, Unavailable("the embedder is away"), InvalidRequest("the model refuses this text")):
        services.embedder.fault = fault
        _call_tool(world, "ingest_memory", content=f"{SECRET} {fault}", timestamp="2026-05-20T14:30:00Z", **fields)
        world.deliver(memory=request(f"{SECRET} {fault}", title=SECRET))
        world.deliver(data=SECRET.encode(), attributes={"namespace": "ns"})
        _call_tool(world, "memory_search", query=SECRET)
        _call_tool(world, "memory_search", query=SECRET, time=f"{SECRET} ago", mode=SECRET)
    (memory,) = list_memories(services.memories)
    changes: dict[str, dict[str, object]] = {
        "get_memory": {},
        "update_memory": {"title": f"{SECRET} 2"},
        "rate_memory": {"rating": 1, "reason": SECRET},
        "delete_memory": {},
    }
    for tool, arguments in changes.items():
        world.call(tool, id=str(memory.id), **arguments)
    key, token = new_key(name="k", namespace="ns", scopes=frozenset({Scope.READ}), created_at=NOW, expires_at=None)
    world.post(ApiKeyAuthenticator(lambda _: key, lambda: NOW), token=f"{token}x")
    assert len(world.lines) > 20
    assert SECRET not in "".join(world.lines)
    assert token.rpartition("_")[2] not in "".join(world.lines)
