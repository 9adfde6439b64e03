"""Read and restore the data that a complete export has, but an ordinary export does not.

These data are the ingest requests, the records (texts that publishers have named by a source and key) and, for each
memory, its ratings, its successor (`superseded_by`), and the time at which a publisher last sent its content
(`last_seen_at`). Only the owner of the schema has the right to restore these data.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from mnemosyne.adapters.database import ingest_sql
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.forgetting import forgotten_requests
from mnemosyne.adapters.database.insertion import insert_memories
from mnemosyne.adapters.database.memory_database import NamespaceRows, read_embedding_space
from mnemosyne.adapters.database.rows import json_text, text_array, uuid_array
from mnemosyne.domain.archive import SMALLEST_ID, ArchivedMemory
from mnemosyne.domain.chunking import embed_whole
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.errors import Conflict
from mnemosyne.ports.embedder import Embedder

# The times are JSON texts with microseconds, so that an export of restored rows has the same text as the export from
# which they were restored.
_EXTRAS: Final = """
SELECT m.id, jsonb_strip_nulls(jsonb_build_object(
    'last_seen_at', m.last_seen_at,
    'superseded_by', m.superseded_by,
    'ratings', (
        SELECT jsonb_agg(jsonb_strip_nulls(to_jsonb(r) - 'memory_id' - 'namespace') ORDER BY r.rated_by)
        FROM memory_ratings r WHERE r.memory_id = m.id
    )
)) AS extras
FROM memories m
WHERE m.namespace = :namespace AND m.id = ANY (CAST(:ids AS uuid[]))
"""
_REQUESTS: Final = """
SELECT i.request_id AS id, jsonb_strip_nulls(jsonb_build_object(
    'request_id', i.request_id, 'state', i.state, 'memory_id', i.memory_id,
    'content_hash', encode(i.content_hash, 'hex'), 'source', i.source, 'key', i.key, 'version_at', i.version_at,
    'version_published', i.version_published, 'attempts', i.attempts, 'error', i.error, 'note', i.note,
    'created_at', i.created_at, 'updated_at', i.updated_at, 'announced_at', i.announced_at
)) || CASE WHEN i.provenance IS NULL THEN '{}' ELSE jsonb_build_object('provenance', i.provenance) END AS values
FROM ingest_requests i
WHERE i.namespace = :namespace AND i.state <> 'queued' AND i.request_id > CAST(:after AS uuid)
ORDER BY i.request_id
LIMIT CAST(:limit AS integer)
"""
_RECORDS: Final = """
SELECT s.key_id AS id, jsonb_strip_nulls(to_jsonb(s) - 'namespace') AS values
FROM source_keys s
WHERE s.namespace = :namespace AND s.key_id > CAST(:after AS uuid)
ORDER BY s.key_id
LIMIT CAST(:limit AS integer)
"""
# The state of a namespace at the beginning of an export: the database snapshot, and the number of memories.
_BEGIN: Final = """
SELECT CAST(pg_current_snapshot() AS text) AS snapshot, memories FROM usage_and_quota()
"""
# Whether memories were stored, deleted or superseded by a publisher since _BEGIN read the state. There are two signs of
# such a change: an ingest request has changed, or the number of memories has changed. A publisher that stores a memory,
# or deletes memories by source and key, also changes an ingest request. Every other deletion, for example of an expired
# memory, reduces the number of memories. The condition with pg_snapshot_xmax leaves out requests that were restored
# from a dump of another server. Such requests may have transaction ids that this server has not reached yet, so no
# snapshot shows them.
_HAS_CHANGED: Final = """
SELECT memories <> CAST(:memories AS bigint) OR EXISTS (
    SELECT FROM ingest_requests i
    WHERE i.namespace = :namespace AND i.state <> 'queued'
        AND i.changed_in >= pg_snapshot_xmin(CAST(CAST(:snapshot AS text) AS pg_snapshot))
        AND i.changed_in < pg_snapshot_xmax(pg_current_snapshot())
        AND NOT pg_visible_in_snapshot(i.changed_in, CAST(CAST(:snapshot AS text) AS pg_snapshot))
) AS has_changed
FROM usage_and_quota()
"""
_PRESENT: Final = """
SELECT id, content_hash, namespace = :namespace AS in_namespace FROM memories
WHERE (namespace = :namespace AND content_hash = ANY (CAST(:hashes AS text[]))) OR id = ANY (CAST(:ids AS uuid[]))
"""
_RESTORE_EXTRAS: Final = """
WITH given AS (
    SELECT * FROM jsonb_to_recordset(CAST(:memories AS jsonb)) AS g (
        id uuid, created_at timestamptz, last_seen_at timestamptz, superseded_by uuid, ratings jsonb)
), rated AS (
    INSERT INTO memory_ratings (memory_id, rated_by, rater_name, namespace, rating, reason, rated_at)
    SELECT g.id, r.rated_by, r.rater_name, CAST(:namespace AS text), r.rating, r.reason, r.rated_at
    FROM given g, jsonb_to_recordset(coalesce(g.ratings, '[]')) AS r (
        rated_by text, rater_name text, rating smallint, reason text, rated_at timestamptz)
)
UPDATE memories m
SET created_at = g.created_at, last_seen_at = g.last_seen_at, superseded_by = g.superseded_by,
    expires_at = memory_expiry(m.namespace, m.given_expiry, m.pinned, g.last_seen_at),
    rating_count = jsonb_array_length(coalesce(g.ratings, '[]')),
    rating_sum = (SELECT coalesce(sum(CAST(r ->> 'rating' AS integer)), 0)
        FROM jsonb_array_elements(coalesce(g.ratings, '[]')) AS r)
