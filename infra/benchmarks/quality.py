"""Measure retrieval, confidence, hints of changed facts, long memories and languages, one after the other.

    python -m infra.benchmarks.quality [PART ...]

These are the tables of docs/benchmarks.md. Each part is a module with its own options.
"""

import argparse
import subprocess
import sys

PARTS = ("retrieval", "confidence", "changed_facts", "long_memories", "languages")


def main() -> int:
    """Run the chosen parts, and return the first exit code that is not zero."""
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
