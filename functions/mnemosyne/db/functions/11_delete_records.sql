-- Delete records by source and key, and return the outcomes. A record is a text that a publisher has named by source
-- and key; its successive contents are versions. p_deletions is [{"request_id": …, "source": …, "key": …, "key_id": …,
-- "deleted_at": …, "published": …}, …].
--
-- A deletion covers the versions of the record that are older than the deletion (see the beginning of
-- 11_record_versions.sql for the exact rule). The memories of the covered versions are deleted (see covered_memories).
-- But a memory is kept if it also belongs to a version of this record that no deletion covers, or if it is the current
-- version of another record. The latest version that no deletion covers becomes the current version. The timestamp and
-- the time of publication of the deletion are stored in source_keys, so that a covered version that arrives later is
-- not stored.
--
-- If the memory of the current version was deleted, the outcome has the id of this memory. A note in the outcome has
-- the ids of up to five memories that are kept because they are the current version of another record.
--
-- If a legal hold selects a memory that would be deleted, the deletion has the outcome `failed`, and nothing is
-- deleted. But if an earlier call has already deleted some memories of the record, these memories stay deleted. Of the
-- versions that are left, the latest one whose memory is not superseded then becomes the current version again.
--
-- One call deletes at most p_limit memories, so that no transaction is long. The caller commits, and calls the function
-- again with the deletions that are not finished. The result has five fields:
--   recorded     the outcomes of the finished deletions, as in the list already_final of claim_requests
--   deleted      the ids of the memories that this call has deleted
--   busy         the ids of requests that another delivery has locked
--   conflicting  the ids of requests that are not carried out, because the id was used earlier for another request
--   unfinished   an object about the deletion that has begun and is not finished; empty if there is none. The object
--                maps the id of the deletion's request to an object with two fields. The caller must add both fields to
--                this deletion in p_deletions in the next call. "memory_id" is the memory of the version that was
--                current before the deletion, because source_keys no longer has it. "deleted" is the number of memories
--                deleted so far.
CREATE OR REPLACE FUNCTION delete_records(p_namespace text, p_deletions jsonb, p_limit integer) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    deletion record;
    record_key source_keys;
    latest record;
    deleted_ids uuid[];
    deleted uuid[] := '{}';
    kept text;
    current_id uuid;
    has_begun boolean;
    unfinished jsonb := '{}';
    result record;
    held record;
    recorded jsonb := '[]';
    busy uuid[] := '{}';
    conflicting uuid[] := '{}';
