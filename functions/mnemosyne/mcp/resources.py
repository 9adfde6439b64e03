"""Memories as resources, for people to attach: `memory://recent`, and `memory://{id}` for each.

Read by the tools that answer the same, so that limits, isolation and the notice on stored text are theirs.
"""

import re
from typing import Any

import mcp_types
from mcp.shared.exceptions import MCPError

from mnemosyne.mcp.dispatch import REFUSED
from mnemosyne.mcp.record import URI_SCHEME, uri_of
from mnemosyne.mcp.tool import Tool
from mnemosyne.mcp.tools.read import GET_MEMORY, LIST_MEMORIES

RECENT = uri_of("recent")
UUID_FORM = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
SHOWN = 50
"""Memories in a page of the list, and of the newest."""
NOT_FOUND = -32002
"""Of the revisions with a handshake; in later ones it is INVALID_PARAMS."""
HANDSHAKE_UNTIL = "2025-11-25"

NEWEST = mcp_types.Resource(
    name="recent", title="Latest memories", uri=RECENT, description="The newest memories by when they happened",
    mime_type="text/plain",
)  # fmt: skip
TEMPLATE = mcp_types.ResourceTemplate(
    name="memory", title="One memory", uri_template=uri_of("{id}"), description="A memory's whole content",
    mime_type="text/plain",
)  # fmt: skip


def tool_behind(uri: str) -> tuple[Tool[Any], dict[str, Any]] | None:
    """Return the tool that reads the resource, and its arguments; None where no resource has such a URI."""
    if uri == RECENT:
        return LIST_MEMORIES, {"limit": SHOWN}
    memory_id = uri.removeprefix(URI_SCHEME)
    return (GET_MEMORY, {"id": memory_id}) if uri.startswith(URI_SCHEME) and UUID_FORM.fullmatch(memory_id) else None


def listed(outcome: str, result: mcp_types.CallToolResult, *, first: bool) -> mcp_types.ListResourcesResult:
    """Return a page of `list_memories` as resources; raises MCPError where there is none."""
    if result.is_error:
        code = mcp_types.INVALID_PARAMS if outcome == REFUSED else mcp_types.INTERNAL_ERROR
        raise MCPError(code, _texts(result)[0])
    page = result.structured_content or {}
    memories = [
        mcp_types.Resource(
            name=one["title"],
            title=f"{one['date']} {one['title']}",
            uri=uri_of(one["id"]),
            mime_type="text/plain",
            annotations=mcp_types.Annotations(last_modified=one["timestamp"]),
        )
        for one in page["memories"]
    ]
    shown = [NEWEST, *memories] if first else memories
    return mcp_types.ListResourcesResult(resources=shown, next_cursor=page["next_cursor"])


def not_found(uri: str, why: str, protocol_version: str) -> MCPError:
    """Return the error of a resource that is not there, as its revision has it."""
    code = NOT_FOUND if protocol_version <= HANDSHAKE_UNTIL else mcp_types.INVALID_PARAMS
    return MCPError(code, why, {"uri": uri})


def contents(
    uri: str, outcome: str, result: mcp_types.CallToolResult, protocol_version: str
) -> mcp_types.ReadResourceResult:
    """Return what the tool has answered as the resource's contents; raises MCPError where that is an error."""
    texts = _texts(result)
    if result.is_error and outcome == REFUSED:
        raise not_found(uri, texts[0], protocol_version)
    if result.is_error:
        raise MCPError(mcp_types.INTERNAL_ERROR, texts[0], {"uri": uri})
    shown = [mcp_types.TextResourceContents(uri=uri, mime_type="text/plain", text=text) for text in texts]
    return mcp_types.ReadResourceResult(contents=shown)


def _texts(result: mcp_types.CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, mcp_types.TextContent)]
