"""A record has the same outcome by each way of ingestion.

The same records, good and bad, are sent through the topic, a bucket, an import of a file, the console's import and the
tool, each into a separate database. RECORDS_BY_EACH_WAY=20000 takes some minutes.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from mnemosyne.adapters.cloud_storage import CloudStorage
from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.adapters.database.object_imports import ObjectImports
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.queues.local import LocalQueue
from mnemosyne.cli import importer
from mnemosyne.cli.destinations import PubSubDestination
from mnemosyne.cli.formats import read
from mnemosyne.cli.import_source import Source
from mnemosyne.cli.journal import Journal
from mnemosyne.cli.local import postgres
from mnemosyne.domain.memory import BATCH_LIMIT, ExportedMemory, IngestStatus
from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.domain.object_import import StoredObject
from mnemosyne.domain.principal import LOCAL
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools import by_name
from mnemosyne.service.deliveries import store
from mnemosyne.service.object_import import import_object
from tests.fakes import FakeServices, memories_in
from tests.fakes_wire.cloud_storage import emulated_storage
from tests.pushes import function_client, push
from tests.varied_records import Records, Sample

COUNT = int(os.environ.get("RECORDS_BY_EACH_WAY", "100"))
NAMESPACE = LOCAL.namespace
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class System(FakeServices):
    """Services with a separate database and queue. `deliver` pushes the queued messages to the function `ingest`."""

    queue: LocalQueue  # type: ignore[assignment]

    def __init__(self, pool: Pool, directory: Path) -> None:
        super().__init__(memories_in(pool, NAMESPACE))
        self.imports = ObjectImports(pool.connection, NAMESPACE)
        self.objects = CloudStorage()
        self.queue = LocalQueue(directory / "queue.db")
        self.settings = SimpleNamespace(topic="topic", database_url="database")
        self.refused: dict[UUID, str] = {}
        self._client = function_client(store, self)

    def imports_of(self, namespace: str) -> ObjectImports:
        assert namespace == NAMESPACE
        return self.imports

    def clock(self) -> datetime:
        return datetime.now(UTC)

    def deliver(self, *_: object) -> None:
        """Push each waiting message, in order."""
        while messages := self.queue.due(1e12, 50, horizon=30):
            for message in messages:
                sent = {"message_id": str(message.message_id), "publishTime": message.publish_time}
                assert push(self._client, message.data, message.attributes, **sent) == 204
            self.queue.acknowledge([message.message_id for message in messages])

    def import_object(self, stored_object: StoredObject) -> None:
        """Import an object of a bucket, and deliver its messages."""
        services: Any = self
        import_object(NAMESPACE, stored_object, services, message_id="1", budget=3600, pause=self.deliver)


@contextmanager
def opened_system(cluster: postgres.EmbeddedPostgres, database: str, directory: Path) -> Iterator[System]:
    """Yield a system with this database, and with a queue in this directory."""
    with closing(Pool(connection_factory(cluster.url(postgres.RUNTIME_USER, database)), 4)) as pool:
        system = System(pool, directory)
        with closing(system.queue):
            yield system


class DeliveringDestination(PubSubDestination):
    """Destination of an import that delivers the published messages instead of waiting for their delivery."""

    def __init__(self, system: System) -> None:
        services: Any = system
        super().__init__(services, NAMESPACE)
        self._system = system

    def pause(self) -> None:
        self._system.deliver()


def _by_the_topic(system: System, samples: Sequence[Sample], directory: Path) -> None:
    for start in range(0, len(samples), BATCH_LIMIT):
        data = b'{"memories": [%b]}' % b",".join(sample.line for sample in samples[start : start + BATCH_LIMIT])
        system.queue.republish(data, {"namespace": NAMESPACE})
        system.deliver()


def _by_a_bucket(system: System, samples: Sequence[Sample], directory: Path) -> None:
    with emulated_storage() as storage:
        blob = storage.put("bucket", "rows.jsonl", b"\n".join(sample.line for sample in samples))
        stored_object = StoredObject(bucket="bucket", name="rows.jsonl", generation=blob.generation)
        system.import_object(stored_object)
        report = [json.loads(line) for line in storage.objects["bucket", stored_object.report].data.splitlines()]
    states = {UUID(row["request_id"]): row["state"] for row in report[1:]}
    assert [row["line"] for row in report[1:]] == list(range(1, len(samples) + 1))
    assert Counter(row["state"] for row in report[1:]) == {k: report[0][k] for k in set(states.values())}
    assert {sample.request_id for sample in samples} == states.keys()
    assert system.imports.lines(stored_object.source, 1) == []


def _by_an_import(system: System, samples: Sequence[Sample], directory: Path) -> None:
    path = directory / "rows.jsonl"
    path.write_bytes(b"\n".join(sample.line for sample in samples))
    destination = DeliveringDestination(system)
    journal = Journal(path, destination.name)
    importer.run(read(path, "jsonl"), Source.at(path), destination, journal, lambda count: None)
    assert journal.totals().states.total() == len(samples)
    journal.finish()
    system.deliver()


def _by_the_console(system: System, samples: Sequence[Sample], directory: Path) -> None:
    for start in range(0, len(samples), BATCH_LIMIT):
        text = "\n".join(json.dumps(sample.row) for sample in samples[start : start + BATCH_LIMIT])
        arguments = {"name": "rows.jsonl", "text": text, "first_line": start + 1}
        services: Any = system
        result = call(by_name()["import_memories"], arguments, LOCAL, services)
        assert not result.is_error, result.content
        system.deliver()


def _by_the_tool(system: System, samples: Sequence[Sample], directory: Path) -> None:
    """Send the records with the tool `ingest_memories`.

    The tool accepts a batch as a whole or not at all. The test therefore leaves out the items that the tool refuses,
    and records the error of each instead of an outcome. The tool also refuses unknown fields, because a model may have
    meant another field. The test therefore does not send them.
    """
    services: Any = system
    tool = by_name()["ingest_memories"]

    def error(batch: Sequence[Sample]) -> str:
        result: Any = call(tool, {"memories": [_known_fields(sample.row) for sample in batch]}, LOCAL, services)
        return result.content[0].text.removesuffix(f"; {tool.refused}") if result.is_error else ""

    for start in range(0, len(samples), BATCH_LIMIT):
        batch = list(samples[start : start + BATCH_LIMIT])
        while batch and (message := error(batch)):
            place = int(message[len("memories[") : message.index("]")])
            bad = batch.pop(place)
            system.refused[bad.request_id] = error([bad]).replace("memories[0].", "")
        system.deliver()


def _known_fields(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name in MemoryInput.model_fields}


WAYS: dict[str, Callable[[System, Sequence[Sample], Path], None]] = {
    "topic": _by_the_topic,
    "bucket": _by_a_bucket,
    "import": _by_an_import,
    "console": _by_the_console,
    "tool": _by_the_tool,
}


@dataclass(frozen=True)
class Ended:
    """Results of one way of ingestion."""

    outcomes: list[tuple[str, str, str | None]]
    """The outcome of each record, in the order of the records: state, error and the content hash of the memory."""
    memories: dict[str, tuple[Any, ...]]
    """The stored memories by content hash. Each has its fields and the content hash of the memory that superseded
    it."""


def _ended(system: System, samples: Sequence[Sample]) -> Ended:
    exported: list[ExportedMemory] = []
    after = None
    while page := system.memories.export(1000, after=after):
        exported += page
        after = page[-1].cursor
    hashes = {memory.id: memory.content_hash for memory in exported}
    statuses: dict[UUID, IngestStatus] = {}
    for start in range(0, len(samples), 1000):
        statuses |= system.memories.statuses([sample.request_id for sample in samples[start : start + 1000]])
    outcomes: list[tuple[str, str, str | None]] = []
    for sample in samples:
        if message := system.refused.get(sample.request_id):
            outcomes.append(("failed", message, None))
            continue
        status = statuses[sample.request_id]
        error = _UUID.sub("ID", status.error or "")
        outcomes.append((status.state.value, error, hashes.get(status.memory_id) if status.memory_id else None))
    memories = {memory.content_hash: (memory.fields, memory.superseded_by_hash) for memory in exported}
    return Ended(outcomes, memories)


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return Records(COUNT).made(COUNT)


@pytest.fixture
def ended(
    cluster: postgres.EmbeddedPostgres, new_database: Callable[[], str], tmp_path: Path, samples: list[Sample]
) -> Iterator[dict[str, Ended]]:
    """The results of each way of ingestion, by its name."""
    sent_by_way = {}
    for way, send in WAYS.items():
        directory = tmp_path / way
        directory.mkdir()
        with opened_system(cluster, new_database(), directory) as system:
            send(system, samples, directory)
            sent_by_way[way] = _ended(system, samples)
    yield sent_by_way


def test_the_same_record_has_the_same_outcome_by_every_way(ended: dict[str, Ended], samples: list[Sample]) -> None:
    topic = ended["topic"]
    for way, other in ended.items():
        differing = [
            (way, sample.row, mine, theirs)
            for sample, mine, theirs in zip(samples, topic.outcomes, other.outcomes, strict=True)
            if mine != theirs
        ]
        assert differing[:3] == []
        assert other.memories == topic.memories, way
    states = Counter(
        (sample.kind == "bad", state) for sample, (state, _, _) in zip(samples, topic.outcomes, strict=True)
    )
    print(f"{len(samples):,} records by each of {len(WAYS)} ways:", dict(states))
    assert {state for is_bad, state in states if is_bad} == {"failed"}
    assert {state for is_bad, state in states if not is_bad} == {"stored", "duplicate", "deleted"}
    _assert_latest(topic, samples)


def _assert_latest(topic: Ended, samples: Sequence[Sample]) -> None:
    """Check that for each key that is not deleted, only the version with the latest time is current."""
    deleted = {sample.key for sample in samples if sample.kind == "deletion"}
    versions: dict[str, list[tuple[datetime, str | None]]] = {}
    for sample, (_, _, digest) in zip(samples, topic.outcomes, strict=True):
        if sample.kind == "version" and sample.key not in deleted:
            versions.setdefault(sample.key, []).append((sample.when, digest))
    assert versions
    for key, version in versions.items():
        latest = max(version)[1]
        current = {digest for _, digest in version if digest and topic.memories[digest][1] is None}
        assert current == {latest}, key
