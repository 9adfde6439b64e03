"""Import an object of a bucket: hand over each memory in it, wait for what becomes of all, and report beside it."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from mnemosyne.domain.memory import BATCH_LIMIT, IngestRequest, IngestStatus, Origin, Unstored
from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.domain.object_import import (
    OBJECT_BYTES,
    ObjectImport,
    OpenObject,
    StoredObject,
    key_of,
    line_of,
)
from mnemosyne.domain.parsing import parse
from mnemosyne.errors import InvalidRequest, NotFound, Unavailable
from mnemosyne.formats.item import Item
from mnemosyne.formats.reading import GZIP, format_of, read
from mnemosyne.ids import derived_id
from mnemosyne.import_ports import ImportServices
from mnemosyne.observability import EventLog
from mnemosyne.service import ingest, outcomes

log = EventLog(__name__)

BUDGET_SECONDS = 480.0
"""Of one delivery: Pub/Sub waits ten minutes for its answer at most, and what is left is left for the next."""
BATCH_BYTES = 3_000_000
RECORD_SECONDS = 2.0
"""How often it is noted how far the object is read; what a crash undoes is handed over again under the same ids."""
POLL_SECONDS = 1.0
LEFT_OUT_NAMES = 100
PAGE = 1000


def import_object(
    namespace: str,
    wanted: StoredObject,
    services: ImportServices,
    *,
    message_id: str,
    budget: float = BUDGET_SECONDS,
    pause: Callable[[float], object] = time.sleep,
) -> None:
    """Go on with the object's import from where it was left, until its report is written.

    Each memory becomes a request of its own, named by the object's generation and the line: whoever hands it over
    again, hands over the same. Raises Unavailable where the budget of seconds is used up, or a part is away: redeliver.
    """
    deadline = time.monotonic() + budget
    progress = services.imports.progress(namespace, wanted.source) or ObjectImport(source=wanted.source)
    if progress.is_reported:
        return
    if not progress.is_read:
        progress = _Reading(namespace, wanted, services, progress, deadline, message_id).finish()
    _wait(namespace, progress, services, deadline, pause)
    services.objects.write_report(wanted, _report(namespace, progress, services))
    services.imports.record(namespace, replace(progress, is_reported=True))
    log.info("object_imported", namespace=namespace, count=progress.memories)


@dataclass
class _Reading:
    """One delivery's reading of an object."""

    namespace: str
    wanted: StoredObject
    services: ImportServices
    progress: ObjectImport
    deadline: float
    message_id: str
    batch: list[IngestRequest] = field(default_factory=list)
    failed: list[Unstored] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    size: int = 0
    recorded: float = field(default_factory=time.monotonic)

    def finish(self) -> ObjectImport:
        """Read to the end, or to where it cannot be read; raises Unavailable where the time is up before."""
        error = None
        try:
            with self.services.objects.open(self.wanted) as opened:
                self._read(opened)
        except (InvalidRequest, NotFound) as exc:
            error = str(exc)
        self._hand_over()
        self.progress = replace(self.progress, is_read=True, error=error)
        self.services.imports.record(self.namespace, self.progress)
        return self.progress

    def _read(self, opened: OpenObject) -> None:
        name = self.wanted.name
        format_ = format_of(name)
        if format_ is None:
            raise InvalidRequest(f"{name} must end in .jsonl, .ndjson, .md, .txt or .chronicle, and .gz where packed")
        if opened.size > OBJECT_BYTES:
            raise InvalidRequest(f"{name} must have at most {OBJECT_BYTES:,} bytes, got {opened.size:,}: split it")
        packed = opened.packed or name.endswith(GZIP)
        known = self.progress.memories
        for item in read(opened.stream, name, format_, modified=opened.modified, packed=packed, skip=known):
            self._take(item, key_of(item.line, item.place))

    def _take(self, item: Item, key: str) -> None:
        origin = Origin(self.wanted.source, key)
        request_id = derived_id(origin.source, origin.key)
        try:
            if item.arguments is None:
                raise InvalidRequest(item.problem)
            memory = parse(MemoryInput, item.arguments, of="a memory")
        except InvalidRequest as exc:
            self.failed.append(Unstored(request_id=request_id, error=str(exc), origin=origin))
        else:
            weight = len(memory.model_dump_json().encode())
            if self.size + weight > BATCH_BYTES:
                self._hand_over()
            self.batch.append(replace(memory.request(request_id), origin=origin))
            self.size += weight
        self._note_left_out([*item.left_out, *(["superseded_by_hash"] if item.superseded_by_hash else [])])
        if len(self.batch) + len(self.failed) >= BATCH_LIMIT:
            self._hand_over()

    def _note_left_out(self, names: Sequence[str]) -> None:
        """Count fields that memories have not; names without end are counted as one."""
        for name in names:
            is_known = name in self.left_out or name in self.progress.left_out
            room = len(self.left_out) + len(self.progress.left_out) < LEFT_OUT_NAMES
            self.left_out[name if is_known or room else "…"] += 1

    def _fail(self) -> None:
        """Record what can never be stored, and tell of it: it never reaches `ingest`."""
        ingest.reject(self.namespace, self.failed, memories=self.services.memories)
        if self.services.outcome_topic:
            outcomes.announce(
                self.namespace,
                [one.request_id for one in self.failed],
                message_id=self.message_id,
                memories=self.services.memories,
                topic=self.services.outcome_topic,
            )

    def _hand_over(self) -> None:
        """Hand over what was taken, and note it from time to time."""
        if self.failed:
            self._fail()
        if self.batch:
            self.services.queue.publish(self.namespace, self.batch)
        count = len(self.batch) + len(self.failed)
        left_out = Counter(self.progress.left_out) + self.left_out
        self.progress = replace(self.progress, memories=self.progress.memories + count, left_out=left_out)
        self.batch, self.failed, self.size, self.left_out = [], [], 0, Counter()
        now = time.monotonic()
        if now > self.deadline or now > self.recorded + RECORD_SECONDS:
            self.services.imports.record(self.namespace, self.progress)
            self.recorded = now
        if now > self.deadline:
            raise Unavailable(f"the object is read up to its memory {self.progress.memories:,}: the rest comes next")


