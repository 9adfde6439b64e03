"""Bulk import: each item is counted once, and an interrupted import continues without sending an item twice."""

import itertools
import json
import math
import os
import sqlite3
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import pytest

from mnemosyne.cli import import_, importer, post_import_updates
from mnemosyne.cli.formats import read_files
from mnemosyne.cli.import_source import Record, Source
from mnemosyne.cli.importer import Destination
from mnemosyne.cli.journal import Journal
from mnemosyne.cli.listing import list_files
from mnemosyne.domain.memory import (
    BATCH_LIMIT,
    ExternalId,
    FailedRequest,
    IngestRequest,
    IngestState,
    IngestStatus,
    Reading,
    Request,
    content_hash,
)
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.domain.memory_input import Defaults
from mnemosyne.errors import Conflict, InvalidRequest
from mnemosyne.formats.item import Item, read_item
from mnemosyne.ids import new_id
from mnemosyne.service.seen_requests import SeenRequests

FILE = Source("f")


class FakeDestination:
    """Destination that stores records, and returns their outcomes at the second call.

    A content that it has already is a duplicate, and the content "poison" fails.
    """

    name = "here"
    namespace = "ns"

    def __init__(self, dies_after: int = 1_000_000) -> None:
        self.sent: list[str] = []
        self.refused: list[FailedRequest] = []
        self.ended: dict[UUID, IngestStatus] = {}
        self.requests: dict[UUID, Reading] = {}
        self.memories: dict[str, UUID] = {}
        self.changes: list[tuple[UUID, MemoryChange]] = []
        self.questions = 0
        self.dies_after = dies_after

    def new_id(self) -> UUID:
        return new_id()

    def send(self, records: Sequence[Record], source: Source) -> None:
        assert len(records) <= BATCH_LIMIT
        if len(self.sent) >= self.dies_after:
            raise KeyboardInterrupt
        for record in records:
            request = record.reading
            if isinstance(request, IngestRequest):
                self.sent.append(request.content)
            elif isinstance(request, FailedRequest):
                self.refused.append(request)
            # As in the database, the outcome of an earlier request with the same id does not change.
            self.requests.setdefault(request.request_id, request)
            self._outcome(request.request_id)

    def outcomes(self, request_ids: Sequence[UUID]) -> Mapping[UUID, IngestStatus]:
        self.questions += 1
        if self.questions % 2:
            return {i: IngestStatus(request_id=i, state=IngestState.QUEUED) for i in request_ids if i in self.requests}
        return {i: self._outcome(i) for i in request_ids if i in self.requests}

    def _outcome(self, request_id: UUID) -> IngestStatus:
        """Return the outcome of a request. It is the same at each call."""
        if request_id not in self.ended:
            self.ended[request_id] = self._store(self.requests[request_id])
        return self.ended[request_id]

    def _store(self, request: Reading) -> IngestStatus:
        id_ = request.request_id
        if not isinstance(request, IngestRequest):
            return IngestStatus(request_id=id_, state=IngestState.FAILED)
        if "poison" in request.content:
            return IngestStatus(request_id=id_, state=IngestState.DEAD_LETTERED, error="the model refuses it")
        state = IngestState.DUPLICATE if request.content in self.memories else IngestState.STORED
        return IngestStatus(request_id=id_, state=state, memory_id=self.memories.setdefault(request.content, new_id()))

    def belongs_to(self, status: IngestStatus, reading: Request) -> bool:
        request = self.requests[status.request_id]
        assert isinstance(request, IngestRequest)
        stored = replace(status, content_hash=request.content_hash, external_id=request.external_id)
        return stored.belongs_to(reading)

    def change(self, memory_id: UUID, change: MemoryChange) -> None:
        if change.superseded_by == memory_id:
            raise Conflict("a cycle")
        self.changes.append((memory_id, change))

    def pause(self) -> None:
        """Return at once; tests do not wait."""


def import_files(paths: Sequence[Path], destination: Destination, journals: Sequence[Journal]) -> None:
    """Import several files or folders, without the report at the end."""
    listings = {path: list_files(path, None) for path in paths}
    sources = {path: Source.at(path) for path in paths}
    import_._import(listings, sources, len(paths), destination, dict(zip(paths, journals, strict=True)))


@dataclass
class Ended:
    """The results that an import reports at its end."""

    states: Counter[str]
    failures: list[tuple[str, str]]
    left_out: Counter[str]


