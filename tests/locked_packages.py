"""Read the packages that a lock file of `make lock` pins to versions."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEPLOYED = ROOT / "functions" / "requirements.txt"
DEVELOPMENT = ROOT / "requirements.lock"


@dataclass(frozen=True)
class LockedPackage:
    """One package at one version, and the packages that require it."""

    name: str
    version: str
    hashes: frozenset[str]
    required_by: frozenset[str]


def locked_packages(lock: Path) -> list[LockedPackage]:
    """Return every entry of a lock file, for all platforms.

    A package may have two entries, with different versions for different versions of Python.
    """
    return [_locked_package(entry) for entry in re.split(r"\n(?=[^\s#])", lock.read_text().strip())]


def _locked_package(entry: str) -> LockedPackage:
    pin = re.match(r"([a-z0-9-]+)==([^\s;\\]+)", entry)
    assert pin is not None, f"{entry.splitlines()[0]!r} pins no version"
    required_by = re.findall(r"^ +#(?: via|  ) ([\w.-]+)", entry, re.MULTILINE)
    return LockedPackage(
        pin[1], pin[2], frozenset(re.findall(r"--hash=sha256:([0-9a-f]{64})", entry)), frozenset(required_by)
    )


def with_requirements(names: set[str], lock: Path) -> set[str]:
    """Return the packages and all packages that they require, directly or indirectly."""
    packages = locked_packages(lock)
    while added := {package.name for package in packages if package.required_by & names} - names:
        names = names | added
    return names
