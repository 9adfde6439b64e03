-- Delete up to 100 ingest requests of the namespace that have not changed for 90 days, the oldest first. The outcomes
-- of the requests are deleted with them. Memories are not deleted.
--
-- Two kinds of requests are not deleted:
--   * Requests with source and key, because they are the versions of a record.
--   * Requests that could belong to the message of a dead letter (a message that could not be processed). If this
--     message is published again, the request shows that its memory was stored earlier. Without the request, the memory
--     would be stored again, even if somebody has deleted the memory in the meantime. Pub/Sub keeps a message for at
--     most 31 days before the message becomes a dead letter. Therefore a request is deleted only if its last change was
--     more than 31 days before the namespace's oldest dead letter.
--
-- Each delivery of a message calls this function. Without this function, the outcomes of duplicates and failures would
-- be kept forever. No quota limits their number.
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
