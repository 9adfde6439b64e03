"""Import and export files in parts, so that no HTTP request holds a whole file."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import UUID

from pydantic import Field

from mnemosyne.domain.failed_request import failed_request
from mnemosyne.domain.memory import (
    BATCH_LIMIT,
    EXPORT_BYTES,
    Deletion,
    ExternalId,
    FailedRequest,
    KeysetCursor,
    Reading,
)
from mnemosyne.domain.memory_input import Defaults
from mnemosyne.domain.nesting import VALUES, check_values
from mnemosyne.domain.parsing import KEY_LIMIT, SOURCE_LIMIT, Filled, Id, Input, Instant, Text
from mnemosyne.domain.provenance import Publisher
from mnemosyne.domain.search import Filters
from mnemosyne.domain.visible import escape
from mnemosyne.errors import InvalidRequest
from mnemosyne.formats import reading
from mnemosyne.formats.front_matter import yaml_characters as yaml_characters  # re-exported to `mcp.tools.transfer`
from mnemosyne.formats.item import Item, read_item
from mnemosyne.formats.writing import to_jsonl, to_markdown, to_record
from mnemosyne.ids import issue_request_id
from mnemosyne.ports.services import Services
from mnemosyne.service import ingest
from mnemosyne.service.seen_requests import SeenRequests

if TYPE_CHECKING:
    from mnemosyne.adapters.database.memories import MemoryStore

VAULT = "import_memories"
"""Source of imported notes. The key of a note is the name that the caller sends with it. The console sends the note's
path in its folder as the name. A second note with the same name becomes a new version of the first note."""
EXPORT_PAGE = 200
EXPORT_CHARACTERS = 2_000_000
"""Maximum number of characters of a page of an export that is written as lines of JSON. A page with a single memory may
have more."""
FRONT_MATTER_CHARACTERS = 100_000
"""Maximum number of characters of the front matter in a page of an export that is written as Markdown files. The front
matter of a memory has all its fields except the content. Its characters are counted as JSON. Writing it as YAML takes
about one to ten microseconds of CPU time a character. A page with a single memory may have more."""
PART_CHARACTERS = 2_500_000
"""Maximum number of characters of a part of a file. Even with JSON escapes, the part fits into the maximum size of a
request."""


@dataclass(frozen=True, kw_only=True)
class ReadItem:
    """Result of reading one record of a file: its request, or the reason why the record was refused."""

    line: int
    request_id: UUID | None = None
    error: str | None = None
    content_hash: str | None = None
    superseded_by_hash: str | None = None
    """Content hash of this memory's successor, from a Mnemosyne export. The importer sets the successor when both
    memories are stored."""
    tags: tuple[str, ...] | None = None
    """The exported tags of the memory, if the importer must set them after storing, otherwise None. The importer must
    set the tags if the content names other tags, because storing the memory adds those tags."""
    left_out: tuple[str, ...] = ()
    """Names of the unknown fields of the record."""


class RefusedRecord(Input):
    """A record that the caller could not read from the file: the record's source and key, and the error."""

    error: Annotated[Filled, Field(max_length=1_000)]
    # The fields `source` and `key` allow values that the types `Source` and `Key` do not allow. An invalid source, for
    # example a source of two lines, can be the reason why the caller could not read the record.
    source: Annotated[Filled, Field(max_length=SOURCE_LIMIT)]
    key: Annotated[Filled, Field(max_length=KEY_LIMIT)]
    request_id: Id | None = None


class FilePart(Input):
    """A part of a file: complete JSON lines, complete chronicles (blocks of `TS:` to `BODY:` lines) or one note."""

    name: Filled = Field(
        min_length=1, max_length=1_000, description="Name of the file; its extension determines the format."
    )
    text: Annotated[str, Field(max_length=PART_CHARACTERS, description="At most 100 memories.")]
    format: Literal["jsonl", "chronicle", "markdown"] | None = Field(
        None, description="Format of the file, if the name does not determine it."
    )
    first_line: Annotated[int, Field(ge=1, le=2**31, description="Number of the part's first line in the file.")] = 1
    modified: Instant | None = Field(
        None, description="When the file was written: the time of notes and deletions without a time."
    )
    timezone: Text = Field("UTC", description="IANA name, else UTC: the zone of local times in records without a zone.")
    refused: list[RefusedRecord] = Field(
        [], max_length=BATCH_LIMIT, description="Records that the caller could not read."
    )


