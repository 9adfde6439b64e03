-- Let requests of a namespace that were given up wait again: nothing else about any request is changed by it.
CREATE OR REPLACE FUNCTION mark_queued(p_namespace text, p_request_ids uuid[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM require_own(p_namespace);
    UPDATE ingest_requests
    SET state = 'queued', updated_at = clock_timestamp(), announced_at = NULL
    WHERE namespace = p_namespace AND request_id = ANY (p_request_ids) AND state = 'dead_lettered';
END
$$;

-- Delete one dead letter of the session's namespace, which has been put back on the queue or is wanted no more. The
-- namespace of no characters is that of messages that name none.
CREATE OR REPLACE FUNCTION delete_dead_letter(p_namespace text, p_message_id text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF p_namespace IS DISTINCT FROM current_setting('mnemosyne.namespace', true) THEN
        RAISE insufficient_privilege USING MESSAGE = 'this session is not for that namespace';
    END IF;
    DELETE FROM dead_letters WHERE namespace = p_namespace AND message_id = p_message_id;
END
$$;

REVOKE ALL ON FUNCTION mark_queued, delete_dead_letter FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mark_queued, delete_dead_letter TO mnemosyne_runtime, mnemosyne_mcp;
