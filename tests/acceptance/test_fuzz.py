"""Random requests to the running server get correct statuses, cause no internal error and no leak, and change nothing.

`FUZZ_REQUESTS` is the number of requests. `.ci/run noise` sends 50,000.
"""

import json
import os
import random
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psutil

from mnemosyne.mcp.tools import DEPRECATED_TOOLS, TOOLS
from tests.dev import DevServer

REQUESTS = int(os.environ.get("FUZZ_REQUESTS", "500"))
WORKERS = 4
GROWTH = 1.2
METHODS = ["initialize", "tools/list", "tools/call", "ping", "server/discover", "resources/list", "x", "", "../etc"]
NOISE: list[Any] = [
    None, True, 0, -1, 2**63, 1e308, "", "x", "\u0000", "😀", "\ud800", "'; DROP TABLE memories; --", [], {}, [[]],
    {"": {}}, "9" * 5000, ["a"] * 200, {"a": {"b": {"c": {"d": []}}}}, "2026-13-45T99:99:99Z", "%_\\", "\u202egnp",
]  # fmt: skip
HEADERS = [
    ("Content-Type", ["application/json", "application/json; charset=utf-16", "text/plain", "", "APPLICATION/JSON"]),
    ("MCP-Protocol-Version", ["2026-07-28", "2025-06-18", "2024-11-05", "1999-01-01", "x" * 300]),
    ("Mcp-Method", ["tools/list", "tools/call", "nope"]),
    ("Mcp-Name", ["memory_search", "é".encode().decode("latin-1"), "x" * 300]),
    ("Mcp-Session-Id", ["", "abc", "x" * 1000]),
    ("Accept", ["application/json", "text/event-stream", "*/*", ""]),
    ("Origin", ["http://localhost", "https://evil.example", "null"]),
    ("Host", ["localhost", "evil.example", ""]),
    ("Content-Encoding", ["gzip", "br"]),
    ("traceparent", ["00-" + "0" * 32 + "-" + "0" * 16 + "-01", "x"]),
]


class Fuzzer:
    """Generator of requests; the same seed gives the same requests."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def request(self) -> tuple[str, str, dict[str, str], bytes]:
        method = "POST" if self._random.random() < 0.95 else self._random.choice(["GET", "PUT", "DELETE", "PATCH"])
        path = "/mcp" if self._random.random() < 0.95 else self._random.choice(["/", "/mcp/", "/healthz", "/x" * 200])
        headers = {"Content-Type": "application/json"}
        for name, values in HEADERS:
            if self._random.random() < 0.12:
                headers[name] = self._random.choice(values)
        return method, path, headers, self._body()

    def _body(self) -> bytes:
        message: Any = self._message()
        if self._random.random() < 0.08:
            message = [self._message() for _ in range(self._random.randint(0, 4))]
        if self._random.random() < 0.05:
            message = self._random.choice(NOISE)
        body = json.dumps(message).encode()
        if self._random.random() < 0.15:
            body = self._mutated(body)
        return body

    def _message(self) -> dict[str, Any]:
        message: dict[str, Any] = {
            "jsonrpc": "2.0",
            "id": self._random.randint(0, 99),
            "method": self._random.choice(METHODS),
            "params": self._params(),
        }
        for field in list(message):
            chance = self._random.random()
            if chance < 0.05:
                del message[field]
            elif chance < 0.1:
                message[field] = self._random.choice(NOISE)
        return message

    def _params(self) -> Any:
        tool = self._random.choice([*TOOLS, *DEPRECATED_TOOLS])
        arguments = {
            name: self._random.choice(NOISE) for name in tool.arguments.model_fields if self._random.random() < 0.7
        }
        return {
            "name": tool.name,
            "arguments": arguments,
            **({"_meta": self._random.choice(NOISE)} if arguments else {}),
        }

    def _mutated(self, body: bytes) -> bytes:
        changed = bytearray(body)
        for _ in range(self._random.randint(1, 8)):
            place = self._random.randrange(len(changed) + 1)
            if changed and self._random.random() < 0.5:
                changed[place % len(changed)] = self._random.randrange(256)
            else:
                changed[place:place] = self._random.randbytes(self._random.randint(1, 20))
        return bytes(changed[: self._random.randint(1, len(changed))])


def _memory_of_mcp(server: DevServer) -> int:
    return sum(
        psutil.Process(pid).memory_info().rss for pid in server.processes() if "mcp" in psutil.Process(pid).cmdline()
    )


def _send(server: DevServer, seeds: range) -> list[str]:
    """Return a description of each violation of the expected behaviour."""
    problems = []
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=60) as client:
        for seed in seeds:
            method, path, headers, body = Fuzzer(seed).request()
            raw = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
            try:
                response = client.request(method, path, headers=raw, content=body)
            except httpx.TransportError as exc:
                problems.append(f"seed {seed}: {exc!r} {method} {path} {headers} {body[:200]!r}")
                continue
            if response.status_code >= 500 or "Traceback" in response.text or "internal error" in response.text:
                problems.append(f"seed {seed}: {response.status_code} {response.text[:300]}")
    return problems


def test_random_json_rpc_gets_correct_statuses_and_changes_nothing(own_dev: DevServer) -> None:
    own_dev.start()
    own_dev.outcome(own_dev.ingest("must be untouched"))
    before = own_dev.call("memory_stats", {})
    warm_up = REQUESTS // 5
    assert _send(own_dev, range(warm_up)) == []
    memory = _memory_of_mcp(own_dev)
    with ThreadPoolExecutor(WORKERS) as pool:
        parts = [range(warm_up + n, REQUESTS, WORKERS) for n in range(WORKERS)]
        assert [
            problem for part_problems in pool.map(lambda part: _send(own_dev, part), parts) for problem in part_problems
        ] == []
    assert _memory_of_mcp(own_dev) <= GROWTH * memory
    assert own_dev.call("memory_stats", {}) == before
    assert "Traceback" not in (own_dev.directory / "data" / "logs" / "mcp.log").read_text()


def test_sql_in_any_text_argument_is_treated_as_text(dev: DevServer) -> None:
    evil = '\'; DELETE FROM memories; -- %_\\ $1 :namespace {null,NULL} "quoted"'
    outcome = dev.outcome(dev.ingest(f"content {evil}", title=evil, tags=[evil], metadata={evil: evil}))
    result = dev.call("memory_search", {"query": evil, "mode": "exact", "tags": [evil]})
    assert result["memories"][0]["id"] == outcome["memory_id"]
    assert dev.call("list_memories", {"tags": [evil]})["memories"][0]["title"] == evil
    for mode in ("semantic", "hybrid"):
        assert dev.call("memory_search", {"query": evil, "mode": mode, "tags": [evil]})["total"] == 1


def test_requests_that_never_end_do_not_delay_other_requests(dev: DevServer) -> None:
    slow = []
    for _ in range(100):
        connection = socket.create_connection(("127.0.0.1", dev.port))
        connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        connection.sendall(b"Content-Length: 1000\r\n\r\n{")
        slow.append(connection)
    assert dev.call("memory_stats", {})
    for connection in slow:
        connection.close()
