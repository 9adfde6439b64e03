"""Test a deployed server: store a memory, wait for it, find it, delete it. `python3 infra/smoke.py URL`.

The script uses the standard library only. In Cloud Build it runs with the rights of the account that deploys, and an
installed package could use these rights. The bearer token is read from the environment variable MNEMOSYNE_TOKEN. The
exit code is 1 if a step fails.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid
from typing import Any

SECONDS = 120.0
"""Maximum seconds for the whole test. Until then, a call is repeated if a busy server answers it with 429 or 503."""


class SmokeError(Exception):
    """Raised when a step fails. The message has the reason."""


def smoke(url: str) -> str:
    """Run the test and return its result in one line; raises SmokeError if a step fails."""
    deadline = time.monotonic() + SECONDS
    content = f"Smoke test {uuid.uuid4()}: the deployment remembers."
    memory = {"content": content, "timestamp": "2026-01-01T00:00:00Z", "tags": ["smoke"]}
    request_id = _call(url, "ingest_memory", memory, deadline)["request_id"]
    memory_id = _stored_memory(url, request_id, deadline)
    result = _call(url, "memory_search", {"query": content, "limit": 3}, deadline)
    _call(url, "delete_memory", {"id": memory_id}, deadline)
    if memory_id not in [hit["id"] for hit in result["memories"]]:
        raise SmokeError("the memory was stored, but a search does not find it")
    if "degraded" in result:
        raise SmokeError(f"searches are degraded: {result['degraded']}")
    return f"{url} works: memory {memory_id} was stored, found and deleted."


def _stored_memory(url: str, request_id: str, deadline: float) -> str:
    """Wait for the outcome of a request to ingest, and return the stored memory's id."""
    while True:
        (status,) = _call(url, "ingest_status", {"request_id": request_id}, deadline)["requests"]
        if status["state"] == "stored":
            return str(status["memory_id"])
        if status["state"] != "queued":
            raise SmokeError(f"the memory was not stored but {status['state']}: {status['error']}")
        if time.monotonic() > deadline:
            raise SmokeError(f"the memory is still queued: {status['error']}")
        time.sleep(0.5)


def _call(url: str, tool: str, arguments: dict[str, Any], deadline: float) -> dict[str, Any]:
    """Call a tool by one POST and return its structured result."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {"Content-Type": "application/json"}
    if token := os.environ.get("MNEMOSYNE_TOKEN", "").strip():
        headers["Authorization"] = f"Bearer {token}"
    answer = _post(url, json.dumps(body).encode(), headers, deadline)
    result = answer.get("result")
    if not result or result.get("isError"):
        reason = result["content"][0]["text"] if result else answer.get("error", answer)
        raise SmokeError(f"{tool}: {reason}")
    structured: dict[str, Any] = result["structuredContent"]
    return structured


def _post(url: str, body: bytes, headers: dict[str, str], deadline: float) -> dict[str, Any]:
    while True:
        try:
            request = urllib.request.Request(url, body, headers)  # noqa: S310 - the operator gives the URL
            with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
                answer: dict[str, Any] = json.load(response)
                return answer
        except urllib.error.HTTPError as exc:
            header = exc.headers.get("Retry-After", "")  # a number, or a date if a proxy has set this header
            seconds = float(header) if header.isdecimal() else 1.0
            if exc.code not in (429, 503) or time.monotonic() + seconds > deadline:
                raise SmokeError(f"{url} answers {exc.code}: {exc.read().decode(errors='replace')}") from exc
            time.sleep(seconds)
        except (OSError, ValueError) as exc:
            raise SmokeError(f"{url} cannot be reached: {exc}") from exc


def main() -> None:
    """Test the server whose URL is the first argument."""
    try:
        sys.stdout.write(smoke(sys.argv[1]) + "\n")
    except SmokeError as exc:
        sys.stderr.write(f"smoke: {exc}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
