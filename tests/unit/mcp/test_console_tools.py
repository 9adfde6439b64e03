"""The console's tools: listing, scopes and results."""

import json
from typing import Any

import pytest

from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.memory import ExternalId, IngestState
from mnemosyne.domain.message import IngestMessage, decode, encode
from mnemosyne.domain.principal import Scope
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.mcp.tools import CONSOLE_NAMES, TOOLS, by_name, console_tools, operate
from mnemosyne.service import dead_letters, ingest, transfer
from tests.fakes import NOW, FakeServices, request
from tests.memories import list_memories, status_of, store, store_contents
from tests.tools import answer_of, error_of


def test_the_console_s_tools_are_listed_for_the_console_only() -> None:
    names = {tool.name for tool in console_tools()}
    assert names == CONSOLE_NAMES
    assert not names & {tool.name for tool in TOOLS}


def test_only_operators_read_the_audit_trail_forget_memories_and_redrive_and_drop_dead_letters() -> None:
    operators = {tool.name for tool in by_name().values() if tool.scope is Scope.OPERATE}
    assert operators == {"redrive", "drop_dead_letters", "forget_memories", "list_audit"}


def test_a_redriven_dead_letter_is_published_unchanged(services: FakeServices) -> None:
    ingest_request = request("tea")
    data, attributes = encode("ns", [ingest_request], "")
    given_up = DeadLetter(message_id="7", data=data, attributes=attributes, cause="away", dead_lettered_at=NOW)
    dead_letters.give_up(given_up, IngestMessage("ns", (ingest_request,)), memories=services.memories)
    (letter,) = answer_of(services, "list_dead_letters")["dead_letters"]
    assert (letter["message_id"], letter["cause"]) == ("7", "away")
    assert answer_of(services, "redrive", message_id="7")["request_ids"] == [str(ingest_request.request_id)]
    assert services.queue.published[0][1][0].content == "tea"
    assert "redriven_at" in answer_of(services, "list_dead_letters")["dead_letters"][0]
    assert status_of(services.memories, ingest_request.request_id).state is IngestState.QUEUED


def _keep(services: FakeServices, *letters: tuple[str, str]) -> None:
    for message_id, cause in letters:
        letter = DeadLetter(
            message_id=message_id, data=message_id.encode(), attributes={}, cause=cause, dead_lettered_at=NOW
        )
        services.memories.store_dead_letter(letter)


def test_the_first_page_of_dead_letters_counts_their_causes(services: FakeServices) -> None:
    _keep(services, ("1", "given up after 5 deliveries"), ("2", "given up after 20 deliveries"), ("3", "other"))
    first = answer_of(services, "list_dead_letters", limit=2)
    assert [(cause["cause"], cause["letters"]) for cause in first["causes"]] == [
        ("given up after # deliveries", 2), ("other", 1),
    ]  # fmt: skip
    assert "causes" not in answer_of(services, "list_dead_letters", cursor=first["next_cursor"])


def test_the_dead_letters_of_a_cause_are_redriven_up_to_the_limit_of_a_call(
    services: FakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operate, "REDRIVEN_AT_ONCE", 2)
    _keep(services, ("a", "other"), *((f"{n}", f"quota of {n}") for n in range(3)))
    for letters, remaining in ((2, 1), (1, 0)):
        answer = answer_of(services, "redrive", cause="quota of #")
        assert (answer["letters"], answer["problems"], answer["remaining"]) == (letters, [], remaining)
    assert len(services.queue.messages) == 3


