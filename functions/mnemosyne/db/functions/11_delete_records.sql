-- Delete records by source and key. A record is a text that a publisher has named by source and key; its successive
-- contents are versions. p_deletions is [{"request_id": …, "source": …, "key": …, "key_id": …, "deleted_at": …,
-- "published": …}, …].
--
-- Each deletion removes the memories of all versions that it covers, see 11_record_versions.sql. A memory that is the
-- current version of another record is kept. The latest version that the deletion does not cover becomes the current
-- version. The times of the deletion are stored, so that a covered version that arrives later is not stored.
--
-- One call deletes about p_limit memories at most, so that no transaction is long. The result is {"recorded":
-- [outcomes of the finished deletions, in the form of already_final in claim_requests], "busy": [request_id, …],
-- "conflicting": [request_id, …]}. The caller commits, and calls the function again with the unfinished deletions. A
-- deletion is busy while a delivery holds the lock of its request id. A deletion fails, and deletes nothing, if a hold keeps
-- one of the memories. A deletion is conflicting, and is not carried out, if its request id belongs to a stored memory or to
-- the deletion of another record.
CREATE OR REPLACE FUNCTION delete_records(p_namespace text, p_deletions jsonb, p_limit integer) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    deletion record;
    record_key source_keys;
    latest record;
    deleted_ids uuid[];
    deleted bigint := 0;
    result record;
    held record;
    recorded jsonb := '[]';
    busy uuid[] := '{}';
    conflicting uuid[] := '{}';
BEGIN
    PERFORM require_session_namespace(p_namespace);
    PERFORM lock_supersession(p_namespace);
    FOR deletion IN
        SELECT d.request_id, d.source, d.key, d.key_id, d.deleted_at, coalesce(d.published, now()) AS published
        FROM jsonb_to_recordset(p_deletions) AS d (request_id uuid, source text, key text, key_id uuid, deleted_at timestamptz,
            published timestamptz)
        ORDER BY d.key_id, d.request_id
    LOOP
        EXIT WHEN deleted >= p_limit;
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
            SELECT m.id, hold_on(m) AS hold INTO held
            FROM versions_of(p_namespace, deletion.source, deletion.key) i
            JOIN memories m ON m.id = i.memory_id
            WHERE (i.version_at <= deletion.deleted_at OR i.version_published < deletion.published) AND is_held(m)
            LIMIT 1;
            IF FOUND THEN
                INSERT INTO ingest_requests AS i (request_id, namespace, state, attempts, source, key, error)
                VALUES (deletion.request_id, p_namespace, next_request_state(NULL, 'failed'), 1, deletion.source,
                    deletion.key, held_error(held.id, held.hold))
                ON CONFLICT (namespace, request_id) DO UPDATE
                SET state = next_request_state(i.state, 'failed'), attempts = i.attempts + 1, error = EXCLUDED.error,
                    updated_at = clock_timestamp(), announced_at = NULL
                WHERE next_request_state(i.state, 'failed') IS NOT NULL;
                SELECT i.request_id, i.state, i.memory_id, i.attempts, i.error, i.note INTO result
                FROM ingest_requests i WHERE i.namespace = p_namespace AND i.request_id = deletion.request_id;
                recorded := recorded || to_jsonb(result);
                CONTINUE;
            END IF;
        END IF;
        INSERT INTO source_keys AS k (namespace, key_id, deleted_at, deleted_published)
        VALUES (p_namespace, deletion.key_id, deletion.deleted_at, deletion.published)
        ON CONFLICT (namespace, key_id) DO UPDATE
        SET deleted_at = greatest(k.deleted_at, EXCLUDED.deleted_at),
            deleted_published = greatest(k.deleted_published, EXCLUDED.deleted_published)
        RETURNING * INTO record_key;
        IF record_key.memory_id IS NOT NULL AND is_covered(record_key, record_key.version_at, record_key.version_published) THEN
            SELECT i.memory_id, i.version_at, i.version_published INTO latest
            FROM versions_of(p_namespace, deletion.source, deletion.key) i
            WHERE NOT is_covered(record_key, i.version_at, i.version_published)
            ORDER BY i.version_at DESC, i.version_published DESC, i.content_hash DESC
            LIMIT 1;
            UPDATE source_keys k
            SET memory_id = latest.memory_id, version_at = latest.version_at, version_published = latest.version_published
            WHERE k.namespace = p_namespace AND k.key_id = deletion.key_id;
            UPDATE memories m SET superseded_by = NULL WHERE m.id = latest.memory_id AND m.superseded_by IS NOT NULL;
            -- If the deleted version and an earlier version have the same content, they share a memory. This memory is
            -- kept.
            IF latest.memory_id <> record_key.memory_id THEN
                PERFORM supersede(record_key.memory_id, latest.memory_id);
            END IF;
        END IF;
        WITH covered AS (
            SELECT i.memory_id
            FROM versions_of(p_namespace, deletion.source, deletion.key) i
            WHERE NOT EXISTS (SELECT FROM source_keys k WHERE k.namespace = p_namespace AND k.memory_id = i.memory_id)
            GROUP BY i.memory_id
            HAVING bool_and(is_covered(record_key, i.version_at, i.version_published))
            LIMIT p_limit - deleted
        ), removed AS (
            DELETE FROM memories m USING covered WHERE m.id = covered.memory_id RETURNING m.id
        )
        SELECT coalesce(array_agg(id), '{}') INTO deleted_ids FROM removed;
        deleted := deleted + cardinality(deleted_ids);
        EXIT WHEN deleted >= p_limit;
        INSERT INTO ingest_requests AS i (request_id, namespace, state, memory_id, attempts, source, key)
        VALUES (deletion.request_id, p_namespace, next_request_state(NULL, 'deleted'), record_key.memory_id, 1,
            deletion.source, deletion.key)
        ON CONFLICT (namespace, request_id) DO UPDATE
        SET state = next_request_state(i.state, 'deleted'), memory_id = EXCLUDED.memory_id, content_hash = NULL,
            attempts = i.attempts + 1, error = NULL, note = NULL, source = EXCLUDED.source, key = EXCLUDED.key,
            version_at = NULL, version_published = NULL, updated_at = clock_timestamp(), announced_at = NULL
        WHERE next_request_state(i.state, 'deleted') IS NOT NULL;
        SELECT i.request_id, i.state, i.memory_id, i.attempts, i.error, i.note INTO result
        FROM ingest_requests i WHERE i.namespace = p_namespace AND i.request_id = deletion.request_id;
        recorded := recorded || to_jsonb(result);
    END LOOP;
    RETURN jsonb_build_object('recorded', recorded, 'busy', to_jsonb(busy), 'conflicting', to_jsonb(conflicting));
