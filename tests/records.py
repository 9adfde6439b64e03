"""Deliver versions and deletions of records to a store.

A record is a text that a publisher identifies by source and key. Each time that the publisher sends the record, it
sends a new version of the record.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import uuid4

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.memory_database import MemoryDatabase
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.domain.memory import Deletion, ExternalId, IngestRequest, IngestStatus, Memory
from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.search import Filters
from mnemosyne.ids import deletion_id, version_id
from mnemosyne.service import ingest
from tests.fakes import FAKE_SPACE, NOW, FakeEmbedder, request

SOURCE = "crm"


def _at(second: int) -> datetime:
    return NOW + timedelta(seconds=second)


def version(key: str, content: str, second: int, *, published: int | None = None, **labels: object) -> IngestRequest:
    """Return a version of a record. `second` is the version's timestamp, in seconds after NOW.

    `published` is the time of its publication, also in seconds after NOW. By default it is equal to `second`.
    """
    ingest_request = request(content, timestamp=_at(second), external_id=ExternalId(SOURCE, key), **labels)
    request_id = version_id(SOURCE, key, ingest_request.content_hash, ingest_request.timestamp)
    return replace(ingest_request, request_id=request_id, published=_at(second if published is None else published))


def deletion(key: str, second: int, *, published: int | None = None) -> Deletion:
    """Return a deletion of a record. `second` is the deletion's timestamp, in seconds after NOW.

    `published` is the time of its publication, also in seconds after NOW. By default it is equal to `second`.
    """
    return Deletion(
        request_id=deletion_id(SOURCE, key, _at(second)),
        external_id=ExternalId(SOURCE, key),
        timestamp=_at(second),
        published=_at(second if published is None else published),
    )


@dataclass
class Records:
    """The records of a namespace."""

    store: MemoryStore
    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)

    @property
    def namespace(self) -> str:
        return self.store.namespace

    def deliver(self, *items: IngestRequest | Deletion) -> list[IngestStatus]:
        """Deliver one message, and return the outcome of each item, in order."""
        message = IngestMessage(
            self.namespace,
            tuple(item for item in items if isinstance(item, IngestRequest)),
            deletions=tuple(item for item in items if isinstance(item, Deletion)),
        )
        ingest.store(message, memories=self.store, embedder=self.embedder)
        statuses = self.store.statuses(message.request_ids)
        return [statuses[item.request_id] for item in items]

    def visible(self) -> set[str]:
        """Return the contents that searches find."""
        return {memory.content for memory in self._listed(Filters())}

    def stored(self) -> set[str]:
        """Return all contents, including superseded ones."""
        return {memory.content for memory in self._listed(Filters(include_superseded=True))}

    def memory(self, status: IngestStatus) -> Memory:
        """Return the memory that this outcome names."""
        assert status.memory_id
        memory = self.store.fetch(status.memory_id)
        assert memory
        return memory

    def _listed(self, filters: Filters) -> list[Memory]:
        heads = self.store.list(filters, 100)
        return [memory for head in heads if (memory := self.store.fetch(head.id))]


def records_in(pool: Pool, *, immutable: Sequence[str] = ()) -> Records:
    database = MemoryDatabase(pool, FAKE_SPACE, immutable_sources=immutable)
    return Records(MemoryStore(database, str(uuid4())))
