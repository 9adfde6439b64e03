"""SQL statements about memories, with bind parameters.

A statement that calls `set_config` also sets the namespace of the transaction, which saves the round trip of a separate
statement.
"""

from typing import Final

# Set the namespace of the transaction, which row-level security reads. The setting ends with the transaction.
ENTER_NAMESPACE: Final = "SELECT set_config('mnemosyne.namespace', :namespace, true)"

HAS_SCHEMA: Final = """
SELECT to_regclass('embedding_space') IS NOT NULL AND to_regclass('memories') IS NOT NULL AS has_schema
"""

# Record an action in the audit trail, in the transaction that makes the change.
RECORD_ACTION: Final = """
INSERT INTO audit_events (principal, credential, client, namespace, action, outcome, ids, count)
VALUES (:principal, :credential, :client, :namespace, :action, 'done', CAST(:ids AS text[]), :count)
"""

# Return the embedding space. The dimension comes from the type of the column, so that it is also known for an empty
# table.
EMBEDDING_SPACE: Final = """
SELECT s.provider, s.model, a.atttypmod AS dimension, s.previous_provider, s.previous_model, s.previous_dimension
FROM embedding_space s, pg_attribute a
WHERE a.attrelid = CAST('memories' AS regclass) AND a.attname = 'embedding'
"""

# The statements below that call `set_config` call SQL functions with SECURITY DEFINER. These functions bypass row-level
# security and check the namespace themselves, because with row-level security PostgreSQL would not use the indexes of
# words and tags: see 04_filters.sql.
FIND_CANDIDATES: Final = """
SELECT find_candidates(
    set_config('mnemosyne.namespace', :namespace, true), CAST(:mode AS text), CAST(:query AS text),
    CAST(:names AS text[]), CAST(:vector AS text), CAST(:model AS text), CAST(:filters AS jsonb),
    CAST(:limit AS integer), CAST(:candidates AS integer)
) AS candidates
"""

PAIRWISE_COSINES: Final = """
SELECT pairwise_cosines(set_config('mnemosyne.namespace', :namespace, true), CAST(:ids AS uuid[])) AS cosines
"""

READ_HITS: Final = """
SELECT read_hits(
    set_config('mnemosyne.namespace', :namespace, true), CAST(:ids AS uuid[]), CAST(:query AS text),
    CAST(:characters AS integer), CAST(:explain AS boolean), CAST(:as_of AS timestamptz)
) AS hits
"""

NEIGHBOURS: Final = """
SELECT * FROM neighbours(set_config('mnemosyne.namespace', :namespace, true), CAST(:id AS uuid))
"""

FETCH: Final = """
SELECT memory_record(m) || jsonb_build_object('supersedes', superseded_memories(namespace, id)) AS record
FROM memories m WHERE namespace = :namespace AND id = :id
"""

FETCH_THEN: Final = """
SELECT read_memory_as_of(
    set_config('mnemosyne.namespace', :namespace, true), CAST(:id AS uuid), CAST(:at AS timestamptz)
) AS record
"""

LIST: Final = """
SELECT id, "timestamp", title, tags, superseded_by, session, expires_at, pinned, beginning
FROM list_memories(
    set_config('mnemosyne.namespace', :namespace, true), CAST(:filters AS jsonb),
    CAST(:cursor_timestamp AS timestamptz), CAST(:cursor_id AS uuid), CAST(:limit AS integer),
    CAST(:oldest_first AS boolean), CAST(:beginning AS integer)
)
"""

# Before a memory is deleted, link the older memories that it superseded to its successor (the memory that supersedes
# it). If there is no successor, the older memories stay superseded by the deleted memory, because outdated facts must
# not appear in searches when the newer fact is deleted.
#
# At most 50 older memories are linked, because PostgreSQL indexes each linked memory again. A memory can supersede
# thousands of memories. If all of them were linked, the deletion would always reach the statement timeout. The older
# memories that are not linked stay superseded by the deleted memory.
RELINK_SUPERSEDED: Final = """
UPDATE memories
SET superseded_by = successor.superseded_by
FROM (SELECT superseded_by FROM memories WHERE namespace = :namespace AND id = :id) AS successor
WHERE successor.superseded_by IS NOT NULL AND memories.id = ANY (ARRAY(
    SELECT older.id FROM memories older WHERE older.namespace = :namespace AND older.superseded_by = :id
    ORDER BY older."timestamp" DESC, older.id LIMIT 50
))
"""

