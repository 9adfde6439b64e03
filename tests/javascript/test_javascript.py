"""Unit tests of the console's JavaScript, by Node.js's own test runner."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
OWN_PROCESS = [HERE / "america.test.js"]
"""Files that set the time zone before they import the console's modules."""
OTHERS = [file for file in sorted(HERE.glob("*.test.js")) if file not in OWN_PROCESS]
OLDEST_NODE = 20
"""Major version that first has `File` and `Array.prototype.toSorted`."""
ENVIRONMENT = {"TZ": "Asia/Tokyo", "LC_ALL": "en_US.UTF-8"}
"""Environment variables that set the time zone and the language that the tests expect."""


@pytest.fixture(scope="module")
def node() -> str:
    """The path of Node.js."""
    path = shutil.which("node")
    if path is None:
        pytest.skip("NOT TESTED: Node.js is not installed, so the console's JavaScript has no unit tests")
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.removeprefix("v").split(".")[0]) < OLDEST_NODE:
        pytest.skip(f"NOT TESTED: Node.js is {version}, and the console's unit tests need {OLDEST_NODE}")
    return path


@pytest.mark.parametrize("files", [OTHERS, OWN_PROCESS], ids=["together", "own process"])
def test_javascript(node: str, files: list[Path]) -> None:
    """One process runs all files. With the option --test, Node.js would start a process for each file."""
    *first, last = files
    imports = [argument for file in (HERE / "resolve.js", *first) for argument in ("--import", file)]
    command: list[str | Path] = [node, *imports, "--test-reporter=spec", last]
    tested = subprocess.run(command, env=os.environ | ENVIRONMENT, capture_output=True, text=True, check=False)
    print(tested.stdout, tested.stderr)
    assert tested.returncode == 0, "JavaScript tests failed: see the output"
    assert "tests 0" not in tested.stdout
