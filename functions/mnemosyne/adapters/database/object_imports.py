"""Progress of imports of bucket objects, in PostgreSQL."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from mnemosyne.adapters.database.memory_database import NamespaceRows
from mnemosyne.adapters.database.rows import external_id_values, json_text, read_statuses, uuid_array
from mnemosyne.domain.memory import Deletion, IngestState, IngestStatus, Reading
from mnemosyne.domain.object_import import REPEATED, ObjectImport, ObjectLine

PROGRESS: Final = """
SELECT source, memories, left_out, error, read_at IS NOT NULL AS is_read, reported_at IS NOT NULL AS is_reported
FROM object_imports
WHERE namespace = :namespace AND source = :source
"""

# Record the progress of an import. If Pub/Sub has delivered the notification of an object twice, and both deliveries
# import the object at the same time, the delivery with less progress changes nothing.
RECORD: Final = """
INSERT INTO object_imports AS i (namespace, source, memories, left_out, error, read_at, reported_at)
SELECT :namespace, CAST(:source AS text), CAST(:memories AS bigint), CAST(:left_out AS jsonb), CAST(:error AS text),
    CASE WHEN CAST(:is_read AS boolean) THEN now() END, CASE WHEN CAST(:is_reported AS boolean) THEN now() END
ON CONFLICT (namespace, source) DO UPDATE
SET memories = EXCLUDED.memories, left_out = EXCLUDED.left_out, error = EXCLUDED.error,
    read_at = coalesce(i.read_at, EXCLUDED.read_at), reported_at = coalesce(i.reported_at, EXCLUDED.reported_at)
WHERE i.memories <= EXCLUDED.memories AND (i.read_at IS NULL OR EXCLUDED.read_at IS NOT NULL)
"""

RECORD_LINES: Final = """
INSERT INTO object_import_lines (namespace, source, line, request_id)
SELECT :namespace, CAST(:source AS text), key, CAST(value AS uuid)
FROM jsonb_each_text(CAST(:lines AS jsonb))
ON CONFLICT DO NOTHING
"""

LINES: Final = """
SELECT line, request_id
FROM object_import_lines
WHERE namespace = :namespace AND source = CAST(:source AS text) AND line > CAST(:cursor_line AS text)
ORDER BY line
LIMIT CAST(:limit AS integer)
"""

# Return the outcomes of the requests :request_ids, which an import has published. Requests that are still queued are
# left out.
#
# A request may have an outcome from an earlier import. The request id of a record with source and key is derived from
# its content and timestamp, so an unchanged record has the same id when the bucket object is overwritten. If the memory
# was stored before this import started, the state is `duplicate`.
#
# If a request failed or was dead-lettered before this import started, its earlier outcome is left out at first, because
# this import has published the record again, and the new attempt may succeed. But a new attempt that fails for a
# temporary reason does not change the row of the request, which then keeps the earlier outcome. Therefore the earlier
# outcome is returned when an hour has passed since the object was read.
OUTCOMES_OF: Final = """
WITH import AS (
    SELECT started_at, read_at
    FROM object_imports
    WHERE namespace = :namespace AND source = CAST(:object_source AS text)
)
SELECT i.request_id,
    CASE WHEN i.state = 'stored' AND i.updated_at < import.started_at THEN 'duplicate' ELSE i.state END AS state,
    i.memory_id, i.attempts, i.error, i.note, i.updated_at, i.source, i.key
FROM ingest_requests i
LEFT JOIN import ON true
WHERE i.namespace = :namespace AND i.request_id = ANY (CAST(:request_ids AS uuid[])) AND i.state <> 'queued'
    AND (i.state NOT IN ('failed', 'dead_lettered') OR i.updated_at >= import.started_at
        OR import.read_at <= now() - interval '1 hour' OR import.started_at IS NULL)
