"""SQL statements of the console, with bind parameters.

A statement that calls `set_config` also sets the namespace of the transaction, which saves the round trip of a separate
statement.
"""

from typing import Final

TIMELINE: Final = """
SELECT per, start, memories
FROM memory_timeline(
    set_config('mnemosyne.namespace', :namespace, true), CAST(:filters AS jsonb), CAST(:per AS text),
    CAST(:timezone AS text)
)
"""

FACETS: Final = """
SELECT memory_facets(
    set_config('mnemosyne.namespace', :namespace, true), CAST(:filters AS jsonb), CAST(:prefix AS text),
    CAST(:limit AS integer), CAST(:counted AS integer)
) AS facets
"""

# Return a memory, the older memories that it superseded (replaced), and its successors. The column `step` is 0 for the
# memory, negative for the older memories and positive for the successors. The result has at most :limit older memories
# and at most :limit successors.
#
# PostgreSQL computes the rows of `older` step by step, and only as many as the LIMIT in `around` reads. With ORDER BY
# in `around`, the statement would read every older memory, and there may be thousands.
# https://www.postgresql.org/docs/current/queries-with.html#QUERIES-WITH-RECURSIVE
HISTORY: Final = """
WITH RECURSIVE older (id, step) AS (
    SELECT id, 0 FROM memories WHERE namespace = :namespace AND id = :id
    UNION
    SELECT m.id, older.step - 1
    FROM older
    CROSS JOIN LATERAL (
        SELECT p.id FROM memories p WHERE p.superseded_by = older.id AND p.namespace = :namespace
        ORDER BY p."timestamp" DESC, p.id LIMIT CAST(:limit AS integer)
    ) AS m
    WHERE older.step > -CAST(:limit AS integer)
), newer (next, step) AS (
    SELECT superseded_by, 1 FROM memories WHERE namespace = :namespace AND id = :id
    UNION
    SELECT m.superseded_by, newer.step + 1 FROM memories m JOIN newer ON m.id = newer.next
    WHERE m.namespace = :namespace AND newer.step < CAST(:limit AS integer)
), around (id, step) AS (
    (SELECT id, step FROM older LIMIT CAST(:limit AS integer) + 1)
    UNION ALL SELECT next, step FROM newer WHERE next IS NOT NULL
)
SELECT around.step, m.id, m."timestamp", m.title, m.tags, m.superseded_by, m.session, m.expires_at, m.pinned,
    left(m.content, 1000) AS beginning
FROM around JOIN memories m ON m.id = around.id
WHERE m.namespace = :namespace
ORDER BY abs(around.step), m."timestamp" DESC, m.id
"""

HOLD: Final = """
SELECT h.id, h.reason FROM memories m CROSS JOIN LATERAL hold_on(m) AS h
WHERE m.namespace = :namespace AND m.id = :id AND h.id IS NOT NULL
"""

# Return a memory, at most :limit earlier memories of its session, and at most :limit later memories of its session. The
# column `step` is 0 for the memory, negative for the earlier memories and positive for the later memories.
SESSION_NEIGHBOURS: Final = """
WITH own AS (
    SELECT id, session, "timestamp" FROM memories WHERE namespace = :namespace AND id = :id AND session IS NOT NULL
), around (id, step) AS (
    SELECT id, 0 FROM own
    UNION ALL SELECT before.id, -before.step FROM own CROSS JOIN LATERAL (
        SELECT m.id, row_number() OVER (ORDER BY m."timestamp" DESC, m.id DESC) AS step FROM memories m
        WHERE m.namespace = :namespace AND m.session = own.session AND (m."timestamp", m.id) < (own."timestamp", own.id)
        ORDER BY m."timestamp" DESC, m.id DESC LIMIT CAST(:limit AS integer)
    ) AS before
    UNION ALL SELECT after.id, after.step FROM own CROSS JOIN LATERAL (
        SELECT m.id, row_number() OVER (ORDER BY m."timestamp", m.id) AS step FROM memories m
        WHERE m.namespace = :namespace AND m.session = own.session AND (m."timestamp", m.id) > (own."timestamp", own.id)
        ORDER BY m."timestamp", m.id LIMIT CAST(:limit AS integer)
    ) AS after
)
SELECT around.step, m.id, m."timestamp", m.title, m.tags, m.superseded_by, m.session, m.expires_at, m.pinned,
    left(m.content, 1000) AS beginning, counted.count, counted.position
FROM around
JOIN memories m ON m.id = around.id
CROSS JOIN (
    SELECT count(*) AS count, count(*) FILTER (WHERE (s."timestamp", s.id) <= (own."timestamp", own.id)) AS position
    FROM own JOIN memories s ON s.namespace = :namespace AND s.session = own.session
) AS counted
ORDER BY around.step
"""

