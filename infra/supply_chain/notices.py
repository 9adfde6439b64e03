"""Hold THIRD_PARTY_NOTICES.md to what is pinned and installed: `python -m supply_chain.notices`.

Own code, for the tools that list licences (pip-licenses, licensecheck) know installed packages alone, in words that
are often no SPDX expression; here what is for other platforms counts too, and what wheels carry besides Python.
"""

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from supply_chain.pins import ROOT, used

NOTICES = ROOT / "THIRD_PARTY_NOTICES.md"
PERMISSIVE = frozenset(
    ("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "PSF-2.0", "Zlib")
)
WITH_A_REASON = frozenset(("LGPL-2.1-only", "LGPL-2.1-or-later", "MPL-2.0"))
"""Licences that ask for changes to the package itself to be published: allowed where the list says why it is used."""

MEANS: Mapping[str, frozenset[str]] = {
    "": frozenset(),
    "3-Clause BSD License": frozenset(("BSD-3-Clause",)),
    "Apache 2": frozenset(("Apache-2.0",)),
    "Apache 2.0": frozenset(("Apache-2.0",)),
    "Apache License, Version 2.0": frozenset(("Apache-2.0",)),
    "Apache Software License": frozenset(("Apache-2.0",)),
    "https://www.apache.org/licenses/LICENSE-2.0": frozenset(("Apache-2.0",)),
    "BSD": frozenset(("BSD-2-Clause", "BSD-3-Clause")),
    "BSD 3-Clause License": frozenset(("BSD-3-Clause",)),
    "BSD License": frozenset(("BSD-2-Clause", "BSD-3-Clause")),
    "MIT License": frozenset(("MIT",)),
}
"""What packages from before SPDX expressions say, and which expressions that may mean."""


@dataclass(frozen=True)
class Notice:
    """One row of the list."""

    licence: str
    where: str
    note: str


def listed(text: str) -> dict[str, Notice]:
    """Read the rows of packages."""
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| ([^|`]+) \| (deployed|local) \| ?([^|]*?) ?\|$", text, re.MULTILINE)
    return {name: Notice(licence, where, note) for name, licence, where, note in rows}


def licences(package: Distribution) -> frozenset[str] | None:
    """Return what a package's metadata says, as SPDX expressions of which one is meant.

    None where it is not understood.
    """
    headers = {name: package.metadata.get_all(name) or [] for name in ("License-Expression", "License", "Classifier")}
    said = "".join(headers["License-Expression"]) or "".join(headers["License"]).split("\n")[0]
    kinds = [one.split(" :: ")[-1] for one in headers["Classifier"] if one.startswith("License ::")]
    words = said or (kinds[0] if len(kinds) == 1 else "")
    try:
        return MEANS[words] if words in MEANS else frozenset((str(canonicalize_license_expression(words)),))
    except InvalidLicenseExpression:
        return None


def problems(
    wanted: Mapping[str, str], rows: Mapping[str, Notice], said: Mapping[str, frozenset[str] | None]
) -> list[str]:
    """Return what is wrong with the list: by the packages used and where, its rows, and what installed packages say."""
    found = [f"{name} is not listed: add it under Packages" for name in wanted.keys() - rows.keys()]
    found += [f"{name} is listed and not used any more: take it out" for name in rows.keys() - wanted.keys()]
    for name in wanted.keys() & rows.keys():
        row = rows[name]
        if row.where != wanted[name]:
            found.append(f"{name} is listed as {row.where}: it is {wanted[name]}")
        found += _refusals(name, row)
        says = said.get(name, frozenset())
        if says is None or (says and row.licence not in says):
            spoken = "words that are not known here: see MEANS" if says is None else " or ".join(sorted(says))
            found.append(f"{name} is listed as {row.licence}, and its metadata says {spoken}")
    return sorted(found)


def _refusals(name: str, row: Notice) -> list[str]:
    try:
        canonical = canonicalize_license_expression(row.licence)
    except InvalidLicenseExpression:
        return [f"{name} is listed as {row.licence!r}: write an SPDX expression"]
    ids = set(re.findall(r"[\w.+-]+", canonical)) - {"AND", "OR", "WITH"}
    if refused := ids - PERMISSIVE - WITH_A_REASON:
        return [f"{name} has a licence that is not allowed, {', '.join(sorted(refused))}: use another package"]
    if (ids & WITH_A_REASON) and not row.note:
        return [f"{name} is under {', '.join(sorted(ids & WITH_A_REASON))}: say in its row why it is used"]
    return []


def carried(packages: Iterable[Distribution]) -> dict[str, str]:
    """Shared libraries of others that wheels carry along, and in which package: auditwheel puts them in NAME.libs."""
    return {
        library[1]: package.name
        for package in packages
        for file in package.files or []
        if (library := re.match(r"\w+\.libs/(lib[a-z0-9_]*[a-z0-9])[_-]*-", str(file)))
    }


def installed(names: Iterable[str]) -> dict[str, Distribution]:
    """Those of the packages that this machine has; some are for other platforms."""
    found = {}
    for name in names:
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue
    return found


def main() -> None:
    """Say all that is wrong, and fail."""
    text, wanted = NOTICES.read_text(), used()
    here = installed(wanted)
    wrong = problems(wanted, listed(text), {name: licences(package) for name, package in here.items()})
    for library, package in carried(here.values()).items():
        if f"`{library}`" not in text:
            wrong.append(f"{library}, which {package} carries, is not listed: add it under Carried along")
    if wrong:
        sys.exit("\n".join(f"{NOTICES.name}: {line}" for line in wrong))


if __name__ == "__main__":
    main()
