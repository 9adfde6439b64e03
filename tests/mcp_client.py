"""Call tools over JSON-RPC, and wait for the outcome of an ingest."""

from abc import abstractmethod
from typing import Any

import httpx

from tests.waiting import wait_until

TIMESTAMP = "2026-05-20T12:00:00Z"


def request(method: str, params: Any = None, *, id_: int | str = 1) -> dict[str, Any]:
    """A JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": id_, "method": method} | ({} if params is None else {"params": params})


def tool_call(name: str, arguments: Any, *, id_: int | str = 1) -> dict[str, Any]:
    """The request that calls a tool."""
    return request("tools/call", {"name": name, "arguments": arguments}, id_=id_)


class ToolClient:
    """Base of clients that call tools; a subclass posts the requests."""

    @abstractmethod
    def post(self, body: Any, **headers: str) -> httpx.Response:
        """Post JSON to the endpoint."""

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool, and return its structured result. Fails on a tool error."""
        result = self.call_raw(tool, arguments)
        assert not result.get("isError"), result
        structured: dict[str, Any] = result["structuredContent"]
        return structured

    def call_raw(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool, and return the complete result."""
        answer = self.post(tool_call(tool, arguments))
        assert answer.status_code == 200, (answer.status_code, answer.text)
        assert "result" in answer.json(), answer.text
        result: dict[str, Any] = answer.json()["result"]
        return result

    def error(self, tool: str, arguments: dict[str, Any]) -> str:
        """Call a tool that must fail, and return its error message."""
        result = self.call_raw(tool, arguments)
        assert result["isError"] is True
        text: str = result["content"][0]["text"]
        return text

    def ingest(self, content: str, **fields: Any) -> str:
        """Ingest a memory, and return the request id."""
        request_id: str = self.call("ingest_memory", {"content": content, "timestamp": TIMESTAMP, **fields})[
            "request_id"
        ]
        return request_id

    def outcomes(self, request_ids: list[str], *, seconds: float = 60) -> list[dict[str, Any]]:
        """Wait until all requests are final, and return their statuses."""
        statuses: list[dict[str, Any]] = []

        def are_final() -> bool:
            statuses[:] = self.call("ingest_status", {"request_ids": request_ids})["requests"]
            return all(status["state"] != "queued" for status in statuses)

        wait_until(are_final, f"{len(request_ids)} requests are final", seconds=seconds)
        return statuses

    def outcome(self, request_id: str) -> dict[str, Any]:
        """Wait until the request is final, and return its status."""
        (status,) = self.outcomes([request_id])
        return status

    def remember(self, content: str, **fields: Any) -> str:
        """Ingest a memory, wait until it is stored, and return the memory's id."""
        status = self.outcome(self.ingest(content, **fields))
        assert status["state"] == "stored", status
        return str(status["memory_id"])
