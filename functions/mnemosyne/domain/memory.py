"""Memories, requests to ingest or delete them, and the state of those requests. Pure."""

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
from mnemosyne.domain.dead_letter_kind import DeadLetterKind
from mnemosyne.domain.provenance import Provenance
from mnemosyne.domain.quota import Quota
from mnemosyne.domain.visible import one_line

CONTENT_LIMIT = 100_000
"""Maximum characters of a memory's content."""
EXPORT_BYTES = 2_000_000
"""Bytes of content after which a page of an export ends."""
FIRST_WORDS = 100
"""Characters of a content that are stored with its request if the content itself is not stored."""
BATCH_LIMIT = 100
"""Maximum memories per message."""

Metadata = Mapping[str, Any]


def content_hash(content: str, session: str | None = None) -> str:
    """Return the hash that identifies a memory within its namespace, as 64 hex digits.

    SHA-256 of the content in UTF-8, followed by NUL and the session if there is one. Content cannot contain NUL.
    """
    text = content if session is None else f"{content}\x00{session}"
    return hashlib.sha256(text.encode()).hexdigest()


def embedded_text(title: str, tags: Sequence[str], content: str) -> str:
    """Return the text to embed: content and tags, preceded by the title unless the content contains it.

    The parts are joined with spaces, because a line break is a separate token for some embedding models.
    """
    return " ".join([content, *tags] if title in one_line(content) else [title, content, *tags])


@dataclass(frozen=True)
class ExternalId:
    """A record's identity in the publisher's system: the source, and the key within that source."""

    source: str
    key: str


@dataclass(frozen=True, kw_only=True)
class MemoryFields:
    """Fields that requests, stored memories, search results and exports have in common."""

    content: str
    timestamp: datetime
    title: str
    tags: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    session: str | None = None
    """The conversation, document or run that contains the memory. Its neighbours there count in the ranking."""
    expires_at: datetime | None = None
    """When the memory becomes invisible and is removed. In a request, the expiry that the publisher asks for."""
    pinned: bool = False
    """Whether the default lifetime of the namespace does not apply."""

    @property
    def fields(self) -> dict[str, Any]:
        """The common fields by name, in order."""
        return {name: getattr(self, name) for name in MEMORY_FIELDS}


MEMORY_FIELDS: Final = tuple(field_.name for field_ in fields(MemoryFields))


@dataclass(frozen=True, kw_only=True)
class IngestRequest(MemoryFields):
    """A validated request to store one memory, with its final title and tags."""

    request_id: UUID
    external_id: ExternalId | None = None
    provenance: Provenance | None = None
    published: datetime | None = None
    """When its message was first published. The later of two versions with the same timestamp wins."""

    @cached_property
    def content_hash(self) -> str:
        """The hash of the content and session: equal for memories with the same content."""
        return content_hash(self.content, self.session)

    @property
    def embedded_text(self) -> str:
        """See `embedded_text`."""
        return embedded_text(self.title, self.tags, self.content)

    @property
    def size(self) -> int:
        """Bytes that count towards the quota: content, title, tags and metadata in UTF-8."""
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
        external_id: ExternalId | None = None,
        **fields_: Any,
    ) -> "IngestRequest":
        """Build a request. A missing title is taken from the content, and tags in the content are added to `tags`.

        `fields_` are the other fields of MemoryFields.
        """
        return cls(
            request_id=request_id,
            content=content,
            title=given_title if (given_title := one_line(title or "")).strip() else title_of(content),
            tags=unite_tags(tags or (), tags_of(content)),
            metadata=metadata or {},
            external_id=external_id,
            **fields_,
        )


@dataclass(frozen=True, kw_only=True)
class Deletion:
    """A validated request to delete the record with a source and key."""

    request_id: UUID
    external_id: ExternalId
    provenance: Provenance | None = None
    timestamp: datetime
    """Later versions of the record are not deleted. Defaults to the time of publishing."""
    published: datetime | None = None
    """Versions published before this time are deleted and stay deleted, whatever their timestamp."""


