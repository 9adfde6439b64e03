"""Each documented way to install, and each extra by its name, resolves from wheels that are built here."""

import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import mnemosyne

ROOT = Path(__file__).parents[2]
EXTRAS = tuple(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
TESTED = {
    "dist/mnemosyne_serverless-…whl[local]",  # below, and installed and run by test_wheel.py
    "./infra/adk",  # installed and run by tests/conformance/test_adk.py
    "dist/mnemosyne_adk-*.whl",  # below
}
"""What the documents say to install. A new one needs a test."""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the wheels that `make package` builds."""
    directory = tmp_path_factory.mktemp("wheels")
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        directory,
    ]
    subprocess.run([*command, ROOT, ROOT / "infra" / "adk"], check=True, capture_output=True)
    return directory


def _resolve(requirement: str) -> None:
    """Resolve the requirement as in an empty environment, and download no more than that takes."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
    done = subprocess.run([*command, requirement], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2_000:]


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_resolves(wheels: Path, extra: str) -> None:
    (wheel,) = wheels.glob("mnemosyne_serverless-*.whl")
    _resolve(f"{wheel}[{extra}]")


def test_the_memory_service_for_adk_resolves(wheels: Path) -> None:
    (wheel,) = wheels.glob("mnemosyne_adk-*.whl")
    _resolve(str(wheel))


def test_the_memory_service_for_adk_carries_its_package_alone_and_the_version_of_the_code(wheels: Path) -> None:
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
