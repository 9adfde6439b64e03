"""Import and export of files for the console and the command line. Each call transfers a part of a file."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from mnemosyne.domain import rate_limit
from mnemosyne.domain.event_time import zone
from mnemosyne.domain.memory import BATCH_LIMIT
from mnemosyne.domain.parsing import KEY_LIMIT, SOURCE_LIMIT, Filled, Id, Ids, Input, Instant, Text
from mnemosyne.domain.plurals import quantity
from mnemosyne.domain.principal import Principal
from mnemosyne.mcp import cursors
from mnemosyne.mcp.tool import Reply, Result, Tool
from mnemosyne.mcp.tools.filters import ListFilterArguments
from mnemosyne.ports.services import Services
from mnemosyne.service import transfer

YAML_CHARACTERS = 1_000
"""Number of characters of YAML that cost one unit of the rate limit. Parsing this number takes about ten milliseconds
of CPU time."""
MARKDOWN_PAGE = 10.0
"""Cost of a page of Markdown files, in units of the rate limit. Writing YAML is slow (see
`transfer.FRONT_MATTER_CHARACTERS`)."""
PART_CHARACTERS = 2_500_000
"""Maximum number of characters of a part of a file. Even with JSON escapes, the part fits into the maximum size of a
request."""


class RefusedInput(Input):
    """A record that the caller could not read from the file: the record's source and key, and the error."""

    error: Annotated[Filled, Field(max_length=1_000)]
    # The fields `source` and `key` allow values that the types `Source` and `Key` do not allow. An invalid source, for
    # example a source of two lines, can be the reason why the caller could not read the record.
    source: Annotated[Filled, Field(max_length=SOURCE_LIMIT)]
    key: Annotated[Filled, Field(max_length=KEY_LIMIT)]
    request_id: Id | None = None


class ImportArguments(Input):
    """A part of a file: complete JSON lines, complete chronicles (blocks of `TS:` to `BODY:` lines) or one note."""

    name: Annotated[
        Filled,
        Field(min_length=1, max_length=1_000, description="Name of the file; its extension determines the format."),
    ]
    text: Annotated[str, Field(max_length=PART_CHARACTERS, description="At most 100 memories.")]
    format: Annotated[
        Literal["jsonl", "chronicle", "markdown"] | None,
        Field(description="Format of the file, if the name does not determine it."),
    ] = None
    first_line: Annotated[int, Field(ge=1, le=2**31, description="Number of the part's first line in the file.")] = 1
    modified: Annotated[
        Instant | None, Field(description="When the file was written: the time of notes and deletions without a time.")
    ] = None
    timezone: Annotated[
        Text, Field(description="IANA name, else UTC: the zone of local times in records without a zone.")
    ] = "UTC"
    refused: Annotated[
        list[RefusedInput], Field(max_length=BATCH_LIMIT, description="Records that the caller could not read.")
    ] = []  # noqa: RUF012 - pydantic makes each its own


class Imported(Result):
    """One memory of the file: the id of its ingest request, or the reason why the memory was refused."""

    line: int
    request_id: UUID | None = None
    error: str | None = None
    content_hash: str | None = None
    superseded_by_hash: str | None = None
    tags: list[str] | None = None
    left_out: list[str] = []  # noqa: RUF012 - pydantic makes each its own


class ImportedPart(Result):
    """The memories in the imported part of a file, in order. Memories with a `request_id` are durably queued."""

    items: list[Imported]
    request_ids: list[UUID]


def _import_memories(arguments: ImportArguments, principal: Principal, services: Services) -> Reply:
    zone(arguments.timezone)
    part = transfer.FilePart(**arguments.model_dump())
    items = transfer.take_file(principal.namespace, part, services, client=principal.name)
    return Reply(ImportedPart(items=items, request_ids=[item.request_id for item in items if item.request_id]))


def _units_of_part(arguments: Mapping[str, Any]) -> float:
    text = arguments.get("text")
    if not isinstance(text, str):
        return rate_limit.MEMORY
    refused = arguments.get("refused")
    lines = min(text.count("\n") + 1 + (len(refused) if isinstance(refused, list) else 0), BATCH_LIMIT)
    units = lines * (rate_limit.MEMORY + rate_limit.TEXT) + rate_limit.TEXT * (len(text) // rate_limit.TEXT_CHARACTERS)
    return units + transfer.yaml_characters(text) / YAML_CHARACTERS


IMPORT_MEMORIES = Tool(
    name="import_memories",
    title="Import a part of a file",
    description="Store the memories in a part of a file of JSON lines, chronicles or Markdown, up to 100 at a time.",
    arguments=ImportArguments,
    result=ImportedPart,
    returns_stored_text=True,
    units=_units_of_part,
    run=_import_memories,
    needs_database=False,
)


class ExportArguments(ListFilterArguments):
    """The memories to export, the format, and the cursor."""

    ids: Annotated[Ids | None, Field(description="Only the memories with these ids.")] = None
    format: Annotated[Literal["jsonl", "markdown"], Field(description="Lines of JSON, or a file for each memory.")] = (
        "jsonl"
    )
    cursor: Annotated[Text | None, Field(description="`next_cursor` of the page before.")] = None


class ExportedFile(Result):
    """A memory as a Markdown file."""

    name: str
    text: str


class ExportedPage(Result):
    """Lines or files as `mnemosyne export` writes them, oldest memory first; `next_cursor` is set if there are more."""

    lines: str | None = None
    files: list[ExportedFile] | None = None
    memories: int
    next_cursor: str | None


def _export_memories(arguments: ExportArguments, principal: Principal, services: Services) -> Reply:
    markdown = arguments.format == "markdown"
    files_of_page, next_cursor = transfer.export_page(
        after=cursors.read_key(arguments.cursor),
        memories=services.memories_of(principal.namespace),
        filters=arguments.filters(arguments.window(services.clock())),
        memory_ids=arguments.ids,
        markdown=markdown,
    )
    files = [ExportedFile(name=name, text=text) for name, text in files_of_page]
    return Reply(
        ExportedPage(
            lines=None if markdown else "".join(text for _, text in files_of_page),
            files=files if markdown else None,
            memories=len(files_of_page),
            next_cursor=cursors.encode(next_cursor),
        ),
        text=quantity(len(files_of_page), "memory", "memories"),
    )


def _units_of_page(arguments: Mapping[str, Any]) -> float:
    markdown = MARKDOWN_PAGE if arguments.get("format") == "markdown" else 0.0
    return markdown + rate_limit.cost_of_list(arguments)


EXPORT_MEMORIES = Tool(
    name="export_memories",
    title="Export",
    description="Memories as lines of JSON or as Markdown files, page by page, as `mnemosyne export` writes them.",
    arguments=ExportArguments,
    result=ExportedPage,
    returns_stored_text=True,
    units=_units_of_page,
    run=_export_memories,
    read_only=True,
)
