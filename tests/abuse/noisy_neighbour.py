"""Measure how a tenant that sends the most expensive requests slows down another tenant, and how much memory it uses.

    python tests/abuse/noisy_neighbour.py [--seconds 20]

Both tenants use one `mnemosyne dev --auth-mode api_key`. The noisy tenant sends its requests over eight connections,
and pauses only as long as a header Retry-After demands. Rounds with and without the noisy tenant alternate. The results
are two ratios and a size. The ratios compare the other tenant's searches, and its ingests, with and without the noisy
tenant, by the 95th percentile of their durations. The size is the largest memory use of one function.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "functions"), str(ROOT)]

import httpx  # noqa: E402
import psutil  # noqa: E402

from mnemosyne.cli.local.functions import free_port  # noqa: E402
from tests.mcp_client import tool_call  # noqa: E402

ROUNDS = 3
CONNECTIONS = 8
MEMORIES = 8
LONG = "ab" * 20_000
COMMAND = str(ROOT / ".venv" / "bin" / "mnemosyne")


def call(tool: str, arguments: Any) -> bytes:
    """JSON of a tool call."""
    return json.dumps(tool_call(tool, arguments)).encode()


def search(query: str, **arguments: Any) -> bytes:
    """JSON of a search."""
    return call("memory_search", {"query": query, **arguments})


def worst() -> list[tuple[str, bytes]]:
    """Return the expensive requests of the noisy tenant, each as a tool's name and the JSON of the call."""
    nested: Any = []
    for _ in range(90):
        nested = [nested]
    when = "2026-05-20T12:00:00Z"
    memories = [{"content": f"{n} {LONG}", "timestamp": when} for n in range(80)]
    large = search("a", mode="exact", limit=100, max_response_chars=400_000)
    return [
        ("many values", b"[" + b"[]," * 1_300_000 + b"[]]"),
        ("deep", b"[" * 2_000_000),
        ("nested arguments", call("memory_search", {"query": nested})),
        ("unknown arguments", call("memory_search", {f"x{n}": n for n in range(300_000)})),
        ("large answers", b"[" + b",".join([large] * 30) + b"]"),
        ("long substring", search("a" * 15_000 + "b", mode="exact")),
        ("slow substring", search("a" * 499 + "b", mode="exact")),
        ("long question", search("where was it that " * 550, mode="hybrid", limit=100)),
        ("statistics", call("memory_stats", {})),
        ("many memories", call("ingest_memories", {"memories": memories})),
        ("no JSON", b'{"' * 1_000_000),
    ]  # fmt: skip


@dataclass
class Figures:
    """Measurements."""

    latencies: dict[str, list[float]] = field(default_factory=dict)
    answered: Counter[str] = field(default_factory=Counter)

    def p95(self, kind: str) -> float:
        """The 95th percentile, in seconds."""
        return statistics.quantiles(self.latencies[kind], n=20)[-1]


class Instance:
    """`mnemosyne dev` with API keys."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self.url = f"http://127.0.0.1:{(port := free_port())}/mcp"
        self._process = subprocess.Popen(
            [COMMAND, "dev", "--auth-mode", "api_key", "--port", str(port), "--data-dir", directory],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout
        for line in self._process.stdout:
            if line.startswith("Ready"):
                break
        threading.Thread(target=self._process.stdout.read, daemon=True).start()

    def key(self, namespace: str) -> str:
        """Create a key for the namespace."""
        completed = subprocess.run(
            [COMMAND, "keys", "create", "--name", namespace, "--namespace", namespace, "--json",
             "--data-dir", self._directory],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        token: str = json.loads(completed.stdout)["token"]
        return token

    def memory(self) -> dict[str, int]:
        """Resident bytes of each function."""
        resident: dict[str, int] = {}
        for process in psutil.Process(self._process.pid).children(recursive=True):
            try:
                words = process.cmdline()
                if "--target" in words:
                    name = words[words.index("--target") + 1]
                    resident[name] = max(resident.get(name, 0), process.memory_info().rss)
            except psutil.Error:
                continue
        return resident

    def stop(self) -> None:
        """Stop the server."""
        self._process.terminate()
        self._process.wait(60)


def client(token: str) -> httpx.Client:
    """A client of one tenant."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    return httpx.Client(headers=headers, timeout=120, trust_env=False)


