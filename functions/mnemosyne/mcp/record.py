"""A memory as tools answer it: the one place where its fields are shown."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from itertools import accumulate
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, ConfigDict, create_model

from mnemosyne.mcp.tool import Result

DECIMALS = 6
"""Of a score: more would tell nothing, and cost an agent tokens."""
Score = Annotated[float, AfterValidator(lambda value: round(value, DECIMALS))]


URI_SCHEME = "memory://"
"""Of a memory's resource."""


def uri_of(memory_id: UUID | str) -> str:
    """Return what a memory is cited and read by, as a resource."""
    return f"{URI_SCHEME}{memory_id}"


_site: ContextVar[str] = ContextVar("site", default="")


@contextmanager
def site_context(origin: str) -> Iterator[None]:
    """Serve a request that came to that origin, as `https://memory.example`; empty where it came by none."""
    token = _site.set(origin)
    try:
        yield
    finally:
        _site.reset(token)


def page_of(memory_id: UUID) -> str:
    """Return the address of the memory's page, for people; its resource where the request came by no address."""
    origin = _site.get()
    return f"{origin}/memories/{memory_id}" if origin else uri_of(memory_id)


TITLE_SHOWN = 100
TAGS_SHOWN = 200
"""Characters of a title, and of all tags together, in an answer with several memories: more is for get_memory."""


def brief(title: str, tags: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return so much of a title and of tags as an answer with several memories has room for."""
    ends = accumulate(len(tag) for tag in tags)
    kept = tuple(tag for tag, end in zip(tags, ends, strict=True) if end <= TAGS_SHOWN)
    return title if len(title) <= TITLE_SHOWN else f"{title[: TITLE_SHOWN - 1]}…", kept


class MemoryShown(Result):
    """What somebody has said of a memory, and its id. Made from whatever value has the same fields."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    id: UUID
    timestamp: datetime
    title: str
    content: str
    tags: tuple[str, ...]
    metadata: dict[str, Any]


Earlier = Annotated[tuple[UUID, ...] | None, BeforeValidator(lambda ids: ids or None)]
"""Memories that one has superseded; left out where there is none."""


class MemoryRecord(MemoryShown):
    """One memory, whole; `quality` in [0, 1] comes from ratings."""

    quality: Score
    superseded_by: UUID | None
    supersedes: Earlier = None
    session: str | None = None
    content_hash: str
    embedding_model: str
    created_at: datetime
    last_seen_at: datetime


class SearchHit(MemoryShown):
    """One memory found. `score` is what it was ranked by: relevance and quality, as weighted."""

    relevance: Score | None
    quality: Score
    score: Score
    superseded_by: UUID | None = None
    supersedes: Earlier = None
    session: str | None = None
    truncated: bool | None = None
    snippet: str | None = None
    near_duplicates: tuple[UUID, ...] | None = None


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
"""A MemoryRecord, perhaps cut; ids alone for those who may not read."""
