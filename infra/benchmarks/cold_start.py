"""Compare the cold starts of the functions with the cold start of a minimal function.

A cold start is the time from the start of the process to its first response.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from infra.benchmarks.figures import Figure
from mnemosyne.cli.local import functions

HELLO = """
import functions_framework.aio

@functions_framework.aio.http
async def hello(request):
    return "hello"
"""
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
INGEST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "ingest_memory", "arguments": {"content": "x", "timestamp": "2026-05-20T12:00:00Z"}},
}


def first_answer(source: Path, target: str, path: str, body: Any, environment: dict[str, str]) -> float:
    """Return the seconds from the process's start to its first successful response."""
    port = functions.free_port()
    command = [sys.executable, "-m", "functions_framework", "--source", str(source), "--target", target]
    started = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with httpx.Client(trust_env=False, timeout=30) as client:
            while True:
                try:
                    url = f"http://127.0.0.1:{port}{path}"
                    response = client.get(url) if body is None else client.post(url, json=body)
                    response.raise_for_status()
                    return time.perf_counter() - started
                except httpx.ConnectError:
                    if process.poll() is not None or time.perf_counter() - started > 60:
                        raise
                    time.sleep(0.002)
    finally:
        process.terminate()
        process.wait(20)


def figures(rounds: int) -> list[Figure]:
    """Measure the cold starts of each function and of the minimal function alternately, and return the figures."""
    with tempfile.TemporaryDirectory() as scratch:
        hello = Path(scratch) / "hello.py"
        hello.write_text(HELLO)
        environment = {
            "MNEMOSYNE_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/nowhere",
            "MNEMOSYNE_TOPIC": f"file://{scratch}/queue.db",
            "MNEMOSYNE_EMBEDDER": "gemini",
            "MNEMOSYNE_AUTH_MODE": "none",
        }
        source = Path(__file__).parents[2] / "functions" / "main.py"
        cases: dict[str, tuple[Path, str, str, Any]] = {
            "hello": (hello, "hello", "/", None),
            "mcp, tools/list": (source, "mcp", "/mcp", LIST),
            "mcp, ingest_memory": (source, "mcp", "/mcp", INGEST),
            "ingest, healthz": (source, "ingest", "/healthz", None),
        }
        ratios: dict[str, list[float]] = {name: [] for name in cases if name != "hello"}
        for number in range(rounds + 1):  # round 0 does not count, because it compiles modules
            times = {name: first_answer(*case, environment) for name, case in cases.items()}
            for name, values in ratios.items():
                if number:
                    values.append(times[name] / times["hello"])
    goals = {"mcp, tools/list": 3.0}
    return [Figure.of(f"cold start of {name} / hello", values, goals.get(name)) for name, values in ratios.items()]
