"""How far objects of buckets have been read, in PostgreSQL."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from mnemosyne.adapters.database import memories_sql
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.database.rows import json_text, read_statuses
from mnemosyne.domain.memory import IngestState, IngestStatus
from mnemosyne.domain.object_import import ObjectImport

PROGRESS: Final = """
SELECT source, memories, left_out, error, read_at IS NOT NULL AS is_read, reported_at IS NOT NULL AS is_reported
FROM object_imports
WHERE namespace = :namespace AND source = :source
"""

# Of two deliveries at once the one that is behind changes nothing.
RECORD: Final = """
INSERT INTO object_imports AS i (namespace, source, memories, left_out, error, read_at, reported_at)
SELECT :namespace, CAST(:source AS text), CAST(:memories AS bigint), CAST(:left_out AS jsonb), CAST(:error AS text),
    CASE WHEN CAST(:is_read AS boolean) THEN now() END, CASE WHEN CAST(:is_reported AS boolean) THEN now() END
ON CONFLICT (namespace, source) DO UPDATE
SET memories = EXCLUDED.memories, left_out = EXCLUDED.left_out, error = EXCLUDED.error,
    read_at = coalesce(i.read_at, EXCLUDED.read_at), reported_at = coalesce(i.reported_at, EXCLUDED.reported_at)
WHERE i.memories <= EXCLUDED.memories AND (i.read_at IS NULL OR EXCLUDED.read_at IS NOT NULL)
"""

FINAL_STATES: Final = """
SELECT state, count(*) AS requests
FROM ingest_requests
WHERE namespace = :namespace AND md5(source) = md5(CAST(:source AS text)) AND source = CAST(:source AS text)
    AND state <> 'queued'
GROUP BY state
ORDER BY state
"""

OUTCOMES_OF: Final = """
SELECT request_id, state, memory_id, attempts, error, updated_at, source, key
FROM ingest_requests
WHERE namespace = :namespace AND md5(source) = md5(CAST(:source AS text)) AND source = CAST(:source AS text)
    AND key > CAST(:cursor_key AS text) AND state <> 'queued'
ORDER BY key
LIMIT CAST(:limit AS integer)
"""


class PostgresObjectImports:
    """The ObjectImports on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @contextmanager
    def _transaction(self, namespace: str) -> Iterator[Connection]:
        with self._pool.connection() as connection, connection.transaction():
            connection.run(memories_sql.ENTER_NAMESPACE, namespace=namespace)
            yield connection

    def progress(self, namespace: str, source: str) -> ObjectImport | None:
        """How far the object has been read; None where it has not."""
        with self._transaction(namespace) as connection:
            rows = connection.run(PROGRESS, namespace=namespace, source=source)
        return ObjectImport(**rows[0].named) if rows else None

    def record(self, namespace: str, progress: ObjectImport) -> None:
        """Note how far it has been read; never less far than before."""
        with self._transaction(namespace) as connection:
            connection.run(
                RECORD,
                namespace=namespace,
                source=progress.source,
                memories=progress.memories,
                left_out=json_text(dict(progress.left_out)),
                error=progress.error,
                is_read=progress.is_read,
                is_reported=progress.is_reported,
            )

    def final_states(self, namespace: str, source: str) -> Mapping[IngestState, int]:
        """How many of the object's memories have reached each final state."""
        with self._transaction(namespace) as connection:
            rows = connection.run(FINAL_STATES, namespace=namespace, source=source)
        return {IngestState(row["state"]): row["requests"] for row in rows}

    def outcomes(self, namespace: str, source: str, limit: int, *, after: str = "") -> Sequence[IngestStatus]:
        """Return final states of the object's memories by their keys, after one of those."""
        with self._transaction(namespace) as connection:
            rows = connection.run(OUTCOMES_OF, namespace=namespace, source=source, cursor_key=after, limit=limit)
        return list(read_statuses(rows).values())
