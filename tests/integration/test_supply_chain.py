"""The licences, the SBOM and the audit of the deployed packages, with the real tools and advisories on loopback."""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes_wire.http import JsonServer
from tests.locked_packages import DEPLOYED, ROOT, locked_packages

pytestmark = pytest.mark.slow

TOOLS = ROOT / ".venv-supply-chain" / "bin"


class Advisories(JsonServer):
    """Fake of OSV's query for a package and version."""

    def __init__(self) -> None:
        super().__init__()
        self.status = 200
        self.vulnerable: tuple[str, ...] = ()
        self.requested: set[tuple[str, str]] = set()

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        query = body if isinstance(body, dict) else json.loads(body)
        name = query["package"]["name"]
        self.requested.add((name, query["version"]))
        if name not in self.vulnerable:
            return self.status, {}
        events = [{"introduced": "0"}, {"fixed": "9999.0"}]
        affected = [{"package": query["package"], "ranges": [{"type": "ECOSYSTEM", "events": events}]}]
        return self.status, {"vulns": [{"id": "PYSEC-0", "summary": "It leaks.", "affected": affected}]}


@pytest.fixture(scope="module", autouse=True)
def tools() -> None:
    subprocess.run(["make", "-s", ".venv-supply-chain/installed"], cwd=ROOT, check=True)


@pytest.fixture
def advisories() -> Iterator[Advisories]:
    with Advisories().serving() as serving:
        yield serving


def _audit(url: str) -> subprocess.CompletedProcess[str]:
    variables = {"PIP_AUDIT_VULNERABILITY_SERVICE": "osv", "PIP_AUDIT_OSV_URL": f"{url}/v1/query"}
    environment = {**os.environ, **variables}
    return subprocess.run(
        ["make", "-s", "audit"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "metadata",
    [
        "License-Expression: GPL-3.0-only",
        "License-Expression: MIT AND AGPL-3.0-or-later",
        "License: Do as you like",
        "Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)",
        "Classifier: License :: Other/Proprietary License",
        "Summary: without a licence",
    ],
)
def test_a_package_with_another_licence_is_refused_and_named(tmp_path: Path, metadata: str) -> None:
    package = tmp_path / "left_pad-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text(f"Metadata-Version: 2.4\nName: left-pad\nVersion: 1.0\n{metadata}\n")
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho {tmp_path}\n")  # pip-licenses asks a Python for its sys.path
    python.chmod(0o755)
    command = [str(TOOLS / "pip-licenses"), f"--python={python}"]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert completed.returncode == 1
    assert "not in allow-only licenses was found for package left-pad:1.0" in completed.stderr


@pytest.mark.parametrize(
    "options",
    [
        pytest.param("--no-validate", id="without the schema"),
        pytest.param("", id="checked by the schema", marks=pytest.mark.nightly),  # takes ten times as long
    ],
)
def test_the_sbom_names_every_deployed_package_with_its_hashes(tmp_path: Path, options: str) -> None:
    command = ["make", "-s", "sbom", f"SBOM={tmp_path / 'sbom.json'}", f"SBOM_ARGS={options}"]
    subprocess.run(command, cwd=ROOT, check=True)
    bom = json.loads((tmp_path / "sbom.json").read_text())
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.6")
    components = {
        (component["name"], component["version"]): frozenset(
            digest["content"] for reference in component["externalReferences"] for digest in reference["hashes"]
        )
        for component in bom["components"]
    }
    assert components == {(package.name, package.version): package.hashes for package in locked_packages(DEPLOYED)}


def test_an_audit_queries_each_package_and_passes_without_an_advisory(advisories: Advisories) -> None:
    assert _audit(advisories.url).returncode == 0
    other_platforms = {"pywin32", "httpx2-jsfetch"}
    names = {package.name for package in locked_packages(DEPLOYED)}
    assert names - {name for name, _ in advisories.requested} <= other_platforms


def test_an_audit_fails_and_names_the_vulnerable_packages(advisories: Advisories) -> None:
    advisories.vulnerable = ("certifi", "numpy", "pg8000")
    completed = _audit(advisories.url)
    assert completed.returncode != 0
    named = re.findall(r"^(\S+) +\S+ +PYSEC-0 +9999\.0", completed.stdout, re.MULTILINE)
    assert sorted(named) == ["certifi", "numpy", "pg8000"], completed.stdout


@pytest.mark.parametrize("service", [pytest.param("unreachable", marks=pytest.mark.nightly), "broken"])
def test_an_audit_that_cannot_get_advisories_fails(advisories: Advisories, service: str) -> None:
    advisories.status = 503
    assert _audit("http://127.0.0.1:9" if service == "unreachable" else advisories.url).returncode != 0
