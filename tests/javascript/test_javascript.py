"""Unit tests of the console's JavaScript, by Node.js's own test runner."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
OLDEST_NODE = 20
"""Major version that first has `File` and `Array.prototype.toSorted`."""
ENVIRONMENT = {"TZ": "Asia/Tokyo", "LC_ALL": "en_US.UTF-8"}
"""Zone and language that the tests expect."""


def test_javascript() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("NOT TESTED: Node.js is not installed, so the console's JavaScript has no unit tests")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.removeprefix("v").split(".")[0]) < OLDEST_NODE:
        pytest.skip(f"NOT TESTED: Node.js is {version}, and the console's unit tests need {OLDEST_NODE}")
    files = sorted(HERE.glob("*.test.js"))
    command: list[str | Path] = [node, "--import", HERE / "resolve.js", "--test", "--test-reporter=spec", *files]
    tested = subprocess.run(command, env=os.environ | ENVIRONMENT, capture_output=True, text=True, check=False)
    print(tested.stdout, tested.stderr)
    assert tested.returncode == 0, "JavaScript tests failed: see the output"
    assert "tests 0" not in tested.stdout