def measure(instance: Instance, token: str, seconds: float, numbers: Iterator[int]) -> Figures:
    """Search and store in turn as the quiet tenant, with pauses. Return the measured durations."""
    figures, until = Figures({"search": [], "ingest": []}), time.monotonic() + seconds
    with client(token) as other:
        while time.monotonic() < until:
            number = next(numbers)
            memory = {"content": f"Ada noted {number} cups of tea", "timestamp": "2026-05-20T12:00:00Z"}
            posts = {"search": search("what does Ada drink?", mode="hybrid"), "ingest": call("ingest_memory", memory)}
            for kind, body in posts.items():
                begun = time.perf_counter()
                response = other.post(instance.url, content=body)
                figures.latencies[kind].append(time.perf_counter() - begun)
                figures.answered[f"{kind} {response.status_code}"] += 1
            time.sleep(0.2)
    return figures


def abuse(url: str, token: str, seconds: float) -> None:
    """Run the noisy tenant for `seconds` on all connections, and print the statuses."""
    statuses: Counter[str] = Counter()
    until = time.monotonic() + seconds

    def on_one_connection(mix: Iterator[tuple[str, bytes]]) -> None:
        with client(token) as attacker:
            while (seconds_left := until - time.monotonic()) > 0:
                name, body = next(mix)
                try:
                    response = attacker.post(url, content=body)
                except httpx.HTTPError as exc:
                    statuses[f"{name} {type(exc).__name__}"] += 1
                    continue
                statuses[f"{name} {response.status_code}"] += 1
                if response.status_code == 429:
                    time.sleep(min(float(response.headers["retry-after"]), seconds_left))

    bodies = worst()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        for number in range(CONNECTIONS):
            pool.submit(on_one_connection, itertools.cycle([*bodies[number:], *bodies[:number]]))
    print(json.dumps(statuses))


def run(seconds: float) -> dict[str, Any]:
    """Measure and return the figures."""
    with tempfile.TemporaryDirectory(prefix="mnemosyne-worst-") as directory:
        instance = Instance(directory)
        try:
            return _measured(instance, seconds)
        finally:
            instance.stop()


def _measured(instance: Instance, seconds: float) -> dict[str, Any]:
    other, worst_key = instance.key("other"), instance.key("worst")
    numbers, measured, largest_resident = itertools.count(), Figures(), Counter[str]()
    with client(other) as first, client(worst_key) as second:
        for n in range(200):
            memory = {"content": f"Ada met {n} friends for tea", "timestamp": "2026-05-20T12:00:00Z"}
            first.post(instance.url, content=call("ingest_memory", memory))
        for n in range(MEMORIES):
            memory = {"content": f"{n} {'a' * 99_000}", "timestamp": "2026-05-20T12:00:00Z"}
            second.post(instance.url, content=call("ingest_memory", memory))
    time.sleep(65)  # wait until both tenants may use their whole rate limit again
    ratios: dict[str, list[float]] = {"search": [], "ingest": []}
    quiet_p95: dict[str, list[float]] = {"search": [], "ingest": []}
    for _ in range(ROUNDS):
        quiet = measure(instance, other, seconds, numbers)
        command = [sys.executable, __file__, "--abuse", instance.url, "--seconds", str(seconds + 2)]
        # The noisy tenant's requests are sent by a separate process, so that it does not slow down the quiet tenant's
        # client.
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as attacker:
            assert attacker.stdin and attacker.stdout
            attacker.stdin.write(worst_key)
            attacker.stdin.close()
            time.sleep(2)  # wait until that process has generated its requests
            abused = measure(instance, other, seconds, numbers)
            largest_resident |= Counter(instance.memory())
            measured.answered.update(json.loads(attacker.stdout.read()))
        for kind, ratio in ratios.items():
            ratio.append(abused.p95(kind) / quiet.p95(kind))
            quiet_p95[kind].append(quiet.p95(kind))
        measured.answered.update(abused.answered)
    return {
        "p95 abused over quiet": {kind: {"median": statistics.median(r), "all": r} for kind, r in ratios.items()},
        "quiet p95 in ms": {kind: [round(1000 * value, 1) for value in values] for kind, values in quiet_p95.items()},
        "MiB": {name: round(size / 2**20) for name, size in largest_resident.items()},
        "answered": dict(sorted(measured.answered.items())),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each quiet and each abused round")
    parser.add_argument("--abuse", metavar="URL", help="be the worst tenant there, with the key on standard input")
    options = parser.parse_args()
    if options.abuse:
        abuse(options.abuse, sys.stdin.read(), options.seconds)
        return
    print(json.dumps(run(options.seconds), indent=2))


if __name__ == "__main__":
    main()
