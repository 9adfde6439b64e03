"""Whatever the arguments, a tool answers with a result or with an error that blames the caller, never with an internal
error."""

from typing import Any

import mcp_types
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemosyne.domain.principal import LOCAL
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tool import Tool
from mnemosyne.mcp.tools import DEPRECATED_TOOLS, TOOLS
from tests.examples import IS_NIGHT
from tests.fakes import FakeServices

SQL = [
    "'; DROP TABLE memories; --", "%' OR '1'='1", "\\", "_%_", "$1", ":namespace", "\x00", "\ud800", "NaN", "-0",
    "\u202e",
]  # fmt: skip
TEXT = st.one_of(st.text(max_size=40), st.sampled_from(SQL))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT, st.uuids().map(str))
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4))
TIMES = st.sampled_from(
    ["2026-05-20T12:00:00Z", "2026-05-20", "last week", "tomorrow yesterday", "0000-00-00", "9" * 40]
)


def _arguments(tool: Tool[Any]) -> st.SearchStrategy[dict[str, Any]]:
    named = st.dictionaries(st.sampled_from([*tool.arguments.model_fields, "unknown"]), JSON | TIMES)
    return st.one_of(named, st.dictionaries(TEXT, JSON, max_size=3))


@pytest.mark.parametrize("tool", [*TOOLS, *DEPRECATED_TOOLS], ids=lambda tool: tool.name)
@given(data=st.data())
@settings(
    max_examples=100 if IS_NIGHT else 10,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_tool_answers_or_blames_the_caller(services: FakeServices, tool: Tool[Any], data: st.DataObject) -> None:
    result = call(tool, data.draw(_arguments(tool)), LOCAL, services)
    content = result.content[0]
    assert isinstance(content, mcp_types.TextContent)
    assert not content.text.startswith("internal error"), content.text
