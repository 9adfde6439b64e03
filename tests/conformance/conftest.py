"""Node.js and its packages for the JavaScript clients and the conformance suite."""

import os
import shutil
import subprocess
from pathlib import Path

import fasteners
import pytest

from tests.workers import selects_nightly

JS = Path(__file__).parent / "js"


@pytest.fixture(scope="session")
def javascript(pytestconfig: pytest.Config) -> str:
    """A value of PATH with a recent `node` and the commands of the npm packages.

    Skip the test with a reason if Node.js is missing.
    """
    return install_javascript(nightly=selects_nightly(pytestconfig))


def install_javascript(*, nightly: bool = False) -> str:
    """Install the npm packages, and return the value of PATH that the fixture `javascript` returns.

    The packages of nightly tests are installed only if `nightly` is true.
    """
    if shutil.which("npm") is None:
        pytest.skip("NOT TESTED: Node.js is not installed, so no JavaScript client is driven")
    # Two test workers may install at the same time, and npm does not support that in one directory.
    with fasteners.InterProcessLock(JS / ".installing"):
        _install(nightly=nightly)
    return f"{JS / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}"


def _install(*, nightly: bool) -> None:
    """Install the dependencies of package.json, and also its devDependencies if `nightly` is true.

    The devDependencies are for nightly tests only, and take a quarter of the time.
    """
    stamp = JS / "node_modules" / ".made"
    package_json = (JS / "package.json").read_text()
    made = stamp.read_text() if stamp.exists() else ""
    if made not in (f"all of {package_json}", *([] if nightly else [package_json])):
        command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
        command += [] if nightly else ["--omit=dev"]
        ended = subprocess.run(command, cwd=JS, capture_output=True, text=True, check=False)
        if ended.returncode:
            pytest.skip(f"NOT TESTED: the JavaScript packages cannot be installed: {ended.stderr[-300:]}")
        stamp.write_text(f"all of {package_json}" if nightly else package_json)
