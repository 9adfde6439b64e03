"""The steps that all clients run.

This module is imported in the environment of each client, so it imports only the standard library.
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
OTHERS = json.loads((Path(__file__).parent / "others.json").read_text())
"""The tools that no other step calls, each with the arguments of a call and a text that its answer must contain."""
STEPS = ("ingest_memory", "ingest_status", "memory_search", "delete_memory")
List = Callable[[], Awaitable[list[str]]]
Call = Callable[[str, dict[str, Any]], Awaitable[str]]
Connect = Callable[[str, AsyncExitStack], Awaitable[tuple[List, Call]]]


class Steps:
    """Checks the steps in their order, and keeps their results."""

    def __init__(self) -> None:
        self.taken: dict[str, str] = {}

    def check(self, step: str, holds: bool, evidence: str) -> None:
        """Record that the step succeeded; raise an error if it did not."""
        if not holds:
            raise AssertionError(f"{step}: {evidence[:500]}")
        self.taken[step] = "yes"


def plain(text: str) -> str:
    """Return the text, unwrapped from any nesting of JSON in JSON that a framework has added."""
    return text.replace("\\", "")


async def take(list_tools: List, call: Call, steps: Steps) -> None:
    """Run all steps. `call` calls a tool and returns the text that a model would read, also if the call is an error."""
    names = await list_tools()
    steps.check("list", set(names) == {*STEPS, *OTHERS}, str(names))
    content = f"The otter crosses the weir at dusk, said {os.getpid()}."
    queued = plain(await call("ingest_memory", {"content": content, "tags": ["otter"]}))
    request_match = re.search(rf'request_id["\']: ?["\']({UUID})', queued)
    steps.check("ingest", request_match is not None, queued)
    assert request_match
    for _ in range(500):
        status = plain(await call("ingest_status", {"request_ids": [request_match[1]]}))
        if "queued" not in status:
            break
        await asyncio.sleep(0.02)
    memory_match = re.search(rf'memory_id["\']: ?["\']({UUID})', status)
    steps.check("status", memory_match is not None and "stored" in status, status)
    assert memory_match
    hits = plain(await call("memory_search", {"query": "where does the otter cross?", "limit": 3}))
    steps.check("search", memory_match[1] in hits and "crosses the weir" in hits, hits)
    for name, other in OTHERS.items():
        arguments = {key: memory_match[1] if value == "ID" else value for key, value in other["arguments"].items()}
        status = plain(await call(name, arguments))
        steps.check("search", other["says"].replace("ID", memory_match[1]) in status, f"{name}: {status}")
    refused = plain(await call("memory_search", {"query": "otter", "limit": 1_000}))
    steps.check("error", "limit" in refused and "100" in refused, refused)
    deleted = plain(await call("delete_memory", {"id": memory_match[1]}))
    steps.check("delete", "Deleted memory" in deleted or "'deleted': True" in deleted, deleted)


async def drive(connect: Connect, url: str) -> dict[str, str]:
    """Connect, run all steps and return their results."""
    steps = Steps()
    async with AsyncExitStack() as exits:
        list_tools, call = await connect(url, exits)
        steps.check("connect", True, "")
        await take(list_tools, call, steps)
    return steps.taken


def main(connect: Connect, package: str) -> None:
    """Run the script's client against the given address; print the client's version and its steps."""
    steps = asyncio.run(drive(connect, sys.argv[1]))
    sys.stdout.write(json.dumps({"version": version(package), "steps": steps}) + "\n")
    sys.stdout.flush()
    os._exit(0)  # some frameworks leave threads behind
