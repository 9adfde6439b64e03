"""The MCP App: what was found, and one memory whole, as a view for hosts that show one in the conversation.

Hosts without it show the tools' texts. https://github.com/modelcontextprotocol/ext-apps, revision 2026-01-26.
"""

from functools import cache
from pathlib import Path
from typing import Any

import mcp_types

from mnemosyne.mcp.icon import SVG

EXTENSION = "io.modelcontextprotocol/ui"
URI = "ui://mnemosyne/memories"
MIME_TYPE = "text/html;profile=mcp-app"
TOOL_META: dict[str, Any] = {"ui": {"resourceUri": URI}}
"""Of a tool whose result the view shows."""
# It loads nothing and calls nobody but its host.
_RESOURCE_META: dict[str, Any] = {"ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}}
_HERE = Path(__file__).parent


@cache
def html() -> str:
    """Return the view with everything that it needs in it."""
    whole = (_HERE / "view.html").read_text()
    drawn = SVG.replace("<svg ", '<svg aria-hidden="true" ')
    for mark, name in (("/*STYLE*/", "view.css"), ("/*SCRIPT*/", "view.js")):
        whole = whole.replace(mark, (_HERE / name).read_text())
    return whole.replace("<main", f'<template id="icon">{drawn}</template>\n<main', 1)


def contents() -> mcp_types.ReadResourceResult:
    """Return the view as the resource that it is."""
    view = mcp_types.TextResourceContents(uri=URI, mime_type=MIME_TYPE, text=html(), meta=_RESOURCE_META)
    return mcp_types.ReadResourceResult(contents=[view])
