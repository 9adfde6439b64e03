"""SQL statements about dead letters, with bind parameters. The SQL functions are in db/functions/14_redrive.sql."""

from typing import Final

# Store a message as a dead letter. Message ids are unique only within a topic. If another message has the same id, this
# message is stored under a longer id. The system column `xmax` of a row is 0 only if the row was inserted and not
# updated, so `is_new` compares it with 0.
STORE_DEAD_LETTER: Final = """
INSERT INTO dead_letters (namespace, message_id, data, attributes, cause, lost)
SELECT CAST(:namespace AS text),
    CASE WHEN EXISTS (SELECT FROM dead_letters
        WHERE namespace = :namespace AND message_id = :message_id AND data <> CAST(:data AS bytea)
    ) THEN CAST(:message_id AS text) || '.' || left(encode(sha256(CAST(:data AS bytea)), 'hex'), 16)
    ELSE CAST(:message_id AS text) END,
    CAST(:data AS bytea), CAST(:attributes AS jsonb), CAST(:cause AS text), CAST(:has_unreported_part AS boolean)
WHERE CAST(:unless AS integer) IS NULL
    OR fewer_dead_letters(:namespace, CAST(:unless AS integer), CAST(:most_bytes AS bigint))
ON CONFLICT (namespace, message_id) DO UPDATE SET lost = true, changed_in = EXCLUDED.changed_in
WHERE NOT dead_letters.lost AND EXCLUDED.lost
RETURNING message_id, xmax = 0 AS is_new
"""

# Whether the message has a dead letter already, or the namespace has room for one more.
HAS_ROOM: Final = """
SELECT fewer_dead_letters(:namespace, CAST(:unless AS integer), CAST(:most_bytes AS bigint)) OR EXISTS (
    SELECT FROM dead_letters
    WHERE namespace = :namespace AND (message_id = :message_id OR letter_id = CAST(:letter_id AS uuid))
) AS has_room
"""

LOCK_DEAD_LETTER: Final = "SELECT lock_dead_letter(:namespace, CAST(:letter_id AS uuid))"

FAIL_DEAD_LETTER_AGAIN: Final = """
SELECT message_id
FROM fail_dead_letter_again(:namespace, CAST(:letter_id AS uuid), :cause, CAST(:has_unreported_part AS boolean))
"""

# Record the requests of a message as dead-lettered, and store the message as a dead letter. If the message was
# republished from a dead letter, update this dead letter instead. If all requests are already stored with the same
# content, store no dead letter.
#
# The cause of the dead letter is the error of the last attempt, because this error tells why the requests could not be
# stored. Pub/Sub reports only that it has delivered the message too often. If :has_latest_error is true, the last
# attempt is this delivery, and `error` in :requests has its error. This error replaces the error in the row of a
# request, which may be from an earlier attempt: a crash is not recorded as an attempt, and attempts do not change
# requests that failed before. If :has_latest_error is false, the row of a request keeps its error, if it has one.
#
# The column `provenance` of each request names the dead letter by the message id under which the dead letter is stored.
# This id is longer than the id of the message if another dead letter has the message's id.
GIVE_UP: Final = """
WITH name AS (
    SELECT coalesce(
        (SELECT message_id FROM dead_letters WHERE namespace = :namespace AND letter_id = CAST(:letter_id AS uuid)),
        (SELECT min(message_id) FROM dead_letters
        WHERE namespace = :namespace AND data = CAST(:data AS bytea) AND attributes = CAST(:attributes AS jsonb)),
        CASE WHEN EXISTS (SELECT FROM dead_letters WHERE namespace = :namespace AND message_id = :message_id)
            THEN CAST(:message_id AS text) || '.' || left(encode(sha256(CAST(:data AS bytea)), 'hex'), 16)
            ELSE CAST(:message_id AS text) END
    ) AS message_id
), request AS (
    SELECT request_id, error, decode(hash, 'hex') AS delivered_hash, decode(content_hash, 'hex') AS content_hash,
        source, key, coalesce(provenance, '{}') || jsonb_build_object('dead_letter', name.message_id) AS provenance
    FROM name, jsonb_to_recordset(CAST(:requests AS jsonb))
        AS r (request_id uuid, error text, hash text, content_hash text, source text, key text, provenance jsonb)
), stored AS (
    SELECT i.request_id, is_same_request(i, request.delivered_hash, request.source, request.key) AS is_same
    FROM ingest_requests i
    JOIN request USING (request_id)
    WHERE i.namespace = :namespace AND i.state IN ('stored', 'duplicate', 'deleted')
), recorded AS (
    INSERT INTO ingest_requests AS i (request_id, namespace, state, content_hash, attempts, error, source, key,
        provenance)
    SELECT DISTINCT ON (request_id) request_id, CAST(:namespace AS text), next_request_state(NULL, 'given_up'),
        content_hash, 0, error, source, key, provenance
    FROM request
    ON CONFLICT (namespace, request_id) DO UPDATE
    SET state = next_request_state(i.state, 'given_up'),
        error = CASE WHEN CAST(:has_latest_error AS boolean) THEN EXCLUDED.error
            ELSE coalesce(i.error, EXCLUDED.error) END,
        content_hash = EXCLUDED.content_hash, provenance = EXCLUDED.provenance, updated_at = clock_timestamp(),
        announced_at = NULL
    WHERE next_request_state(i.state, 'given_up') IS NOT NULL
    RETURNING error
), needed AS (
    SELECT coalesce((SELECT min(error) FROM recorded), (SELECT min(error) FROM request)) AS cause,
        EXISTS (SELECT FROM stored WHERE NOT is_same) AS lost
    WHERE EXISTS (SELECT FROM request WHERE request_id NOT IN (SELECT request_id FROM stored WHERE is_same))
), updated AS (
    SELECT letter.*
    FROM needed, fail_dead_letter_again(:namespace, CAST(:letter_id AS uuid), needed.cause, needed.lost) AS letter
), added AS (
    INSERT INTO dead_letters (namespace, message_id, data, attributes, cause, lost)
    SELECT CAST(:namespace AS text), name.message_id, CAST(:data AS bytea), CAST(:attributes AS jsonb), needed.cause,
        needed.lost
    FROM needed, name
    WHERE NOT EXISTS (SELECT FROM updated) AND NOT EXISTS (SELECT FROM dead_letters
        WHERE namespace = :namespace AND data = CAST(:data AS bytea) AND attributes = CAST(:attributes AS jsonb))
    ON CONFLICT (namespace, message_id) DO NOTHING
    RETURNING *
)
SELECT message_id, data, attributes, cause, dead_lettered_at, lost AS has_unreported_part FROM updated
UNION ALL SELECT message_id, data, attributes, cause, dead_lettered_at, lost AS has_unreported_part FROM added
"""

