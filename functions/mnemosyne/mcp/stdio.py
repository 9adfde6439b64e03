"""The server over standard input and output, where what is no message is answered too."""

from typing import Any

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from mnemosyne.errors import InvalidRequest
from mnemosyne.mcp import jsonrpc


async def serve(server: Server[Any]) -> None:
    """Serve until the input ends."""
    async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
        messages_in, messages = anyio.create_memory_object_stream[SessionMessage | Exception]()
        tasks.start_soon(_hand_on, read, messages_in, write)
        await server.run(messages, write, server.create_initialization_options())


async def _hand_on(read: Any, messages: MemoryObjectSendStream[SessionMessage | Exception], write: Any) -> None:
    """Hand on what is a message; answer what is not: whoever sent it would wait for ever."""
    async with messages:
        async for item in read:
            refused = _refused_line(item) if isinstance(item, ValidationError) else _refused_request(item)
            if refused is not None:
                await write.send(SessionMessage(refused))
            elif isinstance(item, SessionMessage):
                await messages.send(item)


def _refused_request(item: SessionMessage | Exception) -> mcp_types.JSONRPCError | None:
    """The answer to a request that the protocol's parser takes and its server would refuse without a reason."""
    if not isinstance(item, SessionMessage) or not isinstance(item.message, mcp_types.JSONRPCRequest):
        return None
    posted = item.message.model_dump(by_alias=True, exclude_unset=True)
    return _refusal(posted) if jsonrpc.problem(posted) else None


def _refused_line(error: ValidationError) -> mcp_types.JSONRPCError | None:
    """The answer to a line that the protocol's parser refused; None to an empty one."""
    problems = error.errors(include_url=False, include_context=False)
    if problems[0]["type"] != "json_invalid":
        return _refusal(
            next((one["input"] for one in problems if len(one["loc"]) == 1 or one["type"] == "missing"), None)
        )
    line = problems[0]["input"]
    if not line.strip():
        return None
    try:
        return _refusal(jsonrpc.read(line))
    except InvalidRequest as exc:
        return _error(mcp_types.PARSE_ERROR, str(exc), None)


def _refusal(posted: Any) -> mcp_types.JSONRPCError:
    if isinstance(posted, list):
        problem: str | None = "there are no batches over stdio: send one request a line"
    else:
        problem = jsonrpc.problem(posted)
    message = f"Invalid request: {problem or 'it is no JSON-RPC message'}"
    return _error(mcp_types.INVALID_REQUEST, message, jsonrpc.id_of(posted))


def _error(code: int, message: str, identifier: str | int | None) -> mcp_types.JSONRPCError:
    return mcp_types.JSONRPCError(jsonrpc="2.0", id=identifier, error=mcp_types.ErrorData(code=code, message=message))
