"""`recall_for_hook`: memories for a prompt, in the output format of a coding agent's hook."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from mnemosyne.domain.search import SearchQuery
from mnemosyne.mcp.tools import hook, search
from mnemosyne.service.search import SearchResult
from tests.fakes import NOW, FakeServices
from tests.memories import rate, store_content, store_contents
from tests.tools import call_tool, text_of

SHELF = "Shelf 7 holds the oolong."


def _hook(services: FakeServices, **arguments: Any) -> str:
    """Return the text that the hook adds to the context of the prompt."""
    output = json.loads(text_of(call_tool(services, "recall_for_hook", **arguments)))
    if not output:
        return ""
    assert output["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    return str(output["hookSpecificOutput"]["additionalContext"])


@pytest.fixture
def _one_considered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Consider one candidate, which is ranked by its ratings alone."""
    monkeypatch.setattr(hook, "CONSIDERED", 1)
    monkeypatch.setattr(hook, "HYBRID_QUALITY_WEIGHT", 1.0)


def test_memories_of_the_present_session_are_not_recalled(services: FakeServices) -> None:
    store_contents(services.memories, *(f"the oolong {n}" for n in range(60)), session="claude-code:1")
    assert _hook(services, prompt="the oolong", session="claude-code:1") == ""
    store_contents(services.memories, "oolong is on shelf 7", session="claude-code:0")
    context = _hook(services, prompt="the oolong", session="claude-code:1")
    assert context.count("--- [") == 1 and "shelf 7" in context


@pytest.mark.parametrize("prompt", ["  ", "/clear", "„yes“", "Été", "да", "茶"])
def test_a_prompt_of_one_word_recalls_no_memories(services: FakeServices, prompt: str) -> None:
    store_contents(services.memories, "yes, let us go on and clear the table", "été", "да", "茶")
    assert _hook(services, prompt=prompt) == ""


@pytest.mark.parametrize("prompt", ["烏龍茶", "ชาอู่หลง", "ཇ་ག་པར"])
def test_a_prompt_in_a_script_without_spaces_recalls_memories(services: FakeServices, prompt: str) -> None:
    store_contents(services.memories, prompt)
    assert _hook(services, prompt=prompt)


def test_a_prompt_of_any_length_is_answered_within_the_character_budget(services: FakeServices) -> None:
    store_contents(services.memories, *(f"tea {n} " + "x" * 900 for n in range(20)))
    context = _hook(services, prompt=" " * 20_000 + "tea " + "y" * 500_000)
    assert context.count("--- [") == 5 and len(context) < 3_500


@pytest.mark.parametrize("prompt", ["zeppelin gibberish quux", "What is Ada's birthday?"])
def test_a_prompt_without_close_memories_gets_none(services: FakeServices, prompt: str) -> None:
    store_contents(services.memories, SHELF, "Grandma bakes bread each Sunday", "Bob rows.")
    assert _hook(services, prompt=prompt) == ""
    output = _hook(services, prompt=prompt, min_confidence="weak")
    assert "oolong" in output


def test_weak_memories_are_not_added_to_close_ones(services: FakeServices) -> None:
    store_contents(services.memories, SHELF, "Grandma bakes bread each Sunday", "Bob rows.")
    context = _hook(services, prompt="Which shelf holds the oolong?")
    assert context.count("--- [") == 1 and "oolong" in context


@pytest.mark.parametrize("session", ["claude-code:0", None, "claude-code:2"])
def test_a_weak_reply_is_kept_with_a_close_memory_of_its_session(services: FakeServices, session: str | None) -> None:
    store_contents(services.memories, "When does the zeppelin leave Friedrichshafen?", session="claude-code:0")
    store_contents(services.memories, "Yes, in June", session=session)
    context = _hook(services, prompt="When does the zeppelin leave?")
    assert "Friedrichshafen" in context
    assert ("Yes, in June" in context) is (session == "claude-code:0")


@pytest.mark.parametrize(
    ("prompt", "day", "recalled"),
    [
        ("What did we decide yesterday?", 19, True),
        ("summarise last week for me", 13, True),
        ("What did I plan on 3 May?", 3, True),
        ("Anything from the past month?", 1, True),
        ("What did we decide yesterday?", 18, False),
        ("summarise last week for me", 19, False),
        ("What has happened since Monday?", 19, False),
        ("What came before last week?", 3, False),
        ("What did we decide?", 19, False),
    ],
)
@pytest.mark.parametrize("minimum", ["related", "strong"])
def test_a_weak_memory_of_the_days_that_the_prompt_names_is_recalled(
    services: FakeServices, prompt: str, day: int, recalled: bool, minimum: str
) -> None:
    store_contents(services.memories, "Cars are fast", timestamp=datetime(2026, 5, day, 10, tzinfo=UTC))
    assert bool(_hook(services, prompt=prompt, min_confidence=minimum)) is recalled


@pytest.mark.usefixtures("_one_considered")
def test_memories_of_a_named_day_do_not_hide_close_ones(services: FakeServices) -> None:
    store_contents(services.memories, SHELF)
    rate(services.memories, store_content(services.memories, "Cars are fast", timestamp=NOW), 1)
    context = _hook(services, prompt="Which shelf holds the oolong today?")
    assert context.index("oolong") < context.index("Cars")


@pytest.mark.usefixtures("_one_considered")
@pytest.mark.parametrize(("minimum", "recalled"), [("related", True), ("strong", False)])
def test_weak_hits_that_fill_the_limit_do_not_hide_a_close_memory_and_need_no_second_search(
    services: FakeServices, monkeypatch: pytest.MonkeyPatch, minimum: str, recalled: bool
) -> None:
    searches: list[str | None] = []

    def run_search(query: SearchQuery, *others: Any) -> SearchResult:
        searches.append(query.query)
        return search.run_search(query, *others)

    monkeypatch.setattr(hook, "run_search", run_search)
    store_contents(services.memories, SHELF)
    rate(services.memories, store_content(services.memories, "Cars are fast"), 1)
    prompt = "Which shelf holds sencha and oolong?"
    context = _hook(services, prompt=prompt, min_confidence=minimum)
    assert ("oolong" in context, "Cars" in context) == (recalled, False)
    assert searches == [prompt]
