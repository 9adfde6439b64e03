"""The benchmark of a million memories continues after SIGKILL, here with two thousand memories."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.directories import server_directory

ROOT = Path(__file__).parents[2]
ROWS = 2_000


def _start(directory: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "infra.benchmarks.million", "--every", "0", "--searches", "40"]
    return subprocess.Popen(
        [*command, "--rows", str(ROWS), "--directory", str(directory)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )


def _kill_after(run: subprocess.Popen[str], beginning: str, lines: int) -> None:
    """Kill the run when it has printed this many lines with this beginning."""
    assert run.stdout
    matching = (line for line in run.stdout if line.startswith(beginning))
    for _ in range(lines):
        next(matching)
    run.send_signal(signal.SIGKILL)
    run.wait()
    run.stdout.close()


@pytest.mark.nightly
def test_a_run_that_is_killed_twice_completes_and_stores_each_memory_once() -> None:
    with server_directory() as directory:
        file = directory / "figures.json"
        _kill_after(_start(directory), "import: ", 4)
        assert json.loads(file.read_text()) == {"rows": ROWS}, "killed during the import"
        _kill_after(_start(directory), "searches: begins", 1)
        assert set(json.loads(file.read_text())) == {"rows", "import", "sizes"}, "killed after the import"
        last = _start(directory)
        printed, _ = last.communicate()
        assert last.returncode == 0
        figures = json.loads(file.read_text())
    assert figures["import"]["memories"] == figures["sizes"]["memories"] == ROWS
    assert "import: " not in printed
    assert "| 2,000 memories | |" in printed
    assert "| 100,000,000 | 768 |" in printed
