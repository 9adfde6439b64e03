"""Bulk ingest: publish in batches, follow every request to its outcome, and go on where it was interrupted."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

from mnemosyne.domain.chronicle import tags_of
from mnemosyne.domain.memory import BATCH_LIMIT, IngestState, MemoryChange, content_hash
from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.domain.parsing import parse
from mnemosyne.errors import Conflict, InvalidRequest, NotFound
from mnemosyne.formats.item import Item

BATCH_BYTES = 3_000_000
"""Of JSON, so that a batch fits into a request (4 MiB) and a message (9 MB)."""
WINDOW = 20
"""Batches under way at a time: enough to keep the subscriber busy, few enough that the bar does not run ahead."""


class Destination(Protocol):
    """Where memories are sent, and asked after."""

    @property
    def name(self) -> str:
        """Tells this destination from every other one, and this namespace."""

    def send(self, memories: Sequence[MemoryInput]) -> list[UUID]:
        """Publish them as one message; their request ids, in order."""

    def resend(self, memories: Sequence[MemoryInput], request_ids: Sequence[UUID]) -> None:
        """Publish them once more under the same ids where it is not known what became of them."""

    def outcomes(self, request_ids: Sequence[UUID]) -> Mapping[UUID, tuple[IngestState, UUID | None, str | None]]:
        """State, memory and error of each request."""

    def change(self, memory_id: UUID, change: MemoryChange) -> None:
        """Change what is not content of a stored memory."""

    def pause(self) -> None:
        """Wait a moment before asking again."""


@dataclass
class Summary:
    """What became of everything that was read."""

    states: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)

    def fail(self, source: str, error: str) -> None:
        """Note a memory that is not stored, and why."""
        self.states["failed"] += 1
        self.note(source, error)

    def note(self, source: str, error: str) -> None:
        """Note what is not as the source has it."""
        self.failures.append({"source": source, "error": error})


class Journal:
    """Which batches have been published, in a file beside the source, so that a later run need not do it again.

    A journal belongs to one source and one destination: what one system was sent, another one lacks.
    """

    def __init__(self, source: Path, destination: str) -> None:
        self.path = (
            source.parent / f"{source.name}.{hashlib.sha256(destination.encode()).hexdigest()[:8]}.import-journal"
        )
        text = self.path.read_text() if self.path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if whole != text:  # the last line was being written when the run before ended
            self.path.write_text(whole)
        records = [json.loads(line) for line in whole.splitlines()]
        self._known = {record["batch"]: [UUID(one) for one in record["request_ids"]] for record in records}

    @property
    def resumed(self) -> int:
        """How many batches a run before has published."""
        return len(self._known)

    def published(self, batch: str) -> list[UUID] | None:
        """The request ids under which a batch was published before."""
        return self._known.get(batch)

    def record(self, batch: str, request_ids: Sequence[UUID]) -> None:
        """Note that a batch is published."""
        with self.path.open("a") as file:
            file.write(json.dumps({"batch": batch, "request_ids": [str(one) for one in request_ids]}) + "\n")

    def finish(self) -> None:
        """Everything has an outcome: the next import of the same file begins anew."""
        self.path.unlink(missing_ok=True)


@dataclass
class _Batch:
    items: list[tuple[Item, MemoryInput]]
    request_ids: list[UUID]
    open: set[UUID]


@dataclass
class After:
    """What is said of memories once all are stored, because an ingest cannot say it; for all files of one import."""

    stored: dict[str, tuple[UUID, IngestState]] = field(default_factory=dict)
    """By content hash: the memory, and whether it is new."""
    successors: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By content hash: where it was read, and the content hash of what replaces it."""
    tags: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """By content hash: where it was read, and its tags where those that its text names are not among them."""

    def note(self, item: Item, memory: MemoryInput) -> None:
        """Note what an item says of a memory to come."""
        key = content_hash(memory.content)
        if item.superseded_by_hash:
            self.successors[key] = item.source, item.superseded_by_hash
        if item.exact_tags is not None and set(tags_of(memory.content)) - set(item.exact_tags):
            self.tags[key] = item.source, item.exact_tags

    def apply(self, destination: Destination, summary: Summary) -> None:
        """Say it; what is refused, or cannot be said, goes to the summary's failures."""
        for source, memory_id, change in self._changes(summary):
            try:
                destination.change(memory_id, change)
            except (InvalidRequest, NotFound, Conflict) as exc:
                summary.note(source, f"stored, but not all of it: {exc}")

    def _changes(self, summary: Summary) -> Iterator[tuple[str, UUID, MemoryChange]]:
        for key, (source, tags) in self.tags.items():
            memory_id, state = self.stored.get(key, (None, None))
            if memory_id and state is IngestState.STORED:
                yield source, memory_id, MemoryChange(tags=tags)
        for key, (source, successor) in self.successors.items():
            if key in self.stored and successor in self.stored:
                yield source, self.stored[key][0], MemoryChange(superseded_by=self.stored[successor][0])
            elif key in self.stored:
                summary.note(source, "stored, but what supersedes it is not in these files: update_memory says so")


