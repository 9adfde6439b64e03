"""The file or folder of an import, the records that are read from it, and the batches in which they are sent."""

import hashlib
import json
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

from mnemosyne.cli.journal import Failure, PostImportUpdate
from mnemosyne.domain.memory import ExternalId, FailedRequest, IngestRequest, IngestStatus, Reading
from mnemosyne.domain.outcome import NO_REQUEST
from mnemosyne.domain.parsing import KEY_LIMIT, SOURCE_LIMIT
from mnemosyne.domain.visible import escape
from mnemosyne.errors import InvalidRequest
from mnemosyne.formats.item import Item, valid_unicode


@dataclass(frozen=True)
class Source:
    """The file or folder that is imported."""

    name: str
    """For a folder, its full path or the value of --source. For a file, its path. In the output of
    `mnemosyne outcomes`, this name is the source of failed records without their own source."""
    timezone: str = "UTC"
    """Time zone of local times in records that name no zone."""
    vault: str = ""
    """Source that the memories of notes get. A note is identified by this source and its path in the folder."""
    root: str = ""
    """Path of the file or folder, as the user wrote it. The location of each record begins with this path. If `root` is
    empty, the location begins with `name`."""

    @classmethod
    def at(cls, path: Path, timezone: str = "UTC", vault: str | None = None) -> "Source":
        """Return the source for the file or folder at the path.

        For a file, `name` is its path as the user wrote it. For a folder, `name` is its full path, so that notes keep
        their source even if the next import is run in another working directory. If `vault` (the option --source) is
        given, it is used instead of the full path.

        Raises InvalidRequest if `name` would be the full path of a folder, and the path has more characters than the
        source of a memory is allowed to have.
        """
        full_path = str((path if path.is_dir() else path.parent).resolve())
        if path.is_dir() and not vault and (length := len(escape(valid_unicode(full_path)))) > SOURCE_LIMIT:
            raise InvalidRequest(
                f"the path of a folder is the source of its notes and must have at most {SOURCE_LIMIT:,} characters, "
                f"got {length:,}: name the source with --source"
            )
        folder_name = _to_valid_source(vault or full_path)
        name = folder_name if path.is_dir() else _to_valid_source(str(path))
        return cls(name, timezone, folder_name, str(path))

    def external_id(self, item: Item) -> ExternalId:
        """Return the source and key that identify a record of a file if it has no source and key of its own.

        The key is the location of the record: its line number in the imported file or, in a folder, the path of its
        file (with the line number, except for a note).
        """
        source = escape(item.source)
        place = source.removeprefix(_to_valid_source(self.root or self.name)).lstrip(":/") or str(item.line)
        return ExternalId(self.name, f"{place}{item.suffix}"[-KEY_LIMIT:])


def _to_valid_source(name: str) -> str:
    return escape(valid_unicode(name))[-SOURCE_LIMIT:]


@dataclass(frozen=True)
class Record:
    """A record of the imported file or folder, and the ingest request that was parsed from it."""

    item: Item
    reading: Reading
    is_repeated: bool = False
    """Whether an earlier record of the import has the same request id and the same content."""
    timezone: str = "UTC"
    """Time zone of local times in the record, if the record names no zone."""

    @property
    def names_request(self) -> bool:
        """Whether the record itself contains a request id. Several records may contain the same id."""
        return bool(self.item.fields and self.item.fields.get("request_id"))

    @property
    def line(self) -> str:
        """The record as a JSON line, which a person can correct and import again.

        The line has the fields of the record or, if the record could not be parsed, its text. The time zone of this
        import is added, because the line may be imported later with another time zone.
        """
        item, external_id = self.item, getattr(self.reading, "external_id", None)
        fields = dict(item.fields or ({"text" if item.path is None else "content": item.raw} if item.raw else {}))
        if item.path is not None and external_id:
            fields |= vars(external_id)
        if self.timezone != "UTC" and not fields.get("timezone"):
            fields["timezone"] = self.timezone
        return json.dumps(fields, default=str)  # escapes lone surrogates, which come from bytes that are not UTF-8


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
    """Failed outcomes that requests of this batch have from an earlier import. They do not count as outcomes of this
    import, which sends the requests again and waits for new outcomes."""
    present: Set[UUID] = frozenset()
    """Ids of requests whose memories an earlier import has stored. These requests are not sent again."""
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
        """The tags and successors that memories of the batch get after all memories of the import are stored.

        The successor of a memory is the memory that replaces it.
        """
        return [update for record in self.records if (update := _post_import_update(record))]

    @property
    def left_out(self) -> Counter[str]:
        """Names of unknown fields and notices about properties of notes, with the number of memories for each."""
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
