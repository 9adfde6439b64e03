-- Enter the namespace, lock the requests' contents, and say which requests need no storing.
--
-- p_requests is [{"request_id": …, "content_hash": …, "source": …, "key": …}, …]; the answer {"busy": [content_hash, …],
-- "already_final": [{request_id, state, memory_id, attempts, error}, …], "conflicting": [request_id, …]}. Requests whose
-- memory was stored, or found stored, are answered as they are; those whose content is stored by now are recorded as
-- duplicates: last_seen_at is set, and nothing else about the memory changes. What has failed, or was given up, is tried
-- again when it is published again. Conflicting are those under whose id another content was stored.
--
-- Version 0.1.0 reads "settled" and "taken"; both go with version 0.3.0.
--
-- The locks are held until the transaction ends, however it ends: two deliveries of one content cannot both store it,
-- and a crashed one leaves nothing to clean up. Trying instead of waiting keeps a pooled connection from queueing.
-- Whoever goes on to store what is new (p_to_store) needs a content for itself; those who only look share it.
CREATE OR REPLACE FUNCTION claim_requests(p_namespace text, p_requests jsonb, p_to_store boolean) RETURNS jsonb
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
    -- array of ids: joined, a plan made before the table grew would read all of the namespace's. One at a time marks
    -- a memory as seen, and the others leave it to that one: waiting for each other's rows, they would do so in circles.
    WITH request AS (
        SELECT r.request_id, r.content_hash, r.source, r.key
        FROM jsonb_to_recordset(p_requests) AS r (request_id uuid, content_hash text, source text, key text)
        WHERE r.content_hash <> ALL (busy)
    ), final AS (
        SELECT i.request_id, i.state, i.memory_id, i.attempts, i.error, encode(i.content_hash, 'hex') AS content_hash
        FROM ingest_requests i
        WHERE i.namespace = p_namespace AND i.request_id = ANY (ARRAY(SELECT request_id FROM request))
            AND i.state IN ('stored', 'duplicate')
    ), conflicting AS (
        SELECT request.request_id
        FROM request
        JOIN final USING (request_id)
        LEFT JOIN memories m ON m.id = final.memory_id AND m.namespace = p_namespace  -- of requests before this version
        WHERE coalesce(final.content_hash, m.content_hash) <> request.content_hash
    ), seen AS (
        SELECT m.id, m.content_hash, m.superseded_by
        FROM memories m
        WHERE m.namespace = p_namespace AND m.content_hash = ANY (ARRAY(
            SELECT content_hash FROM request WHERE request_id NOT IN (SELECT request_id FROM final)
        ))
    ), seen_again AS (
        UPDATE memories
        SET last_seen_at = now()
        WHERE id = ANY (ARRAY(
            SELECT id FROM seen WHERE pg_try_advisory_xact_lock(hashtextextended(CAST(id AS text), 1))
        ))
    ), recorded AS (
        INSERT INTO ingest_requests AS i (
            request_id, namespace, state, memory_id, content_hash, attempts, error, source, key
        )
        SELECT DISTINCT ON (request.request_id) request.request_id, p_namespace, 'duplicate', seen.id,
               decode(seen.content_hash, 'hex'), 1,
               'the memory is superseded by ' || seen.superseded_by || ', so searches leave it out: '
                   || 'update_memory with superseded_by "none" brings it back',
               request.source, request.key
        FROM request
        JOIN seen USING (content_hash)
        WHERE request.request_id NOT IN (SELECT request_id FROM final)
        ON CONFLICT (namespace, request_id) DO UPDATE
        SET state = 'duplicate', memory_id = EXCLUDED.memory_id, content_hash = EXCLUDED.content_hash,
            attempts = i.attempts + 1, error = EXCLUDED.error, source = EXCLUDED.source, key = EXCLUDED.key,
            updated_at = clock_timestamp(), announced_at = NULL
        WHERE i.state IN ('queued', 'failed', 'dead_lettered')
        RETURNING request_id, state, memory_id, attempts, error
    ), already_final AS (
        SELECT request_id, state, memory_id, attempts, error FROM final UNION ALL SELECT * FROM recorded
    )
    SELECT jsonb_build_object(
        -- A stored content whose request is not final: another delivery has given it an outcome since we looked.
        'busy', to_jsonb(busy || ARRAY(
            SELECT content_hash FROM request JOIN seen USING (content_hash)
            WHERE request_id NOT IN (SELECT request_id FROM already_final)
        )),
        'already_final', (SELECT coalesce(jsonb_agg(already_final), '[]') FROM already_final),
        'conflicting', (SELECT coalesce(jsonb_agg(request_id), '[]') FROM conflicting)
    )
    INTO answer;
    RETURN answer || jsonb_build_object('settled', answer -> 'already_final', 'taken', answer -> 'conflicting');
END
$$;

-- As claim_requests; whoever goes on to store is told beside it what the namespace holds and may hold.
CREATE OR REPLACE FUNCTION claim_within_quota(p_namespace text, p_requests jsonb, p_to_store boolean) RETURNS jsonb
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    answer jsonb := claim_requests(p_namespace, p_requests, p_to_store);
BEGIN
    IF p_to_store THEN
        answer := answer || jsonb_build_object('quota', (SELECT to_jsonb(u) FROM usage_and_quota() AS u));
    END IF;
    RETURN answer;
END
$$;

REVOKE ALL ON FUNCTION claim_requests, claim_within_quota FROM PUBLIC;
GRANT EXECUTE ON FUNCTION claim_requests, claim_within_quota TO mnemosyne_runtime, mnemosyne_ingest;
