"""SQL statements about dead letters, with bind parameters."""

from typing import Final

# Message ids are unique within a topic, and there may be several: another message under the same id is kept beside it.
STORE_DEAD_LETTER: Final = """
INSERT INTO dead_letters (namespace, message_id, data, attributes, cause, lost)
SELECT CAST(:namespace AS text),
    CASE WHEN EXISTS (SELECT FROM dead_letters
        WHERE namespace = :namespace AND message_id = :message_id AND data <> CAST(:data AS bytea)
    ) THEN CAST(:message_id AS text) || '.' || left(encode(sha256(CAST(:data AS bytea)), 'hex'), 16)
    ELSE CAST(:message_id AS text) END,
    CAST(:data AS bytea), CAST(:attributes AS jsonb), CAST(:cause AS text), CAST(:unless AS integer) IS NULL
WHERE CAST(:unless AS integer) IS NULL
    OR (SELECT count(*) FROM dead_letters WHERE namespace = :namespace) < CAST(:unless AS integer)
ON CONFLICT (namespace, message_id) DO UPDATE SET lost = true WHERE NOT dead_letters.lost AND EXCLUDED.lost
RETURNING message_id
"""

# The last attempt's error says most. The message is kept unless each request is stored with the content it has here.
GIVE_UP: Final = """
WITH request AS (
    SELECT request_id, error, decode(hash, 'hex') AS content_hash, source, key
    FROM jsonb_to_recordset(CAST(:requests AS jsonb))
        AS r (request_id uuid, error text, hash text, source text, key text)
), stored AS (
    SELECT i.request_id, coalesce(i.content_hash = request.content_hash, true) AS is_same
    FROM ingest_requests i
    JOIN request USING (request_id)
    WHERE i.namespace = :namespace AND i.state IN ('stored', 'duplicate')
), recorded AS (
    INSERT INTO ingest_requests AS i (request_id, namespace, state, attempts, error, source, key)
    SELECT DISTINCT ON (request_id) request_id, CAST(:namespace AS text), 'dead_lettered', 0, error, source, key
    FROM request
    ON CONFLICT (namespace, request_id) DO UPDATE
    SET state = 'dead_lettered', error = coalesce(i.error, EXCLUDED.error), updated_at = clock_timestamp(),
        announced_at = NULL
    WHERE i.state IN ('queued', 'failed')
    RETURNING error
)
INSERT INTO dead_letters (namespace, message_id, data, attributes, cause, lost)
SELECT CAST(:namespace AS text),
    CASE WHEN EXISTS (SELECT FROM dead_letters WHERE namespace = :namespace AND message_id = :message_id)
        THEN CAST(:message_id AS text) || '.' || left(encode(sha256(CAST(:data AS bytea)), 'hex'), 16)
        ELSE CAST(:message_id AS text) END,
    CAST(:data AS bytea), CAST(:attributes AS jsonb),
    coalesce((SELECT min(error) FROM recorded), (SELECT min(error) FROM request)),
    EXISTS (SELECT FROM stored WHERE NOT is_same)
WHERE EXISTS (SELECT FROM request WHERE request_id NOT IN (SELECT request_id FROM stored WHERE is_same))
    AND NOT EXISTS (SELECT FROM dead_letters
        WHERE namespace = :namespace AND data = CAST(:data AS bytea) AND attributes = CAST(:attributes AS jsonb))
ON CONFLICT (namespace, message_id) DO NOTHING
RETURNING message_id, data, attributes, cause, dead_lettered_at, lost
"""

DEAD_LETTERS: Final = """
SELECT message_id, data, attributes, cause, dead_lettered_at, lost FROM dead_letters
WHERE namespace = :namespace AND (CAST(:cursor_id AS text) IS NULL
    OR (dead_lettered_at, message_id) > (CAST(:cursor_time AS timestamptz), CAST(:cursor_id AS text)))
ORDER BY dead_lettered_at, message_id
LIMIT CAST(:limit AS integer)
"""

LOST_DEAD_LETTERS: Final = """
SELECT message_id, CAST('' AS bytea) AS data, attributes, cause, dead_lettered_at, lost FROM dead_letters
WHERE namespace = :namespace AND lost AND dead_lettered_at >= CAST(:since AS timestamptz)
ORDER BY dead_lettered_at, message_id
"""

# By functions, for `mcp` may do this and nothing else with either table.
MARK_QUEUED: Final = "SELECT mark_queued(:namespace, CAST(:request_ids AS uuid[]))"

DELETE_DEAD_LETTER: Final = "SELECT delete_dead_letter(:namespace, :message_id)"
