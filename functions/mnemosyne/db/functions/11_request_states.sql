-- The state of an ingest request after an event, or null if the event does not change the request. Every statement
-- that changes a state calls this function. docs/requests.md has the same table.
--
-- p_state is null if the request has no row. The events are:
--   postponed  an attempt failed for a temporary reason
--   stored     the memory was stored
--   duplicate  a memory with the same content exists
--   deleted    the deletion was carried out, or a deletion of the record covers the version
--   failed     the request is invalid and can never be stored
--   given_up   the message became a dead letter
--   redriven   the dead letter was published again
--
-- The states stored, duplicate and deleted are final. The states failed and dead_lettered are not final: a later
-- delivery of the same request may still store the memory. A redrive changes dead_lettered to queued. Other events do
-- not change these two states.
CREATE OR REPLACE FUNCTION next_request_state(p_state text, p_event text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_state IN ('stored', 'duplicate', 'deleted') THEN NULL
    WHEN p_event IN ('stored', 'duplicate', 'deleted') THEN p_event
    WHEN p_event = 'postponed' AND (p_state IS NULL OR p_state = 'queued') THEN 'queued'
    WHEN p_event = 'failed' AND (p_state IS NULL OR p_state IN ('queued', 'failed')) THEN 'failed'
    WHEN p_event = 'given_up' AND (p_state IS NULL OR p_state IN ('queued', 'dead_lettered')) THEN 'dead_lettered'
    WHEN p_event = 'redriven' AND p_state = 'dead_lettered' THEN 'queued'
END;

-- The state and the error to report for a request. p_existing is the id of the request's memory, or null if that
-- memory was deleted.
--
-- A request whose memory was deleted later is reported as deleted. A redriven request is reported as dead_lettered
-- again if no attempt was recorded for 24 hours. In that case the redrive crashed before it published the message, and
-- the dead letter may be redriven again (see dead_letter_due). The function returns a set, because in FROM the planner
-- inlines only functions that return a set.
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

-- The provenance to store for a request that now has a memory: the new provenance or, if it is null, the old
-- provenance without the fields first_words and dead_letter.
CREATE OR REPLACE FUNCTION known_provenance(p_new jsonb, p_old jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(p_new, p_old - ARRAY['first_words', 'dead_letter']);

REVOKE ALL ON FUNCTION next_request_state, reported_outcome, known_provenance FROM PUBLIC;
GRANT EXECUTE ON FUNCTION known_provenance TO mnemosyne_runtime, mnemosyne_ingest, mnemosyne_dead_letter;
GRANT EXECUTE ON FUNCTION reported_outcome TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest,
    mnemosyne_dead_letter;
GRANT EXECUTE ON FUNCTION next_request_state TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest,
    mnemosyne_dead_letter, mnemosyne_import_object;
