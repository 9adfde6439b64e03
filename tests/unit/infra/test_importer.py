"""Bulk import: every item ends counted once, and an interrupted run goes on without sending twice."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from uuid import UUID

import pytest

from infra.cli.importer import After, Destination, Journal, Summary
from infra.cli.importer import run as run_one
from mnemosyne.domain.memory import IngestState, MemoryChange, content_hash
from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.errors import Conflict
from mnemosyne.formats.item import Item
from mnemosyne.ids import new_id


class FakeDestination:
    """Settles each request at the second question; content seen before is a duplicate, poison fails."""

    name = "here"

    def __init__(self, dies_after: int = 1_000_000) -> None:
        self.sent: list[str] = []
        self.resent: list[str] = []
        self.requests: dict[UUID, str] = {}
        self.memories: dict[str, UUID] = {}
        self.changes: list[tuple[UUID, MemoryChange]] = []
        self.questions = 0
        self.dies_after = dies_after

    def send(self, memories: Sequence[MemoryInput]) -> list[UUID]:
        assert len(memories) <= 100
        if len(self.sent) >= self.dies_after:
            raise KeyboardInterrupt
        self.sent += [memory.content for memory in memories]
        ids = [new_id() for _ in memories]
        self.requests |= {i: memory.content for i, memory in zip(ids, memories, strict=True)}
        return ids

    def outcomes(self, request_ids: Sequence[UUID]) -> Mapping[UUID, tuple[IngestState, UUID | None, str | None]]:
        self.questions += 1
        if self.questions % 2:
            return {}
        return {i: self._outcome(self.requests[i]) for i in request_ids}

    def _outcome(self, content: str) -> tuple[IngestState, UUID | None, str | None]:
        if "poison" in content:
            return IngestState.DEAD_LETTERED, None, "the model refuses it"
        state = IngestState.DUPLICATE if content in self.memories else IngestState.STORED
        return state, self.memories.setdefault(content, new_id()), None

    def change(self, memory_id: UUID, change: MemoryChange) -> None:
        if change.superseded_by == memory_id:
            raise Conflict("a circle")
        self.changes.append((memory_id, change))

    def pause(self) -> None:
        """No time passes here."""

    def resend(self, memories: Sequence[MemoryInput], request_ids: Sequence[UUID]) -> None:
        if any(request_id not in self.requests for request_id in request_ids):
            self.resent += [memory.content for memory in memories]
            self.requests |= {i: memory.content for i, memory in zip(request_ids, memories, strict=True)}


def run(items: list[Item], destination: Destination, journal: Journal, progress: Callable[[int], None]) -> Summary:
    """An import of one file."""
    after = After()
    summary = run_one(items, destination, journal, progress, after)
    after.apply(destination, summary)
    journal.finish()
    return summary


def _items(*contents: str) -> list[Item]:
    return [Item(f"f:{n}", {"content": c, "timestamp": "2026-05-20T12:00:00Z"}) for n, c in enumerate(contents)]


def test_every_item_is_counted_once_and_the_bar_ends_full(tmp_path: Path) -> None:
    items = [*_items(*(f"memory {n}" for n in range(250)), "memory 0", "poison"), Item("f:x", None, "not JSON")]
    steps: list[int] = []
    summary = run(items, FakeDestination(), Journal(tmp_path / "j", "here"), steps.append)
    assert summary.states == {"stored": 250, "duplicate": 1, "failed": 2}
    assert sum(steps) == len(items)
    assert summary.failures == [
        {"source": "f:x", "error": "not JSON"},
        {"source": "f:251", "error": "the model refuses it"},
    ]


def test_an_item_that_breaks_the_rules_is_a_failure_and_is_not_sent(tmp_path: Path) -> None:
    destination = FakeDestination()
    bad = Item("f:1", {"content": "x", "timestamp": "yesterday"})
    summary = run([bad, *_items("good")], destination, Journal(tmp_path / "j", "here"), lambda count: None)
    assert destination.sent == ["good"]
    assert "timestamp must be RFC 3339" in summary.failures[0]["error"]


def test_an_interrupted_import_goes_on_without_sending_again(tmp_path: Path) -> None:
    items = _items(*(f"memory {n}" for n in range(5_000)))
    first = FakeDestination(dies_after=2_500)
    with pytest.raises(KeyboardInterrupt):
        run(items, first, Journal(tmp_path / "j", "here"), lambda count: None)
    second = FakeDestination()
    second.requests = dict(first.requests)
    summary = run(items, second, Journal(tmp_path / "j", "here"), lambda count: None)
    assert sorted(first.sent + second.sent) == sorted(f"memory {n}" for n in range(5_000))
    assert summary.states["stored"] == 5_000
    assert list(tmp_path.iterdir()) == []


def test_supersession_is_restored_once_both_are_stored(tmp_path: Path) -> None:
    destination = FakeDestination()
    old, new = _items("old", "new")
    old = Item(old.source, old.arguments, superseded_by_hash=content_hash("new"))
    run([old, new], destination, Journal(tmp_path / "j", "here"), lambda count: None)
    successor = MemoryChange(superseded_by=destination.memories["new"])
    assert destination.changes == [(destination.memories["old"], successor)]


def test_a_supersession_that_is_refused_is_told_and_the_others_are_restored(tmp_path: Path) -> None:
    destination = FakeDestination()
    circle, old, new = _items("circle", "old", "new")
    circle = Item(circle.source, circle.arguments, superseded_by_hash=content_hash("circle"))
    old = Item(old.source, old.arguments, superseded_by_hash=content_hash("new"))
    summary = run([circle, old, new], destination, Journal(tmp_path / "j", "here"), lambda count: None)
    assert summary.failures == [{"source": circle.source, "error": "stored, but not all of it: a circle"}]
    assert summary.states == {"stored": 3}
    assert [memory_id for memory_id, _ in destination.changes] == [destination.memories["old"]]


def test_tags_that_were_removed_before_the_export_do_not_come_back_out_of_the_text(tmp_path: Path) -> None:
    destination = FakeDestination()
    arguments = {"content": "TAGS: a, b", "timestamp": "2026-05-20T12:00:00Z", "tags": ["c"]}
    run([Item("f:1", arguments, exact_tags=("c",))], destination, Journal(tmp_path / "j", "here"), lambda count: None)
    assert destination.changes == [(destination.memories["TAGS: a, b"], MemoryChange(tags=("c",)))]


def test_what_one_destination_was_sent_another_one_is_sent_too(tmp_path: Path) -> None:
    items = _items(*(f"memory {n}" for n in range(3_000)))
    with pytest.raises(KeyboardInterrupt):
        run(items, FakeDestination(dies_after=2_500), Journal(tmp_path / "j", "here"), lambda count: None)
    there = FakeDestination()
    summary = run(items, there, Journal(tmp_path / "j", "there"), lambda count: None)
    assert len(there.sent) == summary.states["stored"] == 3_000


def test_a_line_that_was_being_written_when_the_run_ended_is_sent_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", "here")
    journal.record("one", [new_id()])
    journal.record("two", [new_id()])
    journal.path.write_text(journal.path.read_text()[:-20])
    resumed = Journal(tmp_path / "j", "here")
    assert (resumed.resumed, resumed.published("two")) == (1, None)
    resumed.record("two", [new_id()])
    assert Journal(tmp_path / "j", "here").resumed == 2


def test_equal_batches_are_counted_each_for_itself_after_an_interruption(tmp_path: Path) -> None:
    items = _items(*(f"memory {n}" for n in range(100))) * 2 + _items(*(f"more {n}" for n in range(2_800)))
    first = FakeDestination(dies_after=2_500)
    with pytest.raises(KeyboardInterrupt):
        run(items, first, Journal(tmp_path / "j", "here"), lambda count: None)
    second = FakeDestination()
    second.requests = dict(first.requests)
    summary = run(items, second, Journal(tmp_path / "j", "here"), lambda count: None)
    assert summary.states == {"stored": 2_900, "duplicate": 100}


def test_a_batch_is_no_larger_than_a_request_may_be(tmp_path: Path) -> None:
    class Weighing(FakeDestination):
        largest = 0

        def send(self, memories: Sequence[MemoryInput]) -> list[UUID]:
            self.largest = max(self.largest, len(json.dumps([one.model_dump(mode="json") for one in memories])))
            return super().send(memories)

    destination = Weighing()
    large = [
        Item(f"f:{n}", {"content": f"{n}", "timestamp": "2026-05-20T12:00:00Z", "metadata": {"x": "y" * 60_000}})
        for n in range(100)
    ]
    summary = run(large, destination, Journal(tmp_path / "j", "here"), lambda count: None)
    assert summary.states == {"stored": 100}
    assert destination.largest < 4 * 1024 * 1024


def test_what_a_destination_made_anew_has_lost_is_sent_again_under_the_same_ids(tmp_path: Path) -> None:
    items = _items(*(f"memory {n}" for n in range(3_000)))
    with pytest.raises(KeyboardInterrupt):
        run(items, FakeDestination(dies_after=2_500), Journal(tmp_path / "j", "here"), lambda count: None)
    anew = FakeDestination()
    summary = run(items, anew, Journal(tmp_path / "j", "here"), lambda count: None)
    assert summary.states == {"stored": 3_000}
    assert sorted(anew.sent + anew.resent) == sorted(f"memory {n}" for n in range(3_000))


def test_supersession_reaches_across_files_and_what_is_missing_is_told(tmp_path: Path) -> None:
    destination, after = FakeDestination(), After()
    old, new, lone = _items("old", "new", "lone")
    old = Item(old.source, old.arguments, superseded_by_hash=content_hash("new"))
    lone = Item(lone.source, lone.arguments, superseded_by_hash=content_hash("elsewhere"))
    for name, items in (("1", [old, lone]), ("2", [new])):
        run_one(items, destination, Journal(tmp_path / name, "here"), lambda count: None, after)
    summary = Summary()
    after.apply(destination, summary)
    assert [change for _, change in destination.changes] == [MemoryChange(superseded_by=destination.memories["new"])]
    assert [one["source"] for one in summary.failures] == [lone.source]