CONCLUDE_DEAD_LETTER: Final = """
SELECT conclude_dead_letter(:namespace, CAST(:letter_id AS uuid), CAST(:request_ids AS uuid[]))
"""

DEAD_LETTERS: Final = """
SELECT message_id, data, attributes, cause, dead_lettered_at, lost AS has_unreported_part, failures, redrives,
    last_failed_at, redriven_at, dead_letter_due(redriven_at, last_failed_at, redrives) AS due_at
FROM select_dead_letters(:namespace, CAST(:choice AS jsonb))
WHERE CAST(:cursor_id AS text) IS NULL
    OR (dead_lettered_at, message_id) > (CAST(:cursor_time AS timestamptz), CAST(:cursor_id AS text))
ORDER BY dead_lettered_at, message_id
LIMIT CAST(:limit AS integer)
"""

DEAD_LETTER: Final = """
SELECT message_id, data, attributes, cause, dead_lettered_at, lost AS has_unreported_part, failures, redrives,
    last_failed_at, redriven_at, dead_letter_due(redriven_at, last_failed_at, redrives) AS due_at
FROM dead_letters
WHERE namespace = :namespace AND message_id = :message_id
"""

DEAD_LETTER_SUMMARIES: Final = """
SELECT message_id, dead_lettered_at, cause, attributes, octet_length(data) AS bytes, last_failed_at, failures, redrives,
    redriven_at, dead_letter_due(redriven_at, last_failed_at, redrives) AS due_at
FROM dead_letters
WHERE namespace = :namespace AND (CAST(:cursor_id AS text) IS NULL
    OR (dead_lettered_at, message_id) < (CAST(:cursor_time AS timestamptz), CAST(:cursor_id AS text)))
ORDER BY dead_lettered_at DESC, message_id DESC
LIMIT CAST(:limit AS integer)
"""

DEAD_LETTER_IDS: Final = """
SELECT message_id FROM select_dead_letters(:namespace, CAST(:choice AS jsonb))
ORDER BY dead_lettered_at, message_id
"""

DEAD_LETTER_CAUSES: Final = """
SELECT cause_group(cause) AS cause, count(*) AS letters, count(redriven_at) AS in_flight,
    min(dead_lettered_at) AS oldest, max(last_failed_at) AS newest
FROM select_dead_letters(:namespace, CAST(:choice AS jsonb))
GROUP BY cause_group(cause)
ORDER BY count(*) DESC, cause_group(cause)
"""

# Return dead letters whose message has a part (such as one memory) without a row in ingest_requests. The result
# has only the dead letters that were stored, or whose redrive failed, between the snapshots :seen and :until. OUTCOMES
# in ingest_sql.py cannot return the failure of such a part, because it reads only ingest_requests.
UNREPORTED_DEAD_LETTERS: Final = """
SELECT message_id, CAST('' AS bytea) AS data, attributes, cause, last_failed_at AS dead_lettered_at,
    lost AS has_unreported_part
FROM dead_letters
WHERE namespace = :namespace AND lost
    AND (CAST(:seen AS text) IS NULL OR (changed_in >= pg_snapshot_xmin(CAST(CAST(:seen AS text) AS pg_snapshot))
        AND NOT pg_visible_in_snapshot(changed_in, CAST(CAST(:seen AS text) AS pg_snapshot))))
    AND (pg_visible_in_snapshot(changed_in, CAST(CAST(:until AS text) AS pg_snapshot))
        OR (CAST(:seen AS text) IS NULL AND changed_in >= pg_snapshot_xmax(pg_current_snapshot())))
    AND (CAST(:begin AS timestamptz) IS NULL OR last_failed_at >= CAST(:begin AS timestamptz))
ORDER BY changed_in, message_id
"""

# The following statements call SQL functions with SECURITY DEFINER, because the role mnemosyne_mcp has no right to
# change the tables dead_letters and ingest_requests.
MARK_REDRIVEN: Final = """
SELECT mark_redriven(
    :namespace, :message_id, :into, CAST(:request_ids AS uuid[]), CAST(:now AS boolean)
) AS letter_id
"""

UNMARK_REDRIVEN: Final = """
SELECT unmark_redriven(:namespace, CAST(:letter_id AS uuid), :into, CAST(:request_ids AS uuid[]))
"""

DROP_DEAD_LETTERS: Final = "SELECT drop_dead_letters(:namespace, CAST(:message_ids AS text[])) AS dropped"
