"""THIRD_PARTY_NOTICES.md lists the packages that are used, with their licences."""

import re
import tomllib
from importlib.metadata import Distribution, distributions

from packaging.licenses import canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.locked_packages import DEPLOYED, DEVELOPMENT, ROOT, locked_packages, with_requirements

TEXT = (ROOT / "THIRD_PARTY_NOTICES.md").read_text()
ROWS = re.findall(
    r"^\| `([a-z0-9-]+)` \| ([^|`]+) \| (deployed|local|multilingual) \| ?([^|]*?) ?\|$", TEXT, re.MULTILINE
)
LICENCES = {name: licence for name, licence, _, _ in ROWS}
PERMISSIVE = {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "PSF-2.0", "Zlib"}
WEAK_COPYLEFT = {"LGPL-2.1-only", "LGPL-2.1-or-later", "MPL-2.0"}


def _installed() -> dict[str, Distribution]:
    packages = {canonicalize_name(package.name): package for package in distributions()}
    return {name: packages[name] for name in LICENCES.keys() & packages.keys()}


def test_exactly_the_packages_of_the_deployment_and_of_the_extras_are_listed() -> None:
    deployed = {package.name for package in locked_packages(DEPLOYED)}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    used: dict[str, str] = {}
    for extra in ("multilingual", "local"):
        names: set[str] = {canonicalize_name(Requirement(line).name) for line in extras[extra]}
        used |= dict.fromkeys(with_requirements(names, DEVELOPMENT), extra)
    used |= dict.fromkeys(deployed, "deployed")
    assert {name: where for name, _, where, _ in ROWS} == used
    assert {"pywin32", "colorama"} <= used.keys(), "packages for other platforms"


def test_each_licence_is_an_spdx_expression_of_allowed_licences_and_weak_copyleft_has_a_note() -> None:
    for name, licence, _, note in ROWS:
        parts = set(re.findall(r"[\w.+-]+", str(canonicalize_license_expression(licence)))) - {"AND", "OR"}
        assert parts <= PERMISSIVE | WEAK_COPYLEFT, name
        assert note or not parts & WEAK_COPYLEFT, name


def test_each_licence_agrees_with_the_package_s_metadata() -> None:
    stated = {
        name: package.metadata["License-Expression"]
        for name, package in _installed().items()
        if "License-Expression" in package.metadata
    }
    assert len(stated) > 50
    assert {name: LICENCES[name] for name in stated} == stated


def test_each_shared_library_that_a_wheel_contains_is_listed() -> None:
    """The tool auditwheel puts shared libraries into a folder NAME.libs."""
    libraries = {
        library[1]
        for package in _installed().values()
        for file in package.files or []
        if (library := re.match(r"\w+\.libs/(lib[a-z0-9_]*[a-z0-9])[_-]*-", str(file)))
    }
    assert "libquadmath" in libraries
    assert [library for library in libraries if f"`{library}`" not in TEXT] == []
