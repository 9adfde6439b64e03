"""Ingest many memories: publish them in batches, wait for the outcome of each request, resume interrupted imports.

An outcome is the state of a request that is no longer queued. The journal is a file with the progress of the import.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol
from uuid import UUID

from mnemosyne.cli.import_source import Batch, Record, Source
from mnemosyne.cli.journal import UNCHANGED, Failure, Journal, Published
from mnemosyne.domain.batches import batches
from mnemosyne.domain.memory import BATCH_LIMIT, FailedRequest, IngestRequest, IngestState, IngestStatus, Request
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.domain.memory_input import Defaults
from mnemosyne.domain.message import encode
from mnemosyne.formats.item import Item, read_item
from mnemosyne.service.seen_requests import SeenRequests

BATCH_BYTES = 1_000_000
"""Maximum bytes of a batch as JSON. An import into a server sends the batch as a string in a JSON request of at most 4
MiB. The batch fits into the request even if many of its characters must be escaped in this string."""
WINDOW = 40
"""Maximum number of unfinished batches at a time. It is large enough that the system always has messages to store. The
import reads no outcomes before this number is reached, so a larger number would delay the progress bar."""
NOT_STORED = "not stored"
"""Key for the number of memories that an import does not store because they were deleted or have expired."""
_SUCCESSES = (IngestState.STORED, IngestState.DUPLICATE, IngestState.DELETED)


class Destination(Protocol):
    """A system to which records are sent, through a Pub/Sub topic or through a server's tools."""

    @property
    def name(self) -> str:
        """Name that identifies this destination and its namespace among all others."""

    @property
    def namespace(self) -> str | None:
        """The namespace of the records; None if only the server knows it."""

    def new_id(self) -> UUID:
        """Return a new request id, for a record without source and key."""

    def send(self, records: Sequence[Record], source: Source) -> None:
        """Send the records as one message. For an invalid record, send the record's error instead."""

    def outcomes(self, request_ids: Sequence[UUID]) -> Mapping[UUID, IngestStatus]:
        """Return the known outcomes of requests. The result is empty while the system is unavailable."""

    def belongs_to(self, status: IngestStatus, reading: Request) -> bool:
        """Whether an earlier outcome belongs to this request, and not to another request with the same id."""

    def change(self, memory_id: UUID, change: MemoryChange) -> None:
        """Change the tags of a stored memory, or set the memory that supersedes (replaces) it."""

    def pause(self) -> None:
        """Wait a moment before the next request for outcomes."""


class UnderWay:
    """The sent batches of an import, from all its files, in which at least one record has no outcome yet."""

    def __init__(self, destination: Destination) -> None:
        self.destination = destination
        self._batches: deque[tuple[Batch, Journal]] = deque()

    def add(self, batch: Batch, journal: Journal, progress: Callable[[int], None]) -> None:
        """Add a batch. If there are then more than WINDOW batches, wait for outcomes."""
        self._batches.append((batch, journal))
        self.wait(progress, down_to=WINDOW)

    def wait(self, progress: Callable[[int], None], *, down_to: int = 0) -> None:
        """Read outcomes until at most `down_to` batches are unfinished. Record finished batches in their journals."""
        while len(self._batches) > down_to:
            # Ask for the outcomes of several small batches in one call. With a call for each batch, an import of many
            # small files would be slow.
            for group in list(batches(self._batches, _count_open_requests, most=BATCH_LIMIT, largest=BATCH_LIMIT)):
                request_ids = set[UUID]().union(*(batch.open for batch, _ in group))
                outcomes = self.destination.outcomes(sorted(request_ids))
                count = sum(_add_outcomes(batch, outcomes, self.destination) for batch, _ in group)
                progress(count)
                self._record_finished([entry for entry in group if not entry[0].open])
                if not count:  # later batches probably have no new outcomes either, so pause before asking for them
                    break
            if len(self._batches) > down_to:
                self.destination.pause()

    def _record_finished(self, finished: Sequence[tuple[Batch, Journal]]) -> None:
        for batch, journal in finished:
            journal.finish_batch(batch.number, batch.states, batch.failures, batch.stored)
            self._batches.remove((batch, journal))
            if all(journal is not other for _, other in self._batches):
                journal.close()  # the journal opens again if its file has further batches


def _count_open_requests(entry: tuple[Batch, Journal]) -> int:
    return len(entry[0].open)


def run(
    items: Iterable[Item], source: Source, destination: Destination, journal: Journal, progress: Callable[[int], None]
) -> None:
    """Send every item (a record from a file) of a single file, and wait until all items have an outcome."""
    under_way = UnderWay(destination)
    send(items, source, under_way, journal, progress, SeenRequests())
    under_way.wait(progress)


def send(
    items: Iterable[Item],
    source: Source,
    under_way: UnderWay,
    journal: Journal,
    progress: Callable[[int], None],
    index: SeenRequests,
) -> None:
    """Send every item (a record from a file), and record the progress in the journal.

    A batch that is finished according to the journal is skipped. The request ids of a batch are recorded before it is
    sent. So after a crash, the next run reads the outcomes of these requests. It sends requests without an outcome
    again, with the same ids. `progress` is called with the number of records that have got an outcome, or that are in a
    skipped batch. `index` has the request ids of all records that this import has already read, also in other files.

    The last batches may have no outcomes yet. After the last file, the caller must call `under_way.wait` and
    `post_import_updates.apply`, and finish the journals.
    """
    batch_count = 0
    for batch in _batches(items, source, under_way.destination, index):
        batch_count = batch.number + 1
        earlier = journal.published(batch.number, batch.contents)
        if earlier and earlier.is_finished:
            progress(len(batch.records))
            continue
        unsent = _prepare(batch, earlier, under_way.destination, journal)
        if unsent:
            under_way.destination.send(unsent, source)
        batch.open = set(batch.request_ids)
        under_way.add(batch, journal, progress)
    journal.forget_batches(batch_count)


