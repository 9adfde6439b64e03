-- Claiming ingest requests in one round trip, and touching a repeated content at half the cost.

-- A check runs at every update, and the one before compiled a regular expression for each row. What is there already
-- has passed it; the next migration says so, without keeping readers out meanwhile.
ALTER TABLE memories
    DROP CONSTRAINT memories_content_hash_check,
    ADD CONSTRAINT memories_content_hash_check
        CHECK (octet_length(content_hash) = 64 AND ltrim(content_hash, '0123456789abcdef') = '') NOT VALID;

-- Enter the namespace, lock the requests' contents and settle what needs no storing.
--
-- p_requests is [{"request_id": …, "content_hash": …}, …]; the answer {"busy": [content_hash, …], "settled":
-- [{request_id, state, memory_id, attempts, error}, …]}. Requests in a final state are answered as they are; those
-- whose content is stored are recorded as duplicates: the memory was seen again, and nothing else about it changes.
--
-- The locks are held until the transaction ends, however it ends: two deliveries of one content cannot both store it,
-- and a crashed one leaves nothing to clean up. Trying instead of waiting keeps a pooled connection from queueing.
-- Whoever goes on to store what is new (p_to_store) needs a content for itself; those who only settle share it.
CREATE FUNCTION claim_requests(p_namespace text, p_requests jsonb, p_to_store boolean) RETURNS jsonb
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    busy text[];
    answer jsonb;
BEGIN
    PERFORM set_config('mnemosyne.namespace', p_namespace, true);
    busy := ARRAY(
        SELECT content_hash
        FROM (SELECT DISTINCT r.content_hash FROM jsonb_to_recordset(p_requests) AS r (content_hash text)) AS content,
            hashtextextended(p_namespace || content_hash, 0) AS key
        WHERE NOT CASE WHEN p_to_store THEN pg_try_advisory_xact_lock(key)
            ELSE pg_try_advisory_xact_lock_shared(key) END
    );
    -- A statement of its own: it sees what was committed before the locks were had. The outcomes are looked up by an
    -- array of ids: joined, a plan made before the table grew would read all of the namespace's. One at a time touches
    -- a memory, and the others leave it to that one: waiting for each other's rows, they would do so in circles.
    WITH request AS (
        SELECT r.request_id, r.content_hash
        FROM jsonb_to_recordset(p_requests) AS r (request_id uuid, content_hash text)
        WHERE r.content_hash <> ALL (busy)
    ), final AS (
        SELECT i.request_id, i.state, i.memory_id, i.attempts, i.error
        FROM ingest_requests i
        WHERE i.namespace = p_namespace AND i.request_id = ANY (ARRAY(SELECT request_id FROM request))
            AND i.state <> 'queued'
    ), seen AS (
        SELECT m.id, m.content_hash, m.superseded_by
        FROM memories m
        WHERE m.namespace = p_namespace AND m.content_hash = ANY (ARRAY(
            SELECT content_hash FROM request WHERE request_id NOT IN (SELECT request_id FROM final)
        ))
    ), touched AS (
        UPDATE memories
        SET last_seen_at = now()
        WHERE id = ANY (ARRAY(
            SELECT id FROM seen WHERE pg_try_advisory_xact_lock(hashtextextended(CAST(id AS text), 1))
        ))
    ), recorded AS (
        INSERT INTO ingest_requests AS i (request_id, namespace, state, memory_id, attempts, error)
        SELECT DISTINCT ON (request.request_id) request.request_id, p_namespace, 'duplicate', seen.id, 1,
               'the memory is superseded by ' || seen.superseded_by || ', so searches leave it out: '
                   || 'update_memory with superseded_by "none" brings it back'
        FROM request
        JOIN seen USING (content_hash)
        WHERE request.request_id NOT IN (SELECT request_id FROM final)
        ON CONFLICT (namespace, request_id) DO UPDATE
        SET state = 'duplicate', memory_id = EXCLUDED.memory_id, attempts = i.attempts + 1,
            error = EXCLUDED.error, updated_at = now()
        WHERE i.state = 'queued'
        RETURNING request_id, state, memory_id, attempts, error
    ), settled AS (
        SELECT * FROM final UNION ALL SELECT * FROM recorded
    )
    SELECT jsonb_build_object(
        -- A stored content whose request is not settled: another delivery has given it an outcome since we looked.
        'busy', to_jsonb(busy || ARRAY(
            SELECT content_hash FROM request JOIN seen USING (content_hash)
            WHERE request_id NOT IN (SELECT request_id FROM settled)
        )),
        'settled', (SELECT coalesce(jsonb_agg(settled), '[]') FROM settled)
    )
    INTO answer;
    RETURN answer;
END
$$;

REVOKE ALL ON FUNCTION claim_requests FROM PUBLIC;
GRANT EXECUTE ON FUNCTION claim_requests TO mnemosyne_runtime;
