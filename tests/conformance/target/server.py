"""The suite's fixtures served by this project's app: `python -m tests.conformance.target.server PORT`."""

import sys
from collections.abc import Mapping
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette

from mnemosyne.http.common.lifespan import LifespanApp
from mnemosyne.http.mcp.access import Access
from mnemosyne.http.mcp.app import build_app
from mnemosyne.http.mcp.streams import wants_stream
from mnemosyne.service.authenticate import NoAuthenticator
from tests.conformance.target import fixtures, rounds
from tests.fakes import FakeServices

Context = ServerRequestContext[Any]
MISSING_CAPABILITY = -32021
LOGGING = ("test_tool_with_logging", "test_logging_tool")
OTHERS = (
    "test_error_handling", *LOGGING, "test_tool_with_progress", "test_sampling", "test_elicitation",
    "test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums", "test_missing_capability",
)  # fmt: skip
NAMES = (*fixtures.CONTENTS, *OTHERS, *rounds.FIRST)


async def _list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    tools = [
        types.Tool(name=name, description=name, input_schema=fixtures.SCHEMAS.get(name, fixtures.NOTHING))
        for name in NAMES
    ]
    return types.ListToolsResult(tools=tools)


async def _call_tool(
    context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    name = params.name
    if name in fixtures.CONTENTS:
        return types.CallToolResult(content=fixtures.CONTENTS[name])
    if name in rounds.FIRST:
        return rounds.play(name, params, context.session.client_capabilities)
    if name in LOGGING:
        for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await context.session.send_log_message(level="info", data=message, related_request_id=context.request_id)
            await anyio.sleep(0.05)
    elif name == "test_tool_with_progress":
        for progress in (0, 50, 100):
            await context.session.report_progress(progress, 100)
            await anyio.sleep(0.05)
    elif name == "test_missing_capability":
        raise MCPError(MISSING_CAPABILITY, "sampling is needed", {"requiredCapabilities": {"sampling": {}}})
    elif name in OTHERS:  # further fixtures of the suite, which ask for input during a call, and thus need a session
        error = "This tool intentionally returns an error for testing"
        return types.CallToolResult(content=[fixtures.text(error)], is_error=True)
    else:
        raise MCPError(types.INVALID_PARAMS, f"unknown tool {name!r}")
    return types.CallToolResult(content=[fixtures.text("done")])


async def _list_resources(context: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=fixtures.RESOURCES)


async def _list_templates(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(resource_templates=[fixtures.TEMPLATE])


async def _read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    resource = fixtures.resource(str(params.uri))
    if resource is None:
        raise MCPError(types.INVALID_PARAMS, "no such resource", {"uri": str(params.uri)})
    return types.ReadResourceResult(contents=[resource])


async def _watch(context: Context, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


async def _list_prompts(context: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=fixtures.PROMPTS)


async def _get_prompt(
    context: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    if params.name == "test_input_required_result_prompt" and not params.input_responses:
        return rounds.ask({"user_context": rounds.form("What context should the prompt use?", "context")})
    messages = [
        types.PromptMessage(role="user", content=content)
        for content in fixtures.prompt(params.name, params.arguments or {})
    ]
    return types.GetPromptResult(messages=messages)


async def _complete(context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))


async def _set_level(context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


def serve(services: object, *, database: object) -> Server[Any]:
    """Return an MCP server whose requests go to the suite's fixtures instead of the product's tools."""
    return Server(
        "conformance",
        version="1",
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read_resource,
        on_subscribe_resource=_watch,
        on_unsubscribe_resource=_watch,
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
        on_completion=_complete,
        on_set_logging_level=_set_level,
        get_tool_input_schema=fixtures.SCHEMAS.get,
    )


def _streams(posted: Any) -> bool:
    """Whether the answer to a request is a stream.

    It is always a stream for tools that send log messages, because clients of earlier revisions cannot ask for one.
    """
    params = posted.get("params") if isinstance(posted, Mapping) else None
    return wants_stream(posted) or (isinstance(params, Mapping) and params.get("name") in LOGGING)


def app() -> Starlette:
    """The product's app with the suite's fixtures."""
    return build_app(
        FakeServices(),
        threads=4,
        access=Access(NoAuthenticator(), per_minute=0, issuer="", allowed_hosts=("localhost:*", "127.0.0.1:*")),
        allowed_origins=("http://localhost:*", "http://127.0.0.1:*"),
        warm=lambda: None,
        examine=list,
        serve=serve,
        streams=_streams,
    )


if __name__ == "__main__":
    uvicorn.run(LifespanApp(app), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", lifespan="off")
