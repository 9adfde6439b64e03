-- Claim the ingest requests of a delivery: lock them, and return which of them need not be stored. A delivery is one
-- attempt to process a message. The function also sets the session's namespace to p_namespace.
--
-- p_requests is [{"request_id": …, "content_hash": …, "labels": {…}, "provenance": {…}}, …]. A publisher can name a
-- text by source and key; the named text is called a record, and each content of the record is a version. A request for
-- a version also has "source", "key", "key_id" (the id of the record, derived from source and key), "version_at" (the
-- timestamp of the version), "published" (the time of its publication) and "immutable" (true if the record must not
-- change). The result has three lists:
--
--   {"busy": [request_id, …], "already_final": [{request_id, state, memory_id, attempts, error, note}, …],
--    "conflicting": [request_id, …]}
--
--   busy           requests that another delivery has locked or has just stored; the caller must try again later
--   already_final  requests in a final state (stored, duplicate or deleted), and requests whose outcome this call has
--                  recorded
--   conflicting    requests whose id was used earlier for another content or record (see is_same_request)
--
-- The caller must store the requests that are in none of these lists. This includes requests in the states failed and
-- dead_lettered, because these states are not final.
--
-- This function records the outcome of four kinds of requests, because they need not be stored:
--   * a request whose content is stored already (a duplicate)
--   * a version that counts as deleted, because a deletion of its record covers it (see is_covered)
--   * a version that has already expired
--   * a version that would change an immutable record
--
-- The function locks request ids, record keys and contents, so that two deliveries never store the same request, record
-- or content at the same time. If another session has one of the locks, the request is busy. The function does not wait
-- for the lock, because a waiting delivery would keep a pooled connection from others.
--
-- If p_to_store is true, the locks belong to the session. The caller embeds the texts, stores the memories in another
-- transaction, and then releases the locks. No transaction is open during the embedding, because an open transaction
-- would block changes of tables and the creation of indexes. If the caller crashes, the locks end with the connection,
-- or after five minutes without a statement.
--
-- If p_to_store is false, the caller only records outcomes. The locks then belong to the transaction. The lock of a
-- content is a shared lock, so that many duplicates of one content can be recorded at once.
CREATE OR REPLACE FUNCTION claim_requests(p_namespace text, p_requests jsonb, p_to_store boolean) RETURNS jsonb
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    busy uuid[];
    versions jsonb := '[]';
    answer jsonb;
