"""Measure retrieval, confidence, hints of changed facts, long memories and languages, one after the other.

    python -m infra.benchmarks.quality [PART ...]

A PART is a module in infra/benchmarks, such as `retrieval`, which can also be run alone, with its own options. The
results are in docs/benchmarks.md.
"""

import argparse
import subprocess
import sys

PARTS = ("retrieval", "confidence", "changed_facts", "long_memories", "languages")


def main() -> int:
    """Run the chosen modules (all by default) until one fails. Return the exit code of the failed module, or 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(PARTS)} [default: all]")
    parts = parser.parse_args().parts or list(PARTS)
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no part is called {sorted(unknown)[0]}: choose from {', '.join(PARTS)}")
    for part in parts:
        print(f"\n== {part}", flush=True)
        code = subprocess.run([sys.executable, "-m", f"infra.benchmarks.{part}"], check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
