"""The MCP App: a view of search results and single memories, for hosts that show views in the conversation.

Other hosts show the tools' results as text. Specification: https://github.com/modelcontextprotocol/ext-apps, revision
2026-01-26.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import mcp_types

from mnemosyne.mcp.icon import SVG

URI = "ui://mnemosyne/memories"
MIME_TYPE = "text/html;profile=mcp-app"
TOOL_META: dict[str, Any] = {"ui": {"resourceUri": URI}}
"""Value of `_meta` for a tool whose result the view shows."""
# The view loads no resources, and communicates only with its host.
_RESOURCE_META: dict[str, Any] = {"ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}}
_HERE = Path(__file__).parent


# Import and export statements, which are removed because an inline script cannot have them.
_MODULE_SYNTAX = re.compile(r"^import .*\n|^export ", re.MULTILINE)


@cache
def time_script() -> str:
    """Return the module `time.js`, which the console uses too."""
    return (_HERE / "time.js").read_text()


@cache
def html() -> str:
    """Return the view, with style and scripts inlined."""
    icon = SVG.replace("<svg ", '<svg aria-hidden="true" ')
    script = _MODULE_SYNTAX.sub("", f"{time_script()}\n{(_HERE / 'view.js').read_text()}")
    page = (_HERE / "view.html").read_text()
    page = page.replace("/*STYLE*/", (_HERE / "view.css").read_text()).replace("/*SCRIPT*/", script)
    return page.replace("<main", f'<template id="icon">{icon}</template>\n<main', 1)


def contents() -> mcp_types.ReadResourceResult:
    """Return the view as an MCP resource."""
    view = mcp_types.TextResourceContents(uri=URI, mime_type=MIME_TYPE, text=html(), meta=_RESOURCE_META)
    return mcp_types.ReadResourceResult(contents=[view])
