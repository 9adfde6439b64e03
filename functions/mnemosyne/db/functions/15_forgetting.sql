-- A forgetting deletes the memories that a selection (see 04_selections.sql) matches, and also deletes the texts of
-- these memories from requests and dead letters. The table `forgettings` has one row for each forgetting, and the table
-- forgotten_memories has one row for each memory of a forgetting. Messages that were published before a forgetting
-- began cannot store these memories again (see 15_forgotten_messages.sql).
--
-- A forgetting consists of many transactions, so it can be interrupted and continued:
--   1. begin_forgetting writes the rows of both tables. From then on, the set of memories does not change.
--   2. Each call of forget_some deletes some of these memories.
--   3. The Python module functions/mnemosyne/service/forgetting.py removes the texts of the memories from dead letters.
--   4. finish_forgetting ends the forgetting.

-- Return a token for the set of memories that the selection matches now, and the number of these memories. The token is
-- a hash of the namespace, the selection and the ids of the memories.
CREATE OR REPLACE FUNCTION selection_token(p_namespace text, p_selection jsonb, OUT token text, OUT memories bigint)
LANGUAGE sql STABLE SET search_path = public, pg_temp
AS $$
    SELECT encode(sha256(convert_to(p_namespace || ' ' || CAST(p_selection AS text) || ' ', 'UTF8')
        || coalesce(string_agg(uuid_send(id), '' ORDER BY id), '')), 'hex'), count(*)
    FROM selected_ids(p_namespace, p_selection) AS id
$$;

-- Return a preview of a forgetting (a deletion of selected memories) as JSON. Nothing is deleted. The fields are:
--   set    the result of selection_token: the token and the number of the memories that p_selection matches
--   holds  the legal holds that keep some of these memories; all holds of the namespace if p_selection is all memories
--   page   up to p_limit of these memories, by timestamp, after the memory with the timestamp p_after and id p_after_id
CREATE OR REPLACE FUNCTION preview_forgetting(
    p_namespace text, p_selection jsonb, p_after timestamptz, p_after_id uuid, p_limit integer
) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    RETURN jsonb_build_object(
        'set', (SELECT to_jsonb(s) FROM selection_token(p_namespace, p_selection) AS s),
        'holds', (
            SELECT coalesce(jsonb_agg(jsonb_build_object('id', h.id, 'reason', h.reason) ORDER BY h.placed_at), '[]')
            FROM holds h
            WHERE h.namespace = p_namespace AND (p_selection ? 'all' OR EXISTS (
                SELECT FROM selected_ids(p_namespace, h.selection) AS held
                JOIN selected_ids(p_namespace, p_selection) AS chosen ON held = chosen))
        ),
        'page', (
            SELECT coalesce(jsonb_agg(page), '[]') FROM (
                SELECT m.id, m."timestamp", left(m.content, 200) AS beginning
                FROM memories m
                WHERE m.id IN (SELECT selected_ids(p_namespace, p_selection)) AND (p_after_id IS NULL
                    OR (m."timestamp", m.id) > (p_after, p_after_id))
                ORDER BY m."timestamp", m.id LIMIT p_limit
            ) AS page
        )
    );
END
$$;