"""

CONFLICTING: Final = """
SELECT i.request_id
FROM ingest_requests i
JOIN jsonb_to_recordset(CAST(:requests AS jsonb)) AS request (request_id uuid, content_hash text, source text, key text)
    USING (request_id)
WHERE i.namespace = :namespace AND i.state IN ('stored', 'duplicate', 'deleted')
    AND NOT is_same_request(i, decode(request.content_hash, 'hex'), request.source, request.key)
"""

# Delete the lines in batches, because one statement for all lines would exceed the statement timeout.
DELETE_LINES: Final = """
WITH deleted AS (
    DELETE FROM object_import_lines
    WHERE namespace = :namespace AND source = CAST(:source AS text) AND line <= (
        SELECT max(line) FROM (
            SELECT line FROM object_import_lines
            WHERE namespace = :namespace AND source = CAST(:source AS text)
            ORDER BY line
            LIMIT 10000
        ) first
    )
    RETURNING 1
)
SELECT count(*) AS lines FROM deleted
"""

_NO_CONTENT: Final = "00"
"""Hash that no content has, for a request whose content could not be read."""


def _line_status(line: str, status: IngestStatus | None) -> IngestStatus | None:
    """Return the status of a line, with the state `duplicate` if an earlier line of the object has the same request id.

    The database has one outcome for both lines, with the state `stored`.
    """
    if status and status.state is IngestState.STORED and line.endswith(REPEATED):
        return replace(status, state=IngestState.DUPLICATE)
    return status


class ObjectImports(NamespaceRows):
    """Progress of importing objects into one namespace, and the outcomes of each object's lines."""

    def progress(self, source: str) -> ObjectImport | None:
        """Return the progress of importing an object, or None if the import has not begun."""
        rows = self._run(PROGRESS, source=source)
        return ObjectImport(**rows[0].by_name) if rows else None

    def record(self, progress: ObjectImport, lines: Mapping[str, UUID] | None = None) -> None:
        """Record the progress of an import, and the request id of each line.

        If the database has a more advanced progress, which another delivery of the same notification has recorded, this
        progress is kept.
        """
        with self._transaction() as connection:
            if lines:
                by_line = {line: str(request_id) for line, request_id in lines.items()}
                connection.run(RECORD_LINES, namespace=self.namespace, source=progress.source, lines=json_text(by_line))
            values = vars(progress) | {"left_out": json_text(dict(progress.left_out))}
            connection.run(RECORD, namespace=self.namespace, **values)

    def lines(self, source: str, limit: int, *, after: str = "") -> Sequence[ObjectLine]:
        """Return up to `limit` of the object's lines that follow the line `after`, in order, with their outcomes."""
        with self._transaction() as connection:
            rows = connection.run(LINES, namespace=self.namespace, source=source, cursor_line=after, limit=limit)
            ids = uuid_array([row["request_id"] for row in rows])
            outcomes = read_statuses(
                connection.run(OUTCOMES_OF, namespace=self.namespace, object_source=source, request_ids=ids)
            )
        return [
            ObjectLine(line=row["line"], status=_line_status(row["line"], outcomes.get(row["request_id"])))
            for row in rows
        ]

    def conflicting(self, requests: Sequence[Reading]) -> set[UUID]:
        """Return the ids in `requests` under which a different request already has a final outcome.

        The SQL function is_same_request compares the contents and the records of the two requests. An invalid request
        without a readable content differs from every other request.
        """
        fields = [
            {
                "request_id": request.request_id,
                "content_hash": "" if isinstance(request, Deletion) else request.content_hash or _NO_CONTENT,
                **external_id_values(request.external_id),
            }
            for request in requests
        ]
        return {row["request_id"] for row in self._run(CONFLICTING, requests=json_text(fields))}

    def delete_lines(self, source: str) -> None:
        """Delete the stored lines of an object. The outcomes of the requests in these lines are kept."""
        has_more = True
        while has_more:
            has_more = self._one(DELETE_LINES, source=source)["lines"] > 0
