"""A batch of an import: the records of one message, and the outcomes of their requests."""

import hashlib
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, field, replace
from uuid import UUID

from mnemosyne.cli.import_source import Record
from mnemosyne.cli.journal import Failure, PostImportUpdate
from mnemosyne.domain.memory import FailedRequest, IngestRequest, IngestStatus, Reading
from mnemosyne.domain.outcome import NO_REQUEST


@dataclass
class Batch:
    """The records of one message, and the outcomes of their requests."""

    number: int
    records: list[Record] = field(default_factory=list)
    size: int = 0
    open: set[UUID] = field(default_factory=set)
    states: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    earlier: dict[UUID, IngestStatus] = field(default_factory=dict)
    """Failures of the batch's requests in an earlier import. They are ignored, because this import sends the requests
    again and waits for new outcomes."""
    present: Set[UUID] = frozenset()
    """Requests whose memories an earlier import has stored."""
    stored: list[tuple[str, UUID, bool]] = field(default_factory=list)

    @property
    def contents(self) -> str:
        """Digest of the records. If an earlier run recorded another digest for this batch, the source has changed."""
        records = [_reproducible_parts(record) for record in self.records]
        return hashlib.sha256(repr(records).encode(errors="replace")).hexdigest()

    @property
    def request_ids(self) -> list[UUID]:
        """The request id of each record, in order."""
        return [record.reading.request_id for record in self.records]

    @property
    def updates(self) -> list[PostImportUpdate]:
        """Tags and successors to set on the batch's memories after all memories of the import are stored.

        The successor of a memory is the memory that replaces it.
        """
        return [update for record in self.records if (update := _post_import_update(record))]

    @property
    def left_out(self) -> Counter[str]:
        """Names of fields that were left out, each with the number of memories that have this field."""
        items = (record.item for record in self.records if not isinstance(record.reading, FailedRequest))
        return Counter(name for item in items for name in item.left_out)


def _reproducible_parts(record: Record) -> tuple[Reading, object]:
    """Return the parts of a record that are the same in each run.

    The request id, and an expiry that was computed from `ttl`, are left out, because they differ in each run.
    """
    reading, ttl = replace(record.reading, request_id=NO_REQUEST), (record.item.fields or {}).get("ttl")
    return replace(reading, expires_at=None) if ttl and isinstance(reading, IngestRequest) else reading, ttl


def _post_import_update(record: Record) -> PostImportUpdate | None:
    item, reading = record.item, record.reading
    if not isinstance(reading, IngestRequest):
        return None
    tags = item.tags_to_set(reading.content)
    if not item.superseded_by_hash and tags is None:
        return None
    return PostImportUpdate(reading.content_hash, item.source, item.superseded_by_hash, tags)