def _prepare(batch: Batch, earlier: Published | None, destination: Destination, journal: Journal) -> list[Record]:
    """Prepare a batch for sending, and return those of its records that must be sent.

    `earlier` is the batch as an earlier run has recorded it in the journal. The batch then gets the recorded request
    ids. For a new batch, `earlier` is None, and this function records the batch in the journal.
    """
    if earlier:
        pairs = zip(batch.records, earlier.request_ids, strict=True)
        batch.records = [replace(record, reading=replace(record.reading, request_id=id_)) for record, id_ in pairs]
        batch.present = earlier.present
        outcomes = destination.outcomes(batch.request_ids)
        return [record for record in batch.records if record.reading.request_id not in outcomes]
    _find_earlier_outcomes(batch, destination)
    journal.record(batch.number, batch.contents, batch.request_ids, batch.left_out, batch.updates, batch.present)
    return [record for record in batch.records if record.reading.request_id not in batch.present]


def _find_earlier_outcomes(batch: Batch, destination: Destination) -> None:
    """Store in the batch the outcomes that its requests have from an earlier import.

    A record with source and key, or with a request id in the file, has the same request id in each import.
    """
    readings = [
        record.reading
        for record in batch.records
        if not isinstance(record.reading, FailedRequest) and (record.reading.external_id or record.names_request)
    ]
    outcomes = destination.outcomes([reading.request_id for reading in readings]) if readings else {}
    batch.present = {request_id for request_id, outcome in outcomes.items() if outcome.state in _SUCCESSES}
    failed_states = (IngestState.FAILED, IngestState.DEAD_LETTERED)
    batch.earlier = {request_id: outcome for request_id, outcome in outcomes.items() if outcome.state in failed_states}


def _add_outcomes(batch: Batch, outcomes: Mapping[UUID, IngestStatus], destination: Destination) -> int:
    """Store new outcomes in the batch, and return the number of records that got their outcome by this call."""
    statuses = {
        request_id: outcome
        for request_id, outcome in outcomes.items()
        if request_id in batch.open
        and outcome.state is not IngestState.QUEUED
        and (outcome.updated_at is None or outcome != batch.earlier.get(request_id))
    }
    count = 0
    for record in batch.records:
        reading = record.reading
        if reading.request_id not in statuses:
            continue
        status = statuses[reading.request_id]
        state, memory_id, note = status.state, status.memory_id, status.note
        count += 1
        is_present = reading.request_id in batch.present
        if (is_present or record.is_repeated) and state is IngestState.STORED:
            state = IngestState.DUPLICATE
        error = "" if state in _SUCCESSES else status.error or state
        if isinstance(reading, FailedRequest):
            error = reading.error  # `status` may belong to an earlier request with the same id
        if (
            is_present
            and record.names_request
            and not isinstance(reading, FailedRequest)
            and not destination.belongs_to(status, reading)
        ):
            error = f"request_id must be unique, got {reading.request_id}: an earlier request has it"
        if error:
            batch.states["failed"] += 1
            batch.failures.append(Failure(record.item.source, error, record.line))
            continue
        is_kept_out = state is IngestState.DELETED and isinstance(reading, IngestRequest)
        batch.states[NOT_STORED if is_kept_out else state] += 1
        if note and "values of the request were not stored" in note:
            batch.states[UNCHANGED] += 1
        if record.item.path is not None and note and f"memory {memory_id} is superseded by" in note:
            problem = f"stored, but an earlier version of the note has a later time, so searches show that one: {note}"
            batch.failures.append(Failure(record.item.source, f"{problem}; delete the other memory", record.line))
        if isinstance(reading, IngestRequest) and memory_id is not None and state is not IngestState.DELETED:
            batch.stored.append((reading.content_hash, memory_id, state is IngestState.STORED))
    batch.open -= statuses.keys()
    return count


def _batches(items: Iterable[Item], source: Source, destination: Destination, index: SeenRequests) -> Iterator[Batch]:
    """Divide the items into batches, each small enough for one message, and yield the batches."""
    batch = Batch(0)
    for item in items:
        external_id = source.external_id(item)
        defaults = Defaults(
            new_id=destination.new_id,
            namespace=destination.namespace,
            place=external_id,
            deleted_at=item.modified,
            timezone=source.timezone,
        )
        reading, is_repeated = index.check(item, read_item(item, defaults, vault=source.vault), external_id)
        weight = len(encode("", [reading], "")[0])
        if batch.records and batch.size + weight > BATCH_BYTES:
            yield batch
            batch = Batch(batch.number + 1)
        batch.records.append(Record(item, reading, is_repeated, source.timezone))
        batch.size += weight
        if len(batch.records) >= BATCH_LIMIT:
            yield batch
            batch = Batch(batch.number + 1)
    if batch.records:
        yield batch
