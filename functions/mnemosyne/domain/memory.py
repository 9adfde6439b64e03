"""Memories, requests to ingest or delete them, and the state of those requests. Pure."""

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, TypeAlias
from uuid import UUID

from mnemosyne.domain.chronicle import tags_of, title_of, unite_tags
from mnemosyne.domain.provenance import Provenance
from mnemosyne.domain.quota import Quota
from mnemosyne.domain.visible import one_line

CONTENT_LIMIT = 100_000
"""Maximum characters of a memory's content."""
EXPORT_BYTES = 2_000_000
"""Number of bytes of content after which a page of an export ends, even if it has fewer memories than allowed."""
FIRST_WORDS = 100
"""Number of first characters of a content that are stored with its ingest request until the memory is stored."""
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
    """Return the text to embed: title, content and tags. The title is left out if the content contains the title.

    Title, content and tags are joined with spaces, because a line break is a separate token for some embedding models.
    """
    return to_nfc(" ".join([content, *tags] if title in one_line(content) else [title, content, *tags]))


def to_nfc(text: str) -> str:
    """Return the text in Unicode NFC, in which a letter and its accent are one character if possible.

    For embedding models, a letter with a separate combining accent has other tokens than the same letter in NFC.
    """
    return unicodedata.normalize("NFC", text)


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
    """The conversation, document or run that contains the memory. The memory's neighbours in the session count in the
    ranking."""
    expires_at: datetime | None = None
    """Time from which the memory is invisible. The row of the memory is removed later. In a request, the time that the
    publisher requests."""
    pinned: bool = False
    """Whether the memory is pinned: the namespace's default lifetime does not apply to it."""

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of MemoryFields by name, in the order of their definition."""
        return {name: getattr(self, name) for name in MEMORY_FIELDS}


MEMORY_FIELDS: Final = tuple(field_.name for field_ in fields(MemoryFields))


@dataclass(frozen=True, kw_only=True)
class IngestRequest(MemoryFields):
    """A validated request to store one memory, with its final title and tags."""

    request_id: UUID
    external_id: ExternalId | None = None
    provenance: Provenance | None = None
    published: datetime | None = None
    """Time at which the message was first published, plus a microsecond for each earlier record of the message. Of two
    versions of a record with the same timestamp, the version that was published later is current."""

    @cached_property
    def content_hash(self) -> str:
        """The hash of content and session, by which duplicates are recognised."""
        return content_hash(self.content, self.session)

    @property
    def embedded_text(self) -> str:
        """The text to embed: content, tags and title (see the function `embedded_text`)."""
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

        `fields_` has values of the remaining fields of MemoryFields.
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
    """A validated request to delete versions of a record. The record is identified by its source and key."""

    request_id: UUID
    external_id: ExternalId
    provenance: Provenance | None = None
    timestamp: datetime
    """Time of the deletion, by default the time of publishing. Versions of the record with this timestamp or an earlier
    one are deleted."""
    published: datetime | None = None
    """Time at which the message was first published. Versions that were published earlier are deleted, whatever their
    timestamps. If such a version arrives after the deletion, it is not stored."""


@dataclass(frozen=True, kw_only=True)
class FailedRequest:
    """A request that could not be stored, with the error."""

    request_id: UUID
    error: str
    external_id: ExternalId | None = None
    provenance: Provenance | None = None
    first_words: str | None = None
    """The beginning of the content, by which people recognise the request."""
    content_hash: str | None = None
    """The hash of the content, if the content could be read."""


Request: TypeAlias = IngestRequest | Deletion
Reading: TypeAlias = Request | FailedRequest
"""Result of parsing a record: a valid request, or a failed request with the error."""


class IngestState(StrEnum):
    """State of an ingest request. The last five states are outcomes, which are reported to the publisher."""

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
    """Note on the result, for example that the new memory supersedes (replaces) another memory."""
    updated_at: datetime | None = None
    external_id: ExternalId | None = None
    content_hash: str | None = field(default=None, compare=False)
    """The hash of the request's content; None if it is unknown. Only the store's method `statuses` sets this field."""

    def belongs_to(self, request: Reading) -> bool:
        """Return whether this is the status of `request`, by the rule of the SQL function is_same_request."""
        content = None if isinstance(request, Deletion) else request.content_hash
        # If the memory was stored and deleted later, the state is DELETED, too, but then the status has a memory_id.
        was_never_stored = content is not None and self.state is IngestState.DELETED and self.memory_id is None
        is_same_record = self.external_id == request.external_id or (was_never_stored and self.external_id is None)
        return self.content_hash == content and is_same_record


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
    """Up to five earlier versions that this memory has superseded (replaced), directly or not, the latest first."""
    quality: float = 0.5


@dataclass(frozen=True, kw_only=True)
class Stats:
    """Counts of a namespace's memories, tags and requests."""

    quota: Quota
    memories: int
    tags: Mapping[str, int]
    total_tags: int
    pending: int
    dead_lettered: int
    dead_letters: int
    oldest: datetime | None
    newest: datetime | None
    storage_bytes: int


@dataclass(frozen=True, kw_only=True)
class Cursor:
    """Position in a list of memories: the last memory that was returned."""

    timestamp: datetime
    id: UUID


@dataclass(frozen=True, kw_only=True)
class KeysetCursor:
    """Position in a list that is ordered by time, and then by a text key: the last item that was returned."""

    timestamp: datetime
    key: str


@dataclass(frozen=True, kw_only=True)
class ExportedMemory(MemoryFields):
    """A memory in an export.

    The export identifies the successor (the memory that replaces this one) by its content hash and not by its id,
    because a memory gets another id when it is imported into another system.
    """

    id: UUID
    content_hash: str
    created_at: datetime
    superseded_by_hash: str | None = None

    @property
    def cursor(self) -> KeysetCursor:
        """Position in an export, directly after this memory."""
        return KeysetCursor(timestamp=self.timestamp, key=self.content_hash)


@dataclass(frozen=True, kw_only=True)
class MemorySummary:
    """A memory in a list of memories, without its content."""

    id: UUID
    timestamp: datetime
    title: str
    tags: tuple[str, ...]
    superseded_by: UUID | None = None

    @property
    def cursor(self) -> Cursor:
        """Position in a list, directly after this memory."""
        return Cursor(timestamp=self.timestamp, id=self.id)

    @property
    def label(self) -> str:
        """The text by which people recognise the memory: its title."""
        return self.title