BEGIN
    PERFORM set_config('mnemosyne.namespace', p_namespace, true);
    IF p_to_store THEN
        PERFORM set_config('idle_session_timeout', '5min', false);
    END IF;
    busy := ARRAY(
        SELECT r.request_id
        FROM jsonb_to_recordset(p_requests) AS r (request_id uuid, content_hash text, key_id uuid),
            hashtextextended(p_namespace || r.request_id, 2) AS id,
            hashtextextended(p_namespace || r.key_id, 3) AS key,
            hashtextextended(p_namespace || r.content_hash, 0) AS content
        WHERE NOT CASE WHEN p_to_store
            THEN pg_try_advisory_lock(id) AND coalesce(pg_try_advisory_lock(key), true) AND pg_try_advisory_lock(content)
            ELSE pg_try_advisory_xact_lock(id) AND coalesce(pg_try_advisory_xact_lock(key), true)
                AND pg_try_advisory_xact_lock_shared(content) END
    );
    -- The following statements are separate from the statement that takes the locks, so that they see all rows that
    -- were committed before the locks were taken.
    --
    -- Versions of records are handled before the UPDATE of `memories` below. record_versions may wait for the advisory
    -- lock of lock_supersession. If this transaction had a lock on a row of `memories` while it waits, it could
    -- deadlock with the transaction that has the advisory lock.
    PERFORM remove_expired_for(p_namespace, p_requests);
    PERFORM forget_for(p_namespace, p_requests);
    IF p_requests @? '$[*].key_id' THEN
        versions := record_versions(p_namespace, settled_versions(p_namespace, p_requests, busy));
    END IF;
    -- The statement looks up outcomes by an array of ids, not by a join. With a join, a plan that was made while the
    -- table was small would read all outcomes of the namespace.
    --
    -- If several deliveries have the same content at the same time, only one of them updates last_seen_at of the stored
    -- memory. If all of them updated it, two deliveries with several common contents could deadlock.
    WITH request AS (
        SELECT r.request_id, r.content_hash, r.source, r.key, r.key_id, r.labels, r.provenance
        FROM jsonb_to_recordset(p_requests) AS r (request_id uuid, content_hash text, source text, key text, key_id uuid,
            labels jsonb, provenance jsonb)
        WHERE r.request_id <> ALL (busy)
    ), final AS (
        SELECT i.request_id, i.state, i.memory_id, i.attempts, i.error, i.note, i AS stored
        FROM ingest_requests i
        WHERE i.namespace = p_namespace AND i.request_id = ANY (ARRAY(SELECT request_id FROM request))
            AND i.state IN ('stored', 'duplicate', 'deleted')
    ), conflicting AS (
        SELECT request.request_id
        FROM request
        JOIN final USING (request_id)
        WHERE NOT is_same_request(final.stored, decode(request.content_hash, 'hex'), request.source, request.key)
    ), seen AS (
        SELECT m.id, m.content_hash, m.superseded_by
        FROM memories m
        WHERE m.namespace = p_namespace AND m.content_hash = ANY (ARRAY(
            SELECT content_hash FROM request WHERE request_id NOT IN (SELECT request_id FROM final)
        )) AND is_unexpired(m.expires_at)
    ), seen_again AS (
        UPDATE memories
        SET last_seen_at = now()
        WHERE id = ANY (ARRAY(
            SELECT id FROM seen WHERE pg_try_advisory_xact_lock(hashtextextended(CAST(id AS text), 1))
        ))
    ), recorded AS (
        INSERT INTO ingest_requests AS i (request_id, namespace, state, memory_id, content_hash, attempts, note, provenance)
        SELECT DISTINCT ON (request.request_id) request.request_id, p_namespace, next_request_state(NULL, 'duplicate'),
            seen.id, decode(seen.content_hash, 'hex'), 1,
            duplicate_note(seen.superseded_by, differing_labels(p_namespace, seen.id, request.labels)), request.provenance
        FROM request
        JOIN seen USING (content_hash)
        WHERE request.key_id IS NULL AND request.request_id NOT IN (SELECT request_id FROM final)
        ON CONFLICT (namespace, request_id) DO UPDATE
        SET state = next_request_state(i.state, 'duplicate'), memory_id = EXCLUDED.memory_id,
            content_hash = EXCLUDED.content_hash, attempts = i.attempts + 1, error = NULL, note = EXCLUDED.note,
            source = NULL, key = NULL, version_at = NULL, version_published = NULL,
            provenance = known_provenance(EXCLUDED.provenance, i.provenance),
            updated_at = clock_timestamp(), announced_at = NULL
        WHERE next_request_state(i.state, 'duplicate') IS NOT NULL
        RETURNING request_id, state, memory_id, attempts, error, note
    ), already_final AS (
        SELECT request_id, state, memory_id, attempts, error, note FROM final
        UNION
        SELECT request_id, state, memory_id, attempts, error, note FROM jsonb_to_recordset(versions)
            AS v (request_id uuid, state text, memory_id uuid, attempts integer, error text, note text)
        UNION ALL
        SELECT * FROM recorded
    )
    SELECT jsonb_build_object(
        -- A request whose content is stored already is normally in already_final. If it is not, another delivery has
        -- stored the content, or recorded the outcome of the request, while this function was running. Return such a
        -- request as busy, as if the other delivery had locked it. The next attempt then finds the outcome.
        'busy', to_jsonb(busy || ARRAY(
            SELECT request_id FROM request JOIN seen USING (content_hash)
            WHERE request_id NOT IN (SELECT request_id FROM already_final)
        )),
        'already_final', (SELECT coalesce(jsonb_agg(already_final), '[]') FROM already_final),
        'recorded', (SELECT coalesce(jsonb_agg(recorded), '[]') FROM recorded),
        'conflicting', (SELECT coalesce(jsonb_agg(request_id), '[]') FROM conflicting)
    )
    INTO answer;
    versions := versions || (answer -> 'recorded');
    IF versions @? '$[*] ? (@.state == "duplicate")' THEN
        PERFORM extend_expiry(p_namespace, (
            SELECT jsonb_agg(r) FROM jsonb_array_elements(p_requests) AS r
            WHERE r ->> 'request_id' IN (
                SELECT v ->> 'request_id' FROM jsonb_array_elements(versions) AS v WHERE v ->> 'state' = 'duplicate'
            )
        ));
    END IF;
    RETURN answer - 'recorded';
END
$$;

-- Call claim_requests, and return its result. If p_to_store is true, add the usage and the quota of the namespace and a
-- summary of its forgettings (see summarize_forgettings) to the result. A forgetting is a deletion of selected
-- memories.
--
-- If p_forget is true, the function then calls forget_requests, which deletes some old requests. If a delivery claims
-- its requests in several calls, p_forget is true only in the last call. Otherwise an early call could delete a request
-- that a later call has to look up.
CREATE OR REPLACE FUNCTION claim_within_quota(p_namespace text, p_requests jsonb, p_to_store boolean, p_forget boolean)
RETURNS jsonb
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    answer jsonb := claim_requests(p_namespace, p_requests, p_to_store);
BEGIN
    IF p_to_store THEN
        answer := answer || jsonb_build_object('quota', (SELECT to_jsonb(u) FROM usage_and_quota() AS u))
            || summarize_forgettings(p_namespace);
    END IF;
    IF p_forget THEN
        PERFORM forget_requests(p_namespace);
    END IF;
    RETURN answer;
END
$$;

GRANT EXECUTE ON FUNCTION claim_requests(text, jsonb, boolean), claim_within_quota(text, jsonb, boolean, boolean)
    TO mnemosyne_runtime, mnemosyne_ingest, mnemosyne_dead_letter;
