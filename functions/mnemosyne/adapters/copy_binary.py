"""PostgreSQL's binary COPY format for memories: the fastest way in that the driver has.

Format: https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.4
"""

import struct
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import orjson
from pgvector import HalfVector

from mnemosyne.domain.chronicle import tag_key
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.ports import Vector

_HEADER = b"PGCOPY\n\xff\r\n\x00" + struct.pack(">ii", 0, 0)
_TRAILER = struct.pack(">h", -1)
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_TEXT_OID = 25
_LENGTH = struct.Struct(">i")


def memories(rows: Iterable[tuple[UUID, IngestRequest, Vector]]) -> bytes:
    """The rows of the table `incoming`, in its columns' order."""
    return _HEADER + b"".join(_row(*row) for row in rows) + _TRAILER


def _row(memory_id: UUID, request: IngestRequest, vector: Vector) -> bytes:
    fields = (
        memory_id.bytes,
        struct.pack(">q", (request.timestamp - _EPOCH) // _MICROSECOND),
        request.content.encode(),
        request.title.encode(),
        _texts(request.tags),
        _texts([tag_key(tag) for tag in request.tags]),
        b"\x01" + orjson.dumps(request.metadata),  # jsonb, version 1
        request.content_hash.encode(),
        HalfVector(vector).to_binary(),
    )
    return struct.pack(">h", len(fields)) + b"".join(_LENGTH.pack(len(field)) + field for field in fields)


def _texts(texts: Sequence[str]) -> bytes:
    if not texts:
        return struct.pack(">iii", 0, 0, _TEXT_OID)
    encoded = [text.encode() for text in texts]
    items = b"".join(_LENGTH.pack(len(text)) + text for text in encoded)
    return struct.pack(">iiiii", 1, 0, _TEXT_OID, len(texts), 1) + items
