"""SQL statements about memories, with bind parameters."""

from typing import Final

# Row-level security reads this setting, which is reset at the end of the transaction.
ENTER_NAMESPACE: Final = "SELECT set_config('mnemosyne.namespace', :namespace, true)"

HAS_SCHEMA: Final = """
SELECT to_regclass('embedding_space') IS NOT NULL AND to_regclass('memories') IS NOT NULL AS has_schema
"""

# The declared dimension, which is known for an empty table too.
EMBEDDING_SPACE: Final = """
SELECT s.provider, s.model, a.atttypmod AS dimension, s.previous_provider, s.previous_model, s.previous_dimension
FROM embedding_space s, pg_attribute a
WHERE a.attrelid = CAST('memories' AS regclass) AND a.attname = 'embedding'
"""

# Sets the namespace in the same round trip. The functions run with the owner's rights and check the namespace
# themselves, because row-level security keeps full text and tag operators off their indexes: see 04_filters.sql.
FIND_CANDIDATES: Final = """
SELECT find_candidates(
    set_config('mnemosyne.namespace', :namespace, true), CAST(:mode AS text), CAST(:query AS text),
    CAST(:vector AS text), CAST(:model AS text), CAST(:filters AS jsonb), CAST(:limit AS integer),
    CAST(:candidates AS integer)
) AS candidates
"""

PAIRWISE_COSINES: Final = """
SELECT pairwise_cosines(set_config('mnemosyne.namespace', :namespace, true), CAST(:ids AS uuid[])) AS cosines
"""

READ_HITS: Final = """
SELECT read_hits(
    set_config('mnemosyne.namespace', :namespace, true), CAST(:ids AS uuid[]), CAST(:query AS text),
    CAST(:characters AS integer), CAST(:explain AS boolean)
) AS hits
"""

# Sets the namespace in the same round trip.
SIMILAR: Final = """
SELECT * FROM similar_memories(set_config('mnemosyne.namespace', :namespace, true), CAST(:id AS uuid))
"""

FETCH: Final = """
SELECT memory_record(m) || jsonb_build_object('supersedes', superseded_memories(namespace, id)) AS record
FROM memories m WHERE namespace = :namespace AND id = :id
"""

# Sets the namespace in the same round trip.
LIST: Final = """
SELECT id, "timestamp", title, tags, superseded_by, session, beginning
FROM list_memories(
    set_config('mnemosyne.namespace', :namespace, true), CAST(:filters AS jsonb),
    CAST(:cursor_timestamp AS timestamptz), CAST(:cursor_id AS uuid), CAST(:limit AS integer),
    CAST(:oldest_first AS boolean), CAST(:beginning AS integer)
)
"""

# Memories that the deleted memory superseded are superseded by its successor. Without a successor they keep its id:
# after a newer fact is deleted, the outdated one must not appear in searches.
RELINK_SUPERSEDED: Final = """
UPDATE memories
SET superseded_by = successor.superseded_by
FROM (SELECT superseded_by FROM memories WHERE namespace = :namespace AND id = :id) AS successor
WHERE memories.namespace = :namespace AND memories.superseded_by = :id AND successor.superseded_by IS NOT NULL
"""

DELETE: Final = """
DELETE FROM memories WHERE namespace = :namespace AND id = :id
RETURNING title, ARRAY(
    SELECT older.id FROM memories older
    WHERE older.namespace = :namespace AND older.superseded_by = :id ORDER BY older."timestamp" DESC, older.id LIMIT 20
) AS superseded
"""

UPDATE: Final = """
UPDATE memories m
SET title = coalesce(CAST(:title AS text), title),
    tags = coalesce(CAST(:tags AS text[]), tags),
    tag_keys = coalesce(CAST(:tag_keys AS text[]), tag_keys),
    metadata = coalesce(CAST(:metadata AS jsonb), metadata),
    superseded_by = CASE WHEN NOT CAST(:not_superseded AS boolean)
        THEN coalesce(CAST(:superseded_by AS uuid), superseded_by) END
WHERE namespace = :namespace AND id = :id
RETURNING memory_record(m) AS record
"""

