"""Insert memories with their embeddings."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from pgvector import HalfVector

from mnemosyne.adapters.database import ingest_sql, rows
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.domain.chronicle import tag_key
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.domain.wording import wording_id
from mnemosyne.errors import EmbeddingModelChanged, ItemUnavailable
from mnemosyne.ports.embedder import Vector

# The binary format of COPY, which is the fastest way to insert rows with this driver:
# https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.4.
_HEADER = b"PGCOPY\n\xff\r\n\x00" + struct.pack(">ii", 0, 0)
_TRAILER = struct.pack(">h", -1)
_NULL = struct.pack(">i", -1)
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_TEXT_OID = 25
"""OID of the type text: https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat."""
_JSONB_VERSION = b"\x01"
_LENGTH = struct.Struct(">i")


def binary_rows(rows: Iterable[tuple[UUID, IngestRequest, Vector]]) -> bytes:
    """Encode memories in the binary format of COPY, for the staging table.

    Each row has the id, the fields of the memory and the computed fields, in the order of the table's columns.
    """
    return _HEADER + b"".join(_encode_row(*row) for row in rows) + _TRAILER


def _encode_row(memory_id: UUID, request: IngestRequest, vector: Vector) -> bytes:
    values = (
        memory_id,
        *request.fields.values(),
        [tag_key(tag) for tag in request.tags],
        request.content_hash,
        HalfVector(vector),
        wording_id(request.content, request.session),
    )
    return struct.pack(">h", len(values)) + b"".join(map(_encode_field, values))


def _encode_field(value: object) -> bytes:
    """Encode a value with its length as a prefix."""
    if value is None:
        return _NULL
    data = _encode_value(value)
    return _LENGTH.pack(len(data)) + data


def _encode_value(value: object) -> bytes:
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
            return _encode_texts(value)
        case _:
            return _JSONB_VERSION + orjson.dumps(value)


def _encode_texts(texts: Sequence[str]) -> bytes:
    if not texts:
        return struct.pack(">iii", 0, 0, _TEXT_OID)
    items_utf8 = [text.encode() for text in texts]
    items = b"".join(_LENGTH.pack(len(text)) + text for text in items_utf8)
    return struct.pack(">iiiii", 1, 0, _TEXT_OID, len(texts), 1) + items


INSERTED_CHUNKS = 50
"""Maximum number of chunks that one statement inserts, so that the duration of a statement does not grow with the
length of a memory."""


def insert_memories(
    connection: Connection,
    namespace: str,
    incoming: Sequence[tuple[UUID, IngestRequest, Sequence[Vector]]],
    requests: Sequence[Mapping[str, object]],
    model: str,
    dimension: int,
) -> Sequence[Mapping[str, Any]]:
    """Insert memories, and record and return the outcomes of `requests`. The caller has begun the transaction.

    `incoming` has, for each memory, the id, the request, and one vector for each chunk. Raises EmbeddingModelChanged if
    the database uses another embedding space, and ItemUnavailable if a memory has expired.
    """
    data = binary_rows((memory_id, request, vectors[0]) for memory_id, request, vectors in incoming)
    connection.copy(ingest_sql.COPY_INCOMING, data)
    answer = connection.one(
        ingest_sql.STORE, namespace=namespace, model=model, dimension=dimension, requests=rows.json_text(requests)
    )["answer"]
    row = orjson.loads(answer)
    if (row["model"], row["dimension"]) != (model, dimension):
        raise EmbeddingModelChanged(
            f"the database has embeddings of {row['model']} at dimension {row['dimension']}, but the new memories were "
            f"embedded with {model} at dimension {dimension}"
        )
    if row["stored"] < len(incoming):
        raise ItemUnavailable("the memory expired while it was being stored")
    chunks = [
        rows.chunk_row(memory_id, index, vector)
        for memory_id, _, vectors in incoming
        for index, vector in enumerate(vectors[1:], 1)
    ]
    for start in range(0, len(chunks), INSERTED_CHUNKS):
        part = rows.json_text(chunks[start : start + INSERTED_CHUNKS])
        connection.run(ingest_sql.INSERT_CHUNKS, namespace=namespace, chunks=part)
    outcomes: Sequence[Mapping[str, Any]] = row["recorded"]
    return outcomes
