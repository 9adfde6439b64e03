-- Delete up to 100 ingest requests of the namespace that have not changed for 90 days, the oldest first. The outcomes
-- of the requests are deleted with them. Memories are not deleted.
--
-- Two kinds of requests are never deleted:
--   * Requests with source and key, because they are the versions of a record.
--   * Requests whose message may be a dead letter. When a dead letter is published again, its request shows that the
--     memory was stored earlier. Without the request, a memory that was deleted since would be stored again. Pub/Sub
--     keeps a message for at most 31 days. Therefore requests are kept that changed later than 31 days before the
--     oldest dead letter of the namespace.
--
-- Each delivery of a message calls this function. Without the deletion, the outcomes of duplicates and failures would
-- be kept forever, and no quota counts them.
CREATE OR REPLACE FUNCTION forget_requests(p_namespace text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    -- Return early if the namespace has no old request. Most namespaces have none, and planning the DELETE takes three
    -- times as long as this check.
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

GRANT EXECUTE ON FUNCTION forget_requests(text) TO mnemosyne_runtime, mnemosyne_ingest, mnemosyne_dead_letter;
