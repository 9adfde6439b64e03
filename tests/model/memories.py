"""The memories and records of a namespace as docs/requests.md describes them, in plain Python."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from uuid import UUID

from mnemosyne.domain.memory import Deletion, FailedRequest, IngestRequest
from mnemosyne.ids import derived_id

Version = tuple[datetime, datetime]
"""The timestamp of a version, and the time of its publication."""


class CoveredError(Exception):
    """Raised if a deletion covers a version whose memory is being stored."""


@dataclass
class Memory:
    """One stored memory."""

    number: int
    content: str
    content_hash: str
    superseded_by: int | None = None
    """Number of the memory that superseded this one. That memory may have been deleted."""


@dataclass
class Record:
    """Expected state of one record."""

    current: int | None = None
    version: Version | None = None
    deleted_at: datetime | None = None
    deleted_published: datetime | None = None

    def covers(self, version: Version) -> bool:
        """Whether a deletion covers the version."""
        at, published = version
        return bool(
            (self.deleted_at and at <= self.deleted_at)
            or (self.deleted_published and published < self.deleted_published)
        )


@dataclass
class Request:
    """The row of one request."""

    state: str
    changed: int
    """Number of the day on which the request was last changed."""
    memory: int | None = None
    content_hash: str | None = None
    error: str | None = None
    key: UUID | None = None
    has_source: bool = False
    version: Version | None = None
    redriven: bool = False
    """Whether a redrive has queued the request, and no attempt to store it was recorded since then."""


def key_of(request: IngestRequest | Deletion | FailedRequest) -> UUID:
    """Return the id of the record that a request belongs to."""
    assert request.external_id
    return derived_id(request.external_id.source, request.external_id.key)


def version_of(request: IngestRequest) -> Version:
    """Return the timestamp and publication time by which the versions of a record are ordered."""
    assert request.published
    return request.timestamp, request.published


@dataclass
class Memories:
    """The memories of a namespace, its records and the rows of its requests."""

    memories: dict[int, Memory] = field(default_factory=dict)
    records: dict[UUID, Record] = field(default_factory=dict)
    requests: dict[UUID, Request] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def with_content(self, content_hash: str) -> Memory | None:
        """Return the memory with that content."""
        return next((memory for memory in self.memories.values() if memory.content_hash == content_hash), None)

    def add(self, request: IngestRequest) -> Memory:
        """Store the memory of a request."""
        memory = Memory(next(self.numbers), request.content, request.content_hash)
        self.memories[memory.number] = memory
        return memory

    def place(self, event: str, memory: Memory | None, version: IngestRequest) -> str | None:
        """Make a version the current version of its record, or a superseded one, according to its times.

        Return the event to record for its request, or None if the memory of the version no longer exists.
        """
        record = self.records.setdefault(key_of(version), Record())
        if record.covers(version_of(version)):
            if event == "stored":
                raise CoveredError
            return "deleted"
        if event == "failed":
            return event
        if memory is None or memory.number not in self.memories:
            return None
        current = self.memories.get(record.current or 0)
        if current is None or record.version is None or self._is_newer(version, record.version, current):
            record.current, record.version = memory.number, version_of(version)
            if current is not memory:
                memory.superseded_by = None
                self._supersede(current, memory)
        elif current is not memory and (event == "stored" or current.superseded_by is None):
            self._supersede(memory, current)
        return event

    @staticmethod
    def _is_newer(version: IngestRequest, latest: Version, current: Memory) -> bool:
        return (*version_of(version), version.content_hash) > (*latest, current.content_hash)

    def _supersede(self, older: Memory | None, newer: Memory) -> None:
        if older and older.superseded_by is None and not self._is_current(older.number):
            older.superseded_by = newer.number

    def _is_current(self, number: int) -> bool:
        return any(record.current == number for record in self.records.values())

    def delete_record(self, deletion: Deletion) -> None:
        """Delete the memories of the versions that a deletion covers."""
        assert deletion.published
        record = self.records.setdefault(key_of(deletion), Record())
        record.deleted_at = max(record.deleted_at or deletion.timestamp, deletion.timestamp)
        record.deleted_published = max(record.deleted_published or deletion.published, deletion.published)
        versions = self._versions(key_of(deletion))
        if record.current and record.version and record.covers(record.version):
            remaining = [
                (*version.version, self.memories[version.memory].content_hash, version.memory)
                for version in versions
                if version.version and version.memory and not record.covers(version.version)
            ]
            record.current, record.version = (max(remaining)[3], max(remaining)[:2]) if remaining else (None, None)
            if record.current:
                self.memories[record.current].superseded_by = None
        for number in {version.memory for version in versions if version.memory}:
            places = [version.version for version in versions if version.memory == number and version.version]
            if all(map(record.covers, places)) and not self._is_current(number):
                self._forget(number)

    def delete_memory(self, number: int) -> None:
        """Delete a memory. Memories that it superseded stay superseded, by its successor if there is one."""
        gone = self.memories[number]
        for memory in self.memories.values():
            if memory.superseded_by == number and gone.superseded_by:
                memory.superseded_by = gone.superseded_by
        self._forget(number)

    def supersede(self, number: int, successor: int | None) -> bool:
        """Set or remove the successor of a memory; return False if this would form a cycle."""
        visited, memory_id = set(), successor
        while memory_id is not None and memory_id in self.memories and memory_id not in visited:
            visited.add(memory_id)
            memory_id = self.memories[memory_id].superseded_by
        if number in visited:
            return False
        self.memories[number].superseded_by = successor
        return True

    def _versions(self, key: UUID) -> list[Request]:
        return [
            request
            for request in self.requests.values()
            if request.key == key
            and request.version
            and request.state in ("stored", "duplicate")
            and request.memory in self.memories
        ]

    def _forget(self, number: int) -> None:
        del self.memories[number]
        for record in self.records.values():
            if record.current == number:
                assert record.version
                record.deleted_at = max(record.deleted_at or record.version[0], record.version[0])
                record.current = record.version = None
