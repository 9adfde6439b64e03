"""The number of tokens of the tool list, counted by the model vendor's tokenizer: o200k_base."""

import json
import os
import subprocess
from pathlib import Path

from mcp_types import TextContent

from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools import TOOLS
from mnemosyne.mcp.tools.search import memory_search
from tests.fakes import FakeServices
from tests.memories import store_contents

DATA = Path(__file__).parents[1] / "data" / "conversations"
JS = Path(__file__).parent / "js"


def _tokens(javascript: str, *texts: str) -> list[int]:
    ended = subprocess.run(
        ["node", JS / "tokens.mjs"],
        input="".join(f"{json.dumps(text)}\n" for text in texts),
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PATH": javascript},
        check=True,
    )
    return [int(line) for line in ended.stdout.split()]


def test_the_list_of_tools_has_at_most_2_000_tokens(javascript: str) -> None:
    # `_meta` is not sent to the model: https://modelcontextprotocol.io/specification/2025-11-25/basic#_meta
    listed = [
        tool.listing.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta"}) for tool in TOOLS
    ]
    (tokens,) = _tokens(javascript, json.dumps({"tools": listed}, separators=(",", ":")))
    assert tokens <= 2_000, {tool["name"]: len(json.dumps(tool)) for tool in listed}


def test_ten_hits_of_390_characters_are_at_most_a_thousand_tokens(javascript: str, services: FakeServices) -> None:
    turns = [json.loads(line)["text"] for line in (DATA / "corpus.jsonl").read_text().splitlines()]
    texts = [" ".join(turns[n * 8 : n * 8 + 8])[:390] for n in range(10)]
    store_contents(services.memories_of("ada"), *texts)
    caller = Principal(id="ada", namespace="ada", scopes=frozenset({Scope.READ}))
    answer = call(memory_search, {"query": texts[0]}, caller, services)
    assert answer.structured_content is not None
    assert [len(memory["content"]) for memory in answer.structured_content["memories"]] == [390] * 10
    counted = _tokens(javascript, *(block.text for block in answer.content if isinstance(block, TextContent)), *texts)
    assert sum(counted[:2]) <= 1_000, counted