def run(
    items: Iterable[Item], destination: Destination, journal: Journal, progress: Callable[[int], None], after: After
) -> Summary:
    """Send every item and follow it to its outcome; `progress` hears how many more are final.

    `after` is to be applied, and the journal to be finished, once all files have been run.
    """
    summary = Summary()
    under_way: list[_Batch] = []

    def settle(down_to: int) -> None:
        while len(under_way) > down_to:
            for batch in under_way:
                progress(_follow(batch, destination, summary, after))
            under_way[:] = [batch for batch in under_way if batch.open]
            if len(under_way) > down_to:
                destination.pause()

    for number, batch in enumerate(_batches(items, summary, after, progress)):
        contents = hashlib.sha256("".join(content_hash(one.content) for _, one in batch).encode())
        key = f"{number} {contents.hexdigest()}"
        request_ids = journal.published(key)
        if request_ids is None:
            request_ids = destination.send([one for _, one in batch])
            journal.record(key, request_ids)
        else:
            destination.resend([one for _, one in batch], request_ids)
        under_way.append(_Batch(batch, request_ids, set(request_ids)))
        settle(WINDOW)
    settle(0)
    return summary


def _follow(batch: _Batch, destination: Destination, summary: Summary, after: After) -> int:
    """How many of the batch's requests have reached their outcome since it was last asked."""
    outcomes = destination.outcomes(sorted(batch.open))
    count = 0
    for (item, memory), request_id in zip(batch.items, batch.request_ids, strict=True):
        state, memory_id, error = outcomes.get(request_id, (IngestState.QUEUED, None, None))
        if request_id not in batch.open or state is IngestState.QUEUED:
            continue
        batch.open.discard(request_id)
        count += 1
        if memory_id is not None:
            after.stored.setdefault(content_hash(memory.content), (memory_id, state))
            summary.states[state] += 1
        else:
            summary.fail(item.source, error or state)
    return count


def _batches(
    items: Iterable[Item], summary: Summary, after: After, progress: Callable[[int], None]
) -> Iterator[list[tuple[Item, MemoryInput]]]:
    """The items that can be sent, in batches that one message takes; the others are failures at once."""
    batch: list[tuple[Item, MemoryInput]] = []
    size = 0
    for item in items:
        try:
            if item.arguments is None:
                raise InvalidRequest(item.problem)
            memory = parse(MemoryInput, item.arguments, of="a memory")
        except InvalidRequest as exc:
            summary.fail(item.source, str(exc))
            progress(1)
            continue
        after.note(item, memory)
        weight = len(memory.model_dump_json().encode())
        if batch and (len(batch) == BATCH_LIMIT or size + weight > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((item, memory))
        size += weight
    if batch:
        yield batch
