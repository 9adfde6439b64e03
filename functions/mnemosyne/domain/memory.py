"""The values that travel: a memory, the request to ingest one, and what became of it. Pure."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, TypeAlias
from uuid import UUID

from mnemosyne.domain.chronicle import tags_of, title_of, unite_tags
from mnemosyne.domain.quota import Quota
from mnemosyne.domain.visible import one_line

CONTENT_LIMIT = 100_000
"""Characters of one memory's content, at most."""
EXPORT_BYTES = 2_000_000
"""Of the contents in one page of an export; a page ends with the memory that reaches it."""
BATCH_LIMIT = 100
"""Memories of one message, at most."""

Metadata = Mapping[str, Any]


def content_hash(content: str, session: str | None = None) -> str:
    """Within a namespace, the identity of what was said, and of the session that it was said in: 64 hex digits.

    SHA-256 of the UTF-8 content; where there is a session, of the content, NUL, which no text has, and the session.
    """
    said = content if session is None else f"{content}\x00{session}"
    return hashlib.sha256(said.encode()).hexdigest()


def embedded_text(title: str, tags: Sequence[str], content: str) -> str:
    """Return what of a memory is embedded: content and tags, after its title where that is not a part of the content.

    Blanks stand between: a new line is a token to some embedders, and would mean something.
    """
    return " ".join([content, *tags] if title in one_line(content) else [title, content, *tags])


@dataclass(frozen=True)
class Origin:
    """What a publisher calls a memory: the source it is from, and its key there."""

    source: str
    key: str


@dataclass(frozen=True, kw_only=True)
class MemoryFields:
    """What somebody says of a memory: the same fields wherever it is asked for, stored, found or exported."""

    content: str
    timestamp: datetime
    title: str
    tags: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    session: str | None = None
    """The conversation, document or run that it was a part of: what stands beside it there tells what it is about."""

    @property
    def said(self) -> dict[str, Any]:
        """These fields by name, in order."""
        return {name: getattr(self, name) for name in MEMORY_FIELDS}


MEMORY_FIELDS: Final = tuple(one.name for one in fields(MemoryFields))


@dataclass(frozen=True, kw_only=True)
class IngestRequest(MemoryFields):
    """One memory to store, as accepted: validated, with title and tags as they will be stored."""

    request_id: UUID
    origin: Origin | None = None
    published: datetime | None = None
    """When its message was first published. It decides between versions of a key that have the same timestamp."""

    @cached_property
    def content_hash(self) -> str:
        """See `content_hash`."""
        return content_hash(self.content, self.session)

    @property
    def embedded_text(self) -> str:
        """See `embedded_text`."""
        return embedded_text(self.title, self.tags, self.content)

    @property
    def size(self) -> int:
        """Bytes that count against a quota: content, title, tags and metadata, in UTF-8."""
        texts = (self.content, self.title, *self.tags, json.dumps(self.metadata, ensure_ascii=False))
        return sum(len(text.encode()) for text in texts)

    @classmethod
    def of(
        cls,
        request_id: UUID,
        *,
        content: str,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        metadata: Metadata | None = None,
        origin: Origin | None = None,
        **fields_: Any,
    ) -> "IngestRequest":
        """Make a request: its title is taken from the text where none is given, its tags united with the text's.

        The other fields are those of MemoryFields.
        """
        return cls(
            request_id=request_id,
            content=content,
            title=shown if (shown := one_line(title or "")).strip() else title_of(content),
            tags=unite_tags(tags or (), tags_of(content)),
            metadata=metadata or {},
            origin=origin,
            **fields_,
        )


@dataclass(frozen=True, kw_only=True)
class Deletion:
    """A request to delete the record that a source calls by a key, as accepted."""

    request_id: UUID
    origin: Origin
    timestamp: datetime
    """Versions of the record with a later timestamp stay. Where the publisher gives none, when it was published."""
    published: datetime | None = None
    """Versions that were published earlier stay deleted, whatever their timestamp."""


@dataclass(frozen=True, kw_only=True)
class Unstored:
    """A request that an attempt has left without a memory, and why."""

    request_id: UUID
    error: str
    origin: Origin | None = None


