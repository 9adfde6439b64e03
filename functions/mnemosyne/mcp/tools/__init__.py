"""All tools: those that agents see in `tools/list`, and those for the console, for hooks and for old clients.

The order of TOOLS is the order in `tools/list`.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from mnemosyne.mcp.tool import Tool
from mnemosyne.mcp.tools import connector, delete, hook, ingest, ingest_status, manage, read, retrieve, search, update
from mnemosyne.mcp.tools.deprecated import DEPRECATED_TOOLS

TOOLS: tuple[Tool[Any], ...] = (
    ingest.ingest_memory,
    ingest.ingest_memories,
    ingest_status.ingest_status,
    search.memory_search,
    retrieve.retrieve_memories,
    read.get_memory,
    read.list_memories,
    update.update_memory,
    manage.rate_memory,
    delete.delete_memory,
    manage.memory_stats,
    connector.search,
    connector.fetch,
)

CONSOLE_NAMES = frozenset({
    "memory_timeline", "memory_facets", "memory_history", "list_requests", "list_dead_letters", "redrive",
    "drop_dead_letters", "import_memories", "export_memories", "change_tag", "who_am_i",
    "similar_memories", "forget_memories", "list_audit",
})  # fmt: skip
AGENT_TOOLS: Mapping[str, Tool[Any]] = {tool.name: tool for tool in (*TOOLS, hook.recall_for_hook, *DEPRECATED_TOOLS)}
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
