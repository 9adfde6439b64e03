"""Build the wheels of this repository, and make environments in which they are installed.

Each wheel and each environment is made once per test session.
"""

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import Distribution, PathDistribution, distribution
from importlib.util import cache_from_source
from pathlib import Path

import fasteners
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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
        (site_packages,) = (self.home / "venv").glob("lib/python3*/site-packages")
        return site_packages

    @property
    def environment(self) -> dict[str, str]:
        """Return this process's environment variables without those of Python, virtual environments and settings."""
        ours = ("PYTHON", "VIRTUAL_ENV", "MNEMOSYNE_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return environment | {"PATH": f"{self.bin}:/usr/bin:/bin"}

    def run(self, *arguments: str, stdin_text: str = "") -> subprocess.CompletedProcess[str]:
        """Run `mnemosyne` with these arguments and this standard input."""
        return subprocess.run(
            [self.command, *arguments],
            cwd=self.home,
            env=self.environment,
            input=stdin_text,
            capture_output=True,
            text=True,
        )

    def pip(self, *arguments: str | Path) -> None:
        """Run the tests' pip on this environment, which has no pip of its own."""
        python = self.bin / "python"
        pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
        completed = subprocess.run([*pip, *arguments], cwd=self.home, capture_output=True, text=True)
        assert completed.returncode == 0, (completed.stdout + completed.stderr)[-2_000:]


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


def install(shared: Path, extra: str) -> Installed:
    """Return an environment with the wheel and exactly the distributions that it and the extra require.

    The files of the distributions are hard links to the files in the environment of the tests. pip installs only the
    wheel, and then checks all versions. Every night, test_install.py installs the distributions from PyPI instead.
    """
    (wheel,) = build(shared).glob("mnemosyne_serverless-*.whl")

    def make(home: Path) -> None:
        venv.create(home / "venv", symlinks=True)
        new_installed = Installed(wheel, home)
        for required in _required(wheel, extra):
            _link(required, new_installed)
        new_installed.pip("install", "--quiet", "--no-compile", "--no-deps", wheel)
        new_installed.pip("check")

    return Installed(wheel, _once(shared / f"installed-{extra}", make))


def _required(wheel: Path, extra: str) -> list[Distribution]:
    """Return the installed distributions that the wheel requires, directly or indirectly."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        waiting: list[tuple[Distribution, str]] = [
            (PathDistribution(zipfile.Path(archive, f"{name.partition('/')[0]}/")), extra)
        ]
        distributions: dict[tuple[str, str], Distribution] = {}
        while waiting:
            dependent, chosen = waiting.pop()
            for requirement in map(Requirement, dependent.requires or ()):
                if requirement.marker is None or requirement.marker.evaluate({"extra": chosen}):
                    for other in ("", *requirement.extras):
                        key = (canonicalize_name(requirement.name), other)
                        if key not in distributions:
                            distributions[key] = distribution(requirement.name)
                            waiting.append((distributions[key], other))
    return list({name: distribution for (name, _), distribution in distributions.items()}.values())


def _link(distribution: Distribution, new_installed: Installed) -> None:
    """Make hard links to the files of a distribution in the new environment, and write its commands.

    Also link its compiled modules. Otherwise the first command would spend most of its time on compiling them.
    """
    for file in distribution.files or ():
        if ".." not in file.parts and file.suffix != ".pyc":
            source, place = Path(str(distribution.locate_file(file))), new_installed.packages / file
            _link_file(source, place)
            if file.suffix == ".py" and (compiled := Path(cache_from_source(str(source)))).exists():
                _link_file(compiled, Path(cache_from_source(str(place))))
    for command in distribution.entry_points.select(group="console_scripts"):
        module, _, function = command.value.partition(":")
        path = new_installed.bin / command.name
        path.write_text(
            f"#!{new_installed.bin / 'python'}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"
        )
        path.chmod(0o755)


def _link_file(source: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        place.hardlink_to(source)
    except OSError:  # on another file system
        shutil.copy2(source, place)


def _once(directory: Path, make: Callable[[Path], None]) -> Path:
    with fasteners.InterProcessLock(directory.parent / f".{directory.name}.lock"):
        finished = directory / "made"
        if not finished.exists():
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir()
            make(directory)
            finished.touch()
    return directory
