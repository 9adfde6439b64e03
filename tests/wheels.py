"""Build the wheels of this repository, and environments in which they are installed.

Each is made once per test session.
"""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import fasteners
import pytest

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Installed:
    """A wheel, and an environment with the wheel and its dependencies."""

    wheel: Path
    home: Path

    @property
    def bin(self) -> Path:
        return self.home / "venv" / "bin"

    @property
    def command(self) -> Path:
        return self.bin / "mnemosyne"

    @property
    def packages(self) -> Path:
        """The directory site-packages."""
        (found,) = (self.home / "venv").glob("lib/python3*/site-packages")
        return found

    @property
    def environment(self) -> dict[str, str]:
        """Return this process's environment variables without those of Python, virtual environments and settings."""
        ours = ("PYTHON", "VIRTUAL_ENV", "MNEMOSYNE_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return kept | {"PATH": f"{self.bin}:/usr/bin:/bin"}

    def run(self, *arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
        """Run `mnemosyne` with these arguments and this standard input."""
        return subprocess.run(
            [self.command, *arguments], cwd=self.home, env=self.environment, input=said, capture_output=True, text=True
        )

    def pip(self, *arguments: str | Path) -> None:
        """Run pip on the environment, which has no pip: the pip of the tests."""
        python = self.bin / "python"
        pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
        done = subprocess.run([*pip, *arguments], cwd=self.home, capture_output=True, text=True)
        assert done.returncode == 0, (done.stdout + done.stderr)[-2_000:]


def session_directory(factory: pytest.TempPathFactory) -> Path:
    """Return the directory that all processes of this test session share."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def build(shared: Path) -> Path:
    """Return a directory with the wheels that `make package` builds."""

    def pip_wheel(directory: Path) -> None:
        options = ("--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
        command: list[str | Path] = [sys.executable, "-m", "pip", "wheel", *options, "-w", directory]
        subprocess.run([*command, ROOT, ROOT / "infra" / "adk"], check=True, capture_output=True)

    return _once(shared / "wheels", pip_wheel)


def install_with(extra: str, shared: Path) -> Installed:
    """Return an environment in which the wheel was installed with an extra.

    The dependencies without the extra are hard links to the files of one environment, which is made once. pip installs
    the wheel, its commands and the packages of the extra, and checks that all versions are compatible.
    """
    without = _install_without_extra(shared)

    def install(home: Path) -> None:
        venv.create(home / "venv", symlinks=True)
        made = Installed(without.wheel, home)
        shutil.copytree(
            without.packages,
            made.packages,
            symlinks=True,
            ignore=shutil.ignore_patterns("mnemosyne*", "__pycache__"),
            copy_function=os.link,
            dirs_exist_ok=True,
        )
        made.pip("install", "--quiet", "--no-compile", f"{made.wheel}[{extra}]")
        made.pip("check")

    return Installed(without.wheel, _once(shared / f"with-{extra}", install))


def _install_without_extra(shared: Path) -> Installed:
    """Return an environment with the wheel and its dependencies, without another package, not even pip."""
    (wheel,) = build(shared).glob("mnemosyne_serverless-*.whl")

    def install(home: Path) -> None:
        venv.create(home / "venv", symlinks=True)
        Installed(wheel, home).pip("install", "--quiet", "--no-compile", wheel)

    return Installed(wheel, _once(shared / "without-extra", install))


def _once(directory: Path, make: Callable[[Path], None]) -> Path:
    with fasteners.InterProcessLock(directory.parent / f".{directory.name}.lock"):
        finished = directory / "made"
        if not finished.exists():
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir()
            make(directory)
            finished.touch()
    return directory