def take_file(namespace: str, part: FilePart, services: Services, *, client: str = "") -> Sequence[ReadItem]:
    """Publish the records in a part of a file, and return the request of each record.

    Refused records are published, too, so that each failure is listed with the name of the file and the line. Raises
    InvalidRequest if the format is unknown or there are more than 100 records. Raises OverQuota or Unavailable if
    `ingest.accept` does. After an UncertainPublication (a kind of Unavailable), the records may have been published.
    After any other error, they were not published.
    """
    format_ = part.format or reading.format_of(part.name)
    if format_ is None or (part.format is None and reading.unpacked_name(part.name) != part.name):
        raise InvalidRequest(f"name must end in .jsonl, .ndjson, .md, .txt or .chronicle, got {part.name[-60:]!r}")
    text = part.text.encode("utf-8", "surrogatepass")
    _check_values(text, format_)
    found = reading.read(io.BytesIO(text), part.name, format_, modified=part.modified, packed=False)
    items = list(islice(found, BATCH_LIMIT + 1))
    if len(items) + len(part.refused) > BATCH_LIMIT:
        raise InvalidRequest(f"text must contain at most {BATCH_LIMIT} memories: send it in parts")
    lines = [item.line + part.first_line - 1 for item in items]
    readings, seen_requests = [], SeenRequests()
    for item, line in zip(items, lines, strict=True):
        place = ExternalId(escape(part.name), f"{line}{item.suffix}")
        reading_ = read_item(item, _defaults_of_part(namespace, part, place), vault=VAULT)
        readings.append(seen_requests.check(item, reading_, place)[0])
    unread = [failed_request(record.error, _defaults_of_part(namespace, part), vars(record)) for record in part.refused]
    if records := [*readings, *unread]:
        publisher = Publisher(client=client, import_name=part.name, lines=[] if unread else lines)
        ingest.accept(namespace, records, services, publisher)
    return [_read_result(item, line, reading_) for item, line, reading_ in zip(items, lines, readings, strict=True)]


def _check_values(text: bytes, format_: str) -> None:
    """Raise InvalidRequest if a part of a file has more JSON or YAML values than an HTTP request may have.

    In the HTTP request the part is one string, so the check of the request does not count the values in the part.
    """
    if format_ == "jsonl":
        check_values(text, of="the part of a file")
    elif format_ == "markdown":
        # Estimate the values in the front matter by its line breaks, commas and brackets: each value needs one of them.
        front = text[: yaml_characters(text.decode("utf-8", "replace"))]
        if sum(map(front.count, (b"\n", b",", b"[", b"{"))) > VALUES:
            raise InvalidRequest(f"front matter must contain at most {VALUES:,} values")


def _defaults_of_part(namespace: str, part: FilePart, place: ExternalId | None = None) -> Defaults:
    return Defaults(
        new_id=lambda: issue_request_id(namespace),
        namespace=namespace,
        place=place,
        deleted_at=part.modified,
        timezone=part.timezone,
    )


def _read_result(item: Item, line: int, reading_: Reading) -> ReadItem:
    """Return the result of reading a record: its request, or the error if the record was refused."""
    if isinstance(reading_, FailedRequest):
        return ReadItem(line=line, error=reading_.error, left_out=item.left_out)
    if isinstance(reading_, Deletion):
        return ReadItem(line=line, request_id=reading_.request_id, left_out=item.left_out)
    return ReadItem(
        line=line,
        request_id=reading_.request_id,
        content_hash=reading_.content_hash,
        superseded_by_hash=item.superseded_by_hash,
        tags=item.tags_to_set(reading_.content),
        left_out=item.left_out,
    )


def export_page(
    *,
    after: KeysetCursor | None,
    memories: "MemoryStore",
    filters: Filters,
    memory_ids: Sequence[UUID] | None,
    markdown: bool,
) -> tuple[list[tuple[str, str]], KeysetCursor | None]:
    """Return the next matching memories, as lines of JSON or as Markdown files, and the cursor of the next page.

    Each memory is a pair: the name of the file (empty for a line of JSON), and the text of the line or file.
    """
    page = memories.export(EXPORT_PAGE, after=after, filters=filters, memory_ids=memory_ids)
    files: list[tuple[str, str]] = []
    size = front_matter_size = 0
    for record in map(to_record, page):
        line = to_jsonl(record)
        size += len(line)
        front_matter_size += len(line) - len(record["content"])
        if files and (size > EXPORT_CHARACTERS or (markdown and front_matter_size > FRONT_MATTER_CHARACTERS)):
            break
        files.append(to_markdown(record) if markdown else ("", line))
    is_cut = sum(len(memory.content.encode()) for memory in page) >= EXPORT_BYTES
    is_last = len(page) < EXPORT_PAGE and len(files) == len(page) and not is_cut
    return files, None if is_last or not page else page[len(files) - 1].cursor
