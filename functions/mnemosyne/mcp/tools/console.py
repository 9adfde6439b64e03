"""The tools that are for the console, imported once one is called: no cold start waits for them."""

from typing import Any

from mnemosyne.mcp.tool import Tool
from mnemosyne.mcp.tools.console_queries import MEMORY_FACETS, MEMORY_HISTORY, MEMORY_TIMELINE
from mnemosyne.mcp.tools.operate import DROP_DEAD_LETTERS, LIST_DEAD_LETTERS, LIST_REQUESTS, REDRIVE
from mnemosyne.mcp.tools.transfer import EXPORT_MEMORIES, IMPORT_MEMORIES

CONSOLE_TOOLS: tuple[Tool[Any], ...] = (
    MEMORY_TIMELINE,
    MEMORY_FACETS,
    MEMORY_HISTORY,
    LIST_REQUESTS,
    LIST_DEAD_LETTERS,
    REDRIVE,
    DROP_DEAD_LETTERS,
    IMPORT_MEMORIES,
    EXPORT_MEMORIES,
)
"""Listed for who asks for them alone: they would cost an agent tokens, and are for people."""
