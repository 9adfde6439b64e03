-- Record the versions of records. A publisher names a text by source and key; the named text is called a record, and
-- each content of the record is a version. A later version supersedes an earlier one.
--
-- Versions are ordered by timestamp, then by the time of publication, then by content hash. The current version is the
-- latest version that no deletion covers. The table source_keys stores the current version of each record, or
-- only the times of this version if its memory was forgotten.
--
-- A deletion of the record covers two kinds of versions: versions with a timestamp up to the timestamp of the deletion,
-- and versions that were first published before the deletion. A version in the same message as the deletion was not
-- published before the deletion. Therefore one message can delete a record and store it again.
--
-- A transaction that changes the column memories.superseded_by calls lock_supersession before it locks a row. So two
-- such transactions run one after the other, and cannot deadlock.
--
-- Some of these SQL functions have SECURITY DEFINER, because the roles of the services `ingest` and `mcp` have no right
-- to write all the tables and columns that the functions change.

-- Take the advisory lock for changes of memories.superseded_by in the namespace. Wait for it if necessary, and hold it
-- until the end of the transaction.
CREATE OR REPLACE FUNCTION lock_supersession(p_namespace text) RETURNS void
LANGUAGE sql
BEGIN ATOMIC
    SELECT pg_advisory_xact_lock(hashtextextended('supersession ' || p_namespace, 0));
END;