# Memories after a cursor, by time and then content hash. The sum of the lengths limits a page before contents are read.
EXPORT: Final = """
WITH page AS (
    SELECT m.id, octet_length(m.content) AS bytes, row_number() OVER by_time AS place
    FROM memories m
    WHERE m.namespace = :namespace
        AND (CAST(:cursor_hash AS text) IS NULL
            OR (m."timestamp", m.content_hash) > (CAST(:cursor_timestamp AS timestamptz), CAST(:cursor_hash AS text)))
    WINDOW by_time AS (ORDER BY m."timestamp", m.content_hash)
    ORDER BY m."timestamp", m.content_hash
    LIMIT CAST(:limit AS integer)
), summed AS (
    SELECT id, place, sum(bytes) OVER (ORDER BY place) - bytes AS bytes_before FROM page
)
SELECT memory_record(m) AS record,
    -- For a deleted successor, the hash of its id: no memory has it, so an import reports a missing successor.
    coalesce(successor.content_hash, encode(sha256(uuid_send(m.superseded_by)), 'hex')) AS superseded_by_hash
FROM summed
JOIN memories m USING (id)
LEFT JOIN memories successor ON successor.id = m.superseded_by
WHERE summed.bytes_before < CAST(:bytes AS bigint)
ORDER BY summed.place
"""

# One change of supersession at a time: two concurrent changes could form a cycle that neither sees.
LOCK_SUPERSESSION: Final = """
SELECT lock_supersession(:namespace)
"""

# A memory, its successor, the successor's successor, and so on.
SUPERSEDED_CHAIN: Final = """
WITH RECURSIVE chain (id, next) AS (
    SELECT id, superseded_by FROM memories WHERE namespace = :namespace AND id = :id
    UNION
    SELECT m.id, m.superseded_by FROM memories m JOIN chain ON m.id = chain.next WHERE m.namespace = :namespace
)
SELECT id FROM chain
"""

RATE: Final = """
WITH rated AS (
    UPDATE memories
    SET rating_count = rating_count + 1, rating_sum = rating_sum + CAST(:rating AS integer)
    WHERE namespace = :namespace AND id = :id
    RETURNING id, rating_count, rating_sum
), inserted AS (
    INSERT INTO memory_ratings (memory_id, namespace, rating, reason)
    SELECT id, CAST(:namespace AS text), CAST(:rating AS smallint), CAST(:reason AS text) FROM rated
)
SELECT memory_quality(rating_count - 1, rating_sum - CAST(:rating AS integer)) AS before,
    memory_quality(rating_count, rating_sum) AS after
FROM rated
"""

STATS: Final = """
WITH open AS (
    SELECT shown.state
    FROM ingest_requests i
    CROSS JOIN LATERAL reported_outcome(i.state, i.error, i.memory_id, i.updated_at, i.redriven_at) AS shown
    WHERE i.namespace = :namespace AND i.state IN ('queued', 'dead_lettered')
)
SELECT
    (SELECT "timestamp" FROM memories WHERE namespace = :namespace ORDER BY "timestamp", id LIMIT 1) AS oldest,
    (SELECT "timestamp" FROM memories WHERE namespace = :namespace ORDER BY "timestamp" DESC, id DESC LIMIT 1)
        AS newest,
    (SELECT count(*) FROM open WHERE state = 'queued') AS pending,
    (SELECT count(*) FROM open WHERE state = 'dead_lettered') AS dead_lettered,
    (SELECT count(*) FROM dead_letters WHERE namespace = :namespace) AS dead_letters
"""

# Of the newest 5,000 memories only, to bound the cost of a call.
TOP_TAGS: Final = """
SELECT min(tag.written) AS tag, count(*) AS memories
FROM (
    SELECT tags, tag_keys FROM memories WHERE namespace = :namespace ORDER BY "timestamp" DESC, id DESC LIMIT 5000
) AS m, unnest(m.tags, m.tag_keys) AS tag (written, key)
GROUP BY tag.key
ORDER BY count(*) DESC, tag.key
LIMIT 20
"""

USAGE: Final = """
SELECT memories, bytes, texts_today, memories_limit, bytes_limit, texts_limit FROM usage_and_quota()
"""

LANGUAGES: Final = """
SELECT sampled, languages, text_in
FROM memory_languages(set_config('mnemosyne.namespace', :namespace, true), CAST(:text AS text))
"""
