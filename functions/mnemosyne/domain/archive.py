"""Parse the lines of a complete export, from which a namespace is restored exactly. Pure.

Each line describes a memory, an ingest request, or a record. A record is an object in a publisher's system, and its
versions are stored as memories. The line of a record has the id of the record and the id of the memory with its current
version. It also has the timestamps and the times of publishing of this version and of the record's latest deletion. If
memories were stored or deleted during the export, the last line says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from mnemosyne.domain.memory import MEMORY_FIELDS, IngestRequest, content_hash
from mnemosyne.domain.parsing import Content, Id, Input, Instant, JsonObject, Text, parse
from mnemosyne.errors import InvalidRequest

EXTRAS: Final = "mnemosyne_export"
"""Name of the field with the values that only a restore needs. An ordinary import ignores this field."""
SMALLEST_ID: Final = UUID(int=0)
"""Smallest UUID. A list of rows in the order of their ids starts after this id. Memories from a complete export also
have this id as their request id, because the requests are on separate lines of the export."""


@dataclass(frozen=True, kw_only=True)
class ArchivedMemory:
    """A memory in a complete export."""

    id: UUID
    request: IngestRequest
    """The fields of the memory that an ordinary import also stores."""
    extras: Mapping[str, Any]
    """The values that only a restore uses: created_at, last_seen_at, superseded_by and ratings."""


@dataclass(frozen=True, kw_only=True)
class _Repetition(IngestRequest):
    """A memory with the same content as another memory of the namespace.

    Such memories exist only in a database that was taken over from an earlier server. Hashes in the database are
    unique, so a repetition is stored with another hash (`stored_hash`) than the hash of its content.
    """

    stored_hash: str

    @property
    def content_hash(self) -> str:
        return self.stored_hash


class _ArchiveInput(Input):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class _Rating(_ArchiveInput):
    rated_by: Text
    rater_name: Text
    rating: Annotated[int, Field(ge=-1, le=1)]
    reason: Text | None = None
    rated_at: Instant


class _Extras(_ArchiveInput):
    last_seen_at: Instant
    superseded_by: Id | None = None
    ratings: list[_Rating] = Field(default_factory=list)
    repetition: bool = False


class _Line(_ArchiveInput):
    """A line of a complete export that describes a memory.

    The field `mnemosyne_export` of the line has the values that only a restore uses.
    """

    id: Id
    content: Content
    timestamp: Instant
    title: Text
    tags: list[Text] = Field(default_factory=list)
    metadata: JsonObject = Field(default_factory=dict)
    session: Text | None = None
    expires_at: Instant | None = None
    pinned: bool = False
    content_hash: Annotated[Text, Field(pattern="^[0-9a-f]{64}$")]
    created_at: Instant
    mnemosyne_export: _Extras


class _Request(_ArchiveInput):
    request_id: Id
    state: Literal["stored", "duplicate", "deleted", "failed", "dead_lettered"]
    memory_id: Id | None = None
    content_hash: Annotated[Text | None, Field(pattern="^[0-9a-f]{64}$")] = None
    source: Text | None = None
    key: Text | None = None
    version_at: Instant | None = None
    version_published: Instant | None = None
    attempts: Annotated[int, Field(ge=0)]
    error: Text | None = None
    note: Text | None = None
    provenance: dict[str, Any] | None = None
    created_at: Instant
    updated_at: Instant
    announced_at: Instant | None = None


class _Record(_ArchiveInput):
    key_id: Id
    memory_id: Id | None = None
    version_at: Instant | None = None
    version_published: Instant | None = None
    deleted_at: Instant | None = None
    deleted_published: Instant | None = None


Line = ArchivedMemory | tuple[Literal["request", "record", "changed"], Mapping[str, Any]]


def read_line(fields: Mapping[str, Any]) -> Line:
    """Parse a line of a complete export.

    Raises InvalidRequest if the line is not from a complete export, or if the content of a memory does not match the
    hash in the line.
    """
    extras = fields.get(EXTRAS)
    if not isinstance(extras, Mapping):
        raise InvalidRequest(f"a line of a complete export has the field {EXTRAS}: import the file without --restore")
    if "request" in extras:
        return "request", _to_json_fields(parse(_Request, extras["request"], of="a request"))
    if "record" in extras:
        return "record", _to_json_fields(parse(_Record, extras["record"], of="a record"))
    if "changed" in extras:
        return "changed", {}
    line = parse(_Line, fields, of="a memory")
    is_repetition = line.mnemosyne_export.repetition
    if not is_repetition and content_hash(line.content, line.session) != line.content_hash:
        raise InvalidRequest(f"content_hash of memory {line.id} does not match its content: the file was changed")
    values = {name: getattr(line, name) for name in MEMORY_FIELDS} | {"tags": tuple(line.tags)}
    return ArchivedMemory(
        id=line.id,
        request=_Repetition(request_id=SMALLEST_ID, stored_hash=line.content_hash, **values)
        if is_repetition
        else IngestRequest(request_id=SMALLEST_ID, **values),
        extras={"created_at": fields["created_at"], **_to_json_fields(line.mnemosyne_export)},
    )


def _to_json_fields(model: _ArchiveInput) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_none=True)