-- Whether a version of a record counts as deleted, because the latest deletion of the record covers it. The beginning
-- of this file defines which versions a deletion covers. The result is false if the record has no deletion.
--   p_key        the row of source_keys for the record; it has the times of the latest deletion
--   p_at         the timestamp of the version
--   p_published  the time at which the version was first published
CREATE OR REPLACE FUNCTION is_covered(p_key source_keys, p_at timestamptz, p_published timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(p_at <= (p_key).deleted_at, false) OR coalesce(p_published < (p_key).deleted_published, false);

-- Return p_key, the row of a record in source_keys, without the current version if the memory of this version has
-- expired. In the returned row, the record then counts as deleted at the timestamp of this version. The row in the
-- table gets the same values only when the row of the memory is removed (see forget_versions).
--
-- After a restore of an export, the row can also name a memory that does not exist, because the memory expired before
-- the restore and was not stored. The function treats it as an expired memory.
CREATE OR REPLACE FUNCTION without_expired(p_key source_keys) RETURNS source_keys
LANGUAGE sql STABLE
AS $$
SELECT CASE WHEN p_key.memory_id IS NULL
        OR EXISTS (SELECT FROM memories m WHERE m.id = p_key.memory_id AND is_unexpired(m.expires_at)) THEN p_key
    ELSE CAST(ROW(p_key.namespace, p_key.key_id, NULL, NULL, NULL, greatest(p_key.deleted_at, p_key.version_at),
        p_key.deleted_published) AS source_keys) END
$$;

-- Return the versions in p_requests that need not be stored. Requests whose ids are in p_busy and requests in a final
-- state are left out. Each version in the result has the fields of its request, `memory_id` (the id of the stored
-- memory with the same content, or null) and `event`, the reason why the version need not be stored:
--   deleted    a deletion of the record covers the version
--   failed     the record is immutable (it must not change) and already has another content: the content of its current
--              memory or, if there is no current memory, the content of its earliest version in p_requests
--   duplicate  the content is stored already
--   expired    the given expiry of the version has passed
CREATE OR REPLACE FUNCTION settled_versions(p_namespace text, p_requests jsonb, p_busy uuid[]) RETURNS jsonb
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    RETURN (
        SELECT jsonb_agg(to_jsonb(settled))
        FROM (
            SELECT version.*, m.id AS memory_id, CASE
                WHEN is_covered(k, version.version_at, coalesce(version.published, now())) THEN 'deleted'
                WHEN version.immutable AND version.content_hash <> coalesce(
                    (SELECT content_hash FROM memories c WHERE c.id = k.memory_id AND is_unexpired(c.expires_at)),
                    first_value(version.content_hash) OVER (
                        PARTITION BY version.key_id,
                            is_covered(k, version.version_at, coalesce(version.published, now()))
                        ORDER BY version.version_at, version.published, version.content_hash)) THEN 'failed'
                WHEN m.id IS NOT NULL THEN 'duplicate'
                WHEN NOT is_unexpired(version.expires_at) THEN 'expired' END AS event
            FROM jsonb_to_recordset(p_requests) AS version (request_id uuid, content_hash text, source text, key text,
                key_id uuid, version_at timestamptz, published timestamptz, immutable boolean, labels jsonb, provenance jsonb,
                expires_at timestamptz)
            LEFT JOIN source_keys s ON s.namespace = p_namespace AND s.key_id = version.key_id
            CROSS JOIN LATERAL without_expired(s) AS k
            LEFT JOIN memories m ON m.namespace = p_namespace AND m.content_hash = version.content_hash
                AND is_unexpired(m.expires_at)
            WHERE version.key_id IS NOT NULL AND version.request_id <> ALL (p_busy)
                AND NOT EXISTS (SELECT FROM ingest_requests i WHERE i.namespace = p_namespace
                    AND i.request_id = version.request_id AND next_request_state(i.state, 'duplicate') IS NULL)
        ) AS settled
        WHERE event IS NOT NULL
    );
END
$$;

-- Record the outcome of each version in ingest_requests, and update the current version of each record. Return the
-- outcomes in the form of the list already_final, which claim_requests describes. If the memory of a version has just
-- been deleted, no outcome is recorded for this version.
--
-- p_versions has the versions in the form that settled_versions returns. The `event` of a version is one of the events
-- of settled_versions, or `stored` if this transaction has stored the memory of the version. The caller must hold the
-- locks of the record keys, which claim_requests takes.
--
-- If another transaction has meanwhile committed a deletion that covers a stored version (see is_covered), the function
-- raises serialization_failure. The caller's transaction is then rolled back, and the version is not stored.
CREATE OR REPLACE FUNCTION record_versions(p_namespace text, p_versions jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    version record;
    result record;
    recorded jsonb := '[]';
BEGIN
    PERFORM require_session_namespace(p_namespace);
    IF jsonb_array_length(coalesce(p_versions, '[]')) = 0 THEN
        RETURN recorded;
    END IF;
    -- If a version may supersede a memory, take the advisory lock of lock_supersession. The lock is not necessary if
    -- each version is a new memory and the first version of its record, because such a version supersedes nothing.
    IF p_versions @? '$[*] ? (@.event != "stored")' OR EXISTS (
        SELECT FROM source_keys k
        WHERE k.namespace = p_namespace AND k.version_at IS NOT NULL
            AND k.key_id IN (SELECT CAST(v ->> 'key_id' AS uuid) FROM jsonb_array_elements(p_versions) AS v)
    ) THEN
        PERFORM lock_supersession(p_namespace);
    END IF;
    FOR version IN
        SELECT v.request_id, v.event, v.memory_id, v.content_hash, v.source, v.key, v.key_id, v.version_at,
            coalesce(v.published, now()) AS published, v.labels, v.provenance, v.expires_at
        FROM jsonb_to_recordset(p_versions) AS v (request_id uuid, event text, memory_id uuid, content_hash text, source text,
            key text, key_id uuid, version_at timestamptz, published timestamptz, labels jsonb, provenance jsonb,
            expires_at timestamptz)
        ORDER BY v.key_id, v.version_at, coalesce(v.published, now()), v.content_hash, v.request_id
    LOOP
        result := place_version(p_namespace, version.event, version.memory_id, version.content_hash, version.key_id,
            version.version_at, version.published, version.labels);
        CONTINUE WHEN result.event IS NULL;
        IF version.event = 'expired' AND result.error IS NULL THEN
            result.error := 'it had expired at '
                || to_char(version.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"');
        END IF;
        INSERT INTO ingest_requests AS i (request_id, namespace, state, memory_id, content_hash, attempts, error, note,
            source, key, version_at, version_published, provenance)
        VALUES (version.request_id, p_namespace, next_request_state(NULL, result.event), result.memory_id,
            decode(version.content_hash, 'hex'), 1, result.error, result.note, version.source, version.key,
            version.version_at, version.published, version.provenance)
        ON CONFLICT (namespace, request_id) DO UPDATE
        SET state = next_request_state(i.state, result.event), memory_id = EXCLUDED.memory_id,
            content_hash = EXCLUDED.content_hash, attempts = i.attempts + 1, error = EXCLUDED.error, note = EXCLUDED.note,
            source = EXCLUDED.source, key = EXCLUDED.key, version_at = EXCLUDED.version_at,
            version_published = EXCLUDED.version_published,
            provenance = CASE WHEN result.event = 'failed'
                THEN nullif((coalesce(i.provenance, '{}') - 'first_words') || coalesce(EXCLUDED.provenance, '{}'), '{}')
                ELSE known_provenance(EXCLUDED.provenance, i.provenance) END,
            updated_at = clock_timestamp(),
            announced_at = CASE WHEN result.event = 'failed' AND i.error = EXCLUDED.error THEN i.announced_at END
        WHERE next_request_state(i.state, result.event) IS NOT NULL
        RETURNING i.request_id, i.state, i.memory_id, i.attempts, i.error, i.note INTO result;
        -- The INSERT changes no row if the request has just got a final state, for example because its memory was
        -- forgotten. The request must be in the result nevertheless. Otherwise the caller of claim_requests would store
        -- its content.
        IF NOT FOUND THEN
            SELECT i.request_id, i.state, i.memory_id, i.attempts, i.error, i.note INTO result
            FROM ingest_requests i WHERE i.namespace = p_namespace AND i.request_id = version.request_id;
        END IF;
        recorded := recorded || to_jsonb(result);
    END LOOP;
    RETURN recorded;
END
$$;

-- Compare one version with the current version of its record. If the version is newer, make it the current version.
-- Mark the memory of the older version as superseded by the memory of the newer version. If the new current version has
-- a content that is already stored, the stored memory takes the title, the tags, the metadata and the timestamp of this
-- version, unless the memory has a later timestamp or is under a legal hold.
--
-- A version whose expiry has passed is not stored. If this version is newer than the current version, the current
-- version is superseded, and the record then has no current version. This is the same as if the version had been stored
-- in time and had expired since (see forget_versions).
--
-- p_event is `deleted`, `failed`, `duplicate`, `expired` or `stored` (see record_versions). The result `event` is the
-- event that the caller must record: `deleted` if the version has expired or a deletion covers it, null if the memory
-- of the version no longer exists, and otherwise p_event.
CREATE OR REPLACE FUNCTION place_version(
    p_namespace text, p_event text, p_memory_id uuid, p_content_hash text, p_key_id uuid, p_at timestamptz,
    p_published timestamptz, p_labels jsonb, OUT event text, OUT memory_id uuid, OUT error text, OUT note text
)
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    record_key source_keys;
    memory record;
    current record;
    differing text[];
    is_newer boolean;
BEGIN
    INSERT INTO source_keys AS k (namespace, key_id) VALUES (p_namespace, p_key_id)
    ON CONFLICT (namespace, key_id) DO UPDATE SET key_id = EXCLUDED.key_id
    RETURNING * INTO record_key;
    record_key := without_expired(record_key);
    SELECT id, content_hash, superseded_by INTO current FROM memories WHERE id = record_key.memory_id;
    IF is_covered(record_key, p_at, p_published) THEN
        IF p_event = 'stored' THEN
            RAISE serialization_failure USING MESSAGE = 'the record was deleted while its memory was stored';
        END IF;
        event := 'deleted';
        error := 'the record was deleted at ' || to_char(coalesce(record_key.deleted_at, record_key.deleted_published) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
            || ', and this version is older: publish it with a later timestamp to store it';
        RETURN;
    ELSIF p_event = 'failed' THEN
        event := 'failed';
        error := coalesce('memory ' || current.id || ' has', 'another memory of this message has')
            || ' the first content of this record, and its source is immutable (MNEMOSYNE_IMMUTABLE_SOURCES): publish other '
            || 'content under another key';
        RETURN;
    END IF;
    -- If a forgetting has deleted the memory of the current version, `current` is null, but the row in source_keys
    -- still has the timestamp and the time of publication of this version.
    is_newer := record_key.version_at IS NULL OR (p_at, p_published, p_content_hash)
        > (record_key.version_at, record_key.version_published, coalesce(current.content_hash, ''));
    IF p_event = 'expired' THEN
        event := 'deleted';
        IF is_newer THEN
            UPDATE source_keys k
            SET memory_id = NULL, version_at = NULL, version_published = NULL, deleted_at = greatest(k.deleted_at, p_at)
            WHERE k.namespace = p_namespace AND k.key_id = p_key_id;
            -- The new version has already expired, so it is not stored. Mark the current memory as superseded by a
            -- random id. It then has the same state as if the new version had been stored first, and had been removed
            -- when it expired.
            PERFORM supersede(current.id, gen_random_uuid());
        END IF;
        RETURN;
    END IF;
    SELECT id, superseded_by, "timestamp" INTO memory FROM memories
    WHERE namespace = p_namespace AND id = p_memory_id AND is_unexpired(expires_at);
    IF memory.id IS NULL THEN
        RETURN;
    END IF;
    event := p_event;
    memory_id := memory.id;
    IF is_newer THEN
        UPDATE source_keys k SET memory_id = memory.id, version_at = p_at, version_published = p_published
        WHERE k.namespace = p_namespace AND k.key_id = p_key_id;
        IF current.id IS DISTINCT FROM memory.id THEN
            UPDATE memories m SET superseded_by = NULL WHERE m.id = memory.id AND m.superseded_by IS NOT NULL;
            memory.superseded_by := NULL;
            note := supersede(current.id, memory.id);
        END IF;
    ELSIF current.id <> memory.id AND (p_event = 'stored' OR current.superseded_by IS NULL) THEN
        note := supersede(memory.id, current.id);
    ELSIF current.id IS NULL AND p_event = 'stored' THEN
        PERFORM supersede(memory.id, gen_random_uuid());  -- no memory has this id: the newer version was forgotten
        note := 'a newer version of the record was forgotten, so searches leave this memory out; '
            'update_memory with superseded_by "none" shows it again';
    END IF;
    IF p_event = 'duplicate' THEN
        differing := differing_labels(p_namespace, memory.id, p_labels);
        IF is_newer AND p_at >= memory."timestamp" AND differing <> '{}' THEN
            BEGIN
                UPDATE memories m
                SET title = p_labels ->> 'title', metadata = p_labels -> 'metadata', "timestamp" = p_at,
                    tags = ARRAY(SELECT jsonb_array_elements_text(p_labels -> 'tags')),
                    tag_keys = ARRAY(SELECT jsonb_array_elements_text(p_labels -> 'tag_keys'))
                WHERE m.id = memory.id;
                note := concat_ws('; ', note, 'the memory now has the new ' || array_to_string(differing, ', '));
                differing := '{}';
            EXCEPTION WHEN SQLSTATE 'MH001' THEN
                note := concat_ws('; ', note, 'a legal hold keeps the memory as it is');
            END;
        END IF;
        note := concat_ws('; ', note, duplicate_note(memory.superseded_by, differing));
        UPDATE memories m SET last_seen_at = now() WHERE m.id = memory.id;
    END IF;
    note := nullif(note, '');
END
$$;

-- Mark the memory p_older as superseded by the memory p_newer, and return a sentence that says so. Publishers read it
-- in the `note` of their request. One memory can belong to several records. If p_older is already superseded, or is
-- still the current version of any record, change nothing and return null.
CREATE OR REPLACE FUNCTION supersede(p_older uuid, p_newer uuid) RETURNS text
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    UPDATE memories m SET superseded_by = p_newer
    WHERE m.id = p_older AND m.superseded_by IS NULL
        AND NOT EXISTS (SELECT FROM source_keys k WHERE k.namespace = m.namespace AND k.memory_id = m.id);
    RETURN CASE WHEN FOUND THEN 'memory ' || p_older || ' is superseded by memory ' || p_newer END;
END
$$;

GRANT EXECUTE ON FUNCTION lock_supersession(text) TO mnemosyne_runtime, mnemosyne_mcp;
GRANT EXECUTE ON FUNCTION is_covered(source_keys, timestamptz, timestamptz), without_expired(source_keys),
    settled_versions(text, jsonb, uuid[]), record_versions(text, jsonb)
    TO mnemosyne_runtime, mnemosyne_ingest, mnemosyne_dead_letter;