def _end(journals: list[Journal], destination: Destination) -> Ended:
    post_import_updates.apply(journals, destination)
    ended = Ended(Counter(), [], Counter())
    for journal in journals:
        ended.states.update({state: count for state, count in journal.totals().states.items() if count})
        ended.left_out.update(journal.totals().left_out)
        ended.failures += [(place, error) for place, error, _ in journal.failures()]
        journal.finish()
    return ended


def send(items: Iterable[Item], destination: Destination, journal: Journal, source: Source = FILE) -> None:
    """Send the items of one file, and wait for their outcomes."""
    importer.run(items, source, destination, journal, lambda count: None)


def run(
    items: Sequence[Item], destination: Destination, folder: Path, progress: Callable[[int], None] = lambda count: None
) -> Ended:
    """Import one file, with its journal in the folder, and return the results."""
    journal = Journal(folder / "j", destination.name)
    try:
        importer.run(items, FILE, destination, journal, progress)
    except KeyboardInterrupt:
        journal.close()
        raise
    return _end([journal], destination)


@pytest.fixture
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "BATCH_LIMIT", 5)
    monkeypatch.setattr(importer, "WINDOW", 4)


small_batches = pytest.mark.usefixtures("_small_batches")
"""Five items are in a batch, and at most four batches are unfinished at a time."""


def _interrupted(items: list[Item], tmp_path: Path, after: int) -> FakeDestination:
    """Import items to a destination that interrupts the import after it has received this number of items."""
    destination = FakeDestination(dies_after=after)
    with pytest.raises(KeyboardInterrupt):
        run(items, destination, tmp_path)
    return destination


def _restarted(first: FakeDestination) -> FakeDestination:
    """Return a new destination that has the requests which an interrupted destination has received."""
    second = FakeDestination()
    second.requests = dict(first.requests)
    return second


def _numbered(count: int) -> list[Item]:
    return _items(*(f"memory {n}" for n in range(count)))


def _items(*contents: str) -> list[Item]:
    return [Item(f"f:{n}", {"content": c, "timestamp": "2026-05-20T12:00:00Z"}) for n, c in enumerate(contents)]


def test_each_item_is_counted_once_and_the_progress_bar_ends_at_100_percent(tmp_path: Path) -> None:
    items = [*_items(*(f"memory {n}" for n in range(250)), "memory 0", "poison"), Item("f:x", None, "not JSON")]
    steps: list[int] = []
    summary = run(items, FakeDestination(), tmp_path, steps.append)
    assert summary.states == {"stored": 250, "duplicate": 1, "failed": 2}
    assert sum(steps) == len(items)
    assert summary.failures == [("f:251", "the model refuses it"), ("f:x", "not JSON")]


def _named(place: str, content: str, **names: str) -> Item:
    return Item(place, {"content": content, "timestamp": "2026-05-20T12:00:00Z", **names})


ID = str(new_id())
EMPTY = "content must contain at least one character that is not white space"
TAKEN = f"request_id must be unique, got {ID}: an earlier request has it"


@pytest.mark.parametrize("batch", [1, 100])
def test_a_request_id_used_twice_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr(importer, "BATCH_LIMIT", batch)
    destination = FakeDestination()
    items = [_named(f"f:{content}", content, request_id=ID) for content in ("one", "two", "one", " ")]
    summary = run(items, destination, tmp_path)
    assert set(destination.sent) == {"one"}
    assert summary.states == {"stored": 1, "duplicate": 1, "failed": 2}
    assert summary.failures == [("f:two", f"request_id must be unique, got {ID}: f:one has it"), ("f: ", EMPTY)]


def test_the_same_version_of_a_record_twice_in_a_file_is_stored_once_and_a_duplicate_once(tmp_path: Path) -> None:
    items = [_named(f"f:{n}", "one", source="crm", key="1") for n in range(2)]
    assert run(items, FakeDestination(), tmp_path).states == {"stored": 1, "duplicate": 1}


