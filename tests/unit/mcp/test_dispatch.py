"""Calls of tools: the text and the structured content agree, and each error says what an agent can do."""

import json
import re
from typing import Any

import pytest

from mnemosyne.errors import MnemosyneError, Unavailable, UncertainPublication
from mnemosyne.ids import new_id
from mnemosyne.mcp.tools import TOOLS
from tests.fakes import FakeServices, request
from tests.memories import store, store_content, store_contents
from tests.tools import CALLER, answer_of, call_tool, error_of, text_of


def test_ingest_answers_exactly_status_and_request_id() -> None:
    services = FakeServices()
    result = call_tool(services, "ingest_memory", content="a", timestamp="2026-05-20T14:30:00Z")
    ((_, (published,)),) = services.queue.published
    assert result.structured_content == {"status": "queued", "request_id": str(published.request_id)}
    assert json.loads(text_of(result)) == result.structured_content


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Unavailable("it is away"), "nothing was changed, try again shortly: it is away"),
        (UncertainPublication("no answer"), "try again shortly, which stores nothing twice: no answer"),
    ],
    ids=["refused", "uncertain"],
)
def test_an_unpublished_memory_may_be_sent_again(
    monkeypatch: pytest.MonkeyPatch, fault: MnemosyneError, message: str
) -> None:
    def publish(*_: object) -> None:
        raise fault

    services = FakeServices()
    monkeypatch.setattr(services.queue, "publish", publish)
    result = call_tool(services, "ingest_memory", content="a")
    assert result.is_error and text_of(result) == f"temporarily unavailable, {message}"


def test_get_memory_returns_the_content_unchanged(services: FakeServices) -> None:
    memory_id = store_content(services.memories, "TITLE: x\n  verbatim \n")
    result = call_tool(services, "get_memory", id=str(memory_id))
    assert text_of(result) == "TITLE: x\n  verbatim \n"


def test_the_audit_log_names_changes_without_contents(services: FakeServices, caplog: pytest.LogCaptureFixture) -> None:
    memory_id, *others = map(str, store_contents(services.memories, "a secret plan", "secret tea", "secret cake"))
    with caplog.at_level("INFO"):
        call_tool(services, "ingest_memory", content="another secret plan", timestamp="2026-05-20T12:00:00Z")
        call_tool(services, "update_memory", id=memory_id, title="plan B")
        call_tool(services, "rate_memory", id=memory_id, rating=1, reason="a secret reason")
        call_tool(services, "delete_memory", id=memory_id)
        call_tool(services, "delete_memory", ids=others)
        call_tool(services, "get_memory", id=memory_id)
    lines = [record.fields for record in caplog.records if record.msg == "audit"]  # type: ignore[attr-defined]
    actions = ["ingest_memory", "update_memory", "rate_memory", "delete_memory", "delete_memory"]
    assert [line["action"] for line in lines] == actions
    assert {line["principal"] for line in lines} == {CALLER.id}
    assert [line.get("id") for line in lines[1:4]] == [memory_id] * 3
    assert {*lines[4]["ids"]} == {*others}
    assert "secret" not in str(lines) and "plan" not in str(lines)


@pytest.mark.parametrize("tool", ["get_memory", "delete_memory"])
def test_a_tool_call_with_the_id_of_no_memory_is_an_error_that_names_the_id(services: FakeServices, tool: str) -> None:
    unknown = new_id()
    assert f"no memory has the id {unknown}" in error_of(services, tool, id=str(unknown))


def test_a_deletion_names_the_memories_that_stay_superseded_and_how_to_restore_one(services: FakeServices) -> None:
    first, second, new, other = map(str, store_contents(services.memories, "shelf 7", "shelf 8", "shelf 9", "tea"))
    call_tool(services, "update_memory", id=first, superseded_by=new)
    call_tool(services, "update_memory", id=second, superseded_by=new)
    deleted = call_tool(services, "delete_memory", id=new)
    assert deleted.structured_content["still_superseded"] == sorted([first, second])
    text = " ".join(block.text for block in deleted.content if block.type == "text")
    assert text.startswith(f"Deleted memory {new}: shelf 9")
    assert first in text and second in text and 'superseded_by "none" brings one back' in text
    several = call_tool(services, "delete_memory", ids=[other, first]).structured_content
    assert several["deleted"] == 2 and "still_superseded" not in several


def test_a_deletion_of_several_memories_names_the_memories_that_stay_superseded(services: FakeServices) -> None:
    old, new, other = map(str, store_contents(services.memories, "shelf 7", "shelf 8", "tea"))
    call_tool(services, "update_memory", id=old, superseded_by=new)
    assert answer_of(services, "delete_memory", ids=[new, other])["still_superseded"] == [old]


def test_the_status_of_a_single_new_memory_names_similar_memories(services: FakeServices) -> None:
    memory_id = store_content(services.memories, "Ada likes tea.")
    again = request("Ada likes tea")
    store(services.memories, again)
    (alone,) = answer_of(services, "ingest_status", request_id=str(again.request_id))["requests"]
    assert alone["similar"] == [{"id": str(memory_id), "title": "Ada likes tea."}]
    together, _ = answer_of(services, "ingest_status", request_ids=[str(again.request_id), str(new_id())])["requests"]
    assert "similar" not in together, "only a single request names similar memories"


def test_an_internal_error_shows_no_internal_details() -> None:
    class Broken(FakeServices):
        @property
        def clock(self) -> Any:
            raise RuntimeError("secret inside")

    error = error_of(Broken(), "ingest_status", request_id=str(new_id()))
    assert re.search(r"Trace id: [0-9a-f]{32}", error) and "secret" not in error


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_each_tool_and_argument_has_a_description_and_each_tool_annotations_of_its_effects(tool: Any) -> None:
    listing = tool.listing
    assert all("description" in field for field in listing.input_schema["properties"].values())
    assert listing.title
    assert len(listing.description) > 50
    assert listing.output_schema["type"] == "object"
    assert listing.annotations.open_world_hint is False
    assert listing.annotations.read_only_hint is tool.read_only
