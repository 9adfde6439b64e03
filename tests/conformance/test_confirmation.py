"""Deletions need a person's confirmation if the client can ask for it."""

from typing import Any

import anyio
import mcp_types
import pytest
from mcp.client.client import Client

from tests.dev import DevServer

ACCEPTED = mcp_types.ElicitResult(action="accept", content={"confirm": True})


class Person:
    """The person who confirms, and their answers."""

    def __init__(self, answer: mcp_types.ElicitResult) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def __call__(self, context: Any, params: Any) -> mcp_types.ElicitResult:
        self.asked.append(params.message)
        return self.answer


def _delete(
    dev: DevServer, memory_id: str, person: Person | None, mode: str = "2026-07-28"
) -> mcp_types.CallToolResult:
    async def run() -> mcp_types.CallToolResult:
        async with Client(dev.url, mode=mode, elicitation_callback=person) as client:
            return await client.call_tool("delete_memory", {"id": memory_id})

    return anyio.run(run)


def test_a_memory_is_deleted_after_the_person_confirms(dev: DevServer) -> None:
    memory_id, person = dev.remember("asked about and deleted"), Person(ACCEPTED)
    result = _delete(dev, memory_id, person)
    assert person.asked == [f"Delete memory {memory_id} (asked about and deleted) for good?"]
    assert (result.structured_content or {})["deleted"] is True
    assert "no memory" in dev.error("get_memory", {"id": memory_id})


@pytest.mark.parametrize(
    "answer",
    [
        mcp_types.ElicitResult(action="decline"),
        mcp_types.ElicitResult(action="cancel"),
        mcp_types.ElicitResult(action="accept", content={"confirm": False}),
        mcp_types.ElicitResult(action="accept", content={}),
    ],
    ids=["decline", "cancel", "no", "empty"],
)
def test_without_confirmation_nothing_is_deleted(dev: DevServer, answer: mcp_types.ElicitResult) -> None:
    content = f"asked about and kept {answer}"
    memory_id = dev.remember(content)
    result = _delete(dev, memory_id, Person(answer))
    assert result.is_error
    assert "delete_memory was not run: the user did not agree" in str(result.content)
    assert dev.call("get_memory", {"id": memory_id})["content"] == content


def test_for_an_unknown_memory_no_confirmation_is_requested(dev: DevServer) -> None:
    person = Person(ACCEPTED)
    result = _delete(dev, "0192f3a4-0000-7000-8000-000000000000", person)
    assert result.is_error
    assert person.asked == []


@pytest.mark.parametrize(("mode", "person"), [("2026-07-28", None), ("legacy", Person(ACCEPTED)), ("legacy", None)])
def test_a_client_that_cannot_ask_deletes_at_once(dev: DevServer, mode: str, person: Person | None) -> None:
    result = _delete(dev, dev.remember(f"deleted at once {mode} {person is None}"), person, mode)
    assert (result.structured_content or {})["deleted"] is True
