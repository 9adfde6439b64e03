"""Show that a deployed server remembers: ingest, wait for the status, search, forget. `python infra/smoke.py URL`.

A bearer token is taken from MNEMOSYNE_TOKEN. Exit code 1 where anything is not as it should be.
"""

import sys
import time
import uuid

from mnemosyne.errors import MnemosyneError
from mnemosyne_cli.tool_client import ToolClient

SECONDS = 120.0


def smoke(url: str, *, seconds: float = SECONDS) -> str:
    """Return what was done, in one line; raises MnemosyneError where it could not be."""
    server = ToolClient(url)
    content = f"Smoke test {uuid.uuid4()}: the deployment remembers."
    queued = server.call("ingest_memory", {"content": content, "timestamp": "2026-01-01T00:00:00Z", "tags": ["smoke"]})
    deadline = time.monotonic() + seconds
    while True:
        (status,) = server.call("ingest_status", {"request_id": queued["request_id"]})["requests"]
        if status["state"] != "queued":
            break
        if time.monotonic() > deadline:
            raise MnemosyneError(f"still queued after {seconds:.0f} s: {status['error']}")
        time.sleep(0.5)
    if status["state"] != "stored":
        raise MnemosyneError(f"ended {status['state']}: {status['error']}")
    found = server.call("memory_search", {"query": content, "limit": 3})
    if status["memory_id"] not in [memory["id"] for memory in found["memories"]]:
        raise MnemosyneError("the memory is stored and not found")
    if "degraded" in found:
        raise MnemosyneError(f"searches are degraded: {found['degraded']}")
    server.call("delete_memory", {"id": status["memory_id"]})
    return f"{url} remembers: stored as {status['memory_id']}, found, forgotten."


def main() -> None:
    """Run it on the address given."""
    try:
        sys.stdout.write(smoke(sys.argv[1]) + "\n")
    except MnemosyneError as exc:
        sys.stderr.write(f"smoke: {exc}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
