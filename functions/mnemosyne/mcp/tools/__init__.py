"""Every tool, in the order agents see them."""

from typing import Any

from mnemosyne.mcp.tool import Tool
from mnemosyne.mcp.tools.ingest import INGEST_MEMORY, INGEST_STATUS
from mnemosyne.mcp.tools.manage import DELETE_MEMORY, GET_MEMORY, LIST_MEMORIES
from mnemosyne.mcp.tools.search import MEMORY_SEARCH, RETRIEVE_MEMORIES

TOOLS: tuple[Tool[Any], ...] = (
    INGEST_MEMORY,
    INGEST_STATUS,
    MEMORY_SEARCH,
    RETRIEVE_MEMORIES,
    GET_MEMORY,
    LIST_MEMORIES,
    DELETE_MEMORY,
)