@pytest.mark.parametrize(
    ("content", "key", "state", "errors"),
    [
        ("one", "a", "duplicate", []),
        ("corrected", "a", "failed", [TAKEN]),
        ("one", "b", "failed", [TAKEN]),
        (" ", "a", "failed", [EMPTY]),
    ],
    ids=["same record", "other content", "other key", "invalid record"],
)
def test_a_request_id_of_an_earlier_import_is_a_duplicate_or_a_failure(
    tmp_path: Path, content: str, key: str, state: str, errors: list[str]
) -> None:
    destination = FakeDestination()
    run([_named("f:1", "one", request_id=ID, source="crm", key="a")], destination, tmp_path)
    destination.questions = 1  # the next answer has the outcomes
    summary = run([_named("f:1", content, request_id=ID, source="crm", key=key)], destination, tmp_path)
    assert summary.states == {state: 1}
    assert summary.failures == [("f:1", error) for error in errors]


@pytest.mark.parametrize("content", ["a lone \udcff surrogate", "a NUL \x00", "x" * 100_001])
def test_the_journal_keeps_a_refused_record_so_that_it_can_be_corrected(tmp_path: Path, content: str) -> None:
    bad = Item("f:1", {"content": content, "timestamp": "2026-05-20"})
    journal = Journal(tmp_path / "j", "here")
    send([bad], FakeDestination(), journal)
    (failure,) = journal.failures()
    assert json.loads(failure.record) == bad.fields
    journal.finish()


@pytest.mark.parametrize("own", [{}, {"timezone": ""}, {"timezone": "Asia/Tokyo"}])
def test_a_corrected_record_is_stored_with_the_time_zone_of_its_import(tmp_path: Path, own: dict[str, str]) -> None:
    bad = Item("f:1", {"content": "", "timestamp": "2026-07-01T12:00", **own})
    journal = Journal(tmp_path / "j", "here")
    send([bad], FakeDestination(), journal, replace(FILE, timezone="America/New_York"))
    (failure,) = journal.failures()
    journal.finish()
    corrected = json.loads(failure.record) | {"content": "lunch"}
    reading = read_item(Item("g:1", corrected), Defaults(new_id=new_id))
    assert isinstance(reading, IngestRequest)
    assert reading.timestamp.hour == (3 if own.get("timezone") else 16)


def test_a_refused_supersession_is_reported_and_the_others_are_restored(tmp_path: Path) -> None:
    destination = FakeDestination()
    cyclic, old, new = _items("cyclic", "old", "new")
    cyclic = Item(cyclic.source, cyclic.fields, superseded_by_hash=content_hash("cyclic"))
    old = replace(old, superseded_by_hash=content_hash("new"))
    summary = run([cyclic, old, new], destination, tmp_path)
    assert summary.failures == [(cyclic.source, "stored, but its tags or successor could not be set: a cycle")]
    assert summary.states == {"stored": 3}
    successor = MemoryChange(superseded_by=destination.memories["new"])
    assert destination.changes == [(destination.memories["old"], successor)]


def test_tags_removed_before_the_export_are_not_restored_by_either_of_two_files(tmp_path: Path) -> None:
    """The record of the second file is stored first, and the record of the first file is a duplicate."""
    destination = FakeDestination()
    arguments = {"content": "TAGS: a, b", "timestamp": "2026-05-20T12:00:00Z", "tags": ["c"]}
    second, first = (Journal(tmp_path / name, "here") for name in ("tuesday", "monday"))
    for journal in (second, first):
        send([Item("f:1", arguments, exact_tags=("c",))], destination, journal)
        journal.close()
    _end([first, second], destination)
    assert destination.changes[0] == (destination.memories["TAGS: a, b"], MemoryChange(tags=("c",)))


@small_batches
def test_items_with_a_final_outcome_are_not_sent_or_queried_again(tmp_path: Path) -> None:
    items = [*_numbered(200), *_items("poison")]
    second = _restarted(_interrupted(items, tmp_path, after=150))
    counts: list[int] = []
    second.outcomes = lambda ids: counts.append(len(ids)) or FakeDestination.outcomes(second, ids)  # type: ignore
    steps: list[int] = []
    summary = run(items, second, tmp_path, steps.append)
    assert summary.states == {"stored": 200, "failed": 1}
    assert [error for _, error in summary.failures] == ["the model refuses it"]
    assert sum(steps) == 201
    assert sum(counts) < 250, "outcomes known from the first run are not queried again"


