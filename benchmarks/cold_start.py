"""How long each function takes from its process's start to its first answer, against a bare functions-framework hello.

python benchmarks/cold_start.py [--repeats 5]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "functions"), str(ROOT / "infra"), str(ROOT)]

from mnemosyne_cli.local import functions  # noqa: E402

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
    """Seconds from the start of the process to its first answer that is not an error."""
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


def imports(code: str) -> float:
    """Seconds that a fresh interpreter spends on it."""
    timed = f"import time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
    printed = subprocess.run(
        [sys.executable, "-c", timed], cwd=ROOT / "functions", capture_output=True, text=True, check=True
    ).stdout
    return float(printed)


def main() -> None:
    """Measure and print; the figures also go to benchmarks/results/cold_start.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as scratch:
        hello = Path(scratch) / "hello.py"
        hello.write_text(HELLO)
        environment = {
            "MNEMOSYNE_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/nowhere",
            "MNEMOSYNE_TOPIC": f"file://{scratch}/queue.db",
            "MNEMOSYNE_EMBEDDER": "gemini",
            "MNEMOSYNE_AUTH_MODE": "none",
        }
        source = functions.SOURCE
        cases: dict[str, tuple[Path, str, str, Any]] = {
            "bare hello": (hello, "hello", "/", None),
            "mcp: tools/list": (source, "mcp", "/mcp", LIST),
            "mcp: ingest_memory": (source, "mcp", "/mcp", INGEST),
            "ingest: healthz": (source, "ingest", "/healthz", None),
            "dead_letter: healthz": (source, "dead_letter", "/healthz", None),
        }
        for case in cases.values():
            first_answer(*case, environment)  # compiles what is not compiled yet
        times = {name: min(first_answer(*case, environment) for _ in range(repeats)) for name, case in cases.items()}
    ratios = {name: seconds / times["bare hello"] for name, seconds in times.items()}
    print(f"From process start to first answer, best of {repeats}:")
    for name, seconds in times.items():
        print(f"  {name:24}{seconds * 1000:8.0f} ms{ratios[name]:8.2f} x hello")
    framework = imports("import functions_framework.aio")
    print("Imports alone, best of 3:")
    for name in ("functions_framework.aio", "main", "mnemosyne.mcp.server", "mnemosyne.adapters.database.memories"):
        print(f"  {name:32}{min(imports(f'import {name}') for _ in range(3)) / framework:8.2f} x the framework's")
    results = ROOT / "benchmarks" / "results"
    results.mkdir(exist_ok=True)
    (results / "cold_start.json").write_text(json.dumps({"seconds": times, "ratios": ratios}, indent=2))


if __name__ == "__main__":
    main()