BEGIN
    PERFORM require_session_namespace(p_namespace);
    PERFORM lock_supersession(p_namespace);
    FOR deletion IN
        SELECT d.request_id, d.source, d.key, d.key_id, d.deleted_at, coalesce(d.published, now()) AS published,
            d.memory_id, coalesce(d.deleted, 0) AS deleted
        FROM jsonb_to_recordset(p_deletions) AS d (request_id uuid, source text, key text, key_id uuid, deleted_at timestamptz,
            published timestamptz, memory_id uuid, deleted integer)
        ORDER BY d.key_id, d.request_id
    LOOP
        EXIT WHEN cardinality(deleted) >= p_limit;
        IF NOT pg_try_advisory_xact_lock(hashtextextended(p_namespace || deletion.request_id, 2)) THEN
            busy := busy || deletion.request_id;
            CONTINUE;
        END IF;
        IF EXISTS (
            SELECT FROM ingest_requests i
            WHERE i.namespace = p_namespace AND i.request_id = deletion.request_id
                AND i.state IN ('stored', 'duplicate', 'deleted')
                AND NOT is_same_request(i, '', deletion.source, deletion.key)
        ) THEN
            conflicting := conflicting || deletion.request_id;
            CONTINUE;
        END IF;
        IF EXISTS (SELECT FROM holds h WHERE h.namespace = p_namespace) THEN
            SELECT k.* INTO record_key FROM source_keys k WHERE k.namespace = p_namespace AND k.key_id = deletion.key_id;
            -- A deletion has also begun if source_keys already has its timestamp and its time of publication. It was
            -- then interrupted, and its message is now delivered again.
            has_begun := deletion.deleted > 0 OR coalesce((record_key.deleted_at, record_key.deleted_published)
                = (deletion.deleted_at, deletion.published), false);
            record_key.key_id := deletion.key_id;
            record_key.deleted_at := greatest(record_key.deleted_at, deletion.deleted_at);
            record_key.deleted_published := greatest(record_key.deleted_published, deletion.published);
            SELECT m.id, hold_on(m) AS hold INTO held
            FROM covered_memories(p_namespace, deletion.source, deletion.key, record_key) AS covered
            JOIN memories m ON m.id = covered.memory_id
            WHERE is_held(m)
            ORDER BY m.id LIMIT 1;
            IF FOUND THEN
                INSERT INTO ingest_requests AS i (request_id, namespace, state, attempts, source, key, error)
                VALUES (deletion.request_id, p_namespace, next_request_state(NULL, 'failed'), 1, deletion.source,
                    deletion.key, CASE WHEN deletion.deleted > 0 THEN held_reason(held.id, held.hold)
                            || '; memories of the record that were deleted before: ' || deletion.deleted
                        WHEN has_begun THEN held_reason(held.id, held.hold)
                        ELSE held_error(held.id, held.hold) END)
                ON CONFLICT (namespace, request_id) DO UPDATE
                SET state = next_request_state(i.state, 'failed'), attempts = i.attempts + 1, error = EXCLUDED.error,
                    announced_at = CASE WHEN i.error = EXCLUDED.error THEN i.announced_at END,
                    updated_at = clock_timestamp()
                WHERE next_request_state(i.state, 'failed') IS NOT NULL;
                SELECT i.request_id, i.state, i.memory_id, i.attempts, i.error, i.note INTO result
                FROM ingest_requests i WHERE i.namespace = p_namespace AND i.request_id = deletion.request_id;
                recorded := recorded || to_jsonb(result);
                IF has_begun AND result.state = 'failed' THEN
                    UPDATE source_keys k
                    SET memory_id = l.memory_id, version_at = l.version_at, version_published = l.version_published
                    FROM (
                        SELECT v.* FROM versions_of(p_namespace, deletion.source, deletion.key) v
                        JOIN memories m ON m.id = v.memory_id AND m.superseded_by IS NULL
                        ORDER BY v.version_at DESC, v.version_published DESC, v.content_hash DESC LIMIT 1
                    ) AS l
                    WHERE k.namespace = p_namespace AND k.key_id = deletion.key_id AND k.memory_id IS NULL;
                END IF;
                CONTINUE;
            END IF;
        END IF;
        INSERT INTO source_keys AS k (namespace, key_id, deleted_at, deleted_published)
        VALUES (p_namespace, deletion.key_id, deletion.deleted_at, deletion.published)
        ON CONFLICT (namespace, key_id) DO UPDATE
        SET deleted_at = greatest(k.deleted_at, EXCLUDED.deleted_at),
            deleted_published = greatest(k.deleted_published, EXCLUDED.deleted_published)
        RETURNING * INTO record_key;
        current_id := coalesce(deletion.memory_id, record_key.memory_id);
        IF is_covered(record_key, record_key.version_at, record_key.version_published) THEN
            SELECT i.memory_id, i.version_at, i.version_published INTO latest
            FROM versions_of(p_namespace, deletion.source, deletion.key) i
            WHERE NOT is_covered(record_key, i.version_at, i.version_published)
            ORDER BY i.version_at DESC, i.version_published DESC, i.content_hash DESC
            LIMIT 1;
            UPDATE source_keys k
            SET memory_id = latest.memory_id, version_at = latest.version_at, version_published = latest.version_published
            WHERE k.namespace = p_namespace AND k.key_id = deletion.key_id;
            UPDATE memories m SET superseded_by = NULL WHERE m.id = latest.memory_id AND m.superseded_by IS NOT NULL;
            -- If the deleted version and the new current version have the same content, they have the same memory. This
            -- memory is kept, and it must not supersede itself.
            IF latest.memory_id <> record_key.memory_id THEN
                PERFORM supersede(record_key.memory_id, latest.memory_id);
            END IF;
        END IF;
        WITH covered AS (
            SELECT c.memory_id FROM covered_memories(p_namespace, deletion.source, deletion.key, record_key) AS c
            LIMIT p_limit - cardinality(deleted)
        ), removed AS (
            DELETE FROM memories m USING covered WHERE m.id = covered.memory_id RETURNING m.id
        )
        SELECT coalesce(array_agg(id), '{}') INTO deleted_ids FROM removed;
        deleted := deleted || deleted_ids;
        IF cardinality(deleted) >= p_limit THEN
            unfinished := jsonb_build_object(deletion.request_id, jsonb_build_object('memory_id', current_id,
                'deleted', deletion.deleted + cardinality(deleted_ids)));
            EXIT;
        END IF;
        SELECT string_agg('memory ' || shared.id || ' is kept, because it is the current version of another record', '; ')
        INTO kept
        FROM (
            SELECT i.memory_id AS id FROM versions_of(p_namespace, deletion.source, deletion.key) i
            WHERE is_covered(record_key, i.version_at, i.version_published) AND EXISTS (SELECT FROM source_keys k
                WHERE k.namespace = p_namespace AND k.memory_id = i.memory_id AND k.key_id <> deletion.key_id)
            GROUP BY i.memory_id ORDER BY i.memory_id LIMIT 5
        ) AS shared;
        INSERT INTO ingest_requests AS i (request_id, namespace, state, memory_id, attempts, note, source, key)
        VALUES (deletion.request_id, p_namespace, next_request_state(NULL, 'deleted'),
            CASE WHEN NOT EXISTS (SELECT FROM memories m WHERE m.id = current_id) THEN current_id END, 1,
            kept, deletion.source, deletion.key)
        ON CONFLICT (namespace, request_id) DO UPDATE
        SET state = next_request_state(i.state, 'deleted'), memory_id = EXCLUDED.memory_id, content_hash = NULL,
            attempts = i.attempts + 1, error = NULL, note = EXCLUDED.note, source = EXCLUDED.source, key = EXCLUDED.key,
            version_at = NULL, version_published = NULL, updated_at = clock_timestamp(), announced_at = NULL
        WHERE next_request_state(i.state, 'deleted') IS NOT NULL;
        SELECT i.request_id, i.state, i.memory_id, i.attempts, i.error, i.note INTO result
        FROM ingest_requests i WHERE i.namespace = p_namespace AND i.request_id = deletion.request_id;
        recorded := recorded || to_jsonb(result);
    END LOOP;
    RETURN jsonb_build_object('recorded', recorded, 'deleted', to_jsonb(deleted), 'busy', to_jsonb(busy),
        'conflicting', to_jsonb(conflicting), 'unfinished', unfinished);
