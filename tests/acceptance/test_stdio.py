"""`mnemosyne stdio` without `mnemosyne dev`. `test_wheel.py` runs both on the same memories."""

import asyncio
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

from tests.dev import COMMAND, fill, processes_of, run
from tests.mcp_app import MODERN
from tests.mcp_client import request
from tests.waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """A data directory for several tests."""
    with tempfile.TemporaryDirectory(prefix="mnemosyne-stdio-") as home:
        fill(Path(home) / "data")
        yield Path(home) / "data"


def test_stdio_alone_starts_the_system_and_ends_it_afterwards(tmp_path: Path) -> None:
    fill(tmp_path / "data")
    options = ["stdio", "--data-dir", str(tmp_path / "data")]
    parameters = StdioServerParameters(command=str(COMMAND), args=options, env=dict(os.environ))

    async def remember_and_search() -> dict[str, Any]:
        async with Client(stdio_client(parameters)) as client:
            assert "memory_search" in [tool.name for tool in (await client.list_tools()).tools]
            stored = await client.call_tool("ingest_memory", {"content": "told over stdio", "wait": 10})
            assert (stored.structured_content or {})["status"] == "stored"
            return (await client.call_tool("memory_search", {"query": "told over stdio"})).structured_content or {}

    result = asyncio.run(remember_and_search())
    assert result["memories"][0]["content"] == "told over stdio"
    # The client waits at most two seconds for the process to end.
    wait_until(lambda: processes_of(tmp_path) == [], "nothing runs any more")


def test_an_invalid_line_gets_an_error_and_the_next_line_is_served(data: Path) -> None:
    deep = '{"x": ' * 150 + "1" + "}" * 150
    lines = {
        b"{broken": (None, -32700, "Parse error: Expecting property name"),
        b'{"jsonrpc": "2.0", "id": 1, "method": "\xff"}': (None, -32700, "Parse error: 'utf-8' codec can't decode"),
        b'{"id": 5}': (5, -32600, 'jsonrpc must be "2.0"'),
        b"null": (None, -32600, "it must be a JSON-RPC object"),
        b'{"jsonrpc": "2.0", "id": [], "method": "ping", "result": {}}': (
            (None, -32600, "id must be a string or an integer")
        ),
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}}\n{"id": 6}': (
            (6, -32600, 'jsonrpc must be "2.0"')
        ),
        b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}': (None, -32600, "id must be a string or an integer"),
        b'[{"jsonrpc": "2.0", "id": 6, "method": "ping"}]': (None, -32600, "there are no batches over stdio"),
        b'{"jsonrpc": "2.0", "id": "x", "method": 5}': ("x", -32600, "method must be a string"),
        b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "n", "arguments": "{}"}}': (
            (7, -32600, "params.arguments must be an object")
        ),
        b'{"jsonrpc": "2.0", "id": 8, "method": "m", "params": {"text": "\\ud800"}}': (
            (8, -32600, "found the lone surrogate U+D800")
        ),
        f'{{"jsonrpc": "2.0", "id": 9, "method": "m", "params": {deep}}}'.encode(): (
            (9, -32600, "nested at most 30 levels deep")
        ),
        b'{"jsonrpc": "2.0", "id": 11, "method": "tools/list"}': (11, -32600, "initialize must come first"),
        b'{"jsonrpc": "2.0", "id": 12, "method": "tools/list", "params": {"_meta": ["x"]}}': (
            (12, -32600, "initialize must come first")
        ),
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": 5}': (
            (None, -32600, "params must be an object")
        ),
    }
    with subprocess.Popen(
        [COMMAND, "stdio", "--data-dir", data], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout
        for line, (identifier, code, message) in lines.items():
            process.stdin.write(b"\n" + line + b"\n")  # an empty line gets no answer
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            assert (answer["id"], answer["error"]["code"]) == (identifier, code)
            assert message in answer["error"]["message"]
        topic = "next\x85line\u2028line\u2029paragraph\r\nend"  # An answer is one line for every reader.
        recall = {"name": "recall", "arguments": {"topic": topic}, "_meta": MODERN}
        for asked in (request("tools/list", {"_meta": MODERN}, id_=1), request("prompts/get", recall, id_=2)):
            process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.close()
        answers = {answer["id"]: answer for answer in map(json.loads, process.stdout.read().decode().splitlines())}
        assert answers[1]["result"]["tools"]
        assert topic in answers[2]["result"]["messages"][0]["content"]["text"]
        assert process.wait(60) == 0


def test_requests_sent_before_the_end_of_input_are_answered(data: Path) -> None:
    info = {"protocolVersion": "2025-06-18"}  # initialize needs no more
    memory = {"content": "the last words", "timestamp": "2026-05-20T12:00:00Z"}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": info},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "ingest_memory", "arguments": memory}},
        {"id": 3, "method": "tools/call", "params": {"name": "memory_stats", "arguments": {}}},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    completed = run("stdio", "--data-dir", data, stdin_text=lines)
    assert completed.returncode == 0, completed.stderr
    answers = {answer["id"]: answer["result"] for answer in map(json.loads, completed.stdout.splitlines())}
    assert answers.keys() == {1, 2, 3}
    assert answers[2]["structuredContent"]["status"] == "queued"


def test_a_system_that_does_not_start_is_reported_on_standard_error(data: Path) -> None:
    call = request("tools/call", {"name": "memory_stats", "arguments": {}, "_meta": MODERN})
    wrong = {"MNEMOSYNE_RATE_LIMIT_PER_MINUTE": "many"}
    ended = run("stdio", "--data-dir", data, stdin_text=f"{json.dumps(call)}\n", **wrong)
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["result"]["isError"]
    assert re.fullmatch(r"mnemosyne: .* MNEMOSYNE_RATE_LIMIT_PER_MINUTE: .*'many'.*\n", ended.stderr)


def test_the_server_ends_when_the_client_closes_its_connection(tmp_path: Path) -> None:
    fill(tmp_path / "data")
    with subprocess.Popen(
        [COMMAND, "stdio", "--data-dir", tmp_path / "data"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.stdout.close()
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}\n')
        process.stdin.flush()
        assert process.wait(60) == 1
    assert processes_of(tmp_path) == []
