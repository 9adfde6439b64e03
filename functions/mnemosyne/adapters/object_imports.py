"""How far objects of buckets have been read, in PostgreSQL."""

from collections.abc import Mapping, Sequence
from typing import Final, LiteralString

import orjson

from mnemosyne.adapters import sql
from mnemosyne.adapters.connections import Pool, Row
from mnemosyne.adapters.rows import read_statuses
from mnemosyne.domain.memory import IngestState, IngestStatus
from mnemosyne.domain.object_import import ObjectImport

PROGRESS: Final = """
SELECT memories, left_out, error, read_at IS NOT NULL, reported_at IS NOT NULL
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

ENDED: Final = """
SELECT state, count(*)
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
    AND key > CAST(:beyond AS text) AND state <> 'queued'
ORDER BY key
LIMIT CAST(:limit AS integer)
"""


class PostgresObjectImports:
    """The ObjectImports on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def _run(self, namespace: str, statement: LiteralString, **parameters: object) -> list[Row]:
        with self._pool.session() as session, session.transaction():
            session.run(sql.ENTER_NAMESPACE, namespace=namespace)
            return session.run(statement, namespace=namespace, **parameters)

    def progress(self, namespace: str, source: str) -> ObjectImport | None:
        """How far the object has been read; None where it has not."""
        rows = self._run(namespace, PROGRESS, source=source)
        if not rows:
            return None
        ((memories, left_out, error, is_read, is_reported),) = rows
        return ObjectImport(
            source=source,
            memories=memories,
            left_out=left_out,
            error=error,
            is_read=is_read,
            is_reported=is_reported,
        )

    def record(self, namespace: str, progress: ObjectImport) -> None:
        """Note how far it has been read; never less far than before."""
        self._run(
            namespace,
            RECORD,
            source=progress.source,
            memories=progress.memories,
            left_out=orjson.dumps(dict(progress.left_out)).decode(),
            error=progress.error,
            is_read=progress.is_read,
            is_reported=progress.is_reported,
        )

    def ended(self, namespace: str, source: str) -> Mapping[IngestState, int]:
        """How many of the object's memories have reached each final state."""
        return {IngestState(state): count for state, count in self._run(namespace, ENDED, source=source)}

    def outcomes(self, namespace: str, source: str, limit: int, *, beyond: str = "") -> Sequence[IngestStatus]:
        """Final states of the object's memories by their keys, from beyond one on."""
        rows = self._run(namespace, OUTCOMES_OF, source=source, beyond=beyond, limit=limit)
        return list(read_statuses(rows).values())
