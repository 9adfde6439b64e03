"""Run the steps with an agent framework: `python frameworks.py NAME URL`.

Each framework converts the tools for the models of its vendor.
"""

import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from steps import Call, Connect, List, main  # type: ignore[import-not-found]


def _of(tools: dict[str, Any], run: Callable[[Any, dict[str, Any]], Awaitable[object]]) -> tuple[List, Call]:
    """Return the two functions that the steps need: one lists the tools, and one calls a tool.

    If a call raises an error, the second function returns the text of the error.
    """

    async def list_tools() -> list[str]:
        return list(tools)

    async def call(name: str, arguments: dict[str, Any]) -> str:
        try:
            return str(await run(tools[name], arguments))
        except Exception as exc:  # noqa: BLE001 - whatever it is, a model would read it
            return str(exc)

    return list_tools, call


async def openai_agents(url: str, exits: AsyncExitStack) -> tuple[List, Call]:
    """The tools as functions of OpenAI's Agents SDK, all in strict mode, in which a model must give every argument."""
    from agents.mcp import MCPServerStreamableHttp
    from agents.mcp.util import MCPUtil
    from agents.tool_context import ToolContext

    server = await exits.enter_async_context(MCPServerStreamableHttp(params={"url": url}))
    tools = [MCPUtil.to_function_tool(tool, server, True) for tool in await server.list_tools()]
    assert all(tool.strict_json_schema for tool in tools), [tool.name for tool in tools if not tool.strict_json_schema]

    async def run(tool: Any, arguments: dict[str, Any]) -> object:
        schema = tool.params_json_schema
        assert set(schema["required"]) == set(schema["properties"])
        arguments_json = json.dumps({name: arguments.get(name) for name in schema["properties"]})
        context = ToolContext(None, tool_name=tool.name, tool_call_id="call", tool_arguments=arguments_json)
        return await tool.on_invoke_tool(context, arguments_json)

    return _of({tool.name: tool for tool in tools}, run)


async def langchain(url: str, exits: AsyncExitStack) -> tuple[List, Call]:
    """The tools as functions of LangChain's models."""
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langchain_mcp_adapters.client import MultiServerMCPClient

    tools = await MultiServerMCPClient({"memory": {"transport": "streamable_http", "url": url}}).get_tools()
    for tool in tools:
        convert_to_openai_tool(tool)
    return _of({tool.name: tool for tool in tools}, lambda tool, arguments: tool.ainvoke(arguments))


async def pydantic_ai(url: str, exits: AsyncExitStack) -> tuple[List, Call]:
    """The tools as a toolset of Pydantic AI."""
    from pydantic_ai.mcp import MCPToolset

    server = await exits.enter_async_context(MCPToolset(url))
    names = {tool.name: tool.name for tool in await server.list_tools()}
    return _of(names, server.direct_call_tool)


async def llama_index(url: str, exits: AsyncExitStack) -> tuple[List, Call]:
    """The tools of LlamaIndex, which makes argument models from the schemas."""
    from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

    tools = await McpToolSpec(client=BasicMCPClient(url)).to_tool_list_async()
    for tool in tools:
        tool.metadata.to_openai_tool(skip_length_check=True)
    return _of({tool.metadata.name: tool for tool in tools}, lambda tool, arguments: tool.acall(**arguments))


async def autogen(url: str, exits: AsyncExitStack) -> tuple[List, Call]:
    """The tools of AutoGen, which makes argument models from the schemas."""
    from autogen_core import CancellationToken
    from autogen_ext.tools.mcp import StreamableHttpServerParams, mcp_server_tools

    tools = await mcp_server_tools(StreamableHttpServerParams(url=url))
    for tool in tools:
        assert tool.schema["parameters"]

    async def run(tool: Any, arguments: dict[str, Any]) -> object:
        return tool.return_value_as_string(await tool.run_json(arguments, CancellationToken()))

    return _of({tool.name: tool for tool in tools}, run)


async def semantic_kernel(url: str, exits: AsyncExitStack) -> tuple[List, Call]:
    """The tools as functions of a kernel."""
    from semantic_kernel import Kernel
    from semantic_kernel.connectors.mcp import MCPStreamableHttpPlugin

    kernel = Kernel()
    plugin = kernel.add_plugin(
        await exits.enter_async_context(MCPStreamableHttpPlugin(name="memory", url=url, load_prompts=False))
    )

    async def run(tool: Any, arguments: dict[str, Any]) -> object:
        return await kernel.invoke(tool, **arguments)

    return _of(dict(plugin.functions), run)


