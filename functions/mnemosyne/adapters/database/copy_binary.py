"""Encode memories in the binary COPY format of PostgreSQL. COPY is the fastest way to insert rows with this driver.

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
from mnemosyne.domain.wording import wording_id
from mnemosyne.ports.embedder import Vector

_HEADER = b"PGCOPY\n\xff\r\n\x00" + struct.pack(">ii", 0, 0)
_TRAILER = struct.pack(">h", -1)
_NULL = struct.pack(">i", -1)
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_TEXT_OID = 25
"""OID of the type text: https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat."""
_JSONB_VERSION = b"\x01"
_LENGTH = struct.Struct(">i")


def memories(rows: Iterable[tuple[UUID, IngestRequest, Vector]]) -> bytes:
    """Encode rows of the staging table: id, fields of the memory, and fields computed from them, in the table's
    order."""
    return _HEADER + b"".join(_row(*row) for row in rows) + _TRAILER


def _row(memory_id: UUID, request: IngestRequest, vector: Vector) -> bytes:
    values = (
        memory_id,
        *request.fields.values(),
        [tag_key(tag) for tag in request.tags],
        request.content_hash,
        HalfVector(vector),
        wording_id(request.content, request.session),
    )
    return struct.pack(">h", len(values)) + b"".join(map(_field, values))


def _field(value: object) -> bytes:
    """Encode a value with its length as a prefix."""
    if value is None:
        return _NULL
    data = _encoded(value)
    return _LENGTH.pack(len(data)) + data


def _encoded(value: object) -> bytes:
    match value:
        case str():
            return value.encode()
        case UUID():
            return value.bytes
        case bool():
            return b"\x01" if value else b"\x00"
        case datetime():
            return struct.pack(">q", (value - _EPOCH) // _MICROSECOND)
        case HalfVector():
            return bytes(value.to_binary())
        case list() | tuple():
            return _texts(value)
        case _:
            return _JSONB_VERSION + orjson.dumps(value)


def _texts(texts: Sequence[str]) -> bytes:
    if not texts:
        return struct.pack(">iii", 0, 0, _TEXT_OID)
    encoded = [text.encode() for text in texts]
    items = b"".join(_LENGTH.pack(len(text)) + text for text in encoded)
    return struct.pack(">iiiii", 1, 0, _TEXT_OID, len(texts), 1) + items
