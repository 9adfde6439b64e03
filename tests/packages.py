"""Python and npm environments for packages that conflict with the packages of this project.

Each environment is created once.
"""

import shutil
import subprocess
import venv
from pathlib import Path

import fasteners
import pytest


def environment(directory: Path, *packages: str) -> Path:
    """Return the path of Python in a virtual environment with these packages.

    Skip the test with a reason if the packages cannot be installed.
    """
    python = directory / "bin" / "python"
    directory.parent.mkdir(parents=True, exist_ok=True)
    with fasteners.InterProcessLock(directory.parent / f".{directory.name}.lock"):
        if not (directory / "made").exists():
            shutil.rmtree(directory, ignore_errors=True)
            venv.create(directory, with_pip=True)
            install: list[str | Path] = [python, "-m", "pip", "install", "--quiet", *packages]
            if subprocess.run(install, capture_output=True, check=False).returncode:
                pytest.skip(f"NOT TESTED: {packages[0]} cannot be installed here")
            (directory / "made").touch()
    return python


def npm_package(directory: Path, package: str) -> Path:
    """Return the folder with the commands of an npm package; skip the test with a reason if it cannot be installed."""
    if shutil.which("npm") is None:
        pytest.skip(f"NOT TESTED: npm is not installed, so {package} is not driven")
    directory.parent.mkdir(parents=True, exist_ok=True)
    with fasteners.InterProcessLock(directory.parent / f".{directory.name}.lock"):
        module = directory / "made"
        if not module.exists() or module.read_text() != package:
            command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(directory), package]
            if subprocess.run(command, capture_output=True, check=False).returncode:
                pytest.skip(f"NOT TESTED: {package} cannot be installed here")
            module.write_text(package)
    return directory / "node_modules" / ".bin"
