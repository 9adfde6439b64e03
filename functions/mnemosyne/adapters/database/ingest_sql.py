"""SQL statements about ingest requests, with bind parameters."""

from typing import Final

# Call claim_within_quota, which also sets the namespace of the session. A message without new contents therefore takes
# only one round trip.
CLAIM: Final = """
SELECT CAST(claim_within_quota(
    :namespace, CAST(:requests AS jsonb), CAST(:to_store AS boolean), CAST(:forget AS boolean)
) AS text) AS answer
"""

# Release the locks of the session, and reset the timeout that CLAIM has set.
RELEASE: Final = "SELECT pg_advisory_unlock_all(), set_config('idle_session_timeout', '0', false)"

# The staging table for COPY, which is emptied at the end of every transaction. `insertion.binary_rows` and STORE use
# the columns in the order of this statement.
#
# A connection that stores memories also reuses query plans, unlike a connection that searches. One plan suits all
# values, because the statements find rows by keys. To plan these statements for each message would take about a third
# of the database's CPU time for a message with one memory.
CREATE_INCOMING: Final = """
SET plan_cache_mode = auto;
CREATE TEMPORARY TABLE IF NOT EXISTS incoming (
    id uuid, content text, "timestamp" timestamptz, title text, tags text[], metadata jsonb, session text,
    given_expiry timestamptz, pinned boolean, tag_keys text[], content_hash text, embedding halfvec, wording uuid
) ON COMMIT DELETE ROWS
"""

COPY_INCOMING: Final = "COPY incoming FROM STDIN WITH (FORMAT binary)"

# Insert the memories of the staging table, and record the outcomes of their requests. `stored` is the number of
# inserted memories. A memory that has expired while it was embedded is not inserted.
#
# CLAIM has checked that none of the contents is stored already, and still holds the locks of the contents.
#
# The INSERT locks the table, so the embedding space of the database cannot change until the transaction ends. If the
# space of the database differs from :model and :dimension, nothing is stored or recorded. The result always has the
# model and dimension of the database.
STORE: Final = """
WITH space AS (
    SELECT s.model, a.atttypmod AS dimension
    FROM embedding_space s, pg_attribute a
    WHERE a.attrelid = CAST('memories' AS regclass) AND a.attname = 'embedding'
), stored AS (
    INSERT INTO memories (
        namespace, embedding_model, expires_at,
        id, content, "timestamp", title, tags, metadata, session, given_expiry, pinned,
        tag_keys, content_hash, embedding, wording
    )
    SELECT :namespace, space.model, expiry.expires_at, i.*
    FROM incoming i
    JOIN space ON space.model = CAST(:model AS text) AND space.dimension = CAST(:dimension AS integer)
    CROSS JOIN LATERAL memory_expiry(:namespace, i.given_expiry, i.pinned, now()) AS expiry (expires_at)
    WHERE is_unexpired(expiry.expires_at)
    RETURNING id
), recorded AS (
    INSERT INTO ingest_requests AS i (request_id, namespace, state, memory_id, content_hash, attempts, note, provenance)
    SELECT DISTINCT ON (request.request_id) request.request_id, :namespace, next_request_state(NULL, request.event),
        stored.id, decode(request.content_hash, 'hex'), 1, duplicate_note(NULL, request.differing), request.provenance
    FROM jsonb_to_recordset(CAST(:requests AS jsonb)) AS request (
        request_id uuid, memory_id uuid, content_hash text, event text, differing text[], provenance jsonb)
    JOIN stored ON stored.id = request.memory_id
    ON CONFLICT (namespace, request_id) DO UPDATE
    SET state = next_request_state(i.state, EXCLUDED.state), memory_id = EXCLUDED.memory_id,
        content_hash = EXCLUDED.content_hash, attempts = i.attempts + 1, error = NULL, note = EXCLUDED.note,
        source = NULL, key = NULL, version_at = NULL, version_published = NULL,
        provenance = known_provenance(EXCLUDED.provenance, i.provenance), updated_at = clock_timestamp(),
        announced_at = NULL
    WHERE next_request_state(i.state, EXCLUDED.state) IS NOT NULL
    RETURNING request_id, state, memory_id, attempts, error, note
)
SELECT CAST(json_build_object('model', model, 'dimension', dimension, 'stored', (SELECT count(*) FROM stored),
    'recorded', (SELECT coalesce(json_agg(recorded), '[]') FROM recorded)) AS text) AS answer
FROM space
"""

# Record the outcomes of versions of records. STORE has inserted the memories of these versions.
RECORD_VERSIONS: Final = """
SELECT CAST(record_versions(:namespace, CAST(:versions AS jsonb)) AS text) AS recorded
"""