@small_batches
def test_only_changed_batches_of_a_file_are_sent_again(tmp_path: Path) -> None:
    before = _numbered(60)
    finished = len(_interrupted(before, tmp_path, after=55).sent) - 5 * importer.WINDOW
    destination = FakeDestination()
    changed = [*before[:3], *_items("another"), *before[4:]]
    summary = run(changed, destination, tmp_path)
    assert destination.sent[:5] == ["memory 0", "memory 1", "memory 2", "another", "memory 4"]
    assert destination.sent[5:] == [f"memory {n}" for n in range(finished, 60)]
    assert summary.states["stored"] == 60


@small_batches
def test_lines_and_fields_removed_after_an_interruption_are_not_in_the_result(tmp_path: Path) -> None:
    removed = [replace(item, left_out=("Tags",)) for item in _items(*(f"removed {n}" for n in range(30)), "poison")]
    kept = [replace(item, left_out=("importance",)) for item in _numbered(10)]
    first = _interrupted([*kept, *removed[::-1], *_numbered(40)], tmp_path, after=70)
    assert run(kept, _restarted(first), tmp_path) == Ended(Counter(stored=10), [], Counter(importance=10))


def test_a_damaged_journal_is_an_error_with_the_fix(tmp_path: Path) -> None:
    before = Journal(tmp_path / "j", "here")
    before.finish()
    before.path.write_bytes(b"an older version's text" * 100)
    with pytest.raises(InvalidRequest, match="delete it to start again"):
        Journal(tmp_path / "j", "here")


@small_batches
def test_the_memory_use_of_an_import_does_not_depend_on_its_size(tmp_path: Path) -> None:
    class Forgetful(FakeDestination):
        """Destination that reports each record as stored, but keeps no record."""

        def send(self, records: Sequence[Record], source: Source) -> None:
            pass

        def outcomes(self, request_ids: Sequence[UUID]) -> Mapping[UUID, IngestStatus]:
            return {id_: IngestStatus(request_id=id_, state=IngestState.STORED, memory_id=id_) for id_ in request_ids}

    def items(count: int) -> Iterator[Item]:
        for n in range(count):
            arguments = {"content": f"memory {n} " * 20, "timestamp": "2026-05-20T12:00:00Z"}
            yield Item(f"f:{n}", arguments, superseded_by_hash="0" * 64, left_out=("x",))

    def peak(count: int) -> int:
        tracemalloc.start()
        journal = Journal(tmp_path / f"{count}", "here")
        send(items(count), Forgetful(), journal)
        assert journal.totals().states["stored"] == count
        journal.close()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(20)
    assert peak(200) < 1.5 * peak(60)


@small_batches
def test_equal_batches_are_counted_separately_after_an_interruption(tmp_path: Path) -> None:
    items = _numbered(5) * 2 + _items(*(f"more {n}" for n in range(40)))
    second = _restarted(_interrupted(items, tmp_path, after=35))
    assert run(items, second, tmp_path).states == {"stored": 45, "duplicate": 5}


def test_a_batch_does_not_exceed_the_size_limit_of_a_request(tmp_path: Path) -> None:
    sizes: list[int] = []

    class Weighing(FakeDestination):
        def send(self, records: Sequence[Record], source: Source) -> None:
            sizes.append(len(json.dumps([record.item.fields for record in records])))
            super().send(records, source)

    items = [replace(item, fields={**(item.fields or {}), "metadata": {"x": "y" * 60_000}}) for item in _numbered(20)]
    assert run(items, Weighing(), tmp_path).states == {"stored": 20}
    assert max(sizes) <= importer.BATCH_BYTES < 4 * 1024 * 1024


@small_batches
def test_records_that_a_recreated_destination_lacks_are_sent_again_with_the_same_ids(tmp_path: Path) -> None:
    items = _numbered(20)
    first, recreated = _interrupted(items, tmp_path, after=15), FakeDestination()
    assert run(items, recreated, tmp_path).states == {"stored": 20}
    assert sorted(recreated.sent) == sorted(f"memory {n}" for n in range(20))
    assert first.requests.items() <= recreated.requests.items()


def test_supersession_is_restored_across_files_and_a_missing_successor_is_reported(tmp_path: Path) -> None:
    destination = FakeDestination()
    old, new, lone = _items("old", "new", "lone")
    old = replace(old, superseded_by_hash=content_hash("new"))
    lone = Item(lone.source, lone.fields, superseded_by_hash=content_hash("elsewhere"))
    journals = [Journal(tmp_path / name, "here") for name in ("1", "2")]
    for journal, items in zip(journals, ([old, lone], [new]), strict=True):
        send(items, destination, journal)
    ended = _end(journals, destination)
    assert [change for _, change in destination.changes] == [MemoryChange(superseded_by=destination.memories["new"])]
    assert [source for source, _ in ended.failures] == [lone.source]


