"""Bulk import: every item ends counted once, and an interrupted run goes on without sending twice."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import UUID

import pytest

from infra.cli.formats import Item
from infra.cli.importer import Journal, run
from mnemosyne.domain.memory import IngestState, content_hash
from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.ids import new_id


class FakeDestination:
    """Settles each request at the second question; content seen before is a duplicate, poison fails."""

    def __init__(self, dies_after: int = 1_000_000) -> None:
        self.sent: list[str] = []
        self.requests: dict[UUID, str] = {}
        self.memories: dict[str, UUID] = {}
        self.superseded: list[tuple[UUID, UUID]] = []
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

    def supersede(self, memory_id: UUID, successor: UUID) -> None:
        self.superseded.append((memory_id, successor))

    def pause(self) -> None:
        """No time passes here."""


def _items(*contents: str) -> list[Item]:
    return [Item(f"f:{n}", {"content": c, "timestamp": "2026-05-20T12:00:00Z"}) for n, c in enumerate(contents)]


def test_every_item_is_counted_once_and_the_bar_ends_full(tmp_path: Path) -> None:
    items = [*_items(*(f"memory {n}" for n in range(250)), "memory 0", "poison"), Item("f:x", None, "not JSON")]
    steps: list[int] = []
    summary = run(items, FakeDestination(), Journal(tmp_path / "j"), steps.append)
    assert summary.states == {"stored": 250, "duplicate": 1, "failed": 2}
    assert sum(steps) == len(items)
    assert summary.failures == [
        {"source": "f:x", "error": "not JSON"},
        {"source": "f:251", "error": "the model refuses it"},
    ]


def test_an_item_that_breaks_the_rules_is_a_failure_and_is_not_sent(tmp_path: Path) -> None:
    destination = FakeDestination()
    bad = Item("f:1", {"content": "x", "timestamp": "yesterday"})
    summary = run([bad, *_items("good")], destination, Journal(tmp_path / "j"), lambda count: None)
    assert destination.sent == ["good"]
    assert "timestamp must be RFC 3339" in summary.failures[0]["error"]


def test_an_interrupted_import_goes_on_without_sending_again(tmp_path: Path) -> None:
    items = _items(*(f"memory {n}" for n in range(5_000)))
    first = FakeDestination(dies_after=2_500)
    with pytest.raises(KeyboardInterrupt):
        run(items, first, Journal(tmp_path / "j"), lambda count: None)
    second = FakeDestination()
    second.requests = dict(first.requests)
    summary = run(items, second, Journal(tmp_path / "j"), lambda count: None)
    assert sorted(first.sent + second.sent) == sorted(f"memory {n}" for n in range(5_000))
    assert summary.states["stored"] == 5_000
    assert not (tmp_path / "j").exists()


def test_supersession_is_restored_once_both_are_stored(tmp_path: Path) -> None:
    destination = FakeDestination()
    old, new = _items("old", "new")
    old = Item(old.source, old.arguments, superseded_by_hash=content_hash("new"))
    run([old, new], destination, Journal(tmp_path / "j"), lambda count: None)
    assert destination.superseded == [(destination.memories["old"], destination.memories["new"])]
