-- Set the transaction's namespace, lock the contents of the requests, and report which requests need no storing.
--
-- p_requests is [{"request_id": …, "content_hash": …, "source": …, "key": …}, …]. The answer is {"busy": [content_hash, …],
-- "already_final": [{request_id, state, memory_id, attempts, error}, …], "conflicting": [request_id, …]}:
-- busy are contents that another delivery is storing; already_final are requests in a final state, including those
-- recorded here as duplicates of a stored content (which sets the memory's last_seen_at and nothing else); conflicting are
-- requests under whose id another content was stored. A request that failed or was dead-lettered is tried again.
--
-- The locks last until the transaction ends, so two deliveries of one content cannot both store it, and a crash leaves
-- nothing to clean up. They are tried, not waited for: a waiting delivery would hold a pooled connection. A caller that
-- goes on to store (p_to_store) locks a content exclusively, one that only looks shares the lock.
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
    -- A separate statement, so that it sees what was committed before the locks were taken. Outcomes are looked up by an
    -- array of ids: with a join, a plan made while the table was small would read all outcomes of the namespace. One
    -- delivery at a time updates last_seen_at and the others skip it: waiting for each other's rows could deadlock.
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
        WHERE final.content_hash <> request.content_hash
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
        -- A stored content whose request is not final here: another delivery has recorded its outcome meanwhile.
        'busy', to_jsonb(busy || ARRAY(
            SELECT content_hash FROM request JOIN seen USING (content_hash)
            WHERE request_id NOT IN (SELECT request_id FROM already_final)
        )),
        'already_final', (SELECT coalesce(jsonb_agg(already_final), '[]') FROM already_final),
        'conflicting', (SELECT coalesce(jsonb_agg(request_id), '[]') FROM conflicting)
    )
    INTO answer;
    RETURN answer;
END
$$;

-- claim_requests, with the namespace's usage and quota for a caller that goes on to store.
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