@pytest.mark.parametrize("successor", ["new", "stored", "elsewhere"])
def test_a_memory_that_existed_before_the_import_keeps_its_successor(tmp_path: Path, successor: str) -> None:
    destination = FakeDestination()
    destination.memories = {"old": new_id(), "stored": new_id()}
    old, *others = _items("old", "stored", "new")
    old = Item(old.source, old.fields, superseded_by_hash=content_hash(successor))
    journal = Journal(tmp_path / "j", "here")
    send([old, *others], destination, journal)
    assert _end([journal], destination).failures == []
    assert destination.changes == []


def _journals(paths: Sequence[Path]) -> list[Journal]:
    return [Journal(path, "here") for path in paths]


def _notes(folder: Path, count: int) -> list[Path]:
    paths = [folder / f"{number}.md" for number in range(count)]
    for path in paths:
        path.write_text(f"note {path.stem}")
    return paths


def test_an_import_of_many_files_does_not_keep_their_journals_open(tmp_path: Path) -> None:
    destination, paths = FakeDestination(), _notes(tmp_path, 5)
    Journal(tmp_path / "first", "here").finish()  # opens the lock file of all journals, so that it is not counted below
    before = psutil.Process().num_fds()
    journals = _journals(paths)
    assert psutil.Process().num_fds() == before
    import_files(paths, destination, journals)
    assert psutil.Process().num_fds() == before
    assert _end(journals, destination).states == {"stored": 5}


class LateDestination(FakeDestination):
    """A destination that has no outcomes before the records of a number of files (`files`) have arrived.

    It fails the test if the import waits for outcomes before that.
    """

    def __init__(self, files: int) -> None:
        super().__init__()
        self.files = files

    def outcomes(self, request_ids: Sequence[UUID]) -> Mapping[UUID, IngestStatus]:
        is_ready = len(self.sent) >= self.files
        return {i: self._outcome(i) for i in request_ids if i in self.requests} if is_ready else {}

    def pause(self) -> None:
        raise AssertionError(f"the import waits after {len(self.sent)} files")


def test_an_import_of_many_files_sends_a_file_before_the_earlier_files_have_outcomes(tmp_path: Path) -> None:
    paths = _notes(tmp_path, 5)
    paths[3].write_text("poison")
    destination, journals = LateDestination(len(paths)), _journals(paths)
    import_files(paths, destination, journals)
    assert [+journal.totals().states for journal in journals] == [*[{"stored": 1}] * 3, {"failed": 1}, {"stored": 1}]
    assert _end(journals, destination).failures == [(str(paths[3]), "the model refuses it")]


def test_an_import_has_a_limited_number_of_files_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "WINDOW", 2)
    paths = _notes(tmp_path, 5)
    with pytest.raises(AssertionError, match="waits after 3 files"):
        import_files(paths, LateDestination(len(paths)), _journals(paths))


def test_a_journal_for_another_system_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / "a.md", tmp_path / "a.b.md"]
    for path in paths:
        path.write_text("note")
    other, _ = Journal(paths[0], "another key"), Journal(tmp_path / "c.md", "another key")
    import_files(paths, FakeDestination(), _journals(paths))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{other.path} is of an import into another system or with another key")


def test_an_interrupted_import_sends_no_file_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths, first = _notes(tmp_path, 6), FakeDestination(dies_after=3)
    with pytest.raises(KeyboardInterrupt):
        import_files(paths, first, _journals(paths))
    second, journals = _restarted(first), _journals(paths)
    import_files(paths, second, journals)
    assert sorted(first.sent + second.sent) == [f"note {number}" for number in range(6)]
    assert _end(journals, second).states == {"stored": 6}
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Continuing an interrupted import after 4 batches.")
    assert line.endswith(f"delete {journals[0].path}, and 3 other journals")