FROM given g
WHERE m.id = g.id AND m.namespace = CAST(:namespace AS text)
"""
_RESTORE_REQUESTS: Final = """
INSERT INTO ingest_requests (namespace, request_id, state, memory_id, content_hash, source, key, version_at,
    version_published, attempts, error, note, provenance, created_at, updated_at, announced_at)
SELECT :namespace, r.request_id, r.state, r.memory_id, decode(r.content_hash, 'hex'), r.source, r.key, r.version_at,
    r.version_published, r.attempts, r.error, r.note, r.provenance, r.created_at, r.updated_at, r.announced_at
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (
    request_id uuid, state text, memory_id uuid, content_hash text, source text, key text, version_at timestamptz,
    version_published timestamptz, attempts integer, error text, note text, provenance jsonb, created_at timestamptz,
    updated_at timestamptz, announced_at timestamptz)
ON CONFLICT (namespace, request_id) DO NOTHING
"""
_RESTORE_RECORDS: Final = """
INSERT INTO source_keys (namespace, key_id, memory_id, version_at, version_published, deleted_at, deleted_published)
SELECT :namespace, r.key_id, r.memory_id, r.version_at, r.version_published, r.deleted_at, r.deleted_published
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (
    key_id uuid, memory_id uuid, version_at timestamptz, version_published timestamptz, deleted_at timestamptz,
    deleted_published timestamptz)
