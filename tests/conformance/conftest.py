"""Node.js and its packages for the JavaScript clients and the conformance suite."""

import os
import shutil
import subprocess
from pathlib import Path

import fasteners
import pytest

JS = Path(__file__).parent / "js"


@pytest.fixture(scope="session")
def javascript() -> str:
    """A PATH with a recent `node` and the packages; skips the test with a reason if Node.js is missing."""
    return install_javascript()


def install_javascript() -> str:
    """Return the same PATH without a fixture."""
    if shutil.which("npm") is None:
        pytest.skip("NOT TESTED: Node.js is not installed, so no JavaScript client is driven")
    # Two test workers may install at the same time, and npm does not support that in one directory.
    with fasteners.InterProcessLock(JS / ".installing"):
        _install()
    return f"{JS / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}"


def _install() -> None:
    stamp = JS / "node_modules" / ".made"
    package_json = (JS / "package.json").read_text()
    if not stamp.exists() or stamp.read_text() != package_json:
        command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
        ended = subprocess.run(command, cwd=JS, capture_output=True, text=True, check=False)
        if ended.returncode:
            pytest.skip(f"NOT TESTED: the JavaScript packages cannot be installed: {ended.stderr[-300:]}")
        stamp.write_text(package_json)
