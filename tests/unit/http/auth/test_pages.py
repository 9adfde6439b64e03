"""The pages of the authorization server."""

import pytest

from mnemosyne.http.auth.pages import SCOPE_LABELS
from mnemosyne.mcp.tools import find


@pytest.mark.parametrize(
    ("verb", "tool_name"),
    [
        ("search", "memory_search"),
        ("read", "get_memory"),
        ("store", "ingest_memory"),
        ("change", "update_memory"),
        ("rate", "rate_memory"),
        ("delete", "delete_memory"),
        ("retry", "redrive"),
        ("forget", "forget_memories"),
    ],
)
def test_the_consent_page_names_an_action_under_the_scope_that_its_tool_needs(verb: str, tool_name: str) -> None:
    tool = find(tool_name)
    assert tool is not None
    assert verb in SCOPE_LABELS[tool.scope].replace(",", "").split()
