"""Hand over what is in a file, and write what is stored as one: in parts, so that no request holds it whole."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID

from mnemosyne.domain.memory import BATCH_LIMIT, EXPORT_BYTES, IngestRequest, KeysetCursor
from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.domain.parsing import parse
from mnemosyne.errors import InvalidRequest
from mnemosyne.formats import reading
from mnemosyne.formats.item import Item
from mnemosyne.formats.markdown import front_matter_characters
from mnemosyne.formats.writing import to_jsonl
from mnemosyne.ids import issue_request_id
from mnemosyne.ports import MemoryStore, Services
from mnemosyne.service import ingest

EXPORT_PAGE = 200
EXPORT_CHARACTERS = 2_000_000
"""Of one page, unless one memory alone has more."""


@dataclass(frozen=True, kw_only=True)
class ReadItem:
    """One memory of a file: the request it became, or why it is none."""

    line: int
    request_id: UUID | None = None
    error: str | None = None
    content_hash: str | None = None
    superseded_by_hash: str | None = None
    """Of an export of ours: what replaces it, to be said once both are stored."""
    tags: tuple[str, ...] | None = None
    """Of an export of ours: all its tags, where its text names others, to be said once it is stored."""
    left_out: tuple[str, ...] = ()
    """Fields that it had and no memory has."""


def take_file(
    namespace: str, name: str, text: str, services: Services, *, first_line: int, modified: datetime | None
) -> Sequence[ReadItem]:
    """Publish the memories in a part of a file, each a request of its own, and say which line became which.

    Raises InvalidRequest where the name tells no format or there are more than 100 memories. Then, and where
    Unavailable or OverQuota is raised, nothing was published.
    """
    format_ = reading.format_of(name)
    if format_ is None or name.endswith(reading.GZIP):
        raise InvalidRequest(f"name must end in .jsonl, .ndjson, .md, .txt or .chronicle, got {name[-60:]!r}")
    stream = io.BytesIO(text.encode("utf-8", "surrogatepass"))
    items = list(islice(reading.read(stream, name, format_, modified=modified), BATCH_LIMIT + 1))
    if len(items) > BATCH_LIMIT:
        raise InvalidRequest(f"text must hold at most {BATCH_LIMIT} memories: send it in parts")
    read = [_read(item, item.line + first_line - 1, namespace) for item in items]
    if asked := [request for _, request in read if request]:
        known = services.known_quota(namespace)
        ingest.accept(namespace, asked, queue=services.queue, quota=known, clock=services.clock)
    return [one for one, _ in read]


def yaml_characters(text: str) -> int:
    """Return how many characters of a part would be read as YAML, which is slow."""
    return front_matter_characters(text)


def _read(item: Item, line: int, namespace: str) -> tuple[ReadItem, IngestRequest | None]:
    """Return what is told of an item, and its request where it can be one."""
    try:
        if item.arguments is None:
            raise InvalidRequest(item.problem)
        memory = parse(MemoryInput, item.arguments, of="a memory")
    except InvalidRequest as exc:
        return ReadItem(line=line, error=str(exc), left_out=item.left_out), None
    request = memory.request(issue_request_id(namespace))
    read = ReadItem(
        line=line,
        request_id=request.request_id,
        content_hash=request.content_hash,
        superseded_by_hash=item.superseded_by_hash,
        tags=item.tags_to_set(memory.content),
        left_out=item.left_out,
    )
    return read, request


def export_page(
    namespace: str, *, after: KeysetCursor | None, memories: MemoryStore
) -> tuple[str, int, KeysetCursor | None]:
    """Return the next lines of the namespace's export, how many they are, and where it goes on, if it does."""
    found = memories.export(namespace, EXPORT_PAGE, after=after)
    lines: list[str] = []
    size = 0
    for memory in found:
        line = to_jsonl(memory)
        if lines and size + len(line) > EXPORT_CHARACTERS:
            break
        lines.append(line)
        size += len(line)
    is_cut = sum(len(memory.content.encode()) for memory in found) >= EXPORT_BYTES
    is_last = len(found) < EXPORT_PAGE and len(lines) == len(found) and not is_cut
    return "".join(lines), len(lines), None if is_last or not found else found[len(lines) - 1].cursor