@pytest.mark.parametrize(
    ("arguments", "remaining"),
    [
        ({"cause": "quota"}, ["3"]),
        ({"message_ids": ["1", "3"]}, ["2"]),
        ({"older_than_days": 0}, []),
        ({"older_than_days": 1}, ["1", "2", "3"]),
        ({"all": True}, []),
    ],
)
def test_dead_letters_are_dropped_by_cause_id_and_age_and_a_dry_run_counts_them(
    services: FakeServices, arguments: dict[str, Any], remaining: list[str]
) -> None:
    _keep(services, ("1", "quota of 1"), ("2", "quota of 2"), ("3", "other"))
    dry = answer_of(services, "drop_dead_letters", **arguments, dry_run=True)
    assert (dry["dropped"], len(services.memories.dead_letters(10))) == (0, 3)
    assert answer_of(services, "drop_dead_letters", **arguments)["dropped"] == dry["would_drop"] == 3 - len(remaining)
    assert sorted(letter.message_id for letter in services.memories.dead_letters(10)) == remaining


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("redrive", {}, "give either message_id, message_ids or cause"),
        ("redrive", {"message_id": "1", "cause": "quota"}, "give either message_id, message_ids or cause"),
        ("drop_dead_letters", {"dry_run": True}, "give message_ids, cause or older_than_days"),
        ("drop_dead_letters", {"all": True, "cause": "quota"}, "give message_ids, cause or older_than_days"),
    ],
)
def test_a_change_of_dead_letters_needs_exactly_one_selection(
    services: FakeServices, tool: str, arguments: dict[str, Any], message: str
) -> None:
    _keep(services, ("1", "quota"))
    assert message in error_of(services, tool, **arguments)
    assert (len(services.memories.dead_letters(10)), services.queue.messages) == (1, [])


def _pages(services: FakeServices, tool: str, **arguments: Any) -> list[dict[str, Any]]:
    pages = [answer_of(services, tool, **arguments)]
    while cursor := pages[-1]["next_cursor"]:
        pages.append(answer_of(services, tool, **arguments, cursor=cursor))
    return pages


def test_requests_are_listed_page_by_page(services: FakeServices) -> None:
    store(services.memories, *(request(f"memory {n}") for n in range(3)))
    pages = _pages(services, "list_requests", limit=1)
    assert len({page["requests"][0]["request_id"] for page in pages}) == len(pages) == 3


def test_the_pages_of_an_export_are_consecutive_lines(services: FakeServices, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "EXPORT_PAGE", 2)
    store(services.memories, *(request(f"memory {n} 😀") for n in range(5)))
    pages = _pages(services, "export_memories")
    lines = "".join(page["lines"] for page in pages).splitlines()
    assert {json.loads(line)["content"] for line in lines} == {f"memory {n} 😀" for n in range(5)}
    assert (len(pages), len(lines)) == (3, 5)


@pytest.mark.parametrize(("format_", "pages"), [("jsonl", [6]), ("markdown", [2, 2, 2])])
def test_a_page_of_markdown_has_fewer_memories_with_large_metadata(
    services: FakeServices, monkeypatch: pytest.MonkeyPatch, format_: str, pages: list[int]
) -> None:
    monkeypatch.setattr(transfer, "FRONT_MATTER_CHARACTERS", 2_000)
    store(services.memories, *(request(f"memory {n}", metadata={"a": "x" * 700}) for n in range(6)))
    assert [page["memories"] for page in _pages(services, "export_memories", format=format_)] == pages


@pytest.mark.parametrize(
    "tool", ["list_memories", "list_requests", "list_dead_letters", "list_audit", "export_memories"]
)
@pytest.mark.parametrize("cursor", ["AAAA", "é", "f" * 32])
def test_an_invalid_cursor_is_refused(services: FakeServices, tool: str, cursor: str) -> None:
    assert "cursor must be the next_cursor of an earlier page" in error_of(services, tool, cursor=cursor)


def test_a_line_with_the_request_id_of_an_earlier_line_is_refused(services: FakeServices) -> None:
    request_id = "0192f3a4-643f-7f9f-8bdd-01b104fff04f"
    rows = [{"content": text, "timestamp": "2026-05-01", "request_id": request_id} for text in ("tea", "coffee")]
    answer = answer_of(services, "import_memories", name="a.jsonl", text="\n".join(map(json.dumps, rows)))
    assert answer["request_ids"] == [request_id]
    assert answer["items"][1]["error"] == f"request_id must be unique, got {request_id}: a.jsonl:1 has it"
    ((data, attributes),) = services.queue.messages
    assert decode(Published(message_id="", data=data, attributes=attributes)).dead_letter_reason == ""


