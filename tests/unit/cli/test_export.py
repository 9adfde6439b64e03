"""`mnemosyne export --output`: the file has a complete export, or what it had before."""

import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.app.operations.operation import Operation
from mnemosyne.cli import export
from mnemosyne.errors import Unavailable


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


def test_an_export_can_be_written_into_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    export._export("jsonl", pipe, "default", {})
    assert os.read(descriptor, 1_000) == b'{"content": "new"}\n'
    os.close(descriptor)
