"""Insert memories with their embeddings."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import orjson

from mnemosyne.adapters.database import copy_binary, ingest_sql, rows
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.errors import EmbeddingModelChanged, ItemUnavailable
from mnemosyne.ports.embedder import Vector

INSERTED_CHUNKS = 50
"""Maximum number of chunks that one statement inserts. The duration of a statement then does not grow with the length
of a memory."""


def insert_memories(
    connection: Connection,
    namespace: str,
    incoming: Sequence[tuple[UUID, IngestRequest, Sequence[Vector]]],
    requests: Sequence[Mapping[str, object]],
    model: str,
    dimension: int,
) -> Sequence[Mapping[str, Any]]:
    """Insert memories and the outcomes of their requests in a transaction, and return the recorded outcomes.

    Each memory is given with its id and one vector per chunk. Raises EmbeddingModelChanged if the database uses another
    embedding space, and ItemUnavailable if a memory has expired.
    """
    data = copy_binary.memories((memory_id, request, vectors[0]) for memory_id, request, vectors in incoming)
    connection.copy(ingest_sql.COPY_INCOMING, data)
    answer = connection.one(
        ingest_sql.STORE,
        namespace=namespace,
        model=model,
        dimension=dimension,
        requests=rows.json_text(requests),
    )["answer"]
    stored = orjson.loads(answer)
    if (stored["model"], stored["dimension"]) != (model, dimension):
        raise EmbeddingModelChanged(
            f"the memories are in the space of {stored['model']} at dimension {stored['dimension']}, not of "
            f"{model} at dimension {dimension} as embedded"
        )
    if stored["stored"] < len(incoming):
        raise ItemUnavailable("the memory expired while it was being stored")
    chunks = [
        {"memory_id": memory_id, "chunk_index": index, "embedding": rows.vector_text(vector)}
        for memory_id, _, vectors in incoming
        for index, vector in enumerate(vectors[1:], 1)
    ]
    for start in range(0, len(chunks), INSERTED_CHUNKS):
        part = rows.json_text(chunks[start : start + INSERTED_CHUNKS])
        connection.run(ingest_sql.INSERT_CHUNKS, namespace=namespace, chunks=part)
    recorded: Sequence[Mapping[str, Any]] = stored["recorded"]
    return recorded
