"""The journal of an import: the errors on a full disk and during another import name the step to take."""

import multiprocessing
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from mnemosyne.cli.journal import Failure, Journal
from mnemosyne.domain.outcome import NO_REQUEST
from mnemosyne.errors import InvalidRequest

FULL = r"import-journal cannot be written \(database or disk is full\): free space .* run the command again"


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    journal = Journal(tmp_path / "a.jsonl", "destination")
    journal.record(0, "contents", [NO_REQUEST], {}, [])
    journal._database.execute("PRAGMA max_page_count = 1")  # SQLite then sets the limit to the present size
    return journal


def test_a_full_disk_is_an_error_that_says_how_to_continue(journal: Journal) -> None:
    with pytest.raises(InvalidRequest, match=FULL):
        journal.record(1, "c" * 100_000, [NO_REQUEST], {}, [])
    with pytest.raises(InvalidRequest, match=FULL):
        journal.finish_batch(0, {"failed": 1}, [Failure("a.jsonl:1", "e" * 100_000, "")])


def test_an_import_continues_after_a_full_disk(journal: Journal, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest):
        journal.record(1, "c" * 100_000, [NO_REQUEST], {}, [])
    journal.close()
    assert Journal(tmp_path / "a.jsonl", "destination").resumed == 1


def _hold(source: Path, opened: Event, ended: Event) -> None:
    Journal(source, "here")
    opened.set()
    ended.wait()


def test_a_second_import_of_a_file_into_the_same_system_is_refused_while_the_first_runs(tmp_path: Path) -> None:
    source, context = tmp_path / "a.jsonl", multiprocessing.get_context("fork")
    opened, ended = context.Event(), context.Event()
    first = context.Process(target=_hold, args=(source, opened, ended), daemon=True)
    first.start()
    assert opened.wait(60)
    with pytest.raises(InvalidRequest, match=r"another import of .*a\.jsonl .* is running: wait until it ends"):
        Journal(source, "here")
    Journal(source, "there").finish()
    Journal(tmp_path / "b.jsonl", "here").finish()
    ended.set()
    first.join()
    assert Journal(source, "here").resumed == 0