# Set the namespace of the transaction, and return a summary of the namespace's forgettings (deletions of selected
# memories). The SQL function takes a lock, so that no forgetting begins before the transaction ends.
ENTER_TO_STORE: Final = """
SELECT summarize_forgettings(set_config('mnemosyne.namespace', :namespace, true)) AS standing
"""

# Set the namespace of the transaction, and return the ids of the requests that must not be stored, because a forgetting
# (a deletion of selected memories) applies to them.
FORGOTTEN_REQUESTS: Final = """
SELECT forgotten_requests(
    set_config('mnemosyne.namespace', :namespace, true), CAST(:records AS jsonb), CAST(:id AS uuid)
) AS request_ids
"""

# Extend the expiry of stored memories, if requests with the same content give a later expiry.
EXTEND_EXPIRY: Final = "SELECT extend_expiry(:namespace, CAST(:sent AS jsonb))"

DELETE_RECORDS: Final = """
SELECT CAST(delete_records(:namespace, CAST(:deletions AS jsonb), CAST(:limit AS integer)) AS text) AS answer
"""

# Insert the second and later chunks of memories. Each of these chunks counts as one more embedded text for the quota.
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

# Record the states of requests that stored no memory. A failure that was announced to the publisher is announced again
# only if its error changes.
RECORD_UNSTORED: Final = """
INSERT INTO ingest_requests AS i (request_id, namespace, state, content_hash, attempts, error, source, key, provenance)
SELECT DISTINCT ON (request_id)
    request_id, CAST(:namespace AS text), next_request_state(NULL, :event), decode(content_hash, 'hex'), 1, error,
    source, key, provenance
FROM jsonb_to_recordset(CAST(:requests AS jsonb))
    AS request (request_id uuid, error text, content_hash text, source text, key text, provenance jsonb)
ON CONFLICT (namespace, request_id) DO UPDATE
SET state = next_request_state(i.state, :event), content_hash = EXCLUDED.content_hash, attempts = i.attempts + 1,
    error = EXCLUDED.error,
    announced_at = CASE WHEN i.error = EXCLUDED.error THEN i.announced_at END,
    source = CASE WHEN :event = 'deleted' THEN EXCLUDED.source ELSE coalesce(EXCLUDED.source, i.source) END,
    key = CASE WHEN :event = 'deleted' THEN EXCLUDED.key ELSE coalesce(EXCLUDED.key, i.key) END,
    provenance = nullif(coalesce(CASE WHEN :event = 'deleted' THEN i.provenance - ARRAY['first_words', 'dead_letter']
        ELSE i.provenance END, '{}') || coalesce(EXCLUDED.provenance, '{}'), '{}'),
    updated_at = clock_timestamp()
WHERE next_request_state(i.state, :event) IS NOT NULL
"""

# Return the outcome of each request, computed by the SQL function reported_outcome. For example, the state is "deleted"
# if the memory of a stored request was deleted or has expired.
#
# Some callers ask for the id of a memory instead of the id of a request. For such an id, the result has the state
# "unknown" and an explanation. Without this row, such an id would be reported as "queued" for days, like the id of a
# new request. An id can belong to both a memory and a request, because publishers choose the ids of requests. Then the
# result is about the request.
STATUSES: Final = """
SELECT request_id, shown.state, i.memory_id, attempts, shown.error, note, updated_at, source, key,
    encode(i.content_hash, 'hex') AS content_hash
FROM ingest_requests i
LEFT JOIN memories m ON m.id = i.memory_id AND is_unexpired(m.expires_at)
CROSS JOIN LATERAL reported_outcome(i.state, i.error, m.id, i.updated_at, i.redriven_at) AS shown
WHERE i.namespace = :namespace AND request_id = ANY (CAST(:request_ids AS uuid[]))
UNION ALL
SELECT id, 'unknown', id, 0, 'this is the id of a memory, not of a request: get_memory reads it', NULL, NULL, NULL,
    NULL, NULL
FROM memories m
WHERE m.namespace = :namespace AND m.id = ANY (CAST(:request_ids AS uuid[])) AND NOT EXISTS (
    SELECT FROM ingest_requests i WHERE i.namespace = :namespace AND i.request_id = m.id
)
"""

# Begin a pass over the outcomes. A pass reads, page by page, the requests that changed since the previous pass. `until`
# is the database snapshot at which the pass ends. `begin` is the time :since seconds ago by the clock of the database,
# and earlier outcomes are left out. If :since is null, `begin` is null and no outcome is left out.
OUTCOMES_BEGIN: Final = """
SELECT CAST(pg_current_snapshot() AS text) AS until,
    now() - make_interval(secs => CAST(:since AS double precision)) AS begin
"""

