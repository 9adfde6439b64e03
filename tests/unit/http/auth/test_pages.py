"""The pages of the authorization server."""

import re
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from mnemosyne.domain.oauth import Grant
from mnemosyne.domain.principal import Scope
from mnemosyne.http.auth.pages import SCOPE_LABELS, account
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


def _grant(client_id: str, name: str = "Claude") -> Grant:
    return Grant(
        id=uuid4(), subject="ada", person="Ada", namespace="default", client_id=client_id,
        scopes=frozenset({Scope.READ}), resource="https://memory.example/mcp", client_name=name,
        expires_at=datetime(2030, 1, 1, tzinfo=UTC),
    )  # fmt: skip


def test_clients_of_one_name_have_different_names_on_the_account_page() -> None:
    grants = [_grant("b"), _grant("other", "Cursor"), _grant("a"), _grant("b")]
    page = bytes(account("https://memory.example", "r", "Ada", grants, "Claude (1)").body).decode()
    for pattern in (r"<h2>(.+)</h2>", r'aria-label="Revoke (.+?)"'):
        assert re.findall(pattern, page) == ["Claude (2)", "Cursor", "Claude (1)"]
    assert re.findall(r'name="client" value="(.+?)"', page) == ["b", "other", "a"]
    assert "The access of Claude (1) is revoked." in page
