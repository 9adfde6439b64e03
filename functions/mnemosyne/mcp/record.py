"""Classes for the results of tools that return memories."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from itertools import accumulate
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, create_model

from mnemosyne.domain import graphemes
from mnemosyne.domain.confidence import Confidence
from mnemosyne.mcp.tool import Result

DECIMALS = 6
"""Decimals of a score in results. More decimals would only cost tokens."""
Score = Annotated[float, AfterValidator(lambda value: round(value, DECIMALS))]


URI_SCHEME = "memory://"
"""Scheme of the URIs of memories as MCP resources."""


def uri_of(memory_id: UUID | str) -> str:
    """Return the URI of a memory's resource."""
    return f"{URI_SCHEME}{memory_id}"


_site: ContextVar[str] = ContextVar("site", default="")


@contextmanager
def site_context(origin: str) -> Iterator[None]:
    """Set the origin of the current request, such as `https://memory.example`, for the duration of the `with` block.

    Over stdio, the origin is empty.
    """
    token = _site.set(origin)
    try:
        yield
    finally:
        _site.reset(token)


def page_of(memory_id: UUID) -> str:
    """Return the address of a memory's page in the console, or the memory's URI if the origin is unknown."""
    origin = _site.get()
    return f"{origin}/memories/{memory_id}" if origin else uri_of(memory_id)


SHORT_TITLE_CHARACTERS = 100
"""Maximum number of characters of a title in answers with several memories. get_memory returns the whole title."""
SHORT_TAGS_CHARACTERS = 200
"""Maximum total number of characters of a memory's tags in answers with several memories. get_memory returns all tags.

list_memories with `preview` and memory_search with `matches` also return all tags, because people edit them in the
console.
"""


def brief(title: str, tags: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Shorten a title and a list of tags for answers with several memories.

    The title gets at most SHORT_TITLE_CHARACTERS, and the tags together at most SHORT_TAGS_CHARACTERS.
    """
    ends = accumulate(len(tag) for tag in tags)
    short_tags = tuple(tag for tag, end in zip(tags, ends, strict=True) if end <= SHORT_TAGS_CHARACTERS)
    if len(title) > SHORT_TITLE_CHARACTERS:
        title = f"{graphemes.beginning(title, SHORT_TITLE_CHARACTERS - 1)}…"
    return title, short_tags


class MemoryLine(Result):
    """One line about a memory, for people."""

    id: UUID
    timestamp: datetime
    title: Annotated[
        str,
        Field(validation_alias=AliasChoices("label", "title")),  # MemorySummary has `label` instead of `title`
        AfterValidator(lambda title: brief(title, ())[0]),
    ]


class MemoryResult(Result):
    """A memory's id and the fields that its publisher sets."""

    id: UUID
    timestamp: datetime
    title: str
    content: str
    tags: tuple[str, ...]
    metadata: dict[str, Any]


Earlier = Annotated[tuple[UUID, ...] | None, BeforeValidator(lambda ids: ids or None)]
"""Ids of the memories that a memory has superseded. None if there are none."""


Pinned = Annotated[bool | None, BeforeValidator(lambda pinned: pinned or None)]
"""True if the namespace's default lifetime does not apply to the memory, otherwise None."""


class MemoryRecord(MemoryResult):
    """One memory with its whole content. `quality` in [0, 1] comes from ratings."""

    quality: Score
    superseded_by: UUID | None
    supersedes: Earlier = None
    session: str | None = None
    content_hash: str
    embedding_model: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime | None = None
    pinned: Pinned = None


class Matches(Result):
    """Spans of the query's words in the texts of a hit.

    A span is two offsets in code points: of the first character, and of the character after the last one.
    """

    title: list[tuple[int, int]]
    content: list[tuple[int, int]]
    snippet: list[tuple[int, int]]


class SearchHit(MemoryResult):
    """One search hit.

    `score` is the weighted mean of relevance and quality, and gives the order of the hits. `confidence` says how close
    the memory is to the query, independent of the other hits. Without a query, `confidence` is None.
    """

    relevance: Score | None
    quality: Score
    score: Score
    confidence: Confidence | None = None
    superseded_by: UUID | None = None
    supersedes: Earlier = None
    session: str | None = None
    expires_at: datetime | None = None
    pinned: Pinned = None
    truncated: bool | None = None
    snippet: str | None = None
    near_duplicates: tuple[UUID, ...] | None = None
    matches: Matches | None = None
    title_given: bool | None = None


_OPTIONAL: dict[str, Any] = {
    name: (field.annotation | None, None)  # type: ignore[operator]
    for name, field in MemoryRecord.model_fields.items()
    if name not in ("id", "superseded_by")
}
RecordOrIds = create_model(
    "RecordOrIds",
    __base__=Result,
    id=(UUID, ...),
    superseded_by=(UUID | None, ...),
    truncated=(bool | None, None),
    **_OPTIONAL,
)
"""A MemoryRecord whose long fields are cut or left out. Callers without the scope `read` get only the ids of the
memory."""
