"""What the tools cost a model to carry along, counted by the tokens of its vendor: o200k_base."""

import json
import os
import subprocess
from pathlib import Path

from mnemosyne.mcp.tools import TOOLS

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


def test_the_list_of_tools_is_small_enough_to_carry_along(javascript: str) -> None:
    listed = [tool.listing.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in TOOLS]
    (tokens,) = _tokens(javascript, json.dumps({"tools": listed}, separators=(",", ":")))
    assert tokens <= 2_700, {tool["name"]: len(json.dumps(tool)) for tool in listed}
