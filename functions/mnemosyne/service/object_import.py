"""Import an object of a bucket: publish its records, wait for the outcomes, and write a report next to the object."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from mnemosyne.domain.memory import BATCH_LIMIT, ExternalId, FailedRequest, IngestState, Reading
from mnemosyne.domain.memory_input import Defaults
from mnemosyne.domain.message import encode
from mnemosyne.domain.object_import import (
    OBJECT_BYTES,
    REPEATED,
    ObjectImport,
    OpenObject,
    StoredObject,
    key_of,
    line_of,
)
from mnemosyne.domain.provenance import Provenance, Publisher
from mnemosyne.errors import InvalidRequest, NotFound, Unavailable
from mnemosyne.formats.item import Item, read_item
from mnemosyne.formats.reading import format_of, read, unpacked_name
from mnemosyne.ids import derived_id
from mnemosyne.observability import EventLog
from mnemosyne.ports.services import ImportServices
from mnemosyne.service import outcomes
from mnemosyne.service.rejection import INVALID_RECORD, reject
from mnemosyne.service.seen_requests import SeenRequests, may_repeat, refuse

if TYPE_CHECKING:
    from mnemosyne.adapters.database.object_imports import ObjectImports

log = EventLog(__name__)

BUCKET = "bucket"
"""Name of the client that is recorded as the sender of the requests from an imported object."""
BUDGET_SECONDS = 480.0
"""Seconds that one delivery may take, because Pub/Sub waits ten minutes. The next delivery continues the import."""
BATCH_BYTES = 3_000_000
READ_AGAIN = 1_000_000
"""Maximum number of records that a delivery reads again, although an earlier delivery has published them. They are read
again to find later records of the object that have the same request ids. Reading this many records takes two to four
minutes. Without a limit, a delivery of a large object would have no time to publish further records."""
RECORD_SECONDS = 2.0
"""Seconds between two recordings of the progress. After a crash, the records that were published after the last
recording are published a second time, with the same request ids."""
POLL_SECONDS = 1.0
LEFT_OUT_NAMES = 100
PAGE = 1000


def import_object(
    namespace: str,
    stored_object: StoredObject,
    services: ImportServices,
    *,
    message_id: str,
    budget: float = BUDGET_SECONDS,
    pause: Callable[[float], object] = time.sleep,
) -> None:
    """Continue the import of an object until its report is written.

    Each record becomes a separate request. A record without source and key gets an id from the object's generation (the
    version number in Cloud Storage) and the line, so that the record has the same id when the object is read again.

    Raises Unavailable if `budget` (in seconds) is used up or a service is unavailable. The message is then delivered
    again.
    """
    deadline = time.monotonic() + budget
    imports = services.imports_of(namespace)
    progress = imports.progress(stored_object.source) or ObjectImport(source=stored_object.source)
    if progress.is_reported:
        imports.delete_lines(stored_object.source)
        return
    if not progress.is_read:
        imports.record(progress, {})  # record the start of the import before its first record is published
        progress = _Reading(namespace, stored_object, services, progress, deadline, message_id).finish()
    counts = _wait_for_outcomes(progress, imports, deadline, pause)
    services.objects.write_report(stored_object, _report_lines(progress, imports, counts))
    imports.record(replace(progress, is_reported=True))
    imports.delete_lines(stored_object.source)
    log.info("object_imported", namespace=namespace, count=progress.memories)


@dataclass(frozen=True)
class _Record:
    """A record of an object. `key` is made from the number of its line (see `key_of`)."""

    reading: Reading
    key: str
    names_request: bool
    """Whether the record itself contains a request id."""


@dataclass
class _Reading:
    """Reads an object and publishes its records during one delivery of the object's notification."""

    namespace: str
    stored_object: StoredObject
    services: ImportServices
    progress: ObjectImport
    deadline: float
    message_id: str
    batch: list[_Record] = field(default_factory=list)
    failures: list[FailedRequest] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    lines: dict[str, UUID] = field(default_factory=dict)
    """The request id of each record that was read since the progress was last recorded, by the record's key (see
    `key_of`)."""
    seen_requests: SeenRequests = field(default_factory=SeenRequests)
    size: int = 0
    recorded: float = field(default_factory=time.monotonic)

    def finish(self) -> ObjectImport:
        """Read the object until its end or the first error. Raises Unavailable if the time runs out before."""
        error = None
        try:
            with self.services.objects.open(self.stored_object) as file:
                self._read_items(file)
        except (InvalidRequest, NotFound) as exc:
            error = str(exc)
        self._publish_batch()
        self.progress = replace(self.progress, is_read=True, error=error)
        self._record_progress()
        return self.progress

    def _record_progress(self) -> None:
        """Save the progress, and the request ids of the records that were read since the previous call."""
        self.services.imports_of(self.namespace).record(self.progress, self.lines)
        self.lines = {}
        self.recorded = time.monotonic()

    def _read_items(self, file: OpenObject) -> None:
        name = self.stored_object.name
        format_ = format_of(name)
        if format_ is None:
            raise InvalidRequest(f"{name} must end in .jsonl, .ndjson, .md, .txt or .chronicle, with or without .gz")
        if file.size > OBJECT_BYTES:
            raise InvalidRequest(f"{name} must have at most {OBJECT_BYTES:,} bytes, got {file.size:,}: split it")
        packed = file.packed or unpacked_name(name) != name
        published = self.progress.memories
        skip = max(0, published - READ_AGAIN)
        items = read(file.stream, name, format_, modified=file.modified, packed=packed, skip=skip)
        for number, item in enumerate(items, skip):
            if number >= published:
                self._add_item(item, file.modified)
            elif may_repeat(item):  # this record is published already, but a later one can have the same request id
                self._read_item(item, file.modified)

    def _read_item(self, item: Item, modified: datetime | None) -> tuple[Reading, bool]:
        """Return the request of the record, and whether the record repeats an earlier record of the object."""
        key = key_of(item.line, item.place)
        defaults = Defaults(
            new_id=partial(derived_id, self.stored_object.source, key),
            namespace=self.namespace,
            place=(place := ExternalId(self.stored_object.source, key)),
            deleted_at=modified,
        )
        reading = read_item(item, defaults, vault=f"gs://{self.stored_object.bucket}")
        return self.seen_requests.check(item, reading, place)

    def _add_item(self, item: Item, modified: datetime | None) -> None:
        key = key_of(item.line, item.place)
        reading, is_repeated = self._read_item(item, modified)
        key += REPEATED if is_repeated else ""
        weight = len(encode(self.namespace, [reading], "")[0])
        if self.size + weight > BATCH_BYTES:
            self._publish_batch()
        # `_publish_batch` may record the request ids in `lines`, and a recorded id cannot change. The id of this record
        # may still change, because `_separate_failures` may refuse the record. So add it after the call.
        self.lines[key] = reading.request_id
        self.batch.append(_Record(reading, key, names_request=bool((item.fields or {}).get("request_id"))))
        self.size += weight
        self._note_left_out([*item.left_out, *(["superseded_by_hash"] if item.superseded_by_hash else [])])
        if len(self.batch) >= BATCH_LIMIT:
            self._publish_batch()

    def _separate_failures(self) -> None:
        """Move the invalid records of the batch to `failures`.

        A record is also refused if its request id belongs to an earlier request with different content. Such a record
        gets a new request id. Otherwise the report would show the outcome of the earlier request for the record.
        """
        named = [record.reading for record in self.batch if record.names_request]
        conflicting = self.services.imports_of(self.namespace).conflicting(named) if named else set()
        valid = []
        for record in self.batch:
            reading = record.reading
            if reading.request_id in conflicting:
                taken = f"request_id must be unique, got {reading.request_id}: an earlier request has it"
                error = reading.error if isinstance(reading, FailedRequest) else taken
                place = ExternalId(self.stored_object.source, record.key.removesuffix(REPEATED))
                reading = refuse(reading, error, place)
                self.lines[record.key] = reading.request_id
            if isinstance(reading, FailedRequest):
                provenance = Provenance(
                    client=BUCKET, import_name=self.stored_object.source, import_line=line_of(record.key)
                )
                self.failures.append(replace(reading, provenance=provenance))
            else:
                valid.append(record)
        self.batch = valid

    def _note_left_out(self, names: Sequence[str]) -> None:
        """Count unknown fields by name. After LEFT_OUT_NAMES names, fields with a new name are counted as `…`."""
        for name in names:
            is_known = name in self.left_out or name in self.progress.left_out
            room = len(self.left_out) + len(self.progress.left_out) < LEFT_OUT_NAMES
            self.left_out[name if is_known or room else "…"] += 1

    def _record_failures(self) -> None:
        """Record refused records as failed, and announce these outcomes.

        The service `ingest` cannot do this, because refused records are not published.
        """
        memories, topic = self.services.memories_of(self.namespace), self.services.outcome_topic
        reject(self.failures, memories=memories, cause=INVALID_RECORD)
        if topic:
            ids = [request.request_id for request in self.failures]
            outcomes.announce(ids, message_id=self.message_id, memories=memories, topic=topic)

    def _publish_batch(self) -> None:
        """Publish the batch. Every RECORD_SECONDS, record the progress. Raises Unavailable after the deadline."""
        self._separate_failures()
        if self.failures:
            self._record_failures()
        if self.batch:
            lines = [line_of(record.key) for record in self.batch]
            publisher = Publisher(client=BUCKET, import_name=self.stored_object.source, lines=lines)
            self.services.queue.publish(self.namespace, [record.reading for record in self.batch], publisher)
        count = len(self.batch) + len(self.failures)
        left_out = Counter(self.progress.left_out) + self.left_out
        self.progress = replace(self.progress, memories=self.progress.memories + count, left_out=left_out)
        self.batch, self.failures, self.size, self.left_out = [], [], 0, Counter()
        now = time.monotonic()
        if now > self.deadline or now > self.recorded + RECORD_SECONDS:
            self._record_progress()
        if now > self.deadline:
            raise Unavailable(f"{self.progress.memories:,} memories were read; the next delivery reads the rest")


