"""`recall_for_hook`: memories for a prompt, in the output format of a coding agent's hook."""

import json
from typing import Any

import pytest

from mnemosyne.mcp.tools import hook
from tests.fakes import FakeServices
from tests.memories import rate, store_content, store_contents
from tests.tools import call_tool, error_of, text_of


def _hook(services: FakeServices, **arguments: Any) -> Any:
    return json.loads(text_of(call_tool(services, "recall_for_hook", **arguments)))


def test_recalled_memories_are_added_to_the_context_of_the_prompt(services: FakeServices) -> None:
    store_contents(services.memories, "Shelf 7 holds the oolong.")
    output = _hook(services, prompt="Which shelf holds the oolong?")["hookSpecificOutput"]
    assert output["hookEventName"] == "UserPromptSubmit"
    assert "Shelf 7 holds the oolong." in output["additionalContext"]


def test_memories_of_the_present_session_are_not_recalled(services: FakeServices) -> None:
    store_contents(services.memories, *(f"the oolong {n}" for n in range(200)), session="claude-code:1")
    store_contents(services.memories, "oolong is on shelf 7", session="claude-code:0")
    context = _hook(services, prompt="the oolong", session="claude-code:1")["hookSpecificOutput"]["additionalContext"]
    assert context.count("--- [") == 1 and "shelf 7" in context


def test_without_memories_to_recall_the_output_is_empty(services: FakeServices) -> None:
    assert _hook(services, prompt="green tea") == {}
    store_contents(services.memories, "green tea", session="claude-code:1")
    assert _hook(services, prompt="green tea", session="claude-code:1") == {}


@pytest.mark.parametrize("prompt", ["", "  ", "yes", "/clear", "„yes“", "Été", "да", "茶"])
def test_a_prompt_of_one_word_recalls_no_memories(services: FakeServices, prompt: str) -> None:
    store_contents(services.memories, "yes, let us go on and clear the table", "été", "да", "茶")
    assert _hook(services, prompt=prompt) == {}


@pytest.mark.parametrize("prompt", ["烏龍茶", "ชาอู่หลง", "ཇ་ག་པར"])
def test_a_prompt_in_a_script_without_spaces_recalls_memories(services: FakeServices, prompt: str) -> None:
    store_contents(services.memories, prompt)
    assert _hook(services, prompt=prompt)


def test_a_prompt_of_any_length_is_answered_within_the_character_budget(services: FakeServices) -> None:
    store_contents(services.memories, *(f"tea {n} " + "x" * 9_000 for n in range(20)))
    context = _hook(services, prompt=" " * 20_000 + "tea " + "y" * 500_000)["hookSpecificOutput"]["additionalContext"]
    assert context.count("--- [") == 5 and len(context) < 3_500


@pytest.mark.parametrize(
    "prompt",
    ["zeppelin gibberish quux", "Refactor the parser of the importer", "What is Ada's birthday?", "quince jam"],
)
def test_a_prompt_without_close_memories_gets_none(services: FakeServices, prompt: str) -> None:
    store_contents(services.memories, "Shelf 7 holds the oolong.", "Grandma bakes bread each Sunday", "Bob rows.")
    assert _hook(services, prompt=prompt) == {}
    output = _hook(services, prompt=prompt, min_confidence="weak")["hookSpecificOutput"]
    assert "oolong" in output["additionalContext"]


def test_weak_memories_are_not_added_to_close_ones(services: FakeServices) -> None:
    store_contents(services.memories, "Shelf 7 holds the oolong.", "Grandma bakes bread each Sunday", "Bob rows.")
    context = _hook(services, prompt="Which shelf holds the oolong?")["hookSpecificOutput"]["additionalContext"]
    assert context.count("--- [") == 1 and "oolong" in context


@pytest.mark.parametrize("session", ["claude-code:0", None, "claude-code:2"])
def test_a_weak_reply_is_kept_with_a_close_memory_of_its_session(services: FakeServices, session: str | None) -> None:
    store_contents(services.memories, "When does the zeppelin leave Friedrichshafen?", session="claude-code:0")
    store_contents(services.memories, "Yes, in June", session=session)
    context = _hook(services, prompt="When does the zeppelin leave?")["hookSpecificOutput"]["additionalContext"]
    assert "Friedrichshafen" in context
    assert ("Yes, in June" in context) is (session == "claude-code:0")


def test_weak_hits_that_fill_the_limit_do_not_hide_a_close_memory(
    services: FakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "CONSIDERED", 1)
    monkeypatch.setattr(hook, "HYBRID_QUALITY_WEIGHT", 1.0)
    store_contents(services.memories, "Shelf 7 holds the oolong.")
    rate(services.memories, store_content(services.memories, "Cars are fast"), 1)
    context = _hook(services, prompt="Which shelf holds the oolong?")["hookSpecificOutput"]["additionalContext"]
    assert context.count("--- [") == 1 and "oolong" in context


@pytest.mark.parametrize("value", ["high", "0.5", "closest"])
def test_an_unknown_minimum_is_refused(services: FakeServices, value: str) -> None:
    message = error_of(services, "recall_for_hook", prompt="green tea", min_confidence=value)
    assert message == f"min_confidence must be one of 'weak', 'related' or 'strong', got {json.dumps(value)}"
