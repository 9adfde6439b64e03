"""Call a server's tools over HTTP, as any client does."""

import json
import os
import time
from typing import Any

import httpx2

from mnemosyne.domain.parsing import surrogate
from mnemosyne.errors import InvalidRequest, Unauthorized, Unavailable

PATIENCE_SECONDS = 60.0
"""How long a server may ask to be left alone."""


class ToolClient:
    """Calls tools by stateless POST; a bearer token is taken from MNEMOSYNE_TOKEN."""

    def __init__(self, url: str) -> None:
        self.token = os.environ.get("MNEMOSYNE_TOKEN", "")
        self.url = url
        self._client = httpx2.Client(
            timeout=60, headers={"Authorization": f"Bearer {self.token}"} if self.token else {}
        )

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return a tool's structured result.

        Raises Unauthorized, InvalidRequest, or Unavailable where it may come later.
        """
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        try:
            response = self._client.post(self.url, json=body)
            while response.status_code == httpx2.codes.TOO_MANY_REQUESTS:
                time.sleep(min(float(response.headers.get("retry-after", 1)), PATIENCE_SECONDS))
                response = self._client.post(self.url, json=body)
        except UnicodeEncodeError as exc:  # what a shell passes on as it came
            named = (name for name, value in arguments.items() if surrogate(json.dumps(value, ensure_ascii=False)))
            byte = ord(exc.object[exc.start]) & 0xFF  # as os.fsdecode keeps it: U+DC80 to U+DCFF
            raise InvalidRequest(
                f"{next(named, 'arguments')} must be text in UTF-8, found the byte 0x{byte:02x}: "
                "set the terminal and its locale to UTF-8"
            ) from exc
        except (httpx2.HTTPError, ValueError) as exc:
            fix = "name a running server with --url or a directory with --data-dir, or start `mnemosyne dev`"
            raise Unavailable(f"{self.url} cannot be reached: {exc}; {fix}") from exc
        answer = _json_object(response)
        result = answer.get("result")
        if result and not result.get("isError"):
            structured: dict[str, Any] = result["structuredContent"]
            return structured
        error = answer.get("error", answer)
        said = result["content"][0]["text"] if result else error.get("message", error)
        if response.status_code in (401, 403):
            fix = "give a key with the scopes read and write in MNEMOSYNE_TOKEN: `mnemosyne keys create` makes one"
            raise Unauthorized(f"{tool}: {said}; {fix}")
        if response.is_server_error or said.startswith("temporarily unavailable"):
            raise Unavailable(f"{tool}: {said}")
        raise InvalidRequest(f"{tool}: {said}")


def _json_object(response: httpx2.Response) -> dict[str, Any]:
    """Return what a server answered, if it can have been an MCP server."""
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if isinstance(answer, dict):
        return answer
    said = f"{response.request.url} answered {response.status_code} {response.reason_phrase} and no JSON"
    fix = "try again" if response.is_server_error else "it is not an MCP endpoint, whose path is /mcp: change --url"
    raise Unavailable(f"{said}; {fix}")
