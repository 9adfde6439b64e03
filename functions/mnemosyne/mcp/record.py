"""A memory as tools answer it: the one place where its fields are shown."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, create_model

from mnemosyne.mcp.tool import Result

DECIMALS = 6
"""Of a score: more would tell nothing, and cost an agent tokens."""
Score = Annotated[float, AfterValidator(lambda value: round(value, DECIMALS))]


class MemoryShown(Result):
    """What somebody has said of a memory, and its id. Made from whatever value has the same fields."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    id: UUID
    timestamp: datetime
    title: str
    content: str
    tags: tuple[str, ...]
    metadata: dict[str, Any]


class MemoryRecord(MemoryShown):
    """One memory, whole; `quality` in [0, 1] comes from ratings and reads."""

    quality: Score
    superseded_by: UUID | None
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
    "RecordOrIds", __base__=Result, id=(UUID, ...), superseded_by=(UUID | None, ...), **_OPTIONAL
)
"""A MemoryRecord; ids alone for those who may not read."""
