-- Delete requests of the namespace that have not changed for 90 days, at most 100 per call.
--
-- Every delivery calls this function. Otherwise outcomes of duplicates and failures, which no quota counts, would be
-- kept forever. Two kinds of requests are kept:
--   * requests with source and key, because they are the versions of a record;
--   * requests whose message may be a dead letter, so that a redrive does not store a deleted memory again. A message fails at
--     most 31 days after it was published, the longest time for which Pub/Sub keeps it.
CREATE OR REPLACE FUNCTION forget_requests(p_namespace text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    -- Most namespaces have no old request, and planning the DELETE takes three times as long as this check.
    IF NOT EXISTS (
        SELECT FROM ingest_requests i
        WHERE i.namespace = p_namespace AND i.source IS NULL AND i.updated_at < now() - interval '90 days'
    ) THEN
        RETURN;
    END IF;
    DELETE FROM ingest_requests
    WHERE namespace = p_namespace AND request_id = ANY (ARRAY(
        SELECT i.request_id FROM ingest_requests i
        WHERE i.namespace = p_namespace AND i.source IS NULL AND i.updated_at < least(
            now() - interval '90 days',
            (SELECT min(d.dead_lettered_at) FROM dead_letters d WHERE d.namespace = p_namespace) - interval '31 days'
        )
        ORDER BY i.updated_at LIMIT 100
        FOR UPDATE SKIP LOCKED
    ));
END
$$;

REVOKE ALL ON FUNCTION forget_requests FROM PUBLIC;
GRANT EXECUTE ON FUNCTION forget_requests TO mnemosyne_runtime, mnemosyne_ingest, mnemosyne_dead_letter;