def _wait_for_outcomes(
    progress: ObjectImport, imports: "ObjectImports", deadline: float, pause: Callable[[float], object]
) -> Counter[IngestState]:
    """Wait until each record has an outcome, and count the outcomes by state. Raises Unavailable after the deadline."""
    counts: Counter[IngestState] = Counter()
    after = ""
    while page := imports.lines(progress.source, PAGE, after=after):
        if all(line.status for line in page):
            counts.update(line.status.state for line in page if line.status)
            after = page[-1].line
        elif time.monotonic() > deadline:
            raise Unavailable(f"{counts.total():,} of {progress.memories:,} memories of the object have an outcome")
        else:
            pause(POLL_SECONDS)
    return counts


def _report_lines(progress: ObjectImport, imports: "ObjectImports", counts: Counter[IngestState]) -> Iterator[bytes]:
    """Yield a summary, then the outcome of each record in the order of the lines.

    Raises Unavailable at the end if an outcome has changed since the outcomes were counted.
    """
    summary = {
        "object": progress.source,
        "memories": progress.memories,
        **{state.value: counts[state] for state in sorted(counts)},
        "left_out": dict(progress.left_out),
        "error": progress.error,
    }
    yield _json_line(summary)
    after, written = "", Counter[IngestState]()
    while page := imports.lines(progress.source, PAGE, after=after):
        for line in page:
            if status := line.status:
                written[status.state] += 1
                yield _json_line(
                    {
                        "line": line_of(line.line),
                        "state": status.state.value,
                        "memory_id": status.memory_id,
                        "request_id": status.request_id,
                        "error": status.error,
                        "note": status.note,
                    }
                )
        after = page[-1].line
    if written != counts:
        raise Unavailable("an outcome has changed while the report was written: the next delivery writes the report")


def _json_line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, default=str).encode() + b"\n"
