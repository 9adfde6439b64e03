-- Prevent messages from storing forgotten memories again. A forgetting deletes the memories that a selection matches
-- (see 15_forgetting.sql). A message that was published before the forgetting began can contain the same memories. When
-- the forgetting begins, such a message can still be waiting for its delivery, or can be stored as a dead letter. The
-- SQL functions in this file find the forgotten memories in such messages.

-- Return the key of the advisory lock of forgettings (deletions of selected memories). The lock ensures that a
-- forgetting and a transaction that stores memories do not miss each other: either the forgetting finds the stored
-- memories, or the storing transaction finds the forgetting.
--
-- begin_forgetting takes an exclusive lock with this key, and waits for it. A transaction that stores memories takes a
-- shared lock, so many such transactions can run at the same time. If a forgetting is just beginning, the storing
-- transaction fails at once, and the message is delivered again later. The storing transaction does not wait, because
-- a waiting transaction would keep a pooled connection from others.
CREATE OR REPLACE FUNCTION forgetting_lock(p_namespace text) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN hashtextextended('forgetting ' || p_namespace, 0);

-- Return a summary of all forgettings (deletions of selected memories) of the namespace as a JSON object:
--   forgettings       the number of forgettings
--   forgotten_before  the time at which the latest forgetting began, or null
--   all_before        the time at which the latest forgetting of all memories of the namespace began, or null
--
-- The function takes the advisory lock of forgettings as a shared lock, so that no forgetting begins before the end of
-- this transaction. If a forgetting is just beginning, the function raises lock_not_available.
CREATE OR REPLACE FUNCTION summarize_forgettings(p_namespace text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    IF NOT pg_try_advisory_xact_lock_shared(forgetting_lock(p_namespace)) THEN
        RAISE lock_not_available USING MESSAGE = 'a forgetting is beginning in this namespace';
    END IF;
    RETURN (
        SELECT jsonb_build_object('forgettings', count(*), 'forgotten_before', max(f.started_at),
            'all_before', max(f.started_at) FILTER (WHERE f.selection ? 'all'))
        FROM forgettings f WHERE f.namespace = p_namespace
    );
END
$$;

-- Delete the memories that an unfinished forgetting (a deletion of selected memories) must still delete, if they have
-- the same content as a request in p_requests. A memory under a legal hold is kept.
--
-- A request that was published after the forgetting began must store its content again. Without this function, the
-- request would become a duplicate of a memory that the forgetting is about to delete.
CREATE OR REPLACE FUNCTION forget_for(p_namespace text, p_requests jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    due record;
BEGIN
    PERFORM require_session_namespace(p_namespace);
    IF NOT EXISTS (SELECT FROM forgotten_memories f WHERE f.namespace = p_namespace AND NOT f.removed) THEN
        RETURN;
    END IF;
    FOR due IN
        SELECT f.forgetting_id, array_agg(f.memory_id) AS ids, array_agg(f.content_hash) AS hashes
        FROM forgotten_memories f JOIN memories m ON m.id = f.memory_id
        WHERE f.namespace = p_namespace AND NOT f.removed AND NOT is_held(m) AND f.content_hash = ANY (ARRAY(
            SELECT decode(r.content_hash, 'hex') FROM jsonb_to_recordset(p_requests) AS r (content_hash text)
        ))
        GROUP BY f.forgetting_id
    LOOP
        PERFORM lock_supersession(p_namespace);
        PERFORM forget_rows(p_namespace, due.forgetting_id, due.ids, due.hashes);
    END LOOP;
END
$$;

-- Return the text for the column `error` of a request whose memory was forgotten.
CREATE OR REPLACE FUNCTION forgotten_error() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 'its memory was forgotten: to store it, ingest it again; a record needs a later timestamp';

-- Return the ids of the requests in p_records that must not be stored because a forgetting covers them. A forgetting is
-- a deletion of selected memories.
--
-- A forgetting covers a request if all these conditions are true:
--   * The request was published before the forgetting began.
--   * The request has the content of a memory that the forgetting deletes; or the request matches the selection of the
--     forgetting, and the selection is not a list of ids.
--   * No legal hold that was placed before the forgetting began selects the request.
--
-- If p_id is not null, only the forgetting p_id is considered.
--
-- p_records is [{"request_id": …, "published": …, "content_hash": …, "timestamp": …, "tag_keys": …, "metadata": …,
-- "session": …}, …].
CREATE OR REPLACE FUNCTION forgotten_requests(p_namespace text, p_records jsonb, p_id uuid) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    RETURN ARRAY(
        SELECT CAST(r ->> 'request_id' AS uuid)
        FROM jsonb_array_elements(p_records) AS r,
            jsonb_populate_record(CAST(NULL AS memories), r || jsonb_build_object('namespace', p_namespace)) AS m
        WHERE EXISTS (
            SELECT FROM forgettings f
            WHERE f.namespace = p_namespace AND (p_id IS NULL OR f.id = p_id)
                AND coalesce(CAST(r ->> 'published' AS timestamptz), '-infinity') < f.started_at
                AND (EXISTS (SELECT FROM forgotten_memories g WHERE g.namespace = p_namespace AND g.forgetting_id = f.id
                        AND g.content_hash = decode(m.content_hash, 'hex'))
                    OR NOT f.selection ? 'ids' AND selects(f.selection, m))
                AND NOT EXISTS (SELECT FROM holds h WHERE h.namespace = p_namespace AND h.placed_at < f.started_at
                    AND selects(h.selection, m))
        )
    );
END
$$;

-- Remove forgotten memories from a dead letter. p_data is the message without these memories, and replaces the message
-- of the dead letter. p_cause has no texts of these memories, and replaces the cause of the dead letter. If p_data is
-- null, nothing is left of the message, and the dead letter is deleted.
--
-- p_requests has the requests of these memories: [{"request_id": …, "content_hash": …}, …]. These requests get the
-- state 'deleted', except requests whose state is 'stored' or 'duplicate'.
--
-- p_message is the SHA-256 of the message from which p_data was made. If the dead letter has another message by now,
-- the function returns false and changes nothing. Otherwise the function returns true.
CREATE OR REPLACE FUNCTION forget_in_letter(
    p_namespace text, p_id uuid, p_message_id text, p_message bytea, p_data bytea, p_cause text,
    p_requests jsonb
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    changed bigint;
BEGIN
    PERFORM require_session_namespace(p_namespace);
    IF p_data IS NULL THEN
        DELETE FROM dead_letters d
        WHERE d.namespace = p_namespace AND d.message_id = p_message_id AND sha256(d.data) = p_message;
    ELSE
        UPDATE dead_letters d SET data = p_data, cause = p_cause
        WHERE d.namespace = p_namespace AND d.message_id = p_message_id AND sha256(d.data) = p_message;
    END IF;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed = 0 THEN
        RETURN false;
    END IF;
    INSERT INTO ingest_requests AS i (request_id, namespace, state, content_hash, attempts, error)
    SELECT r.request_id, p_namespace, next_request_state(NULL, 'deleted'), decode(r.content_hash, 'hex'), 0, forgotten_error()
    FROM jsonb_to_recordset(p_requests) AS r (request_id uuid, content_hash text)
    ON CONFLICT (namespace, request_id) DO UPDATE
    SET state = coalesce(next_request_state(i.state, 'deleted'), i.state), error = EXCLUDED.error, note = NULL,
        content_hash = EXCLUDED.content_hash, provenance = i.provenance - ARRAY['first_words', 'dead_letter'],
        updated_at = clock_timestamp(), announced_at = NULL
    WHERE i.state NOT IN ('stored', 'duplicate');
    PERFORM add_counts(p_namespace, p_id, jsonb_build_object('dead_letters', changed));
    RETURN true;
END
$$;

GRANT EXECUTE ON FUNCTION forget_in_letter(text, uuid, text, bytea, bytea, text, jsonb) TO mnemosyne_runtime, mnemosyne_mcp;
GRANT EXECUTE ON FUNCTION forget_for(text, jsonb) TO mnemosyne_runtime, mnemosyne_ingest, mnemosyne_dead_letter;
GRANT EXECUTE ON FUNCTION forgotten_requests(text, jsonb, uuid), summarize_forgettings(text)
    TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter, mnemosyne_import_object;