DELETE: Final = """
DELETE FROM memories WHERE namespace = :namespace AND id = :id
RETURNING title, ARRAY(
    SELECT older.id FROM memories older
    WHERE older.namespace = :namespace AND older.superseded_by = :id ORDER BY older."timestamp" DESC, older.id LIMIT 20
) AS superseded
"""

# Return the ids in :ids whose memories supersede other memories.
SUPERSEDING: Final = """
SELECT DISTINCT superseded_by AS id FROM memories
WHERE namespace = :namespace AND superseded_by = ANY (CAST(:ids AS uuid[]))
"""

DELETE_MANY: Final = """
DELETE FROM memories WHERE namespace = :namespace AND id = ANY (CAST(:ids AS uuid[])) RETURNING id
"""

# Return up to 100 memories that stay superseded after the memories that superseded them were deleted.
STILL_SUPERSEDED: Final = """
SELECT id FROM memories WHERE namespace = :namespace AND superseded_by = ANY (CAST(:ids AS uuid[]))
ORDER BY "timestamp" DESC, id LIMIT 100
"""

# Add and remove tags of memories. The rows are locked in the order of the ids, so that two concurrent changes cannot
# deadlock. The new tags are computed from the locked rows, so that tags of a concurrent change are kept.
CHANGE_TAGS: Final = """
WITH chosen AS MATERIALIZED (
    SELECT id, tags, tag_keys FROM memories
    WHERE namespace = :namespace AND id = ANY (CAST(:ids AS uuid[])) ORDER BY id FOR UPDATE
), changed AS (
    UPDATE memories m
    SET tags = new.tags, tag_keys = new.tag_keys
    FROM chosen
    CROSS JOIN LATERAL changed_tags(chosen.tags, chosen.tag_keys, CAST(:added AS text[]), CAST(:added_keys AS text[]),
        CAST(:removed_keys AS text[])) AS new
    WHERE m.id = chosen.id AND m.tags IS DISTINCT FROM new.tags
    RETURNING m.id, cardinality(m.tags) AS tags
)
SELECT chosen.id, changed.id IS NOT NULL AS changed, coalesce(changed.tags, 0) AS tags
FROM chosen LEFT JOIN changed USING (id)
"""

CHANGE_TAG: Final = """
SELECT changed, remaining
FROM change_tag(
    set_config('mnemosyne.namespace', :namespace, true), CAST(:tag_key AS text), CAST(:new_tag AS text),
    CAST(:new_key AS text), CAST(:limit AS integer)
)
"""

UPDATE: Final = """
UPDATE memories m
SET title = coalesce(CAST(:title AS text), title),
    tags = coalesce(CAST(:tags AS text[]), tags),
    tag_keys = coalesce(CAST(:tag_keys AS text[]), tag_keys),
    metadata = coalesce(CAST(:metadata AS jsonb), metadata),
    superseded_by = CASE WHEN NOT CAST(:not_superseded AS boolean)
        THEN coalesce(CAST(:superseded_by AS uuid), superseded_by) END,
    given_expiry = changed.given_expiry,
    pinned = changed.pinned,
    expires_at = changed.expires_at
FROM (
    SELECT old.id AS changed_id, new.given_expiry, new.pinned, CASE
        WHEN NOT CAST(:changes_expiry AS boolean) THEN old.expires_at
        WHEN NOT is_held(old)
        THEN require_future(memory_expiry(:namespace, new.given_expiry, new.pinned, old.last_seen_at))
        END AS expires_at
    FROM memories old
    CROSS JOIN LATERAL (SELECT
        CASE WHEN NOT CAST(:no_expiry AS boolean) THEN coalesce(CAST(:expires_at AS timestamptz), old.given_expiry) END
            AS given_expiry,
        coalesce(CAST(:pinned AS boolean), old.pinned) AS pinned
    ) AS new
    WHERE old.namespace = :namespace AND old.id = :id FOR UPDATE OF old
) AS changed
WHERE m.namespace = :namespace AND m.id = changed.changed_id
RETURNING memory_record(m) AS record
"""