def test_each_line_of_an_imported_part_of_a_file_has_an_outcome(services: FakeServices) -> None:
    good = {"content": "Ada prefers tea.", "timestamp": "2026-05-01T00:00:00Z"}
    lines = [good | {"colour": "red"}, "no object", good | {"timestamp": "never", "source": "s", "key": "k"}]
    unread = [{"source": "a.jsonl", "key": "9", "error": "it is not UTF-8"}]
    text = "\n".join(map(json.dumps, lines))
    answer = answer_of(services, "import_memories", name="a.jsonl", text=text, first_line=7, refused=unread)
    first, second, third = answer["items"]
    assert (first["line"], first["left_out"], answer["request_ids"]) == (7, ["colour"], [first["request_id"]])
    assert second["error"].startswith("a memory must be a JSON object") and "timestamp" in third["error"]
    ((data, attributes),) = services.queue.messages
    message = decode(Published(message_id="", data=data, attributes=attributes))
    ingest.store(message, memories=services.memories, embedder=services.embedder)
    errors = {row.external_id: row.error for row in services.memories.ingest_requests(IngestState.FAILED, 10)}
    assert errors == {
        ExternalId("a.jsonl", "8"): second["error"],
        ExternalId("s", "k"): third["error"],
        ExternalId("a.jsonl", "9"): "it is not UTF-8",
    }
    assert [memory.title for memory in list_memories(services.memories)] == ["Ada prefers tea."]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.pdf", "{}", "name must end in .jsonl"),
        ("a.jsonl.gz", "{}", "name must end in .jsonl"),
        ("..", "{}", "name must end in .jsonl"),
        ("a.jsonl", '{"content": "tea"}\n' * 101, "at most 100"),
        # The part has its own limit, because the limit for requests does not count values in the string `text`.
        ("a.jsonl", json.dumps({"content": "tea", "metadata": {"a": [0] * 20_001}}), "at most 20,000 values"),
        ("a.jsonl", json.dumps({"content": "tea", "metadata": [[]] * 10_001}), "at most 20,000 values"),
        ("a.jsonl", '{"content": "tea", "x": [' + "," * 1_000_000, "at most 20,000 values"),
        ("a.md", f"---\ntags: [{'a,' * 20_001}]\n---\ntea", "at most 20,000 values"),
        ("a.md", "---\ntags:\n" + "- a\n" * 20_001 + "---\ntea", "at most 20,000 values"),
    ],
    ids=["unknown", "gzip", "no name", "memories", "numbers", "arrays", "no JSON", "a flow of YAML", "a block of YAML"],
)
def test_an_unknown_or_too_large_part_is_refused(services: FakeServices, name: str, text: str, message: str) -> None:
    assert message in error_of(services, "import_memories", name=name, text=text)
    assert services.queue.messages == []


PROSE = "one, two [three] {four}, " * 3_000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", json.dumps({"content": PROSE, "timestamp": "2026-05-01T00:00:00Z"})),
        ("a.md", f"---\ndate: 2026-05-01\n---\n{PROSE}"),
        ("a.chronicle", f"[[[CHRONICLE_START]]]\nTS: 2026-05-01T00:00:00Z\nTITLE: {PROSE}\n[[[CHRONICLE_END]]]\n"),
    ],
    ids=["lines of JSON", "note", "chronicle"],
)
def test_a_part_of_long_prose_is_accepted(services: FakeServices, name: str, text: str) -> None:
    assert len(answer_of(services, "import_memories", name=name, text=text)["request_ids"]) == 1


def test_an_imported_export_returns_the_supersession_and_tags_to_restore(services: FakeServices) -> None:
    exported = {"content": "TAGS: seen\nTea.", "timestamp": "2026-05-01", "tags": ["tea"], "content_hash": "0" * 64}
    text = json.dumps(exported | {"superseded_by_hash": "1" * 64})
    (item,) = answer_of(services, "import_memories", name="a.jsonl", text=text)["items"]
    assert (item["superseded_by_hash"], item["tags"]) == ("1" * 64, ["tea"])


def test_a_history_names_memories_with_nearly_the_same_content(services: FakeServices) -> None:
    first, second = store_contents(services.memories, "Ada likes tea", "tea likes Ada")
    answer = answer_of(services, "memory_history", id=str(first))
    assert [memory["id"] for memory in answer["similar"]] == [str(second)]
    assert error_of(services, "memory_history", id="019a2b3c-0000-7000-8000-000000000000").startswith("no memory has")


def test_front_matter_costs_budget_for_the_time_to_parse_it() -> None:
    cost = by_name()["import_memories"].units
    plain = cost({"name": "a.md", "text": "x" * 50_000})
    for mark in ("", "\ufeff"):
        assert cost({"name": "a.md", "text": f"{mark}---\n{'x' * 50_000}\n---\n"}) > plain + 49