END
$$;

-- Whether a request with a final state is the same request as the arguments describe. A content hash must be equal. An
-- empty content hash means the deletion of the record p_source, p_key. A null content hash means that the content
-- could not be read; the function then returns true.
CREATE OR REPLACE FUNCTION is_same_request(p_request ingest_requests, p_content_hash bytea, p_source text, p_key text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_content_hash IS NULL THEN true
    WHEN p_content_hash = '' THEN (p_request).content_hash IS NULL
        AND ((p_request).source, (p_request).key) IS NOT DISTINCT FROM (p_source, p_key)
    ELSE (p_request).content_hash IS NOT DISTINCT FROM p_content_hash
END;

-- The versions of a record that have a stored memory, superseded or not.
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

-- Clear the current version of a record when its memory is deleted. The deletion of a memory by its id counts as a
-- deletion of the record at the version's timestamp. So earlier versions remain superseded, and earlier versions that
-- arrive later are not stored. A forgetting does not count as a deletion of the record: standing_forgettings decides
-- which versions are not stored.
CREATE OR REPLACE FUNCTION forget_versions() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    forgotten boolean := coalesce(current_setting('mnemosyne.removal', true), '') = 'forgotten';
BEGIN
    UPDATE source_keys k
    SET memory_id = NULL, version_at = NULL, version_published = NULL,
        deleted_at = CASE WHEN forgotten THEN k.deleted_at ELSE greatest(k.deleted_at, k.version_at) END
    FROM deleted
    WHERE k.namespace = deleted.namespace AND k.memory_id = deleted.id;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER forget_versions AFTER DELETE ON memories REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION forget_versions();

REVOKE ALL ON FUNCTION delete_records, is_same_request, versions_of, forget_versions FROM PUBLIC;
GRANT EXECUTE ON FUNCTION delete_records TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest,
    mnemosyne_dead_letter;
GRANT EXECUTE ON FUNCTION is_same_request TO mnemosyne_runtime, mnemosyne_ingest, mnemosyne_dead_letter;
