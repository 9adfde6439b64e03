"""Values to parameters and rows to values, for the statements in `sql`."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from mnemosyne.adapters.connections import Row
from mnemosyne.domain.chronicle import one_line, tag_key
from mnemosyne.domain.memory import (
    DeadLetter,
    IngestRequest,
    IngestState,
    IngestStatus,
    Memory,
    Origin,
    Unstored,
)
from mnemosyne.domain.quota import Quota
from mnemosyne.domain.search import Filters, Hit, TagMatch
from mnemosyne.ports import Vector


def filter_values(filters: Filters) -> dict[str, object]:
    """The parameters that stand for the filters."""
    keys = text_array([tag_key(tag) for tag in filters.tags]) if filters.tags else None
    return {
        "after": filters.after,
        "before": filters.before,
        "any_tags": keys if filters.tag_match is TagMatch.ANY else None,
        "all_tags": keys if filters.tag_match is TagMatch.ALL else None,
    }


def requests_json(requests: Sequence[IngestRequest]) -> str:
    """What the claim needs to know of each request, as JSON."""
    return orjson.dumps(
        [
            {"request_id": one.request_id, "content_hash": one.content_hash, **origin_values(one.origin)}
            for one in requests
        ]
    ).decode()


def unstored_json(requests: Sequence[Unstored], contents: Mapping[UUID, str] | None = None) -> str:
    """Requests without a memory, as JSON; with the content hashes that are known of them."""
    known = contents or {}
    return orjson.dumps(
        [
            {
                "request_id": one.request_id,
                "error": one.error,
                "hash": known.get(one.request_id),
                **origin_values(one.origin),
            }
            for one in requests
        ]
    ).decode()


def told_json(told: Sequence[IngestStatus]) -> str:
    """States that a publisher was told of, as JSON."""
    return orjson.dumps(
        [{"request_id": one.request_id, "state": one.state.value, "updated_at": one.updated_at} for one in told]
    ).decode()


def read_letters(rows: Sequence[Row]) -> list[DeadLetter]:
    """Dead letters from rows of `DEAD_LETTERS` or `LOST_LETTERS`."""
    return [
        DeadLetter(
            message_id=row[0],
            data=row[1],
            attributes=row[2],
            cause=row[3],
            dead_lettered_at=row[4],
            lost=row[5],
        )
        for row in rows
    ]


def origin_values(origin: Origin | None) -> dict[str, str]:
    """The columns that stand for an origin; none where there is none."""
    return {"source": origin.source, "key": origin.key} if origin else {}


def letter_values(letter: DeadLetter) -> dict[str, object]:
    """The parameters that stand for a dead letter, but for its cause."""
    return {
        "message_id": letter.message_id,
        "data": letter.data,
        "attributes": orjson.dumps(dict(letter.attributes)).decode(),
    }


def vector_text(vector: Vector) -> str:
    """The vector as pgvector reads it."""
    return orjson.dumps(vector, option=orjson.OPT_SERIALIZE_NUMPY).decode()


def text_array(texts: Sequence[str]) -> str:
    """A text[] literal with every element quoted: unquoted, the driver's `null` would be no text at all."""
    return "{" + ",".join('"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for text in texts) + "}"


def uuid_array(ids: Sequence[UUID]) -> str:
    """A uuid[] literal."""
    return "{" + ",".join(map(str, ids)) + "}"


def read_statuses(rows: Sequence[Row]) -> dict[UUID, IngestStatus]:
    """Statuses from rows of `STATUSES`."""
    return {
        row[0]: IngestStatus(
            request_id=row[0],
            state=IngestState(row[1]),
            memory_id=row[2],
            attempts=row[3],
            error=row[4],
            updated_at=row[5],
            origin=Origin(row[6], row[7]) if row[6] is not None else None,
        )
        for row in rows
    }


def read_outcomes(listed: Sequence[Mapping[str, Any]]) -> dict[UUID, IngestStatus]:
    """Statuses from a JSON array: a tenth of the driver's cost for as many rows."""
    outcomes = {}
    for one in listed:
        request_id = UUID(one["request_id"])
        outcomes[request_id] = IngestStatus(
            request_id=request_id,
            state=IngestState(one["state"]),
            memory_id=UUID(one["memory_id"]) if one["memory_id"] else None,
            attempts=one["attempts"],
            error=one["error"],
        )
    return outcomes


def read_hit(found: dict[str, Any]) -> Hit:
    """One hit of `SEARCH`."""
    superseded_by = found["superseded_by"]
    return Hit(
        id=UUID(found["id"]),
        timestamp=datetime.fromisoformat(found["timestamp"]),
        title=one_line(found["title"]),
        content=found["content"],
        tags=tuple(map(one_line, found["tags"])),
        metadata=found["metadata"] or {},
        superseded_by=UUID(superseded_by) if superseded_by else None,
        relevance=found["relevance"],
        quality=found["quality"],
        score=found["score"],
        truncated=found["metadata"] is None or len(found["content"]) < found["length"],
    )


def read_quota(values: Sequence[Any]) -> Quota:
    """What a namespace holds and may hold, from a row of `USAGE`."""
    memories, size, texts, memories_limit, bytes_limit, texts_limit = values
    return Quota(
        memories=memories,
        bytes=size,
        texts_today=texts,
        memories_limit=memories_limit,
        bytes_limit=bytes_limit,
        texts_limit=texts_limit,
    )


def read_memory(row: Row) -> Memory:
    """One memory from a row of `FETCH` or `UPDATE`."""
    return Memory(
        id=row[0],
        timestamp=row[1],
        content=row[2],
        title=one_line(row[3]),
        tags=tuple(map(one_line, row[4])),
        metadata=row[5],
        content_hash=row[6],
        embedding_model=row[7],
        created_at=row[8],
        last_seen_at=row[9],
        superseded_by=row[10],
        quality=row[11],
    )