ON CONFLICT (namespace, key_id) DO NOTHING
"""


class Archive(NamespaceRows):
    """Reads and restores the data of a namespace that a complete export has, but an ordinary export does not."""

    def begin(self) -> Mapping[str, Any]:
        """Return the state of the namespace at the beginning of an export, for `has_changed`."""
        return self._one(_BEGIN).by_name

    def has_changed(self, began: Mapping[str, Any]) -> bool:
        """Whether memories were stored or deleted, or have expired, since `begin` returned `began`."""
        return bool(self._one(_HAS_CHANGED, **began)["has_changed"])

    def extras(self, ids: Sequence[UUID]) -> Mapping[UUID, Mapping[str, Any]]:
        """Return the ratings, `superseded_by` and `last_seen_at` of memories, by memory id."""
        return {row["id"]: row["extras"] for row in self._run(_EXTRAS, ids=uuid_array(ids))}

    def requests(self, limit: int, after: UUID = SMALLEST_ID) -> Sequence[Mapping[str, Any]]:
        """Return a page of the ingest requests that are no longer queued, in the order of their ids.

        The page begins after the id `after`.
        """
        return [row["values"] for row in self._run(_REQUESTS, after=after, limit=limit)]

    def records(self, limit: int, after: UUID = SMALLEST_ID) -> Sequence[Mapping[str, Any]]:
        """Return a page of the records (texts with a source and key), in the order of their ids.

        The page begins after the id `after`.
        """
        return [row["values"] for row in self._run(_RECORDS, after=after, limit=limit)]

    def restore(self, memories: Sequence[ArchivedMemory], embedder_of: Callable[[EmbeddingSpace], Embedder]) -> int:
        """Store memories exactly as they were exported, and return the number of stored memories.

        A memory is left out if it is stored already, or if it has expired or was forgotten since the export. Raises
        Conflict if a content is already stored under another id, or if an id already belongs to another content or
        namespace.
        """
        with self._connection() as connection:
            space = read_embedding_space(connection)
        now = datetime.now(UTC)
        new = self._select_missing([memory for memory in memories if not (memory.request.expires_at or now) < now])
        if not new:
            return 0
        embedder = embedder_of(space)
        texts = [memory.request.embedded_text for memory in new]
        vectors = embed_whole(texts, embedder.chunk_limit, embedder.embed_documents)
        with self._transaction() as connection:
            connection.one(ingest_sql.ENTER_TO_STORE, namespace=self.namespace)
            forgotten_ids = forgotten_requests(connection, self.namespace, list(map(_as_request, new)))
            unforgotten = [
                (memory, parts) for memory, parts in zip(new, vectors, strict=True) if memory.id not in forgotten_ids
            ]
            if unforgotten:
                connection.script(ingest_sql.CREATE_INCOMING)
                incoming = [(memory.id, memory.request, parts) for memory, parts in unforgotten]
                insert_memories(connection, self.namespace, incoming, [], space.model, space.dimension)
                extras = json_text([{"id": memory.id, **memory.extras} for memory, _ in unforgotten])
                connection.run(_RESTORE_EXTRAS, namespace=self.namespace, memories=extras)
        return len(unforgotten)

    def restore_rows(self, requests: Sequence[Mapping[str, Any]], records: Sequence[Mapping[str, Any]]) -> None:
        """Store the ingest requests and the records that the database does not have yet."""
        with self._transaction() as connection:
            requests = _remove_forgotten_texts(connection, self.namespace, requests)
            connection.run(_RESTORE_REQUESTS, namespace=self.namespace, rows=json_text(requests))
            connection.run(_RESTORE_RECORDS, namespace=self.namespace, rows=json_text(records))

    def _select_missing(self, memories: Sequence[ArchivedMemory]) -> list[ArchivedMemory]:
        rows = self._run(
            _PRESENT,
            hashes=text_array([memory.request.content_hash for memory in memories]),
            ids=uuid_array([memory.id for memory in memories]),
        )
        present = {(row["id"], row["content_hash"]) for row in rows if row["in_namespace"]}
        ids, hashes = {row["id"] for row in rows}, {row["content_hash"] for row in rows}
        new: list[ArchivedMemory] = []
        for memory in memories:
            id_, hash_ = memory.id, memory.request.content_hash
            if (id_, hash_) in present:
                continue
            if id_ in ids or hash_ in hashes:
                raise Conflict(
                    f"memory {id_} of the export is stored with another id, content or namespace: restore into an "
                    "empty namespace of another system, or import the file without --restore"
                )
            new.append(memory)
            present.add((id_, hash_))  # `memories` contains a memory twice if two exports contained this memory
            ids.add(id_)
            hashes.add(hash_)
        return new


def _as_request(memory: ArchivedMemory) -> IngestRequest:
    """Convert an exported memory to an ingest request, to check whether the memory was forgotten after the export.

    The id of the request is the id of the memory. Its time of publication is the time at which the memory was stored.
    """
    created_at = memory.extras["created_at"]
    published_at = created_at if isinstance(created_at, datetime) else datetime.fromisoformat(created_at)
    return replace(memory.request, request_id=memory.id, published=published_at)


def _remove_forgotten_texts(
    connection: Connection, namespace: str, requests: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return all requests, but remove the texts from requests whose memories were forgotten after the export.

    Forgotten memories were deleted for good, so no restored request is allowed to contain their texts.
    """
    records = [
        {
            "request_id": row["request_id"],
            "published": row["created_at"],
            "content_hash": row.get("content_hash"),
            "timestamp": row["created_at"],
            "tag_keys": [],
            "metadata": {},
        }
        for row in requests
    ]
    row = connection.one(ingest_sql.FORGOTTEN_REQUESTS, namespace=namespace, records=json_text(records), id=None)
    forgotten_ids = set(map(str, row["request_ids"]))
    return [_remove_texts(row) if str(row["request_id"]) in forgotten_ids else row for row in requests]


def _remove_texts(row: Mapping[str, Any]) -> Mapping[str, Any]:
    provenance = {name: value for name, value in row.get("provenance", {}).items() if name != "first_words"}
    return {**row, "error": None, "note": None, "provenance": provenance}
