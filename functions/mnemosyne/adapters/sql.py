"""Every statement the runtime sends, whole and constant; `:name` binds a parameter."""

from typing import Final, LiteralString

# Row-level security reads this setting; it ends with the transaction.
ENTER_NAMESPACE: Final = "SELECT set_config('mnemosyne.namespace', :namespace, true)"

# The dimension as declared: right for an empty table too.
EMBEDDING_DIMENSION: Final = """
SELECT atttypmod
FROM pg_attribute
WHERE attrelid = to_regclass('memories') AND attname = 'embedding'
"""

# Held until the transaction ends, however it ends: two deliveries of one content cannot both store it, and a
# crashed one leaves nothing to clean up. Trying instead of waiting keeps a pooled connection from queueing.
LOCK_CONTENTS: Final = """
SELECT content_hash, pg_try_advisory_xact_lock(hashtextextended(CAST(:namespace AS text) || content_hash, 0))
FROM unnest(CAST(:hashes AS text[])) AS content_hash
"""

# Requests in a final state are answered as they are. Of the others, those whose content is stored already are
# recorded as duplicates: the memory was seen again, and nothing else about it changes.
SETTLE: Final = """
WITH request AS (
    SELECT * FROM jsonb_to_recordset(CAST(:requests AS jsonb)) AS r (request_id uuid, content_hash text)
), final AS (
    SELECT i.request_id, i.state, i.memory_id, i.attempts, i.error, i.updated_at
    FROM ingest_requests i
    JOIN request USING (request_id)
    WHERE i.namespace = :namespace AND i.state <> 'queued'
), touched AS (
    UPDATE memories m
    SET last_seen_at = now()
    FROM (
        SELECT DISTINCT content_hash FROM request
        WHERE request_id NOT IN (SELECT request_id FROM final)
    ) AS open_request
    WHERE m.namespace = :namespace AND m.content_hash = open_request.content_hash
    RETURNING m.id, m.content_hash
), recorded AS (
    INSERT INTO ingest_requests AS i (request_id, namespace, state, memory_id, attempts)
    SELECT DISTINCT ON (request.request_id) request.request_id, :namespace, 'duplicate', touched.id, 1
    FROM request
    JOIN touched USING (content_hash)
    WHERE request.request_id NOT IN (SELECT request_id FROM final)
    ON CONFLICT (namespace, request_id) DO UPDATE
    SET state = 'duplicate', memory_id = EXCLUDED.memory_id, attempts = i.attempts + 1,
        error = NULL, updated_at = now()
    RETURNING request_id, state, memory_id, attempts, error, updated_at
)
SELECT * FROM final
UNION ALL
SELECT * FROM recorded
"""

# The content's lock is held and SETTLE found none of them, so none can be there.
INSERT_MEMORIES: Final = """
INSERT INTO memories (
    id, namespace, "timestamp", content, title, tags, tag_keys, metadata, content_hash, embedding_model, embedding
)
SELECT id, :namespace, "timestamp", content, title, tags, tag_keys, metadata, content_hash, :model,
       CAST(embedding AS halfvec)
FROM jsonb_to_recordset(CAST(:memories AS jsonb)) AS m (
    id uuid, "timestamp" timestamptz, content text, title text, tags text[], tag_keys text[], metadata jsonb,
    content_hash text, embedding text
)
"""

RECORD_STORED: Final = """
INSERT INTO ingest_requests AS i (request_id, namespace, state, memory_id, attempts)
SELECT DISTINCT ON (request.request_id) request.request_id, :namespace, request.state, m.id, 1
FROM jsonb_to_recordset(CAST(:requests AS jsonb)) AS request (request_id uuid, content_hash text, state text)
JOIN memories m ON m.namespace = :namespace AND m.content_hash = request.content_hash
ON CONFLICT (namespace, request_id) DO UPDATE
SET state = EXCLUDED.state, memory_id = EXCLUDED.memory_id, attempts = i.attempts + 1,
    error = NULL, updated_at = now()
RETURNING request_id, state, memory_id, attempts, error, updated_at
"""

RECORD_OUTCOME: Final = """
INSERT INTO ingest_requests AS i (request_id, namespace, state, attempts, error)
SELECT DISTINCT request_id, CAST(:namespace AS text), CAST(:state AS text), 1, CAST(:error AS text)
FROM unnest(CAST(:request_ids AS uuid[])) AS request_id
ON CONFLICT (namespace, request_id) DO UPDATE
SET state = EXCLUDED.state, attempts = i.attempts + 1, error = EXCLUDED.error, updated_at = now()
WHERE i.state = 'queued'
"""

STATUSES: Final = """
SELECT request_id, state, memory_id, attempts, error, updated_at
FROM ingest_requests
WHERE namespace = :namespace AND request_id = ANY (CAST(:request_ids AS uuid[]))
"""

_MEMORY_COLUMNS: Final = """
id, "timestamp", content, title, tags, metadata, content_hash, embedding_model, created_at, last_seen_at
"""

_FILTERED: Final = """
namespace = :namespace
AND (CAST(:after AS timestamptz) IS NULL OR "timestamp" >= :after)
AND (CAST(:before AS timestamptz) IS NULL OR "timestamp" < :before)
AND (CAST(:any_tags AS text[]) IS NULL OR tag_keys && CAST(:any_tags AS text[]))
AND (CAST(:all_tags AS text[]) IS NULL OR tag_keys @> CAST(:all_tags AS text[]))
"""

# The inner query walks the index until enough rows pass the filters; its order is nearly right, the outer one is.
SEARCH: Final[LiteralString] = (
    "WITH nearest AS MATERIALIZED (SELECT "
    + _MEMORY_COLUMNS
    + ", embedding <=> CAST(:vector AS halfvec) AS distance FROM memories WHERE "
    + _FILTERED
    + """
    ORDER BY distance
    LIMIT 4 * CAST(:limit AS integer)
)
SELECT * FROM nearest ORDER BY distance, id LIMIT CAST(:limit AS integer)
"""
)

GET: Final[LiteralString] = "SELECT " + _MEMORY_COLUMNS + " FROM memories WHERE namespace = :namespace AND id = :id"

LIST: Final[LiteralString] = (
    'SELECT id, "timestamp", title, tags FROM memories WHERE '
    + _FILTERED
    + """
ORDER BY "timestamp" DESC, id DESC
LIMIT CAST(:limit AS integer)
"""
)

DELETE: Final = "DELETE FROM memories WHERE namespace = :namespace AND id = :id RETURNING title"
