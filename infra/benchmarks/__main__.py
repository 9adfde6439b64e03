"""Run all benchmarks: `python -m infra.benchmarks [--full] [--keep]`. Each result is a ratio with its spread.

`--full` uses more memories and rounds. `--keep` replaces the baseline and the table in docs/benchmarks.md. Without
`--keep`, the exit code is 1 if a ratio is more than 1.5 times worse than the baseline.
"""

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "functions"), str(ROOT)]

from infra.benchmarks import (  # noqa: E402
    bulk_import,
    calls,
    cold_start,
    console,
    expiry,
    ingest,
    isolation,
    retrieval,
    search,
    tenants,
)
from infra.benchmarks.figures import Figure, regressions, table  # noqa: E402

BASELINE = ROOT / "infra" / "benchmarks" / "baseline.json"
DOCUMENT = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- make bench -->\n", "<!-- end -->\n"

DOCUMENTED = (
    "recall@10 on conversations, hybrid",
    "recall@10 on conversations, semantic",
    "recall@10 by meaning, 10,000",
    "tools/call / the bare SDK, 2026-07-28",
    "hybrid / semantic, 10,000",
    "hybrid with sessions / semantic, 10,000",
    "hybrid, 100,000 / 10,000, among 111,000",
    "meaning, isolated / as the owner, 10,000",
    "upsert / asyncpg COPY",
    "publish to stored / bare upserts, batches of 100, 4 workers",
    "mnemosyne import / what ingest stores",
    "cold start of mcp, tools/list / hello",
)
"""The figures that docs/benchmarks.md lists. The baseline has all figures."""

FULL_SIZES = (1_000, 10_000, 100_000, 1_000_000)
PARTS: dict[str, Callable[[bool], list[Figure]]] = {
    "calls": lambda full: calls.figures(200 if full else 40),
    "search": lambda full: search.figures(FULL_SIZES if full else FULL_SIZES[:2], 100 if full else 40),
    "tenants": lambda full: tenants.figures(1_000_000 if full else 100_000, 100 if full else 40),
    "isolation": lambda full: isolation.figures(100_000 if full else 10_000),
    "expiry": lambda full: expiry.figures(1_000_000 if full else 50_000),
    "ingest": lambda full: ingest.figures(4_000 if full else 800, 5 if full else 3),
    "import": lambda full: bulk_import.figures(6_000 if full else 1_500, 5 if full else 3),
    "console": lambda full: console.figures(100_000 if full else 10_000, 40, 5),
    "cold start": lambda full: cold_start.figures(9 if full else 3),
    "retrieval": lambda full: retrieval.figures(),
}


def main() -> int:
    """Measure the figures, print them, and compare them with the baseline.

    Return 1 if a figure is more than 1.5 times worse than its baseline.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="larger sizes and more rounds: takes an hour or two")
    parser.add_argument(
        "--keep",
        action="store_true",
        help="make these figures the new baseline, and write them into docs/benchmarks.md",
    )
    parser.add_argument("--part", choices=PARTS, action="append", help="only this part")
    arguments = parser.parse_args()
    figures = [figure for name in arguments.part or PARTS for figure in PARTS[name](arguments.full)]
    print(table(figures))
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    if arguments.keep:
        baseline |= {figure.name: dataclasses.asdict(figure) for figure in figures}
        BASELINE.write_text(json.dumps(baseline, indent=2) + "\n")
        write_document([Figure(**baseline[name]) for name in DOCUMENTED if name in baseline])
        return 0
    worse = regressions(figures, baseline)
    for sentence in worse:
        print(f"WORSE than 1.5 times the baseline: {sentence}", file=sys.stderr)
    return 1 if worse else 0


def write_document(figures: list[Figure]) -> None:
    """Replace the table of figures in docs/benchmarks.md."""
    text = DOCUMENT.read_text()
    before, rest = text.split(BEGIN)
    DOCUMENT.write_text(f"{before}{BEGIN}{table(figures)}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    sys.exit(main())
