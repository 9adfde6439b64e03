"""`mnemosyne export --output`: afterwards the file has a complete export or, after a failure, its earlier content."""

import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mnemosyne.app.operations.operation import Operation
from mnemosyne.cli import export
from mnemosyne.errors import InvalidRequest, Unavailable


def _pages(_: object, operation: Operation) -> Iterator[dict[str, Any]]:
    yield {"memories": [{"content": "new"}], "lines": []}


def _interrupted(_: object, operation: Operation) -> Iterator[dict[str, Any]]:
    yield {"memories": [{"content": "new"}]}
    raise Unavailable("the database has stopped")


@pytest.fixture(autouse=True)
def _system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "memory_system", lambda **_: nullcontext())
    monkeypatch.setattr(export, "pages", _pages)


def test_an_export_that_fails_leaves_the_earlier_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = tmp_path / "backup.jsonl"
    output.write_text("the earlier export\n")
    monkeypatch.setattr(export, "pages", _interrupted)
    with pytest.raises(Unavailable):
        export._export("jsonl", output, "default", {})
    assert output.read_text() == "the earlier export\n"
    assert list(tmp_path.iterdir()) == [output]


def test_a_markdown_export_that_fails_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "pages", _interrupted)
    monkeypatch.setattr(export, "to_markdown", lambda record: ("a.md", record["content"]))
    with pytest.raises(Unavailable):
        export._export("markdown", tmp_path, "default", {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("namespace", ["team ", " ", "a\nb"])
def test_a_namespace_that_only_earlier_versions_accepted_can_be_exported(namespace: str) -> None:
    ended = CliRunner().invoke(export.export, ["--namespace", namespace, "--project", "ours"])
    assert ended.stdout.startswith('{"content": "new"}\n'), ended.stderr


def test_an_export_replaces_the_earlier_one_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    output = tmp_path / "backup.jsonl"
    output.write_text("the earlier export\n")
    output.chmod(0o644)
    export._export("jsonl", output, "default", {})
    assert output.read_text() == '{"content": "new"}\n'
    assert output.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [output]


def test_an_export_through_a_link_replaces_the_file_that_the_link_names(tmp_path: Path) -> None:
    (tmp_path / "latest.jsonl").symlink_to("2026.jsonl")
    export._export("jsonl", tmp_path / "latest.jsonl", "default", {})
    assert (tmp_path / "latest.jsonl").is_symlink()
    assert (tmp_path / "2026.jsonl").read_text() == '{"content": "new"}\n'


def test_markdown_is_not_written_into_a_directory_with_files_of_an_earlier_export(tmp_path: Path) -> None:
    """If a memory was deleted since the earlier export, its file would stay.

    An import would then restore the memory.
    """
    (tmp_path / "2026-05-20-0123456789ab.md").write_text("deleted since")
    with pytest.raises(InvalidRequest, match=r"must be empty or new: .*; name another directory, or empty this one"):
        export._export("markdown", tmp_path, "default", {})
    assert [file.read_text() for file in tmp_path.iterdir()] == ["deleted since"]


def test_markdown_is_written_if_no_visible_files_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = {"timestamp": "2026-05-20T12:00:00Z", "content_hash": "0123456789abcdef", "content": "new"}
    monkeypatch.setattr(export, "pages", lambda *_: iter([{"memories": [record]}]))
    (tmp_path / ".git").mkdir()
    for directory in (tmp_path, tmp_path / "new"):
        assert export._export("markdown", directory, "default", {}) == 1
        assert (directory / "2026-05-20-0123456789ab.md").read_text().endswith("new")


@pytest.mark.parametrize(
    ("output", "format_", "message"),
    [
        ("nodir/x.jsonl", "jsonl", "--output must be in an existing directory, got nodir/x.jsonl: create nodir first"),
        ("to-nowhere", "jsonl", "--output must be in an existing directory, got to-nowhere: create {}/nodir first"),
        ("dir", "jsonl", "--output must be a file, got the directory dir: add a file name, or --format markdown"),
        ("file", "markdown", "--output must be a directory with --format markdown, got the file file"),
        ("file/notes", "markdown", "file/notes cannot be written: Not a directory"),
    ],
)
def test_an_output_that_cannot_be_written_is_named_as_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, format_: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dir").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "to-nowhere").symlink_to("nodir/x.jsonl")
    arguments = ["--output", output, "--format", format_, "--project", "ours"]
    result = CliRunner().invoke(export.export, arguments)
    printed = " ".join(result.output.split()) or str(result.exception)
    assert printed.endswith(message.format(tmp_path))


def test_an_export_can_be_written_into_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    export._export("jsonl", pipe, "default", {})
    assert os.read(descriptor, 1_000) == b'{"content": "new"}\n'
    os.close(descriptor)


def test_an_export_names_its_namespace_and_where_to_find_the_others(tmp_path: Path) -> None:
    arguments = ["--output", str(tmp_path / "notes.jsonl"), "--namespace", "team", "--data-dir", str(tmp_path)]
    answer = CliRunner().invoke(export.export, arguments)
    assert (answer.exit_code, answer.stdout) == (0, "")
    assert "1 memory of the namespace team exported." in answer.stderr
    assert f"`mnemosyne quota list --data-dir {tmp_path}` shows them" in answer.stderr