def _wait(
    namespace: str,
    progress: ObjectImport,
    services: ImportServices,
    deadline: float,
    pause: Callable[[float], object],
) -> None:
    """Return once every memory of the object has its outcome; raises Unavailable where the time is up before."""
    while (ended := sum(services.imports.final_states(namespace, progress.source).values())) < progress.memories:
        if time.monotonic() > deadline:
            raise Unavailable(f"{ended:,} of {progress.memories:,} memories of the object have their outcome")
        pause(POLL_SECONDS)


def _report(namespace: str, progress: ObjectImport, services: ImportServices) -> Iterator[bytes]:
    """Yield the report's lines: a summary, then what became of each memory, in the object's order."""
    summary = {
        "object": progress.source,
        "memories": progress.memories,
        **{state.value: count for state, count in services.imports.final_states(namespace, progress.source).items()},
        "left_out": dict(progress.left_out),
        "error": progress.error,
    }
    yield _line(summary)
    after = ""
    while page := services.imports.outcomes(namespace, progress.source, PAGE, after=after):
        yield b"".join(_line(_outcome(status)) for status in page)
        after = _key(page)


def _outcome(status: IngestStatus) -> dict[str, object]:
    return {
        "line": line_of(status.origin.key) if status.origin else None,
        "state": status.state.value,
        "memory_id": str(status.memory_id) if status.memory_id else None,
        "request_id": str(status.request_id),
        "error": status.error,
    }


def _key(page: Sequence[IngestStatus]) -> str:
    origin = page[-1].origin
    return origin.key if origin else ""


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"
