"""Memories as MCP resources: `memory://recent`, and `memory://{id}` for each memory.

A resource is read by a call of a tool, so that the tool's limits, isolation and notice on stored text also apply to
resources.
"""

import re
from typing import Any

import mcp_types
from mcp.shared.exceptions import MCPError

from mnemosyne.mcp.record import URI_SCHEME, uri_of
from mnemosyne.mcp.tool import Tool
from mnemosyne.mcp.tool_errors import is_refusal
from mnemosyne.mcp.tools.read import get_memory, list_memories

RECENT = uri_of("recent")
UUID_FORM = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
PAGE_SIZE = 50
"""Number of memories in a page of the list, and in `memory://recent`."""
NOT_FOUND = -32002
"""Error code for a missing resource, in MCP revisions that begin with a handshake (`initialize`). Later revisions use
INVALID_PARAMS."""
HANDSHAKE_UNTIL = "2025-11-25"

NEWEST = mcp_types.Resource(
    name="recent", title="Latest memories", uri=RECENT, description="The newest memories by the time they happened",
    mime_type="text/plain",
)  # fmt: skip
TEMPLATE = mcp_types.ResourceTemplate(
    name="memory", title="One memory", uri_template=uri_of("{id}"), description="A memory's whole content",
    mime_type="text/plain",
)  # fmt: skip


def find_reader(uri: str) -> tuple[Tool[Any], dict[str, Any]] | None:
    """Return the tool that reads the resource at a URI, and its arguments; None if there is no such resource."""
    if uri == RECENT:
        return list_memories, {"limit": PAGE_SIZE}
    memory_id = uri.removeprefix(URI_SCHEME)
    return (get_memory, {"id": memory_id}) if uri.startswith(URI_SCHEME) and UUID_FORM.fullmatch(memory_id) else None


def list_resources(result: mcp_types.CallToolResult, *, first: bool) -> mcp_types.ListResourcesResult:
    """Convert a result of `list_memories` to a page of resources. Raises MCPError if the result is an error.

    The first page (`first`) begins with the resource `memory://recent`.
    """
    if result.is_error:
        code = mcp_types.INVALID_PARAMS if is_refusal(result) else mcp_types.INTERNAL_ERROR
        raise MCPError(code, _texts_of(result)[0])
    page = result.structured_content or {}
    memories = [
        mcp_types.Resource(
            name=memory["title"],
            title=f"{memory['date']} {memory['title']}",
            uri=uri_of(memory["id"]),
            description=f"Replaced by {uri_of(memory['superseded_by'])}" if memory.get("superseded_by") else None,
            mime_type="text/plain",
            annotations=mcp_types.Annotations(last_modified=memory["timestamp"]),
        )
        for memory in page["memories"]
    ]
    listed_resources = [NEWEST, *memories] if first else memories
    return mcp_types.ListResourcesResult(resources=listed_resources, next_cursor=page["next_cursor"])


def not_found(uri: str, why: str, protocol_version: str) -> MCPError:
    """Build the error for a missing resource. The error's code depends on the revision of MCP."""
    code = NOT_FOUND if protocol_version <= HANDSHAKE_UNTIL else mcp_types.INVALID_PARAMS
    return MCPError(code, why, {"uri": uri})


def contents(uri: str, result: mcp_types.CallToolResult, protocol_version: str) -> mcp_types.ReadResourceResult:
    """Convert a tool's result to the resource's contents. Raises MCPError if the result is an error."""
    texts = _texts_of(result)
    if is_refusal(result):
        raise not_found(uri, texts[0], protocol_version)
    if result.is_error:
        raise MCPError(mcp_types.INTERNAL_ERROR, texts[0], {"uri": uri})
    blocks = [mcp_types.TextResourceContents(uri=uri, mime_type="text/plain", text=text) for text in texts]
    return mcp_types.ReadResourceResult(contents=blocks)


def _texts_of(result: mcp_types.CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, mcp_types.TextContent)]
