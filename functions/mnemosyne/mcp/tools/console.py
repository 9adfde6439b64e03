"""The console's tools. This module is imported at first use, to keep cold starts short."""

from typing import Any

from mnemosyne.mcp.tool import Tool
from mnemosyne.mcp.tools.audit import LIST_AUDIT
from mnemosyne.mcp.tools.console_queries import MEMORY_FACETS, MEMORY_HISTORY, MEMORY_TIMELINE
from mnemosyne.mcp.tools.forget import FORGET_MEMORIES
from mnemosyne.mcp.tools.operate import DROP_DEAD_LETTERS, LIST_DEAD_LETTERS, LIST_REQUESTS, REDRIVE
from mnemosyne.mcp.tools.similar import SIMILAR_MEMORIES
from mnemosyne.mcp.tools.transfer import EXPORT_MEMORIES, IMPORT_MEMORIES
from mnemosyne.mcp.tools.update import CHANGE_TAG
from mnemosyne.mcp.tools.who_am_i import WHO_AM_I

CONSOLE_TOOLS: tuple[Tool[Any], ...] = (
    MEMORY_TIMELINE,
    MEMORY_FACETS,
    MEMORY_HISTORY,
    LIST_REQUESTS,
    LIST_DEAD_LETTERS,
    REDRIVE,
    DROP_DEAD_LETTERS,
    FORGET_MEMORIES,
    IMPORT_MEMORIES,
    EXPORT_MEMORIES,
    CHANGE_TAG,
    WHO_AM_I,
    SIMILAR_MEMORIES,
    LIST_AUDIT,
)
"""Listed only on request (`CONSOLE_META`): agents do not need them, and they cost tokens."""