Request: TypeAlias = IngestRequest | Deletion
Reading: TypeAlias = Request | Unstored
"""What reading a record gives: a request, or why it is none."""


class IngestState(StrEnum):
    """Where an ingest request is. The last five are reported as outcomes."""

    QUEUED = "queued"
    UNKNOWN = "unknown"
    STORED = "stored"
    DUPLICATE = "duplicate"
    DELETED = "deleted"
    FAILED = "failed"
    DEAD_LETTERED = "dead_lettered"


@dataclass(frozen=True, kw_only=True)
class IngestStatus:
    """What became of one ingest request, as far as it is known."""

    request_id: UUID
    state: IngestState
    memory_id: UUID | None = None
    attempts: int = 0
    error: str | None = None
    note: str | None = None
    """Which memory supersedes which, and labels of a duplicate that its memory has taken or not."""
    updated_at: datetime | None = None
    origin: Origin | None = None


@dataclass(frozen=True, kw_only=True)
class DeadLetter:
    """A message that was given up, or of which nobody can be told, as it was published, and why."""

    message_id: str
    data: bytes
    attributes: Mapping[str, str]
    cause: str
    dead_lettered_at: datetime
    lost: bool = False
    """Whether something in it has no other outcome than this."""
    letter_id: UUID | None = None
    """The stored letter from which the message was published again."""
    failures: int = 1
    redrives: int = 0
    last_failed_at: datetime | None = None
    redriven_at: datetime | None = None
    due_at: datetime | None = None
    """Of a stored letter; see DeadLetterSummary."""


@dataclass(frozen=True, kw_only=True)
class Memory(MemoryFields):
    """One stored memory, whole."""

    id: UUID
    content_hash: str
    embedding_model: str
    created_at: datetime
    last_seen_at: datetime
    superseded_by: UUID | None = None
    supersedes: tuple[UUID, ...] = ()
    """Earlier memories that it has superseded, directly or through others, nearest first; five at most."""
    quality: float = 0.5


@dataclass(frozen=True, kw_only=True)
class DeletedMemory:
    """A memory that has just been deleted."""

    title: str
    superseded: tuple[UUID, ...] = ()
    """Up to 20 memories that it had superseded. They stay superseded, out of searches."""


NO_TAGS = "none"
"""In the place of new tags: none at all, where an empty list would be taken for nothing said."""


@dataclass(frozen=True, kw_only=True)
class MemoryChange:
    """What to change about a memory; None leaves a field as it is. Content never changes."""

    title: str | None = None
    tags: tuple[str, ...] | None = None
    metadata: Metadata | None = None
    superseded_by: UUID | None = None
    not_superseded: bool = False


@dataclass(frozen=True, kw_only=True)
class Rating:
    """A memory's quality in [0, 1] before and after it was rated."""

    before: float
    after: float


@dataclass(frozen=True, kw_only=True)
class Stats:
    """A namespace in figures."""

    quota: Quota
    memories: int
    tags: Mapping[str, int]
    pending: int
    dead_lettered: int
    dead_letters: int
    oldest: datetime | None
    newest: datetime | None
    storage_bytes: int


@dataclass(frozen=True, kw_only=True)
class Cursor:
    """Where a listing goes on: after this memory."""

    timestamp: datetime
    id: UUID


@dataclass(frozen=True, kw_only=True)
class KeysetCursor:
    """Where a list goes on that is ordered by time and then a text: after that of these."""

    timestamp: datetime
    key: str


@dataclass(frozen=True, kw_only=True)
class ExportedMemory(MemoryFields):
    """A memory as it leaves one store for another: what replaces it is named by its content hash, not by an id."""

    id: UUID
    content_hash: str
    created_at: datetime
    superseded_by_hash: str | None = None

    @property
    def cursor(self) -> KeysetCursor:
        """Where an export goes on after it."""
        return KeysetCursor(timestamp=self.timestamp, key=self.content_hash)


@dataclass(frozen=True, kw_only=True)
class MemorySummary:
    """One line of a listing."""

    id: UUID
    timestamp: datetime
    title: str
    tags: tuple[str, ...]
    superseded_by: UUID | None = None