def test_a_journal_with_an_additional_column_can_be_continued(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "f", "there")
    journal.record(0, "contents", [new_id()], {}, [])
    journal.close()
    with closing(sqlite3.connect(journal.path)) as later:
        later.execute("ALTER TABLE batches ADD COLUMN priority TEXT DEFAULT 'high'")
        later.commit()
    again = Journal(tmp_path / "f", "there")
    assert again.published(0, "contents") is not None
    again.finish_batch(0, {"stored": 1})
    assert again.totals().states == {"stored": 1}
    again.close()


def test_a_journal_of_a_newer_version_is_refused_and_not_changed(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "f", "there")
    journal.close()
    with closing(sqlite3.connect(journal.path)) as later:
        later.execute("PRAGMA user_version = 2")
    before = journal.path.read_bytes()
    with pytest.raises(InvalidRequest, match="is of version 2, this program knows 1: finish the import with the newer"):
        Journal(tmp_path / "f", "there")
    assert journal.path.read_bytes() == before


class Killed(BaseException):
    """Raised to simulate that the process was killed."""


class Steps:
    """Counts down the steps of an import. If no step is left, it raises Killed."""

    left = math.inf

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed

    def around(self, method: Callable[..., None]) -> Callable[..., None]:
        """Return the method with a step before it and a step after it."""

        def wrapped(*arguments: Any) -> None:
            self.step()
            method(*arguments)
            self.step()

        return wrapped


def _exported_items() -> list[Item]:
    """Return the items of two batches: memories with tags and successors to restore, a duplicate, two failures."""
    items = [
        Item(
            f"f:{n}",
            {"content": f"TAGS: a\nmemory {n}", "timestamp": "2026-05-20", "tags": ["c"], "ttl": "30d"},
            exact_tags=("c",) if n < 4 else None,
            superseded_by_hash=content_hash("TAGS: a\nmemory 7") if n == 0 else None,
            line=n,
        )
        for n in range(8)
    ]
    items[6] = Item("f:6", None, "a line must be JSON", line=6)
    return [*items, replace(items[3], source="f:200", line=200), *_items("poison")]


@small_batches
def test_an_import_killed_at_any_point_has_the_same_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items, steps = _exported_items(), Steps()
    for owner, name in (
        (FakeDestination, "send"), (FakeDestination, "change"), (Journal, "record"), (Journal, "finish_batch"),
    ):  # fmt: skip
        monkeypatch.setattr(owner, name, steps.around(getattr(owner, name)))
    for kills in itertools.count():
        destination, journal, was_killed = FakeDestination(), Journal(tmp_path / f"j{kills}", "here"), False
        steps.left = kills
        try:
            send(items, destination, journal)
            post_import_updates.apply([journal], destination)
        except Killed:
            was_killed = True
            journal.close()
        steps.left = math.inf
        if was_killed:
            journal = Journal(tmp_path / f"j{kills}", "here")
            send(items, destination, journal)
        ended = _end([journal], destination)
        assert ended.states == {"stored": 7, "duplicate": 1, "failed": 2}, kills
        assert ended.failures == [("f:6", "a line must be JSON"), ("f:0", "the model refuses it")], kills
        changes = Counter(change for _, change in {*destination.changes})
        successor = MemoryChange(superseded_by=destination.memories["TAGS: a\nmemory 7"])
        assert changes == {MemoryChange(tags=("c",)): 4, successor: 1}, kills
        assert {item.external_id for item in destination.refused} == {ExternalId("f", "6")}, kills
        assert len(destination.sent) == 9 and not list(tmp_path.iterdir()), kills
        if not was_killed:
            break
    assert kills >= 24


def test_a_failed_line_is_reported_to_the_server_with_its_reason_file_and_line(tmp_path: Path) -> None:
    destination = FakeDestination()
    bad = [
        Item("notes:sub/a.md", None, "it cannot be read"),
        Item("notes:7", {"content": "", "timestamp": "2026-05-20"}, line=7),
        Item("notes:8", {"content": "x", "source": "crm", "key": 4711}, line=8),
    ]
    send(bad, destination, Journal(tmp_path / "j", "here"), Source("notes"))
    assert [(item.external_id, item.error) for item in destination.refused] == [
        (ExternalId("notes", "sub/a.md"), "it cannot be read"),
        (ExternalId("notes", "7"), "content must have at least 1 character, got 0"),
        (ExternalId("crm", "4711"), "timestamp is required"),
    ]