-- Begin a forgetting (a deletion of selected memories) with the id p_id, and return the number of its memories. The
-- caller passes p_token, the token of an earlier call of preview_forgetting.
--
-- The function raises SQLSTATE MF001 if the selection no longer matches the same memories as in that call, and MH001 if
-- a legal hold keeps one of the memories. For a selection of all memories, it raises MH001 if the namespace has any
-- legal hold, because the hold may also apply to memories in messages that are not stored yet.
CREATE OR REPLACE FUNCTION begin_forgetting(
    p_namespace text, p_id uuid, p_selection jsonb, p_token text, p_requested_by text
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    chosen record;
    held record;
BEGIN
    PERFORM require_session_namespace(p_namespace);
    PERFORM pg_advisory_xact_lock(forgetting_lock(p_namespace));
    SELECT * INTO chosen FROM selection_token(p_namespace, p_selection);
    IF chosen.token <> p_token THEN
        RAISE EXCEPTION USING ERRCODE = 'MF001', MESSAGE =
            'the confirmation is not for these memories, or they have changed since the dry run: make another dry run';
    END IF;
    SELECT h.id, h.reason INTO held FROM holds h WHERE h.namespace = p_namespace AND p_selection ? 'all' LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'MH001', MESSAGE = format(
            'the namespace has the legal hold %s (%s): select the memories that it does not keep; nothing was changed',
            held.id, held.reason);
    END IF;
    SELECT m.id, h AS hold INTO held FROM holds h
    JOIN memories m ON m.namespace = h.namespace AND m.id IN (SELECT selected_ids(p_namespace, p_selection))
    WHERE h.namespace = p_namespace AND selects(h.selection, m) LIMIT 1;
    IF FOUND THEN
        PERFORM raise_held(held.id, held.hold);
    END IF;
    INSERT INTO forgettings (namespace, id, selection, requested_by)
    VALUES (p_namespace, p_id, p_selection, p_requested_by);
    INSERT INTO forgotten_memories (namespace, forgetting_id, memory_id, content_hash)
    SELECT p_namespace, p_id, m.id, decode(m.content_hash, 'hex')
    FROM memories m WHERE m.namespace = p_namespace AND m.id IN (SELECT selected_ids(p_namespace, p_selection));
    RETURN chosen.memories;
END
$$;

-- Add p_counts ({table: number of deleted or changed rows, …}) to the column `counts` of the forgetting p_id.
CREATE OR REPLACE FUNCTION add_counts(p_namespace text, p_id uuid, p_counts jsonb) RETURNS void
LANGUAGE sql SET search_path = public, pg_temp AS $$
    UPDATE forgettings f
    SET counts = f.counts || (
        SELECT coalesce(jsonb_object_agg(n.key, coalesce(CAST(f.counts ->> n.key AS bigint), 0) + CAST(n.value AS bigint)), '{}')
        FROM jsonb_each_text(p_counts) AS n WHERE n.value <> '0'
    )
    WHERE f.namespace = p_namespace AND f.id = p_id;
$$;

-- Remove the note and the excerpt (the beginning of the content) of the requests p_request_ids, and set their error to
-- forgotten_error(). A request without a final state gets the state `deleted`. Return the number of changed requests.
CREATE OR REPLACE FUNCTION forget_texts(p_namespace text, p_request_ids uuid[]) RETURNS bigint
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    changed bigint;
BEGIN
    UPDATE ingest_requests i
    SET state = coalesce(next_request_state(i.state, 'deleted'), i.state), error = forgotten_error(), note = NULL,
        provenance = i.provenance - ARRAY['first_words', 'dead_letter'], updated_at = clock_timestamp(), announced_at = NULL
    WHERE i.namespace = p_namespace AND i.request_id = ANY (p_request_ids);
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

-- Delete the memories p_ids of the forgetting p_id, with all rows that depend on them. Call forget_texts for the
-- requests with the same contents (p_hashes) that were created before the forgetting began and have no memory, for
-- example because they failed. Add the numbers of deleted rows and changed requests to the counts of the forgetting.
CREATE OR REPLACE FUNCTION forget_rows(p_namespace text, p_id uuid, p_ids uuid[], p_hashes bytea[]) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    began timestamptz := (SELECT f.started_at FROM forgettings f WHERE f.namespace = p_namespace AND f.id = p_id);
    counted jsonb;
    deleted bigint;
    requests bigint;
    successor record;
BEGIN
    SELECT jsonb_build_object(
        'memory_chunks', (SELECT count(*) FROM memory_chunks c WHERE c.memory_id = ANY (p_ids)),
        'memory_words', (SELECT count(*) FROM memory_words w WHERE w.memory_id = ANY (p_ids)),
        'memory_ratings', (SELECT count(*) FROM memory_ratings r WHERE r.memory_id = ANY (p_ids)),
        'earlier_states', (SELECT count(*) FROM earlier_states e WHERE e.memory_id = ANY (p_ids))
    ) INTO counted;
    -- If a deleted memory has a successor, up to 50 memories that it superseded get this successor, as in delete_memory.
    FOR successor IN
        SELECT m.id FROM memories m
        WHERE m.id = ANY (p_ids) AND m.superseded_by IS NOT NULL
            AND EXISTS (SELECT FROM memories older WHERE older.superseded_by = m.id)
    LOOP
        UPDATE memories m SET superseded_by = (SELECT s.superseded_by FROM memories s WHERE s.id = successor.id)
        WHERE m.id = ANY (ARRAY(SELECT o.id FROM memories o WHERE (o.namespace, o.superseded_by) = (p_namespace, successor.id)
            ORDER BY o.id = ANY (p_ids), o."timestamp" DESC, o.id LIMIT 50));
    END LOOP;
    -- Tell the triggers of this DELETE that a forgetting deletes the memories. The trigger forget_versions then does
    -- not record a deletion of the record, and the trigger note_removed writes an event of the kind `forgotten` to the
    -- change feed.
    PERFORM set_config('mnemosyne.removal', 'forgotten', true);
    DELETE FROM memories m WHERE m.namespace = p_namespace AND m.id = ANY (p_ids);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    PERFORM set_config('mnemosyne.removal', '', true);
    requests := forget_texts(p_namespace, ARRAY(
        SELECT i.request_id FROM ingest_requests i
        WHERE i.namespace = p_namespace AND i.memory_id IS NULL AND i.content_hash = ANY (p_hashes) AND i.created_at < began
    ));
    UPDATE forgotten_memories f SET removed = true
    WHERE f.namespace = p_namespace AND f.forgetting_id = p_id AND f.memory_id = ANY (p_ids);
    PERFORM add_counts(p_namespace, p_id, counted || jsonb_build_object('memories', deleted, 'ingest_requests', requests));
END
$$;

-- Delete up to p_limit memories of the forgetting p_id (a deletion of selected memories) that are not deleted yet, and
-- return their number. The result is 0 if all memories of the forgetting are deleted already.
CREATE OR REPLACE FUNCTION forget_some(p_namespace text, p_id uuid, p_limit integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    ids uuid[];
    hashes bytea[];
BEGIN
    PERFORM require_session_namespace(p_namespace);
    PERFORM lock_supersession(p_namespace);
    SELECT array_agg(g.memory_id), array_agg(g.content_hash) INTO ids, hashes
    FROM (
        SELECT f.memory_id, f.content_hash FROM forgotten_memories f
        WHERE f.namespace = p_namespace AND f.forgetting_id = p_id AND NOT f.removed ORDER BY f.memory_id LIMIT p_limit
    ) AS g;
    IF ids IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM forget_rows(p_namespace, p_id, ids, hashes);
    RETURN cardinality(ids);
END
$$;

-- Record the last dead letter that a forgetting has checked: p_at is its dead_lettered_at, p_message_id its message_id.
-- After an interruption, the forgetting continues with the dead letters after this one.
CREATE OR REPLACE FUNCTION record_checked_letter(p_namespace text, p_id uuid, p_at timestamptz, p_message_id text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    UPDATE forgettings f SET letter_at = p_at, letter_id = p_message_id WHERE f.namespace = p_namespace AND f.id = p_id;
END
$$;

-- End a forgetting (a deletion of selected memories), if all its memories are deleted. Otherwise do nothing. If the
-- selection was all memories of the namespace, also delete the word statistics, and call forget_texts for requests in
-- the states queued, failed and dead_lettered that were created before the forgetting began.
CREATE OR REPLACE FUNCTION finish_forgetting(p_namespace text, p_id uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    forgetting forgettings;
    requests bigint := 0;
BEGIN
    PERFORM require_session_namespace(p_namespace);
    SELECT * INTO forgetting FROM forgettings f WHERE f.namespace = p_namespace AND f.id = p_id AND f.finished_at IS NULL
    FOR UPDATE;
    IF NOT FOUND OR EXISTS (
        SELECT FROM forgotten_memories g WHERE g.namespace = p_namespace AND g.forgetting_id = p_id AND NOT g.removed
    ) THEN
        RETURN;
    END IF;
    IF forgetting.selection ? 'all' THEN
        requests := forget_texts(p_namespace, ARRAY(
            SELECT i.request_id FROM ingest_requests i
            WHERE i.namespace = p_namespace AND i.state IN ('queued', 'failed', 'dead_lettered')
                AND i.created_at < forgetting.started_at
        ));
        DELETE FROM namespace_words w WHERE w.namespace = p_namespace;
    END IF;
    PERFORM add_counts(p_namespace, p_id, jsonb_build_object('ingest_requests', requests));
    UPDATE forgettings f SET finished_at = clock_timestamp() WHERE f.namespace = p_namespace AND f.id = p_id;
END
$$;

-- Compute PostgreSQL's statistics of the table `memories` and of its expression indexes again, so that they have no
-- tags, sessions or words of forgotten memories. Exception: ANALYZE keeps the old statistics of an empty table.
CREATE OR REPLACE FUNCTION refresh_statistics() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    ANALYZE memories;
END
$$;

-- Return a forgetting (a deletion of selected memories) as JSON: its row of `forgettings`, the number of its memories,
-- and the number of those not deleted yet (`left`). The result is null if no forgetting has the id p_id.
CREATE OR REPLACE FUNCTION read_forgetting(p_namespace text, p_id uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    RETURN (
        SELECT to_jsonb(f) || jsonb_build_object('memories', g.memories, 'left', g.left)
        FROM forgettings f, LATERAL (
            SELECT count(*) AS memories, count(*) FILTER (WHERE NOT m.removed) AS left FROM forgotten_memories m
            WHERE m.namespace = f.namespace AND m.forgetting_id = f.id
        ) AS g
        WHERE f.namespace = p_namespace AND f.id = p_id
    );
END
$$;

-- Return up to p_limit of the latest forgettings (deletions of selected memories) of the namespace as a JSON array.
CREATE OR REPLACE FUNCTION list_forgettings(p_namespace text, p_limit integer) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    RETURN (
        SELECT coalesce(jsonb_agg(read_forgetting(p_namespace, f.id) ORDER BY f.started_at DESC, f.id), '[]') FROM (
            SELECT * FROM forgettings WHERE namespace = p_namespace ORDER BY started_at DESC, id LIMIT p_limit
        ) AS f
    );
END
$$;

-- Return a page of the ids of the memories that the forgetting p_id deletes: in ascending order, up to p_limit ids
-- greater than p_after.
CREATE OR REPLACE FUNCTION forgotten_ids(p_namespace text, p_id uuid, p_after uuid, p_limit integer) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    RETURN ARRAY(
        SELECT f.memory_id FROM forgotten_memories f
        WHERE f.namespace = p_namespace AND f.forgetting_id = p_id AND (p_after IS NULL OR f.memory_id > p_after)
        ORDER BY f.memory_id LIMIT p_limit
    );
END
$$;

GRANT EXECUTE ON FUNCTION list_forgettings(text, integer) TO mnemosyne_runtime;
GRANT EXECUTE ON FUNCTION preview_forgetting(text, jsonb, timestamptz, uuid, integer),
    begin_forgetting(text, uuid, jsonb, text, text), forget_some(text, uuid, integer),
    record_checked_letter(text, uuid, timestamptz, text), finish_forgetting(text, uuid), refresh_statistics(),
    read_forgetting(text, uuid), forgotten_ids(text, uuid, uuid, integer) TO mnemosyne_runtime, mnemosyne_mcp;
