"""Call tools within the process, with arguments as a client sends them."""

from typing import Any

import mcp_types

from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools import by_name
from tests.fakes import FakeServices

CALLER = Principal(id="test", namespace="ns", scopes=frozenset({Scope.READ, Scope.WRITE, Scope.OPERATE}))


def call_tool(services: FakeServices, name: str, /, **arguments: Any) -> mcp_types.CallToolResult:
    """Call any tool, also a tool that the server does not list. Return the complete result."""
    return call(by_name()[name], arguments, CALLER, services)


def answer_of(services: FakeServices, name: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must succeed, and return its structured content."""
    result = call_tool(services, name, **arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return dict(result.structured_content)


def error_of(services: FakeServices, name: str, /, **arguments: Any) -> str:
    """Call a tool that must fail, and return the text of its error."""
    result = call_tool(services, name, **arguments)
    assert result.is_error, result.content
    (_,) = result.content
    return text_of(result)


def text_of(result: mcp_types.CallToolResult) -> str:
    """Return the first block of text."""
    content = result.content[0]
    assert isinstance(content, mcp_types.TextContent)
    return content.text
