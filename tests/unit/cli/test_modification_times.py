"""Files whose time of modification is not a time between the years 1 and 9999."""

import os
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.cli.formats import read

TIMES = {
    "milliseconds instead of seconds": 1_785_000_000_000,
    "the year 10000": 253_402_300_800,
    "the largest time of a file system": 2**63 - 1,
    "before the year 1": -99_999_999_999,
}


@pytest.fixture(params=list(TIMES.values()), ids=list(TIMES))
def folder(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose files all seem to have the tested modification time.

    `Path.stat` is replaced, because not every file system can store such a time.
    """
    real = Path.stat

    def stat(path: Path, **options: Any) -> os.stat_result:
        status = real(path, **options)
        return os.stat_result((*status[:8], request.param, status[9]))

    monkeypatch.setattr(Path, "stat", stat)
    return tmp_path


def test_records_and_dated_notes_do_not_need_the_time(folder: Path) -> None:
    (folder / "2026-05-20 tea.md").write_text("Tea.")
    (folder / "list.jsonl").write_text('{"content": "Coffee.", "timestamp": "2026-05-21T00:00:00Z"}\n')
    items = list(read(folder))
    assert [item.problem for item in items] == ["", ""]
    assert [item.fields and item.fields["content"] for item in items] == ["Tea.", "Coffee."]


def test_the_error_of_a_note_without_a_date_names_the_fix(folder: Path) -> None:
    (folder / "tea.md").write_text("Tea.")
    (item,) = read(folder)
    assert "a note must have a time: add the property timestamp" in item.problem