# Return one page of a pass over the outcomes: the requests that changed between the snapshots :seen and :until. In the
# first pass :seen is null. A request that changes again during the pass belongs to the next pass. Requests restored
# from a dump of another server may have transaction ids that this server has not reached yet. No snapshot shows such
# requests, so the first pass includes them explicitly.
#
# changed_in has two minimum values: one from the cursor, one from :seen or :begin. greatest() combines them, so that an
# index scan starts at the larger one. With two conditions, the scan could start at the smaller one and read many rows
# that the other condition rejects. Memories are looked up only for the requests of the page.
#
# ORDER BY names the table's column changed_in, because the column changed_in of the result is text, in which 10 comes
# before 9.
OUTCOMES: Final = """
WITH page AS (
    SELECT i.request_id, i.state, i.memory_id, i.attempts, i.error, i.note, i.updated_at, i.redriven_at, i.source,
        i.key, i.changed_in
    FROM ingest_requests i
    WHERE i.namespace = :namespace AND i.state <> 'queued'
        AND (CAST(:source AS text) IS NULL OR i.source = CAST(:source AS text))
        AND i.changed_in >= greatest(CAST(CAST(:cursor_transaction AS text) AS xid8), CASE
            WHEN CAST(:seen AS text) IS NOT NULL THEN pg_snapshot_xmin(CAST(CAST(:seen AS text) AS pg_snapshot))
            WHEN CAST(:begin AS timestamptz) IS NULL THEN CAST('0' AS xid8)
            ELSE coalesce((
                SELECT min(since.changed_in) FROM ingest_requests since
                WHERE since.namespace = :namespace AND since.updated_at >= CAST(:begin AS timestamptz)
            ), CAST('0' AS xid8)) END)
        AND (i.changed_in > CAST(CAST(:cursor_transaction AS text) AS xid8) OR i.request_id > CAST(:cursor_id AS uuid))
        AND (CAST(:seen AS text) IS NULL
            OR NOT pg_visible_in_snapshot(i.changed_in, CAST(CAST(:seen AS text) AS pg_snapshot)))
        AND (pg_visible_in_snapshot(i.changed_in, CAST(CAST(:until AS text) AS pg_snapshot))
            OR (CAST(:seen AS text) IS NULL AND i.changed_in >= pg_snapshot_xmax(pg_current_snapshot())))
        AND (CAST(:begin AS timestamptz) IS NULL OR i.updated_at >= CAST(:begin AS timestamptz))
    ORDER BY i.changed_in, i.request_id
    LIMIT CAST(:limit AS integer)
)
SELECT page.request_id, shown.state, page.memory_id, page.attempts, shown.error, page.note, page.updated_at,
    page.source, page.key, CAST(page.changed_in AS text) AS changed_in
FROM page
LEFT JOIN memories m ON m.id = page.memory_id AND is_unexpired(m.expires_at)
CROSS JOIN LATERAL reported_outcome(page.state, page.error, m.id, page.updated_at, page.redriven_at) AS shown
ORDER BY page.changed_in, page.request_id
"""

# Return, for each key of a source, the request that changed last.
KEYS: Final = """
SELECT DISTINCT ON (key) request_id, shown.state, i.memory_id, attempts, shown.error, note, updated_at, source, key
FROM ingest_requests i
LEFT JOIN memories m ON m.id = i.memory_id AND is_unexpired(m.expires_at)
CROSS JOIN LATERAL reported_outcome(i.state, i.error, m.id, i.updated_at, i.redriven_at) AS shown
WHERE i.namespace = :namespace AND md5(source) = md5(:source) AND source = :source AND key = ANY (CAST(:keys AS text[]))
ORDER BY key, updated_at DESC, request_id
"""

UNANNOUNCED: Final = """
SELECT request_id, state, memory_id, attempts, error, note, updated_at, source, key
FROM ingest_requests
WHERE namespace = :namespace AND request_id = ANY (CAST(:request_ids AS uuid[])) AND state <> 'queued'
    AND announced_at IS NULL
"""

# Mark outcomes as announced (published to the outcome topic). If a request has changed since the announced outcome was
# read, it is not marked, so that its new outcome is published too.
MARK_ANNOUNCED: Final = """
UPDATE ingest_requests i
SET announced_at = now()
FROM jsonb_to_recordset(CAST(:announced AS jsonb)) AS announced (request_id uuid, state text, updated_at timestamptz)
WHERE i.namespace = :namespace AND i.request_id = announced.request_id AND i.state = announced.state
    AND i.updated_at = announced.updated_at
"""
