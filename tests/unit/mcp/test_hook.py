"""`recall_for_hook`: what a prompt brings to mind, as the output of a hook of a coding agent."""

import json
from typing import Any

import pytest

from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.mcp.calls import call
from mnemosyne.mcp.tools.hook import RECALL_FOR_HOOK
from mnemosyne.service import ingest
from tests.fakes import FakeServices, request

ADA = Principal(id="ada", namespace="ada", scopes=frozenset(Scope))


def _hook(services: FakeServices, **arguments: Any) -> Any:
    (block,) = call(RECALL_FOR_HOOK, arguments, ADA, services).content
    return json.loads(block.text)  # type: ignore[union-attr]


def _store(services: FakeServices, *contents: str, session: str | None = None) -> None:
    requests = tuple(request(content, session=session) for content in contents)
    ingest.store(IngestMessage("ada", requests), memories=services.memories, embedder=services.embedder)


def test_what_is_recalled_is_put_before_the_model_with_the_prompt() -> None:
    services = FakeServices()
    _store(services, "Shelf 7 holds the oolong.")
    output = _hook(services, prompt="Which shelf holds the oolong?")["hookSpecificOutput"]
    assert output["hookEventName"] == "UserPromptSubmit"
    assert "Shelf 7 holds the oolong." in output["additionalContext"]


def test_what_was_said_in_the_session_itself_is_not_recalled() -> None:
    services = FakeServices()
    _store(services, *(f"the oolong {n}" for n in range(200)), session="claude-code:1")
    _store(services, "oolong is on shelf 7", session="claude-code:0")
    told = _hook(services, prompt="the oolong", session="claude-code:1")["hookSpecificOutput"]["additionalContext"]
    assert told.count("--- [") == 1 and "shelf 7" in told


def test_nothing_to_recall_is_nothing_said() -> None:
    services = FakeServices()
    assert _hook(services, prompt="green tea") == {}
    _store(services, "green tea", session="claude-code:1")
    assert _hook(services, prompt="green tea", session="claude-code:1") == {}


@pytest.mark.parametrize("prompt", ["", "  ", "yes", "/clear"])
def test_a_prompt_of_one_word_brings_nothing_to_mind(prompt: str) -> None:
    services = FakeServices()
    _store(services, "yes, let us go on and clear the table")
    assert _hook(services, prompt=prompt) == {}


def test_a_prompt_of_any_length_is_answered_within_the_budget() -> None:
    services = FakeServices()
    _store(services, *(f"tea {n} " + "x" * 90_000 for n in range(20)))
    told = _hook(services, prompt=" " * 20_000 + "tea " + "y" * 500_000)["hookSpecificOutput"]["additionalContext"]
    assert told.count("--- [") == 5 and len(told) < 3_500