EXPORT: Final = """
SELECT record, superseded_by_hash
FROM export_memories(
    set_config('mnemosyne.namespace', :namespace, true), CAST(:filters AS jsonb), CAST(:ids AS uuid[]),
    CAST(:cursor_timestamp AS timestamptz), CAST(:cursor_hash AS text), CAST(:limit AS integer), CAST(:bytes AS bigint)
)
"""

# Take the advisory lock for changes of superseded_by. Without this lock, two concurrent changes could make two memories
# supersede each other, because neither transaction sees the change of the other.
LOCK_SUPERSESSION: Final = """
SELECT lock_supersession(:namespace)
"""

# Return the ids of a memory, its successor, the successor's successor, and so on.
SUPERSEDED_CHAIN: Final = """
WITH RECURSIVE chain (id, next) AS (
    SELECT id, superseded_by FROM memories WHERE namespace = :namespace AND id = :id
    UNION
    SELECT m.id, m.superseded_by FROM memories m JOIN chain ON m.id = chain.next WHERE m.namespace = :namespace
)
SELECT id FROM chain
"""

# Lock the row of a memory, so that two concurrent ratings by one principal count as one rating.
LOCK_MEMORY: Final = """
SELECT id FROM memories WHERE namespace = :namespace AND id = :id FOR UPDATE
"""

# Replace the rating that a principal gave to a memory or, if :rating is null, withdraw this rating. The caller has
# locked the row of the memory (LOCK_MEMORY).
RATE: Final = """
WITH earlier AS (
    SELECT count(*) AS n, coalesce(sum(rating), 0) AS total FROM memory_ratings
    WHERE namespace = :namespace AND memory_id = :id AND rated_by = :rated_by
), given AS (
    INSERT INTO memory_ratings (memory_id, namespace, rated_by, rater_name, rating, reason)
    SELECT CAST(:id AS uuid), CAST(:namespace AS text), CAST(:rated_by AS text), CAST(:rater_name AS text),
        CAST(:rating AS smallint), CAST(:reason AS text)
    WHERE CAST(:rating AS smallint) IS NOT NULL
    ON CONFLICT (memory_id, rated_by) DO UPDATE
    SET rating = EXCLUDED.rating, reason = EXCLUDED.reason, rater_name = EXCLUDED.rater_name, rated_at = now()
), withdrawn AS (
    DELETE FROM memory_ratings
    WHERE namespace = :namespace AND memory_id = :id AND rated_by = :rated_by AND CAST(:rating AS smallint) IS NULL
), change AS (
    SELECT (CASE WHEN CAST(:rating AS smallint) IS NULL THEN 0 ELSE 1 END) - n AS n,
        coalesce(CAST(:rating AS smallint), 0) - total AS total
    FROM earlier
)
UPDATE memories
SET rating_count = rating_count + change.n, rating_sum = rating_sum + change.total
FROM change
WHERE namespace = :namespace AND id = :id
RETURNING memory_quality(rating_count, rating_sum) AS after,
    memory_quality(CAST(rating_count - change.n AS integer), CAST(rating_sum - change.total AS integer)) AS before
"""

RATINGS_COUNTED: Final = """
SELECT count(*) FILTER (WHERE rating = 1) AS helped, count(*) FILTER (WHERE rating = -1) AS misled
FROM memory_ratings WHERE namespace = :namespace AND memory_id = :id
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

# Return the 20 most frequent tags of the newest 5,000 memories. The column `total_tags` of each row is the number of
# different tags of these memories. Older memories are not read, to bound the cost of a call.
TOP_TAGS: Final = """
SELECT min(tag.written) AS tag, count(*) AS memories, count(*) OVER () AS total_tags
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
