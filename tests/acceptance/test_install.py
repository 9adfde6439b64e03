"""Each documented way to install, and each extra by its name, resolves from wheels that are built here."""

import re
import shlex
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import mnemosyne
from tests.wheels import ROOT

EXTRAS = tuple(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
TESTED = {
    "$(echo dist/mnemosyne_serverless-*.whl)[local]",  # resolved below; test_wheel.py installs and runs it
    "./infra/adk",  # installed and run by tests/conformance/test_adk.py
    "dist/mnemosyne_adk-*.whl",  # resolved below
}
"""What the documented installation commands install. If the documents get another command, it needs a test."""


@pytest.mark.parametrize(
    "distribution", [pytest.param("mnemosyne_serverless", marks=pytest.mark.nightly), "mnemosyne_adk"]
)
def test_an_sdist_builds_the_same_wheel(wheels: Path, tmp_path: Path, distribution: str) -> None:
    source = {"mnemosyne_serverless": ROOT, "mnemosyne_adk": ROOT / "infra" / "adk"}[distribution]
    _build(source, tmp_path, "--target", "sdist")
    (sdist,) = tmp_path.glob(f"{distribution}-*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    _build(tmp_path / sdist.name.removesuffix(".tar.gz"), tmp_path, "--target", "wheel")
    (wheel,) = wheels.glob(f"{distribution}-*.whl")
    assert _contents(tmp_path / wheel.name) == _contents(wheel)


def _build(source: Path, directory: Path, *options: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(directory), *options]
    subprocess.run(command, cwd=source, check=True, capture_output=True)


def _contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.nightly
@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_the_wheel_and_an_extra_resolve_in_an_empty_environment(wheels: Path, extra: str) -> None:
    (wheel,) = wheels.glob("mnemosyne_serverless-*.whl")
    _resolve(f"{wheel}[{extra}]" if extra else wheel)  # pip refuses empty brackets


@pytest.mark.nightly
def test_the_memory_service_for_adk_resolves_in_an_empty_environment(wheels: Path) -> None:
    (wheel,) = wheels.glob("mnemosyne_adk-*.whl")
    _resolve(wheel)


def _resolve(requirement: str | Path) -> None:
    options = ("--dry-run", "--ignore-installed", "--quiet", "--disable-pip-version-check")
    command: list[str | Path] = [sys.executable, "-m", "pip", "install", *options, requirement]
    completed = subprocess.run(command, capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr[-2_000:]


def test_the_memory_service_for_adk_contains_only_its_package_and_the_version_of_the_code(wheels: Path) -> None:
    (wheel,) = wheels.glob("mnemosyne_adk-*.whl")
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert tops == {"mnemosyne_adk", f"mnemosyne_adk-{mnemosyne.__version__}.dist-info"}


def test_every_documented_installation_has_a_test() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "infra" / "adk").glob("*.md")]
    commands = [line for page in pages for line in re.findall(r"pip install ([^`\n]+)", page.read_text())]
    assert {shlex.split(command)[-1] for command in commands} == TESTED


def test_every_extra_that_a_text_names_exists() -> None:
    texts = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "functions" / "mnemosyne").rglob("*.py")]
    named = {
        name for text in texts for name in re.findall(r"mnemosyne[-_]serverless[^\s\]]*\[(\w+)\]", text.read_text())
    }
    assert "local" in named and named <= set(EXTRAS)