@dataclass(frozen=True, kw_only=True)
class FailedRequest:
    """A request that could not be stored, with the error."""

    request_id: UUID
    error: str
    external_id: ExternalId | None = None
    provenance: Provenance | None = None
    first_words: str | None = None
    """The beginning of its content, so that people recognise the request."""
    content_hash: str | None = None
    """The hash of its content, if the content could be read."""


Request: TypeAlias = IngestRequest | Deletion
Reading: TypeAlias = Request | FailedRequest
"""Result of reading a record: a valid request, or a failed request."""


class IngestState(StrEnum):
    """State of an ingest request. The last five are reported as outcomes."""

    QUEUED = "queued"
    UNKNOWN = "unknown"
    STORED = "stored"
    DUPLICATE = "duplicate"
    DELETED = "deleted"
    FAILED = "failed"
    DEAD_LETTERED = "dead_lettered"


@dataclass(frozen=True, kw_only=True)
class IngestStatus:
    """State of one ingest request, with the resulting memory or the error."""

    request_id: UUID
    state: IngestState
    memory_id: UUID | None = None
    attempts: int = 0
    error: str | None = None
    note: str | None = None
    """Memories superseded by the new memory. For a duplicate, the labels that the existing memory took over."""
    updated_at: datetime | None = None
    external_id: ExternalId | None = None


@dataclass(frozen=True, kw_only=True)
class DeadLetter:
    """A dead letter: an unchanged message that failed or has no request to report, with the cause."""

    message_id: str
    data: bytes
    attributes: Mapping[str, str]
    cause: str
    dead_lettered_at: datetime
    lost: bool = False
    """Whether a part of the message has no request, so that only this dead letter reports its failure."""
    letter_id: UUID | None = None
    """The stored dead letter, if the message was redriven from it."""
    failures: int = 1
    redrives: int = 0
    last_failed_at: datetime | None = None
    redriven_at: datetime | None = None
    due_at: datetime | None = None
    """Set for stored dead letters; see DeadLetterSummary."""
    kind: DeadLetterKind = field(default=DeadLetterKind.UNSTORABLE, compare=False)
    """Logged when the dead letter is stored, and not stored itself."""
    subscription: str = field(default="", compare=False)
    """Subscription whose publisher sent the message; logged, and not stored itself."""


@dataclass(frozen=True, kw_only=True)
class Memory(MemoryFields):
    """A stored memory with all its fields."""

    id: UUID
    content_hash: str
    embedding_model: str
    created_at: datetime
    last_seen_at: datetime
    superseded_by: UUID | None = None
    supersedes: tuple[UUID, ...] = ()
    """Up to five earlier versions, directly or indirectly superseded by this memory, the latest first."""
    quality: float = 0.5


@dataclass(frozen=True, kw_only=True)
class Stats:
    """Statistics of a namespace."""

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
    """Position in a listing: the last memory returned."""

    timestamp: datetime
    id: UUID


@dataclass(frozen=True, kw_only=True)
class KeysetCursor:
    """Position in a list ordered by time and then a text key: the last item returned."""

    timestamp: datetime
    key: str


@dataclass(frozen=True, kw_only=True)
class ExportedMemory(MemoryFields):
    """A memory in an export. Its successor is named by content hash, because ids differ between stores."""

    id: UUID
    content_hash: str
    created_at: datetime
    superseded_by_hash: str | None = None

    @property
    def cursor(self) -> KeysetCursor:
        """Position of the export after this memory."""
        return KeysetCursor(timestamp=self.timestamp, key=self.content_hash)


@dataclass(frozen=True, kw_only=True)
class MemorySummary:
    """A memory in a listing, without its content."""

    id: UUID
    timestamp: datetime
    title: str
    tags: tuple[str, ...]
    superseded_by: UUID | None = None

    @property
    def label(self) -> str:
        """Name of the memory for people."""
        return self.title
