"""All tools: those that agents see in `tools/list`, in this order, and those for the console, hooks and old clients."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from mnemosyne.mcp.tool import Tool
from mnemosyne.mcp.tools.connector import FETCH, SEARCH
from mnemosyne.mcp.tools.delete import DELETE_MEMORY
from mnemosyne.mcp.tools.deprecated import DEPRECATED_TOOLS
from mnemosyne.mcp.tools.hook import RECALL_FOR_HOOK
from mnemosyne.mcp.tools.ingest import INGEST_MEMORIES, INGEST_MEMORY
from mnemosyne.mcp.tools.ingest_status import INGEST_STATUS
from mnemosyne.mcp.tools.manage import MEMORY_STATS, RATE_MEMORY
from mnemosyne.mcp.tools.read import GET_MEMORY, LIST_MEMORIES
from mnemosyne.mcp.tools.retrieve import RETRIEVE_MEMORIES
from mnemosyne.mcp.tools.search import MEMORY_SEARCH
from mnemosyne.mcp.tools.update import UPDATE_MEMORY

TOOLS: tuple[Tool[Any], ...] = (
    INGEST_MEMORY,
    INGEST_MEMORIES,
    INGEST_STATUS,
    MEMORY_SEARCH,
    RETRIEVE_MEMORIES,
    GET_MEMORY,
    LIST_MEMORIES,
    UPDATE_MEMORY,
    RATE_MEMORY,
    DELETE_MEMORY,
    MEMORY_STATS,
    SEARCH,
    FETCH,
)

CONSOLE_NAMES = frozenset({
    "memory_timeline", "memory_facets", "memory_history", "list_requests", "list_dead_letters", "redrive",
    "drop_dead_letters", "import_memories", "export_memories", "change_tag", "who_am_i",
    "similar_memories", "forget_memories", "list_audit",
})  # fmt: skip
AGENT_TOOLS: Mapping[str, Tool[Any]] = {tool.name: tool for tool in (*TOOLS, RECALL_FOR_HOOK, *DEPRECATED_TOOLS)}
"""Tools that agents, hooks and old clients call."""


def console_tools() -> tuple[Tool[Any], ...]:
    """Return the console's tools, imported at first use to keep cold starts short."""
    from mnemosyne.mcp.tools.console import CONSOLE_TOOLS

    return CONSOLE_TOOLS


def find(name: str) -> Tool[Any] | None:
    """Return the tool of that name, whether `tools/list` contains it or not."""
    if name in CONSOLE_NAMES:
        return next(tool for tool in console_tools() if tool.name == name)
    return AGENT_TOOLS.get(name)


@cache
def by_name() -> Mapping[str, Tool[Any]]:
    """Return all tools by their names."""
    return {**AGENT_TOOLS, **{tool.name: tool for tool in console_tools()}}


__all__ = ["AGENT_TOOLS", "CONSOLE_NAMES", "DEPRECATED_TOOLS", "TOOLS", "by_name", "console_tools", "find"]
