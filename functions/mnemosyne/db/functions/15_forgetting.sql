-- A forgetting deletes the memories of a selection and their texts everywhere in this database. It also prevents
-- messages published before it from storing these memories again.
--
-- begin_forgetting fixes the set of memories. forget_some deletes a part of it in each transaction, so a forgetting can be
-- interrupted and continued. 15_forgotten_messages.sql is about messages.

-- A token for exactly this set of memories in this namespace, and the number of its memories.
CREATE OR REPLACE FUNCTION selection_token(p_namespace text, p_selection jsonb, OUT token text, OUT memories bigint)
LANGUAGE sql STABLE SET search_path = public, pg_temp
AS $$
    SELECT encode(sha256(convert_to(p_namespace || ' ' || CAST(p_selection AS text) || ' ', 'UTF8')
        || coalesce(string_agg(uuid_send(id), '' ORDER BY id), '')), 'hex'), count(*)
    FROM selected_ids(p_namespace, p_selection) AS id
$$;

-- The memories of a selection: their token and number, the holds on them, and one page of the memories in order of
-- time.
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

-- Begin a forgetting, if the selection still has the set of p_token. Return the number of memories. The SQLSTATEs are
-- MF001 if the set has changed, and MH001 if a hold keeps a memory of the set. All memories of a namespace cannot be
-- forgotten while it has a hold, because the hold may also select messages that are not stored yet.
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

-- Add numbers to the counts of a forgetting.
CREATE OR REPLACE FUNCTION add_counts(p_namespace text, p_id uuid, p_counts jsonb) RETURNS void
LANGUAGE sql
BEGIN ATOMIC
    UPDATE forgettings f
    SET counts = f.counts || (
        SELECT coalesce(jsonb_object_agg(n.key, coalesce(CAST(f.counts ->> n.key AS bigint), 0) + CAST(n.value AS bigint)), '{}')
        FROM jsonb_each_text(p_counts) AS n WHERE n.value <> '0'
    )
    WHERE f.namespace = p_namespace AND f.id = p_id;
END;

-- Record requests as deleted, and clear their texts. Return their number.
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

-- Delete memories of a forgetting with all that depends on them, and the texts of requests with the same contents that
-- were not stored.
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
    -- If a deleted memory had superseded others, its successor now supersedes them, as after delete_memory.
    FOR successor IN
        SELECT m.id FROM memories m
        WHERE m.id = ANY (p_ids) AND m.superseded_by IS NOT NULL
            AND EXISTS (SELECT FROM memories older WHERE older.superseded_by = m.id)
    LOOP
        UPDATE memories m SET superseded_by = (SELECT s.superseded_by FROM memories s WHERE s.id = successor.id)
        WHERE m.namespace = p_namespace AND m.superseded_by = successor.id;
    END LOOP;
    -- The triggers read this setting.
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

-- Delete at most p_limit memories of a forgetting. Return their number: 0 when none is left.
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

-- Record the last dead letter that a forgetting has checked.
CREATE OR REPLACE FUNCTION letters_looked_at(p_namespace text, p_id uuid, p_at timestamptz, p_message_id text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    UPDATE forgettings f SET letter_at = p_at, letter_id = p_message_id WHERE f.namespace = p_namespace AND f.id = p_id;
END
$$;

-- End a forgetting, if none of its memories is left. If it is a forgetting of all memories, also clear the texts of all
-- requests without a memory.
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

-- Compute PostgreSQL's statistics of the memories and of expression indexes again, so that they contain no tags,
-- sessions or words of forgotten memories. This has no effect on an empty table.
CREATE OR REPLACE FUNCTION refresh_statistics() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    ANALYZE memories;
END
$$;

-- A forgetting with the number of its memories and the number of memories not deleted yet. Null if the id is unknown.
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

-- The latest forgettings of the namespace, at most p_limit.
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

-- At most p_limit ids of the memories of a forgetting, in order, after p_after.
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

REVOKE ALL ON FUNCTION selection_token, preview_forgetting, begin_forgetting, add_counts, forget_texts, forget_rows, forget_some,
    letters_looked_at, finish_forgetting, refresh_statistics, read_forgetting, list_forgettings, forgotten_ids FROM PUBLIC;
GRANT EXECUTE ON FUNCTION list_forgettings TO mnemosyne_runtime;
GRANT EXECUTE ON FUNCTION preview_forgetting, begin_forgetting, forget_some, letters_looked_at, finish_forgetting,
    refresh_statistics, read_forgetting, forgotten_ids TO mnemosyne_runtime, mnemosyne_mcp;
