"""Lines of standard input that the SDK's server gets."""

import io
import json

import anyio
import mcp_types

from mnemosyne.mcp.stdio import _Conversation

CALL = '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_search", "arguments": %s}}'


def _lines(text: str) -> list[str]:
    async def read() -> list[str]:
        conversation = _Conversation(io.BytesIO(f"{text}\n".encode()))
        conversation.begin(None)
        conversation._is_initialized = True
        lines = []
        async for line in conversation:
            lines.append(line)
            conversation._pending.clear()
        return lines

    return anyio.run(read)


def test_the_sdk_can_parse_each_line() -> None:
    for arguments in ('{"limit": %s}' % ("9" * 5_000), '{"limit": NaN}', '{"query": "\\u00fc"}'):
        (line,) = _lines(CALL % arguments)
        message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        assert isinstance(message, mcp_types.JSONRPCRequest) and json.loads(line)["id"] == 1


def test_a_byte_order_mark_is_ignored() -> None:
    """Windows PowerShell writes a byte order mark before the text that it sends to a program."""
    (line,) = _lines("\ufeff" + CALL % "{}")
    assert json.loads(line)["id"] == 1
