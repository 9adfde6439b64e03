"""Data directories: the error for a missing system names the running ones, and some paths are refused."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.errors import Misconfigured


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The command lines of the processes of this machine."""
    commands: list[list[str]] = []
    monkeypatch.setattr(
        psutil, "process_iter", lambda attributes: [SimpleNamespace(info={"cmdline": words}) for words in commands]
    )
    return commands


@pytest.fixture
def system(tmp_path: Path) -> Path:
    path = tmp_path / "system"
    path.mkdir()
    (path / "queue.db").touch()
    return path


def test_the_error_names_a_running_system(running: list[list[str]], system: Path, tmp_path: Path) -> None:
    running.append(["postgres", "-D", str(system / "postgres")])
    assert DataDir.missing_system_message(str(tmp_path / "new")).endswith(f"there are local systems in {system}")


def test_the_system_of_another_user_is_ignored(
    running: list[list[str]], system: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.stat

    def stat(path: Path, **options: Any) -> Any:
        if path.is_relative_to(system):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, **options)

    monkeypatch.setattr(Path, "stat", stat)
    running.append(["postgres", "-D", str(system / "postgres")])
    new = tmp_path / "new"
    assert DataDir.missing_system_message(str(new)) == f"there is no local system in {new}"


@pytest.mark.parametrize("value", ["x" * 300 + "/x", "postgres"])
def test_a_process_of_another_program_with_the_option_d_is_ignored(
    running: list[list[str]], system: Path, tmp_path: Path, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(system)
    running.append(["program", "-D", value])
    new = tmp_path / "new"
    assert DataDir.missing_system_message(str(new)) == f"there is no local system in {new}"


def test_a_path_that_is_not_text_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9")
    with pytest.raises(Misconfigured, match=r"must be text in UTF-8, the encoding of the locale, got .*set LC_ALL"):
        DataDir.at(str(path))
    assert not path.exists()
