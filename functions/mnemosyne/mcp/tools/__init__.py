"""Every tool: those agents see, in their order, and those that only the console, hooks and old clients call."""

from collections.abc import Mapping
from typing import Any

from mnemosyne.domain.principal import Scope
from mnemosyne.mcp.lenient import plain
from mnemosyne.mcp.tool import Tool
from mnemosyne.mcp.tools.connector import FETCH, SEARCH
from mnemosyne.mcp.tools.deprecated import DEPRECATED_TOOLS
from mnemosyne.mcp.tools.hook import RECALL_FOR_HOOK
from mnemosyne.mcp.tools.ingest import INGEST_MEMORIES, INGEST_MEMORY, INGEST_STATUS
from mnemosyne.mcp.tools.manage import DELETE_MEMORY, MEMORY_STATS, RATE_MEMORY, UPDATE_MEMORY
from mnemosyne.mcp.tools.operate import LIST_DEAD_LETTERS, LIST_REQUESTS, REDRIVE
from mnemosyne.mcp.tools.overview import MEMORY_FACETS, MEMORY_HISTORY, MEMORY_TIMELINE
from mnemosyne.mcp.tools.read import GET_MEMORY, LIST_MEMORIES
from mnemosyne.mcp.tools.retrieve import RETRIEVE_MEMORIES
from mnemosyne.mcp.tools.search import MEMORY_SEARCH
from mnemosyne.mcp.tools.transfer import EXPORT_MEMORIES, IMPORT_MEMORIES

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

CONSOLE_TOOLS: tuple[Tool[Any], ...] = (
    MEMORY_TIMELINE,
    MEMORY_FACETS,
    MEMORY_HISTORY,
    LIST_REQUESTS,
    LIST_DEAD_LETTERS,
    REDRIVE,
    IMPORT_MEMORIES,
    EXPORT_MEMORIES,
)
"""Listed for who asks for them alone: they would cost an agent tokens, and are for people."""

BY_NAME: Mapping[str, Tool[Any]] = {
    tool.name: tool for tool in (*TOOLS, *CONSOLE_TOOLS, RECALL_FOR_HOOK, *DEPRECATED_TOOLS)
}


def required_scope(name: str) -> Scope | None:
    """Return what a caller of that tool must hold; None where there is no such tool."""
    tool = BY_NAME.get(name)
    return tool.scope if tool else None


def units_of(name: str, arguments: Mapping[str, Any]) -> float:
    """Return what a call of that tool costs beside what every request does; see `domain.rate_limit`."""
    tool = BY_NAME.get(name)
    return tool.units(plain(arguments, tool.schema)) if tool else 0.0


def needs_database(name: str) -> bool:
    """Whether a call of that tool waits for a connection to the database."""
    tool = BY_NAME.get(name)
    return bool(tool and tool.needs_database)


__all__ = ["BY_NAME", "CONSOLE_TOOLS", "DEPRECATED_TOOLS", "TOOLS", "needs_database", "required_scope", "units_of"]
