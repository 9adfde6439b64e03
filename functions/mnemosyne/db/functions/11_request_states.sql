-- Return the state of an ingest request after an event. The result is null if the event does not change the request.
-- Every statement that changes a state calls this function. docs/requests.md has the same table of states.
--
-- p_state is the state before the event; it is null for a request without a row. The events are:
--   postponed  an attempt failed for a temporary reason
--   stored     the memory was stored
--   duplicate  a memory with the same content exists
--   deleted    the deletion was carried out; or the request is an older version of a record that has been deleted
--   failed     the request is invalid, so this attempt cannot store it
--   given_up   the message became a dead letter
--   redriven   the message of the dead letter was published again
--
-- The states stored, duplicate and deleted are final: no event changes them. The states failed and dead_lettered are
-- not final: the events stored, duplicate and deleted change them. The event redriven changes dead_lettered to queued.
-- A dead-lettered request that fails stays dead_lettered, because its dead letter can still be redriven, and gets the
-- new error. Other events leave the states failed and dead_lettered as they are.
CREATE OR REPLACE FUNCTION next_request_state(p_state text, p_event text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_state IN ('stored', 'duplicate', 'deleted') THEN NULL
    WHEN p_event IN ('stored', 'duplicate', 'deleted') THEN p_event
    WHEN p_event = 'postponed' AND (p_state IS NULL OR p_state = 'queued') THEN 'queued'
    WHEN p_event = 'failed' AND p_state = 'dead_lettered' THEN 'dead_lettered'
    WHEN p_event = 'failed' THEN 'failed'
    WHEN p_event = 'given_up' AND (p_state IS NULL OR p_state IN ('queued', 'dead_lettered')) THEN 'dead_lettered'
    WHEN p_event = 'redriven' AND p_state = 'dead_lettered' THEN 'queued'
END;

-- Return the state and the error to report for a request. p_existing is the id of the request's memory, or null if that
-- memory was deleted or has expired. The other arguments are columns of the request.
--
-- The reported state differs from the stored state in two cases:
--   * A request whose memory was deleted or has expired is reported as deleted.
--   * A redrive publishes the message of a dead letter again. A request that was redriven at least 24 hours ago and has
--     not changed since is reported as dead_lettered. In this case the redrive crashed before it published the message,
--     and a new redrive is allowed (see dead_letter_due).
--
-- The function returns a set, because the planner inlines a function in FROM only if the function returns a set.
CREATE OR REPLACE FUNCTION reported_outcome(
    p_state text, p_error text, p_existing uuid, p_updated_at timestamptz, p_redriven_at timestamptz
) RETURNS TABLE (state text, error text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
AS $$
SELECT CASE
        WHEN p_state IN ('stored', 'duplicate') AND p_existing IS NULL THEN 'deleted'
        WHEN p_state = 'queued' AND p_redriven_at = p_updated_at AND p_updated_at <= now() - interval '24 hours'
            THEN 'dead_lettered'
        ELSE p_state END,
    CASE WHEN p_state IN ('stored', 'duplicate') AND p_existing IS NULL
        THEN 'its memory was deleted later or has expired: ingest it again with a later timestamp to store it'
        ELSE p_error END
$$;

-- Return the origin (column `provenance`) to store for a request that now has a memory. The result is p_new, the origin
-- that was sent with the request. If p_new is null, the result is p_old, the stored origin. The fields first_words (the
-- beginning of the content) and dead_letter are removed from p_old, because only a request without a memory has them.
CREATE OR REPLACE FUNCTION known_provenance(p_new jsonb, p_old jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(p_new, p_old - ARRAY['first_words', 'dead_letter']);

GRANT EXECUTE ON FUNCTION known_provenance(jsonb, jsonb) TO mnemosyne_runtime, mnemosyne_ingest, mnemosyne_dead_letter;
GRANT EXECUTE ON FUNCTION reported_outcome(text, text, uuid, timestamptz, timestamptz)
    TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter;
GRANT EXECUTE ON FUNCTION next_request_state(text, text)
    TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter, mnemosyne_import_object;
