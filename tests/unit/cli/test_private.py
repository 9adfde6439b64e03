"""Files that an import writes next to its source: no other user can read them or redirect them with a link."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.cli import private
from mnemosyne.cli.journal import Journal
from mnemosyne.cli.listing import format_by_name, list_files
from mnemosyne.cli.private import FailuresFile, private_path
from mnemosyne.errors import InvalidRequest
from mnemosyne.formats.item import FAILURE

FAILURES: list[dict[str, Any]] = [
    {FAILURE: {"place": "notes.jsonl:3", "error": "no JSON"}},
    {"content": "", FAILURE: {"place": "notes.jsonl:9", "error": "content is required"}},
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "notes.jsonl"
    path.write_text('{"content": "tea"}\n')
    return path


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file to which an attacker's link points. It must stay unchanged."""
    path = tmp_path / "victim"
    path.write_text("kept")
    return path


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _journal_path(source: Path) -> Path:
    journal = Journal(source, "here")
    journal.finish()
    return journal.path


Plant = Callable[[Path, Path], None]
PLANTS: dict[str, Plant] = {
    "symlink": lambda at, victim: at.symlink_to(victim),
    "dangling symlink": lambda at, victim: at.symlink_to(victim.with_name("nothing")),
    "hard link": lambda at, victim: at.hardlink_to(victim),
    "directory": lambda at, victim: at.mkdir(),
    "pipe": lambda at, victim: os.mkfifo(at),
}
"""Functions by which an attacker occupies the path of a file, by the kind of the obstacle."""
planted = pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)


@pytest.mark.parametrize("name", ["", "-wal", "-shm", "-journal"])
@planted
def test_a_journal_planted_by_another_user_is_refused(source: Path, victim: Path, name: str, plant: Plant) -> None:
    plant(Path(f"{_journal_path(source)}{name}"), victim)
    with pytest.raises(InvalidRequest, match="the journal would be"):
        Journal(source, "here")
    assert victim.read_text() == "kept"


@planted
def test_a_list_of_failures_planted_by_another_user_is_refused(source: Path, victim: Path, plant: Plant) -> None:
    failures = FailuresFile(source)
    plant(failures.path, victim)
    for step in (failures.check, lambda: failures.write(FAILURES), lambda: failures.write([])):
        with pytest.raises(InvalidRequest, match="the list of failures would be"):
            step()
    assert victim.read_text() == "kept"


@planted
def test_a_lock_file_that_is_not_the_user_s_is_refused_with_the_fix(
    tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch, plant: Plant
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    plant(tmp_path / f"mnemosyne-imports-{os.getuid()}.lock", victim)
    with pytest.raises(InvalidRequest, match="or set TMPDIR to a directory of yours"):
        private._lock_file.__wrapped__()


def test_without_a_temporary_directory_the_error_names_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._candidate_tempdir_list", list)
    with pytest.raises(InvalidRequest, match="or set TMPDIR to a directory of yours"):
        private._lock_file.__wrapped__()


@pytest.mark.parametrize("content", ["my own notes\n", '{"content": "tea"}\n', "[]\n", "{\n", "\x00"])
def test_a_file_that_is_not_a_list_of_failures_is_kept(source: Path, content: str) -> None:
    path = FailuresFile(source).path
    path.write_text(content)
    with pytest.raises(InvalidRequest, match="holds something else"):
        FailuresFile(source).write(FAILURES)
    assert path.read_text() == content


def test_the_list_of_an_earlier_run_is_replaced_and_then_deleted(source: Path) -> None:
    failures = FailuresFile(source)
    assert failures.write(FAILURES) == 2
    failures.path.chmod(0o644)
    assert failures.write(FAILURES[:1]) == 1
    assert [json.loads(line) for line in failures.path.read_text().splitlines()] == FAILURES[:1]
    assert _mode(failures.path) == 0o600
    assert failures.write([]) == 0
    assert sorted(path.name for path in source.parent.iterdir()) == ["notes.jsonl"]


def test_a_link_planted_during_the_import_is_not_followed(source: Path, victim: Path) -> None:
    failures = FailuresFile(source)

    def planting() -> list[dict[str, Any]]:
        failures.path.symlink_to(victim)
        return FAILURES

    failures.write(line for _ in "x" for line in planting())
    assert victim.read_text() == "kept"
    assert not failures.path.is_symlink()


def test_the_journal_is_readable_by_its_owner_only_whatever_its_mode_was(source: Path) -> None:
    path = _journal_path(source)
    path.touch(mode=0o644)
    journal = Journal(source, "here")
    journal.record(1, "x", [], {}, [])
    written = [Path(f"{path}{name}") for name in ("", "-wal", "-shm")]
    assert [_mode(file) for file in written if file.exists()] == [0o600] * 3
    journal.finish()


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o703])
def test_in_a_directory_writable_by_others_the_files_of_an_import_go_to_the_user_s_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("one", "two"):
        shared = tmp_path / name
        shared.mkdir()
        shared.chmod(mode)
        (shared / "notes.jsonl").touch()
    first, second = (private_path(tmp_path / name / "notes.jsonl", ".x") for name in ("one", "two"))
    assert first.parent == second.parent == tmp_path / "state" / "mnemosyne" / "imports"
    assert first != second
    assert _mode(first.parent) == 0o700
    assert private_path(tmp_path / "one" / "notes.jsonl", ".x") == first, "a later run finds it again"


@pytest.mark.parametrize("state", ["/proc/nowhere", "/dev/null", "/sys/kernel"])
def test_an_import_that_cannot_write_names_the_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", state)
    tmp_path.chmod(0o777)
    with pytest.raises(InvalidRequest, match=f"nor to {state}/mnemosyne/imports .*: set XDG_STATE_HOME to"):
        private_path(tmp_path / "notes", ".x")


def test_an_export_does_not_follow_symbolic_links_below_its_directory(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "memory.md").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        private.private(tmp_path / "memory.md", follow=False)
    assert victim.read_text() == "kept"


@pytest.mark.parametrize("name", ["日" * 80 + ".md", "x" * 250 + ".md"], ids=["Japanese", "ASCII"])
@pytest.mark.parametrize("mode", [0o700, 0o777])
def test_the_files_of_an_import_of_a_long_name_have_shorter_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, mode: int
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes").chmod(mode)
    source, neighbour = (tmp_path / "notes" / beginning for beginning in (name, f"{name[:-1]}x"))
    source.touch()
    journal = Journal(source, "here")
    journal.record(1, "x", [], {}, [])
    journal.close()
    assert Journal(source, "here").resumed == 1, "a later run finds it again"
    assert FailuresFile(source).write(FAILURES) == 2
    assert list_files(tmp_path / "notes", None).files == [(source, format_by_name(source))]
    assert private_path(neighbour, ".x") != private_path(source, ".x")