def test_duplicates_with_labels_not_stored_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Noting(FakeDestination):
        def _store(self, request: Reading) -> IngestStatus:
            assert isinstance(request, IngestRequest)
            note = "the memory already exists, and these values of the request were not stored: tags, title"
            return replace(super()._store(request), note=note if "changed" in request.content else None)

    path, destination = tmp_path / "rows.jsonl", Noting()
    destination.memories = {text: new_id() for text in ("changed 1", "changed 2", "same")}
    path.write_text("{}\n")
    journal = Journal(path, "here")
    send(_items(*destination.memories, "new"), destination, journal, Source.at(path))
    assert journal.totals().states == {"duplicate": 3, "stored": 1}
    assert import_._report(path, journal, list_files(path, None)) is False
    assert capsys.readouterr().err == (
        "rows.jsonl: 2 memories exist already with other labels (title, tags, metadata or times), and the labels in "
        "the file were not stored: change labels with update_memory, or give a record with source and key a later "
        "timestamp\n"
    )
    journal.finish()


@pytest.mark.parametrize(
    ("texts", "states"),
    [
        (("one", "two"), {"stored": 1, "failed": 1}),
        (("one", "two", "two"), {"stored": 1, "failed": 2}),
        (("one", "one"), {"stored": 1, "duplicate": 1}),  # a copy
    ],
)
def test_a_note_with_the_source_and_key_of_another_note_does_not_replace_it(
    tmp_path: Path, texts: Sequence[str], states: dict[str, int]
) -> None:
    (folder := tmp_path / "notes").mkdir()
    for number, text in enumerate(texts):
        (folder / f"{number}.md").write_text(f"---\nsource: crm\nkey: 7\ndate: 2026-05-20\n---\n{text}")
    destination, journal = FakeDestination(), Journal(folder, "here")
    import_files([folder], destination, [journal])
    ended = _end([journal], destination)
    assert ended.states == states and destination.sent[:1] == ["one"]
    for place, error in ended.failures:
        assert place == str(folder / f"{texts.index('two') if place.endswith('1.md') else 2}.md")
        assert error == f"source and key must be unique, got crm and 7: {folder / '0.md'} has them"


@pytest.mark.parametrize("names", ["", "source: crm\nkey: 7\n"], ids=["path as key", "own key"])
def test_a_note_that_is_named_with_its_folder_is_stored_once_and_a_duplicate_once(tmp_path: Path, names: str) -> None:
    (folder := tmp_path / "notes").mkdir()
    (folder / "a.md").write_text(f"---\n{names}date: 2026-05-20\n---\none")
    paths, destination = [folder / "a.md", folder], LateDestination(1)
    journals = _journals(paths)
    import_files(paths, destination, journals)
    assert _end(journals, destination) == Ended(Counter(stored=1, duplicate=1), [], Counter())


def test_the_temporary_database_is_closed_when_the_import_has_ended() -> None:
    seen = SeenRequests()
    database = seen._database
    del seen
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        database.execute("SELECT 1")


@pytest.mark.parametrize(
    ("names", "data", "states"),
    [
        ((b"caf\xe9.jsonl",), '{"content": "", "timestamp": "2026-05-20"}', {"failed": 1}),
        ((b"caf\xe9.jsonl",), '{"content": "a", "timestamp": "2026-05-20", "source": "s", "key": 1}', {"stored": 1}),
        ((b"caf\xe9.jsonl",), '{"content": "a", "timestamp": "2026-05-20", "superseded_by_hash": "b"}', {"stored": 1}),
        ((b"caf\xe9.md",), "---\ndate: 2026\n---\na", {"failed": 1}),
        ((b"caf\xe9.md", b"caf\xe8.md"), "---\ndate: 2026-05-20\n---\na", {"stored": 1, "duplicate": 1}),
    ],
)
def test_files_whose_names_are_not_utf_8_are_imported(
    tmp_path: Path, names: tuple[bytes, ...], data: str, states: dict[str, int]
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    try:
        for name in names:
            (folder / os.fsdecode(name)).write_text(data)
    except OSError:
        pytest.skip("the file system accepts only names in UTF-8")
    listing, destination, journal = list_files(folder, None), FakeDestination(), Journal(folder, "here")
    send(read_files(listing), destination, journal, Source.at(folder))
    assert _end([journal], destination).states == states
    assert len(destination.requests) == len(names)
