"""The notice about stored text follows the answers that contain stored text, and only these."""

from typing import Any

import pytest

from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.mcp.dispatch import success
from mnemosyne.mcp.tools import ingest, ingest_status
from mnemosyne.mcp.tools.transfer import STRUCTURED_DATA
from tests.fakes import NOW, FakeServices
from tests.memories import store_content
from tests.tools import CALLER, call_tool

UNKNOWN = "01a1fcf1-643f-7f9f-8bdd-01b104fff04f"
NOTICE = "was stored by someone"
DAY = "2026-05-20T12:00:00Z"
WITHOUT_MEMORIES: list[tuple[str, dict[str, Any]]] = [
    ("memory_search", {"query": "tea", "include_debug": True}),
    ("retrieve_memories", {"query": "tea"}),
    ("list_memories", {}),
    ("memory_stats", {}),
    ("ingest_status", {"request_ids": [UNKNOWN]}),
    ("ingest_memory", {"content": "a", "timestamp": DAY}),
    ("ingest_memories", {"memories": [{"content": "a", "timestamp": DAY}]}),
    ("delete_memory", {"source": "crm", "key": "7"}),
    ("delete_memory", {"ids": [UNKNOWN]}),
    ("update_memory", {"ids": [UNKNOWN], "add_tags": ["x"]}),
    ("change_tag", {"tag": "tea", "delete": True}),
    ("memory_timeline", {}),
    ("memory_facets", {}),
    ("similar_memories", {"content": "tea"}),
    ("list_requests", {}),
    ("list_dead_letters", {}),
    ("drop_dead_letters", {"all": True}),
    ("list_audit", {}),
    ("forget_memories", {"all": True}),
    ("export_memories", {}),
    ("import_memories", {"name": "a.jsonl", "text": '{"content": "a", "timestamp": "2026-05-20"}'}),
    ("exact_match_retrieve", {"content": "tea"}),
    ("who_am_i", {}),
]  # fmt: skip


def _texts(result: Any) -> list[str]:
    assert not result.is_error, result.content
    return [block.text for block in result.content]


@pytest.mark.parametrize(("tool", "arguments"), WITHOUT_MEMORIES)
def test_without_stored_text_there_is_no_notice(services: FakeServices, tool: str, arguments: dict[str, Any]) -> None:
    texts = _texts(call_tool(services, tool, **arguments))
    assert not any(NOTICE in text for text in texts)


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        ({"after": "2026-05-01"}, "Searched from 2026-05-01T00:00:00Z on."),
        (
            {"after": "2026-05-01", "before": "2026-05-02T00:00:00Z"},
            "Searched from 2026-05-01T00:00:00Z to 2026-05-02T00:00:00Z.",
        ),
    ],
)
def test_the_notes_of_an_answer_without_stored_text_are_in_a_second_block(
    services: FakeServices, arguments: dict[str, str], note: str
) -> None:
    assert _texts(call_tool(services, "memory_search", query="tea", **arguments)) == ["No memories found.", note]


def test_the_notice_of_an_export_is_about_the_structured_content(services: FakeServices) -> None:
    store_content(services.memories, "tea")
    assert _texts(call_tool(services, "export_memories")) == ["1 memory", STRUCTURED_DATA]


def _status(**fields: Any) -> ingest_status.RequestStatus:
    stored = {"error": None, "memory_id": UNKNOWN, "attempts": 1, "updated_at": NOW, "state": "stored"}
    return ingest_status.RequestStatus.model_validate({"request_id": UNKNOWN, **stored, **fields})


@pytest.mark.parametrize("part", ["error", "note", "similar", "may_replace"])
def test_a_status_that_quotes_stored_text_has_the_notice(
    services: FakeServices, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    texts: Any = [{"id": UNKNOWN, "title": "Obey"}] if part in ("similar", "may_replace") else "'Obey' is too long"
    stored, quoting = _status(), _status(**{part: texts})
    assert ingest.ingest_memory.outcome
    for statuses, expected in (([stored], False), ([quoting], True)):
        for module in (ingest, ingest_status):
            monkeypatch.setattr(module, "statuses", lambda *_, statuses=statuses: statuses)
        answer = call_tool(services, "ingest_status", request_ids=[UNKNOWN])
        reply = ingest.ingest_memory.outcome({"request_id": UNKNOWN}, CALLER, services)
        assert reply
        for result in (answer, success(reply)):
            assert (NOTICE in _texts(result)[-1]) is expected


def test_an_outcome_without_its_source_has_no_notice(services: FakeServices, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "statuses", lambda *_: [_status(source="crm", key="7")])
    assert ingest.ingest_memory.outcome
    reply = ingest.ingest_memory.outcome({"request_id": UNKNOWN}, CALLER, services)
    assert reply and "crm" not in str(reply.result)
    assert _texts(success(reply)) == [reply.result.model_dump_json()]


def test_the_problems_of_a_redrive_have_the_notice_because_they_can_quote_the_message(services: FakeServices) -> None:
    letter = DeadLetter(message_id="7", data=b"x", attributes={"Obey": "x" * 2000}, cause="bad", dead_lettered_at=NOW)
    services.memories.store_dead_letter(letter)
    result = call_tool(services, "redrive", message_ids=["7"])
    assert result.structured_content["problems"]
    assert NOTICE in _texts(result)[-1]


@pytest.mark.parametrize("field", ["tags", "unknown", "error", "successor"])
def test_an_import_whose_answer_quotes_the_file_has_the_notice(services: FakeServices, field: str) -> None:
    line = {
        "tags": '{"content": "TAGS: b\\na", "timestamp": "2026-05-20", "content_hash": "0", "tags": ["Obey"]}',
        "unknown": '{"content": "a", "Obey": 1}',
        "error": '{"content": "a", "timestamp": "Obey"}',
        "successor": '{"content": "a", "timestamp": "2026-05-20", "superseded_by_hash": "Obey"}',
    }[field]
    result = call_tool(services, "import_memories", name="a.jsonl", text=line)
    assert "Obey" in str(result.structured_content)
    assert NOTICE in _texts(result)[-1]
