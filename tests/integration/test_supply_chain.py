"""The SBOM and the audit of what is deployed, with the real tools; advisories come from a server on loopback."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from supply_chain import audit
from supply_chain.notices import NOTICES, listed
from supply_chain.pins import DEPLOYED, ROOT, pins
from tests.fakes_wire.http import JsonServer

PINNED = "flask==3.1.2 --hash=sha256:00\nnumpy==2.4.6 ; python_full_version < '3.12' --hash=sha256:00\n"
OTHER_NUMPY = "numpy==2.5.5 ; python_full_version >= '3.12' --hash=sha256:00\n"


class Advisories(JsonServer):
    """OSV's query for one package at one version."""

    def __init__(self) -> None:
        super().__init__()
        self.status = 200
        self.vulnerable = ("", "")
        self.asked: set[tuple[str, str]] = set()

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        query = body if isinstance(body, dict) else json.loads(body)
        name, version = query["package"]["name"], query["version"]
        self.asked.add((name, version))
        if (name, version) != self.vulnerable:
            return self.status, {}
        events = [{"introduced": "0"}, {"fixed": "99.0"}]
        package = {"name": name, "ecosystem": "PyPI"}
        affected = [{"package": package, "ranges": [{"type": "ECOSYSTEM", "events": events}]}]
        return self.status, {"vulns": [{"id": "PYSEC-0", "summary": "It leaks.", "affected": affected}]}

    @property
    def source(self) -> tuple[str, ...]:
        """How pip-audit is told to ask here."""
        return ("--vulnerability-service=osv", f"--osv-url={self.url}/v1/query")


@pytest.fixture(scope="module", autouse=True)
def tools() -> None:
    subprocess.run(["make", "-s", ".venv-supply-chain/installed"], cwd=ROOT, check=True)


@pytest.fixture
def advisories() -> Iterator[Advisories]:
    with Advisories().serving() as serving:
        yield serving


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    file = tmp_path / "requirements.txt"
    file.write_text(PINNED + OTHER_NUMPY)
    return file


@pytest.mark.exhaustive
def test_make_sbom_names_every_pin_with_its_hashes_and_licence(tmp_path: Path) -> None:
    subprocess.run(["make", "-s", "sbom", f"SBOM={tmp_path / 'sbom.json'}"], cwd=ROOT, check=True)
    bom = json.loads((tmp_path / "sbom.json").read_text())
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.6")
    there = {
        (one["name"], one["version"]): (
            frozenset(found["content"] for reference in one["externalReferences"] for found in reference["hashes"]),
            one["licenses"],
        )
        for one in bom["components"]
    }
    notices = listed(NOTICES.read_text())
    assert there == {
        (pin.name, pin.version): (pin.hashes, [{"expression": notices[pin.name].licence}]) for pin in pins(DEPLOYED)
    }


def test_nothing_known_is_no_failure(advisories: Advisories, requirements: Path) -> None:
    assert audit.audit(requirements, [advisories.source]) == []


def test_every_pin_is_asked_for_whichever_python_it_is_for(advisories: Advisories, requirements: Path) -> None:
    audit.audit(requirements, [advisories.source])
    assert advisories.asked == {("flask", "3.1.2"), ("numpy", "2.4.6"), ("numpy", "2.5.5")}


def test_a_known_vulnerability_fails(advisories: Advisories, requirements: Path) -> None:
    advisories.vulnerable = ("numpy", "2.5.5")
    with pytest.raises(SystemExit, match=r"^numpy 2\.5\.5: PYSEC-0, mended in 99\.0: It leaks\.\nRaise the version"):
        audit.main(requirements, [advisories.source])


@pytest.mark.parametrize("how", ["refused", "broken"])
def test_where_no_source_answers_it_says_so_loudly_and_does_not_fail(
    advisories: Advisories, requirements: Path, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    advisories.status = 503
    closed = ("--vulnerability-service=osv", "--osv-url=http://127.0.0.1:9/v1/query")
    audit.main(requirements, [closed if how == "refused" else advisories.source])
    assert capsys.readouterr().out.startswith("NOT AUDITED: no source of advisories can be reached")


def test_a_source_that_does_not_answer_leaves_it_to_the_next(advisories: Advisories, requirements: Path) -> None:
    advisories.vulnerable = ("flask", "3.1.2")
    closed = ("--vulnerability-service=osv", "--osv-url=http://127.0.0.1:9/v1/query")
    assert len(audit.audit(requirements, [closed, advisories.source])) == 1


def test_a_mirror_that_knows_no_package_is_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """There pip-audit skips every package, and says that no vulnerabilities are known."""
    answers = {"dependencies": [{"name": "flask", "skip_reason": "Dependency not found"}]}
    done = subprocess.CompletedProcess[str]([], 0, stdout=json.dumps(answers), stderr="")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **options: done)
    with pytest.raises(audit.NotAudited):
        audit.audit(DEPLOYED, [("--vulnerability-service=pypi",)])


def test_an_audit_that_goes_wrong_otherwise_is_no_excuse(advisories: Advisories, requirements: Path) -> None:
    with pytest.raises(RuntimeError, match="pip-audit ended 2"):
        audit.audit(requirements, [("--vulnerability-service=nobody",)])


def test_each_action_and_the_base_image_are_named_by_their_hash() -> None:
    """A tag can be moved to other code."""
    workflows = [*(ROOT / ".github/workflows").glob("*.yaml"), ROOT / "infra/deploy/github_actions.yaml"]
    used = [used for file in workflows for used in re.findall(r"uses: *(\S+)", file.read_text())]
    assert len(used) >= 7
    assert [action for action in used if not re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40}", action)] == []
    images = re.findall(r"^FROM (\S+)", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    assert [image for image in images if not re.search(r"@sha256:[0-9a-f]{64}$", image)] == []
