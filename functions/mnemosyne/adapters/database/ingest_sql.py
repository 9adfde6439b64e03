"""Every statement about ingest requests, whole and constant; `:name` binds a parameter."""

from typing import Final

# Enters the namespace by itself: where nothing is to be stored it is all there is, in one round trip.
CLAIM: Final = """
SELECT CAST(claim_within_quota(:namespace, CAST(:requests AS jsonb), CAST(:to_store AS boolean)) AS text) AS answer
"""

# Memories on their way into the table; emptied with every transaction. Its columns are in the order of
# `copy_binary`, which is that of the memory's fields: `STORE` takes them all as they stand.
CREATE_INCOMING: Final = """
CREATE TEMPORARY TABLE IF NOT EXISTS incoming (
    id uuid, content text, "timestamp" timestamptz, title text, tags text[], metadata jsonb, session text,
    tag_keys text[], content_hash text, embedding halfvec
) ON COMMIT DELETE ROWS
"""

COPY_INCOMING: Final = "COPY incoming FROM STDIN WITH (FORMAT binary)"

# The contents' locks are held and CLAIM found none of them, so none can be there. The lock on the table keeps the
# embedding space from changing until the transaction ends; where it is not the one that was embedded for, nothing is
# stored or recorded, and the answer says which it is.
STORE: Final = """
WITH space AS (
    SELECT s.model, a.atttypmod AS dimension
    FROM embedding_space s, pg_attribute a
    WHERE a.attrelid = CAST('memories' AS regclass) AND a.attname = 'embedding'
), stored AS (
    INSERT INTO memories (
        namespace, embedding_model,
        id, content, "timestamp", title, tags, metadata, session,
        tag_keys, content_hash, embedding
    )
    SELECT :namespace, space.model, i.*
    FROM incoming i
    JOIN space ON space.model = CAST(:model AS text) AND space.dimension = CAST(:dimension AS integer)
    RETURNING id
), recorded AS (
    INSERT INTO ingest_requests AS i (request_id, namespace, state, memory_id, content_hash, attempts, source, key)
    SELECT DISTINCT ON (request.request_id) request.request_id, :namespace, request.state, stored.id,
        decode(request.content_hash, 'hex'), 1, request.source, request.key
    FROM jsonb_to_recordset(CAST(:requests AS jsonb))
        AS request (request_id uuid, memory_id uuid, content_hash text, state text, source text, key text)
    JOIN stored ON stored.id = request.memory_id
    ON CONFLICT (namespace, request_id) DO UPDATE
    SET state = EXCLUDED.state, memory_id = EXCLUDED.memory_id, content_hash = EXCLUDED.content_hash,
        attempts = i.attempts + 1, error = NULL,
        source = EXCLUDED.source, key = EXCLUDED.key, updated_at = clock_timestamp(), announced_at = NULL
    RETURNING request_id, state, memory_id, attempts, error
)
SELECT CAST(json_build_object('model', model, 'dimension', dimension, 'recorded',
    (SELECT coalesce(json_agg(recorded), '[]') FROM recorded)) AS text) AS answer
FROM space
"""

# Each is a text that was embedded, beside the memory's first.
INSERT_CHUNKS: Final = """
WITH chunk AS (
    SELECT memory_id, chunk_index, embedding
    FROM jsonb_to_recordset(CAST(:chunks AS jsonb)) AS c (memory_id uuid, chunk_index integer, embedding text)
), stored AS (
    INSERT INTO memory_chunks (memory_id, chunk_index, namespace, embedding)
    SELECT memory_id, chunk_index, :namespace, CAST(embedding AS halfvec) FROM chunk
)
SELECT count_chunks((SELECT count(*) FROM chunk))
"""

RECORD_UNSTORED: Final = """
INSERT INTO ingest_requests AS i (request_id, namespace, state, attempts, error, source, key)
SELECT DISTINCT ON (request_id) request_id, CAST(:namespace AS text), CAST(:state AS text), 1, error, source, key
FROM jsonb_to_recordset(CAST(:requests AS jsonb)) AS request (request_id uuid, error text, source text, key text)
ON CONFLICT (namespace, request_id) DO UPDATE
SET state = EXCLUDED.state, attempts = i.attempts + 1, error = EXCLUDED.error, announced_at = NULL,
    source = coalesce(EXCLUDED.source, i.source), key = coalesce(EXCLUDED.key, i.key), updated_at = clock_timestamp()
-- What has failed waits again once it is mended. What was given up does not: a late delivery must not undo that.
WHERE i.state = 'queued' OR (i.state = 'failed' AND EXCLUDED.state = 'queued')
"""

# Both kinds of id look alike: one who asks with a memory's is told so, instead of "queued" for days.
STATUSES: Final = """
SELECT request_id, state, memory_id, attempts, error, updated_at, source, key
FROM ingest_requests
WHERE namespace = :namespace AND request_id = ANY (CAST(:request_ids AS uuid[]))
UNION ALL
SELECT id, 'unknown', id, 0, 'this is the id of a memory, not of a request: get_memory reads it', NULL, NULL, NULL
FROM memories
WHERE namespace = :namespace AND id = ANY (CAST(:request_ids AS uuid[]))
"""

# Outcomes in the order they came, after a cursor.
OUTCOMES: Final = """
SELECT request_id, state, memory_id, attempts, error, updated_at, source, key
FROM ingest_requests
WHERE namespace = :namespace AND state <> 'queued' AND (CAST(:source AS text) IS NULL OR source = CAST(:source AS text))
    AND (updated_at, request_id) > (CAST(:cursor_time AS timestamptz), CAST(:cursor_id AS uuid))
ORDER BY updated_at, request_id
LIMIT CAST(:limit AS integer)
"""

UNANNOUNCED: Final = """
SELECT request_id, state, memory_id, attempts, error, updated_at, source, key
FROM ingest_requests
WHERE namespace = :namespace AND request_id = ANY (CAST(:request_ids AS uuid[])) AND state <> 'queued'
    AND announced_at IS NULL
"""

# Not what has become of a request since it was told.
MARK_ANNOUNCED: Final = """
UPDATE ingest_requests i
SET announced_at = now()
FROM jsonb_to_recordset(CAST(:announced AS jsonb)) AS announced (request_id uuid, state text, updated_at timestamptz)
WHERE i.namespace = :namespace AND i.request_id = announced.request_id AND i.state = announced.state
    AND i.updated_at = announced.updated_at
"""
