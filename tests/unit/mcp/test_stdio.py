"""Lines of standard input that the SDK's server gets."""

import io
import json

import anyio
import mcp_types
import pytest

from mnemosyne.mcp import jsonrpc
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


@pytest.mark.parametrize("number", ["1.0", "1e0", "-1.0", "0.0", "9007199254740991.0"])
def test_an_integer_that_is_written_with_a_fraction_is_an_id(number: str) -> None:
    """Some clients keep each number as a float. JSON Schema, which defines the ids of MCP, counts 1.0 as an integer."""
    call = '{"jsonrpc": "2.0", "id": 5.5, "method": "tools/list", "params": {"_meta": {"progressToken": 5.5}}}'
    cancelled = '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5.5}}'
    lines = _lines(f"{call}\n{cancelled}".replace("5.5", number))
    first, second = map(mcp_types.jsonrpc_message_adapter.validate_json, lines)
    integer = int(float(number))
    assert isinstance(first, mcp_types.JSONRPCRequest) and isinstance(second, mcp_types.JSONRPCNotification)
    assert (first.id, first.params, second.params) == (
        integer, {"_meta": {"progressToken": integer}}, {"requestId": integer}
    )  # fmt: skip
    assert isinstance(first.id, int)


@pytest.mark.parametrize(
    "number", ["1.5", "NaN", "1e999", "9" * 5_000, "1e17", "true", "null", "[1.0]"], ids=lambda n: n[:5]
)
def test_other_numbers_are_no_ids(number: str) -> None:
    reason = jsonrpc.problem(jsonrpc.read(f'{{"jsonrpc": "2.0", "id": {number}, "method": "ping"}}'))
    assert reason == "id must be a string or an integer"
