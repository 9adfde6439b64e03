"""Bulk ingest: publish in batches, follow every request to its outcome, and go on where it was interrupted."""

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from mnemosyne.domain.memory import BATCH_LIMIT, IngestState, MemoryChange, content_hash
from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.domain.parsing import parse
from mnemosyne.errors import Conflict, InvalidRequest, NotFound
from mnemosyne.formats.item import Item
from mnemosyne_cli.journal import BatchOutcome, Journal, PostImportUpdate

BATCH_BYTES = 3_000_000
"""Of JSON, so that a batch fits into a request (4 MiB) and a message (9 MB)."""
WINDOW = 40
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
class _Batch:
    """Memories of one message, with those beside them that cannot be sent, until each has its outcome."""

    number: int
    items: list[tuple[Item, MemoryInput]] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)
    size: int = 0
    request_ids: list[UUID] = field(default_factory=list)
    open: set[UUID] = field(default_factory=set)
    states: Counter[str] = field(default_factory=Counter)
    stored: list[tuple[str, UUID, bool]] = field(default_factory=list)

    @property
    def contents(self) -> str:
        """What tells it from another in its place."""
        hashes = "".join(content_hash(memory.content, memory.session) for _, memory in self.items)
        return hashlib.sha256(f"{hashes} {self.failures}".encode(errors="replace")).hexdigest()

    @property
    def memories(self) -> list[MemoryInput]:
        """What is sent."""
        return [memory for _, memory in self.items]

    @property
    def later(self) -> list[PostImportUpdate]:
        """What is to be said of its memories once all are stored."""
        return [later for item, memory in self.items if (later := _later(item, memory))]

    @property
    def left_out(self) -> Counter[str]:
        """How many of its memories had a field that memories have not."""
        return Counter(name for item, _ in self.items for name in item.left_out)


def _later(item: Item, memory: MemoryInput) -> PostImportUpdate | None:
    tags = item.tags_to_set(memory.content)
    if not item.superseded_by_hash and tags is None:
        return None
    return PostImportUpdate(content_hash(memory.content, memory.session), item.source, item.superseded_by_hash, tags)


def run(items: Iterable[Item], destination: Destination, journal: Journal, progress: Callable[[int], None]) -> None:
    """Send every item and follow it to its outcome, in the journal; `progress` is called with how many more are final.

    Batches that the journal knows as finished are skipped. Call `apply_post_import_updates`, and finish the journals,
    once all files have been run.
    """
    under_way: deque[_Batch] = deque()

    def wait_until_done(down_to: int) -> None:
        while len(under_way) > down_to:
            for batch in list(under_way):
                count = _follow(batch, destination)
                progress(count)
                if not batch.open:
                    journal.finish_batch(batch.number, BatchOutcome(batch.states, batch.failures, batch.stored))
                    under_way.remove(batch)
                if not count:  # they end about in their order: what is behind this one is further off
                    break
            if len(under_way) > down_to:
                destination.pause()

    for batch in _batches(items):
        known = journal.published(batch.number, batch.contents)
        if known and known.is_finished:
            progress(len(batch.items) + len(batch.failures))
            continue
        if known:
            batch.request_ids = known.request_ids
            if batch.items:
                destination.resend(batch.memories, batch.request_ids)
        else:
            batch.request_ids = destination.send(batch.memories) if batch.items else []
            journal.record(batch.number, batch.contents, batch.request_ids, batch.left_out, batch.later)
        batch.open = set(batch.request_ids)
        batch.states["failed"] += len(batch.failures)
        progress(len(batch.failures))
        under_way.append(batch)
        wait_until_done(WINDOW)
    wait_until_done(0)


def _follow(batch: _Batch, destination: Destination) -> int:
    """How many of the batch's requests have reached their outcome since it was last asked."""
    outcomes = destination.outcomes(sorted(batch.open)) if batch.open else {}
    count = 0
    for (item, memory), request_id in zip(batch.items, batch.request_ids, strict=True):
        state, memory_id, error = outcomes.get(request_id, (IngestState.QUEUED, None, None))
        if request_id not in batch.open or state is IngestState.QUEUED:
            continue
        batch.open.discard(request_id)
        count += 1
        if memory_id is not None:
            batch.stored.append((content_hash(memory.content, memory.session), memory_id, state is IngestState.STORED))
            batch.states[state] += 1
        else:
            batch.states["failed"] += 1
            batch.failures.append((item.source, error or state))
    return count


def _batches(items: Iterable[Item]) -> Iterator[_Batch]:
    """Yield the items in batches that one message takes, beside those that cannot be sent."""
    batch = _Batch(0)
    for item in items:
        try:
            if item.arguments is None:
                raise InvalidRequest(item.problem)
            memory = parse(MemoryInput, item.arguments, of="a memory")
        except InvalidRequest as exc:
            batch.failures.append((item.source, str(exc)))
            weight = 0
        else:
            weight = len(memory.model_dump_json().encode())
            if batch.items and batch.size + weight > BATCH_BYTES:
                yield batch
                batch = _Batch(batch.number + 1)
            batch.items.append((item, memory))
            batch.size += weight
        if len(batch.items) + len(batch.failures) >= BATCH_LIMIT:
            yield batch
            batch = _Batch(batch.number + 1)
    if batch.items or batch.failures:
        yield batch


def apply_post_import_updates(journals: Sequence[Journal], destination: Destination) -> None:
    """Say of the stored memories what an ingest cannot; what is refused, or cannot be said, becomes a failure."""

    def stored(content: str) -> tuple[UUID, bool] | None:
        return next((found for one in journals if (found := one.stored(content))), None)

    for journal in journals:
        for one in list(journal.later()):
            found = stored(one.content)
            if found is None:
                continue
            memory_id, is_new = found
            changes = [MemoryChange(tags=one.tags)] if one.tags is not None and is_new else []
            if one.successor:
                if successor := stored(one.successor):
                    changes.append(MemoryChange(superseded_by=successor[0]))
                else:
                    journal.fail(
                        one.source, "stored, but what supersedes it is not in these files: update_memory says so"
                    )
            for change in changes:
                try:
                    destination.change(memory_id, change)
                except (InvalidRequest, NotFound, Conflict) as exc:
                    journal.fail(one.source, f"stored, but not all of it: {exc}")
