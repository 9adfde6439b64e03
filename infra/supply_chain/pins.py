"""The packages that a requirements file pins, as `make lock` writes it."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
DEPLOYED = ROOT / "functions" / "requirements.txt"
DEVELOPMENT = ROOT / "requirements.lock"


@dataclass(frozen=True)
class Pin:
    """One package at one version, and who asked for it."""

    name: str
    version: str
    hashes: frozenset[str]
    via: frozenset[str]


def pins(file: Path) -> list[Pin]:
    """Read every entry, whatever the platform it is for: one package may be there at two versions."""
    return [_pin(entry) for entry in re.split(r"\n(?=[^\s#])", file.read_text().strip())]


def _pin(entry: str) -> Pin:
    first = re.match(r"([\w.-]+)==([^\s;\\]+)", entry)
    if first is None:
        raise ValueError(f"{entry.splitlines()[0]!r} pins no version: make lock")
    via = re.findall(r"^ +#(?: via|  ) ([\w.-]+)", entry, re.MULTILINE)
    hashes = frozenset(re.findall(r"--hash=sha256:([0-9a-f]{64})", entry))
    return Pin(canonicalize_name(first[1]), first[2], hashes, frozenset(map(canonicalize_name, via)))


def used() -> dict[str, str]:
    """Return what is deployed and what the extra `local` adds, with all that they bring: the name, and where it
    is used.
    """
    deployed = {pin.name for pin in pins(DEPLOYED)}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    local = brought_by((Requirement(one).name for one in extras["local"]), pins(DEVELOPMENT))
    return dict.fromkeys(local, "local") | dict.fromkeys(deployed, "deployed")


def brought_by(names: Iterable[str], locked: Iterable[Pin]) -> set[str]:
    """Return the packages named, and those that they bring, and so on, as the lock's `via` tells."""
    found = {str(canonicalize_name(name)) for name in names}
    locked = list(locked)
    while more := {pin.name for pin in locked if pin.via & found} - found:
        found |= more
    return found