RATINGS: Final = """
SELECT rating, reason, rated_at, rated_by, rater_name FROM memory_ratings
WHERE namespace = :namespace AND memory_id = :id
ORDER BY rated_at DESC
LIMIT CAST(:limit AS integer)
"""

REQUESTS: Final = """
SELECT i.request_id, shown.state, i.memory_id, i.attempts, shown.error, i.note, i.updated_at, i.source, i.key,
    i.created_at, coalesce(left(m.content, 300), i.provenance ->> 'first_words') AS first_words,
    i.provenance ->> 'client' AS client, i.provenance ->> 'import_name' AS import_name,
    CAST(i.provenance ->> 'import_line' AS integer) AS import_line, d.message_id AS dead_letter
FROM ingest_requests i
LEFT JOIN memories m ON m.id = i.memory_id
LEFT JOIN dead_letters d ON d.namespace = i.namespace AND d.message_id = i.provenance ->> 'dead_letter'
CROSS JOIN LATERAL reported_outcome(i.state, i.error, m.id, i.updated_at, i.redriven_at) AS shown
WHERE i.namespace = :namespace AND (CAST(:state AS text) IS NULL OR shown.state = CAST(:state AS text))
    AND (CAST(:cursor_id AS uuid) IS NULL
        OR (i.updated_at, i.request_id) < (CAST(:cursor_time AS timestamptz), CAST(:cursor_id AS uuid)))
ORDER BY i.updated_at DESC, i.request_id DESC
LIMIT CAST(:limit AS integer)
"""

# Return the number of ingest requests in each state, among the :counted requests that changed last.
REQUEST_COUNTS: Final = """
SELECT shown.state, count(*) AS requests
FROM (
    SELECT state, error, memory_id, updated_at, redriven_at FROM ingest_requests
    WHERE namespace = :namespace ORDER BY updated_at DESC, request_id DESC LIMIT CAST(:counted AS integer)
) AS i
LEFT JOIN memories m ON m.id = i.memory_id
CROSS JOIN LATERAL reported_outcome(i.state, i.error, m.id, i.updated_at, i.redriven_at) AS shown
GROUP BY shown.state
"""

MARK_WORDS: Final = "SELECT mark_query_words(CAST(:query AS text), CAST(:memories AS jsonb)) AS marked"

COMPLETE_WORD: Final = """
SELECT complete_word(
    set_config('mnemosyne.namespace', :namespace, true), CAST(:filters AS jsonb), CAST(:start AS text),
    CAST(:limit AS integer)
) AS words
"""

# Return the memory with the content hash :content_hash, if it exists.
SAME_CONTENT: Final = """
SELECT id, "timestamp", title, tags, superseded_by FROM memories
WHERE namespace = :namespace AND content_hash = :content_hash
"""

# Return events of the audit trail after a cursor. The SQL function audit_page checks that :namespace is the namespace
# of the transaction.
AUDIT_EVENTS: Final = """
SELECT id, at, principal, credential, client, namespace, action, outcome, ids, count, name, client_name
FROM audit_page(
    :namespace, CAST(:after AS timestamptz), CAST(:before AS timestamptz), CAST(:person AS text),
    CAST(:action AS text), CAST(:cursor_at AS timestamptz), CAST(:cursor_id AS bigint), CAST(:limit AS integer)
)
ORDER BY at DESC, id DESC
"""

EXISTING_MEMORIES: Final = """
SELECT id FROM memories WHERE namespace = :namespace AND id = ANY (CAST(:ids AS uuid[]))
"""
