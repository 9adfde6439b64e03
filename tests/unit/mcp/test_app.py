"""The view of the MCP App: one HTML file, named by the tools whose results it shows."""

import re

from mnemosyne.mcp import app
from mnemosyne.mcp.tools import TOOLS


def test_the_view_is_one_file_that_loads_nothing() -> None:
    html = app.html()
    assert "/*STYLE*/" not in html and "/*SCRIPT*/" not in html
    assert not re.search(r"\b(src|href)=", html.replace("xmlns=", ""))
    assert not any(word in html for word in ("import ", "export ", "fetch("))
    assert html.count("<script") == html.count("</script>") == 1


def test_the_view_does_not_insert_text_as_html() -> None:
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", app.html())


def test_the_tools_name_the_view_in_the_field_that_mcp_apps_specify() -> None:
    named = {tool.name: tool.listing.model_dump(by_alias=True, exclude_none=True).get("_meta") for tool in TOOLS}
    assert {name for name, meta in named.items() if meta} == {"memory_search", "get_memory"}
    assert named["memory_search"] == {"ui": {"resourceUri": app.URI}}