END
$$;

-- Whether p_request, a request in a final state, is the same request as a delivered request. p_content_hash, p_source
-- and p_key describe the delivered request.
--
-- There are three cases:
--   * The delivered request stores a content: the result is true if p_request has the same content hash, and the same
--     source and key. Both requests may have no source and key. If the memory of p_request was forgotten, its source
--     and key may be unknown, and are then not compared.
--   * The delivered request deletes a record (p_content_hash is empty): the result is true if p_request is a deletion
--     of the same record.
--   * The delivered content could not be read (p_content_hash is null): the result is true, because there is no content
--     to compare.
CREATE OR REPLACE FUNCTION is_same_request(p_request ingest_requests, p_content_hash bytea, p_source text, p_key text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_content_hash IS NULL THEN true
    WHEN p_content_hash = '' THEN (p_request).content_hash IS NULL
        AND ((p_request).source, (p_request).key) IS NOT DISTINCT FROM (p_source, p_key)
    ELSE (p_request).content_hash IS NOT DISTINCT FROM p_content_hash
        AND (((p_request).source, (p_request).key) IS NOT DISTINCT FROM (p_source, p_key)
            OR ((p_request).state = 'deleted' AND (p_request).source IS NULL))
END;

-- Return the versions of a record that have a stored memory. Versions with a superseded memory are included.
CREATE OR REPLACE FUNCTION versions_of(p_namespace text, p_source text, p_key text)
RETURNS TABLE (memory_id uuid, content_hash text, version_at timestamptz, version_published timestamptz)
LANGUAGE sql STABLE
AS $$
SELECT m.id, m.content_hash, i.version_at, i.version_published
FROM ingest_requests i
JOIN memories m ON m.id = i.memory_id
WHERE i.namespace = p_namespace AND md5(i.source) = md5(p_source) AND i.source = p_source AND i.key = p_key
    AND i.version_at IS NOT NULL AND i.state IN ('stored', 'duplicate')
$$;

-- Trigger function: when the memory of a record's current version is deleted, remove the current version from the
-- record's row in source_keys.
--
-- In general, the record then counts as deleted at the timestamp of the removed version. Therefore earlier versions
-- that are stored stay superseded, and an earlier version that arrives later is not stored.
--
-- This is different if a forgetting (a deletion of selected memories, see 15_forgetting.sql) deletes the memory. The
-- trigger recognises a forgetting by the setting mnemosyne.removal, which is 'forgotten' while a forgetting deletes
-- memories. The record then does not count as deleted, because the function forgotten_requests decides which versions
-- must not be stored. The row in source_keys keeps version_at and version_published of the forgotten version. By these
-- times, an earlier version that arrives later and may be stored is recognised as earlier, and is stored as superseded.
CREATE OR REPLACE FUNCTION forget_versions() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    forgotten boolean := coalesce(current_setting('mnemosyne.removal', true), '') = 'forgotten';
BEGIN
    UPDATE source_keys k
    SET memory_id = NULL,
        version_at = CASE WHEN forgotten THEN k.version_at END,
        version_published = CASE WHEN forgotten THEN k.version_published END,
        deleted_at = CASE WHEN forgotten THEN k.deleted_at ELSE greatest(k.deleted_at, k.version_at) END
    FROM deleted
    WHERE k.namespace = deleted.namespace AND k.memory_id = deleted.id;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER forget_versions AFTER DELETE ON memories REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION forget_versions();

GRANT EXECUTE ON FUNCTION delete_records(text, jsonb, integer)
    TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter;
GRANT EXECUTE ON FUNCTION is_same_request(ingest_requests, bytea, text, text)
    TO mnemosyne_runtime, mnemosyne_ingest, mnemosyne_dead_letter, mnemosyne_import_object;
