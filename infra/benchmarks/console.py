"""Measure the console with many memories: the time of each page's tool calls, and times in a browser.

The memories are in a new local server (`mnemosyne dev`). The total time of a page's tool calls is divided by the time
of a call that reads no memories. Each round makes the calls of every page once, one after the other.
"""

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infra.benchmarks import console_browser
from infra.benchmarks.corpus import questions, texts
from infra.benchmarks.figures import Figure
from infra.benchmarks.search import fill, writing_bench
from mnemosyne.adapters.embedders.offline import SPACE, OfflineEmbedder
from mnemosyne.cli.local import stack
from mnemosyne.cli.local.data_dir import DataDir
from tests.dev import DevServer

PAGE = 50
NOTHING = "nothing"
UNKNOWN = "0192f3a4-0000-7000-8000-000000000000"
PAGES: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "memories": (
        ("list_memories", {"limit": PAGE, "preview": True, "include_superseded": False}),
        ("memory_timeline", {"include_superseded": False}),
    ),
    "tags": (("memory_facets", {"limit": 100, "include_superseded": False}),),
    "results": (("memory_search", {"limit": 20, "include_debug": True, "matches": True}),),
    "typing": (("memory_search", {"limit": 20, "matches": True, "typing": True}),),
    "activity": (("list_requests", {"limit": PAGE}),),
    "overview": (("memory_stats", {}), ("memory_timeline", {"per": "month"})),
    NOTHING: (("ingest_status", {"request_ids": [UNKNOWN, UNKNOWN]}),),
}
"""The tool calls of each page."""


def figures(size: int, rounds: int, visits: int) -> list[Figure]:
    """Start a local server with `size` memories, measure its console, print the times and return the ratios."""
    corpus = texts(size + rounds)
    query_texts = questions(corpus[size:], rounds)
    with tempfile.TemporaryDirectory(prefix="mnemosyne-bench-") as scratch:
        directory = DataDir.at(str(Path(scratch) / "data"))
        with (
            stack.database(directory, SPACE) as server,
            writing_bench(server, OfflineEmbedder(directory.path / "words.bin")) as writers,
        ):
            fill(writers, {"default": corpus[:size]})
        dev = DevServer(Path(scratch))
        try:
            dev.start()
            costs = _pages(dev, query_texts)
            depth = _paging(dev, min(size // PAGE, 200))
            visit_times = [console_browser.visit(dev.port, question) for question in query_texts[:visits]]
            typed = console_browser.typing(dev.port, query_texts)
            many = console_browser.rows(dev.port)
        finally:
            dev.close()
    _print(costs, depth)
    print(console_browser.report(visit_times, typed, many))
    empty_calls = costs.pop(NOTHING)
    results = [
        Figure.of(f"page {name} / a call, {size:,}", [a / b for a, b in zip(times, empty_calls, strict=True)])
        for name, times in costs.items()
    ]
    first = statistics.median(depth[:5])
    return [
        *results,
        Figure.of(
            f"a page far back / the first, {size:,}", [milliseconds / first for milliseconds in depth[-20:]], 1.5
        ),
    ]


def _time_call(dev: DevServer, tool: str, arguments: Mapping[str, Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    answer = dev.call(tool, dict(arguments))
    return (time.perf_counter() - began) * 1000, answer


def _pages(dev: DevServer, query_texts: Sequence[str]) -> dict[str, list[float]]:
    """Make the tool calls of each page once per round. Return the total milliseconds of each round, by page.

    The first three rounds are left out, because they fill the caches.
    """
    costs: dict[str, list[float]] = defaultdict(list)
    for question in query_texts:
        queries = {"results": question, "typing": " ".join(question.split()[:3])[:-1]}
        for name, calls in PAGES.items():
            own = {"query": queries[name]} if name in queries else {}
            costs[name].append(sum(_time_call(dev, tool, {**arguments, **own})[0] for tool, arguments in calls))
    return {name: times[3:] for name, times in costs.items()}


def _paging(dev: DevServer, pages: int) -> list[float]:
    times, cursor = [], None
    for _ in range(pages):
        took, page = _time_call(dev, "list_memories", {"limit": PAGE, "cursor": cursor})
        times.append(took)
        cursor = page["next_cursor"]
    return times


def _print(costs: Mapping[str, Sequence[float]], depth: Sequence[float]) -> None:
    print("Milliseconds at the client, median and the slowest twentieth:")
    for name, times in costs.items():
        print(f"  {name:20}{statistics.median(times):10.1f}{statistics.quantiles(times, n=20)[-1]:10.1f}")
    print(f"  {'each of many pages':20}{statistics.median(depth):10.1f}{max(depth):10.1f} at most")
