"""Bulk ingest: publish in batches, follow every request to its outcome, and go on where it was interrupted."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

from infra.cli.formats import Item
from mnemosyne.domain.memory import BATCH_LIMIT, IngestState, content_hash
from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.domain.parsing import parse
from mnemosyne.errors import InvalidRequest

BATCH_CHARACTERS = 1_000_000
WINDOW = 20
"""Batches under way at a time: enough to keep the subscriber busy, few enough that the bar does not run ahead."""


class Destination(Protocol):
    """Where memories are sent, and asked after."""

    def send(self, memories: Sequence[MemoryInput]) -> list[UUID]:
        """Publish them as one message; their request ids, in order."""

    def outcomes(self, request_ids: Sequence[UUID]) -> Mapping[UUID, tuple[IngestState, UUID | None, str | None]]:
        """State, memory and error of each request."""

    def supersede(self, memory_id: UUID, successor: UUID) -> None:
        """Say that one memory replaces another."""

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
        self.failures.append({"source": source, "error": error})


class Journal:
    """Which batches have been published, in a file beside the source, so that a later run need not do it again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        records = [json.loads(line) for line in lines if line.endswith("}")]
        self._known = {record["batch"]: [UUID(one) for one in record["request_ids"]] for record in records}

    def published(self, digest: str) -> list[UUID] | None:
        """The request ids under which a batch was published before."""
        return self._known.get(digest)

    def record(self, digest: str, request_ids: Sequence[UUID]) -> None:
        """Note that a batch is published."""
        with self._path.open("a") as file:
            file.write(json.dumps({"batch": digest, "request_ids": [str(one) for one in request_ids]}) + "\n")

    def finish(self) -> None:
        """Everything has an outcome: the next import of the same file begins anew."""
        self._path.unlink(missing_ok=True)


@dataclass
class _Batch:
    items: list[tuple[Item, MemoryInput]]
    request_ids: list[UUID]
    open: set[UUID]


def run(items: Iterable[Item], destination: Destination, journal: Journal, progress: Callable[[int], None]) -> Summary:
    """Send every item and follow it to its outcome; `progress` hears how many more are final."""
    summary = Summary()
    stored: dict[str, UUID] = {}
    successors: dict[str, str] = {}
    under_way: list[_Batch] = []

    def settle(down_to: int) -> None:
        while len(under_way) > down_to:
            for batch in under_way:
                progress(_follow(batch, destination, summary, stored))
            under_way[:] = [batch for batch in under_way if batch.open]
            if len(under_way) > down_to:
                destination.pause()

    for batch in _batches(items, summary, successors, progress):
        digest = hashlib.sha256("".join(content_hash(one.content) for _, one in batch).encode()).hexdigest()
        request_ids = journal.published(digest)
        if request_ids is None:
            request_ids = destination.send([one for _, one in batch])
            journal.record(digest, request_ids)
        under_way.append(_Batch(batch, request_ids, set(request_ids)))
        settle(WINDOW)
    settle(0)
    for old, new in successors.items():
        if old in stored and new in stored:
            destination.supersede(stored[old], stored[new])
    journal.finish()
    return summary


def _follow(batch: _Batch, destination: Destination, summary: Summary, stored: dict[str, UUID]) -> int:
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
            stored[content_hash(memory.content)] = memory_id
            summary.states[state] += 1
        else:
            summary.fail(item.source, error or state)
    return count


def _batches(
    items: Iterable[Item], summary: Summary, successors: dict[str, str], progress: Callable[[int], None]
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
        if item.superseded_by_hash:
            successors[content_hash(memory.content)] = item.superseded_by_hash
        if batch and (len(batch) == BATCH_LIMIT or size + len(memory.content) > BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append((item, memory))
        size += len(memory.content)
    if batch:
        yield batch