async def dspy(url: str, exits: AsyncExitStack) -> tuple[List, Call]:
    """The tools of DSPy."""
    from dspy import Tool
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    streams = await exits.enter_async_context(streamable_http_client(url))
    session = await exits.enter_async_context(ClientSession(streams[0], streams[1]))
    await session.initialize()
    tools = [Tool.from_mcp_tool(session, tool) for tool in (await session.list_tools()).tools]
    return _of({tool.name: tool for tool in tools}, lambda tool, arguments: tool.acall(**arguments))


async def google_adk(url: str, exits: AsyncExitStack) -> tuple[List, Call]:
    """The tools of Google's Agent Development Kit, declared for Gemini."""
    from google.adk.tools.mcp_tool.mcp_session_manager import StreamableHTTPConnectionParams
    from google.adk.tools.mcp_tool.mcp_toolset import McpToolset

    toolset = McpToolset(connection_params=StreamableHTTPConnectionParams(url=url))
    exits.push_async_callback(toolset.close)
    tools = await toolset.get_tools()
    for tool in tools:
        assert tool._get_declaration() is not None

    async def run(tool: Any, arguments: dict[str, Any]) -> object:
        return await tool._run_async_impl(args=arguments, tool_context=_NoContext(), credential=None)

    return _of({tool.name: tool for tool in tools}, run)


class _NoContext:
    """Context for a call that no agent makes.

    If a tool names a view (MCP App), ADK shows the view under this call id.
    """

    function_call_id = "call"

    def render_ui_widget(self, widget: object) -> None:
        """Accept the view that the tool names."""
        assert "ui://" in str(widget)

    def __getattr__(self, name: str) -> None:
        return None


async def anthropic(url: str, exits: AsyncExitStack) -> tuple[List, Call]:
    """The tools of Anthropic's SDK, converted by the SDK."""
    from anthropic.lib.tools.mcp import async_mcp_tool
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    streams = await exits.enter_async_context(streamable_http_client(url))
    session = await exits.enter_async_context(ClientSession(streams[0], streams[1]))
    await session.initialize()
    tools = [async_mcp_tool(tool, session) for tool in (await session.list_tools()).tools]
    for tool in tools:
        tool.to_dict()
    return _of({tool.name: tool for tool in tools}, lambda tool, arguments: tool.call(arguments))


def python_sdk(mode: str) -> Connect:
    """The MCP Python SDK's client, version 1.x or one of the modes of 2.x."""

    async def connect(url: str, exits: AsyncExitStack) -> tuple[List, Call]:
        if mode == "1.x":
            from mcp import ClientSession
            from mcp.client.streamable_http import streamablehttp_client  # type: ignore[attr-defined]  # before 2.0

            read, write, _ = await exits.enter_async_context(streamablehttp_client(url))
            client: Any = await exits.enter_async_context(ClientSession(read, write))
            await client.initialize()
        else:
            from mcp.client.client import Client

            client = await exits.enter_async_context(Client(url, mode=mode))
        names = {tool.name: tool.name for tool in (await client.list_tools()).tools}
        return _of(names, client.call_tool)

    return connect


async def fastmcp(url: str, exits: AsyncExitStack) -> tuple[List, Call]:
    """FastMCP's client."""
    from fastmcp import Client

    client = await exits.enter_async_context(Client(url))
    names = {tool.name: tool.name for tool in await client.list_tools()}
    return _of(names, client.call_tool)


FRAMEWORKS: dict[str, tuple[Connect, str]] = {
    "openai-agents": (openai_agents, "openai-agents"),
    "langchain": (langchain, "langchain-mcp-adapters"),
    "pydantic-ai": (pydantic_ai, "pydantic-ai-slim"),
    "llama-index": (llama_index, "llama-index-tools-mcp"),
    "autogen": (autogen, "autogen-ext"),
    "semantic-kernel": (semantic_kernel, "semantic-kernel"),
    "dspy": (dspy, "dspy"),
    "google-adk": (google_adk, "google-adk"),
    "anthropic": (anthropic, "anthropic"),
    "fastmcp": (fastmcp, "fastmcp"),
    "mcp 1.x": (python_sdk("1.x"), "mcp"),
    "mcp auto": (python_sdk("auto"), "mcp"),
    "mcp legacy": (python_sdk("legacy"), "mcp"),
    "mcp 2026-07-28": (python_sdk("2026-07-28"), "mcp"),
}

if __name__ == "__main__":
    connect, package = FRAMEWORKS[sys.argv.pop(1)]
    main(connect, package)
