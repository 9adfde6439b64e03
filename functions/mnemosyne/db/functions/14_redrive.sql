-- Dead letters: select them, compute when one may be published again, and record that one was published again.
--
-- A letter keeps its row while its message is published again. `redriven_at` marks it as in flight. The republished
-- message carries `letter_id`, by which the subscriber deletes the letter once every request of the message has an
-- outcome, or updates it if the message fails again. The id is random and only the message carries it, so that nobody
-- else can delete a letter by publishing its id.

-- The time from which a letter may be published again.
--
-- A letter that was never redriven: at once. One that failed again: after 10 minutes, which double with each redrive up
-- to a day. One in flight: after 24 hours, because 100 deliveries 600 seconds apart, the most that Pub/Sub makes before
-- it gives a message up, take 16 h 40 min. Without that limit a letter would be in flight forever if the redrive
-- crashed before it published.
CREATE OR REPLACE FUNCTION dead_letter_due(p_redriven_at timestamptz, p_last_failed_at timestamptz, p_redrives integer)
RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
    WHEN p_redriven_at IS NOT NULL THEN p_redriven_at + interval '24 hours'
    WHEN p_redrives = 0 THEN p_last_failed_at
    ELSE p_last_failed_at + least(interval '10 minutes' * 2 ^ least(p_redrives - 1, 10), interval '24 hours')
END;

-- The cause with ids and numbers replaced by #, so that letters can be grouped by it.
CREATE OR REPLACE FUNCTION cause_group(p_cause text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN left(regexp_replace(
    p_cause, '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9]+([.,][0-9]+)*', '#', 'gi'), 300);

-- Select letters of a namespace. p_choice is {"message_ids": […], "cause": …, "younger_than": seconds, "older_than":
-- seconds, "redrivable": "due" or "now"}; absent or null fields restrict nothing. Ages are measured from the first
-- failure by the database's clock. "now" leaves out letters in flight; "due" also leaves out letters that back off. It
-- has no SET clause, so that the planner reads no more letters than the caller's LIMIT.
CREATE OR REPLACE FUNCTION select_dead_letters(p_namespace text, p_choice jsonb) RETURNS SETOF dead_letters
LANGUAGE sql STABLE
AS $$
    SELECT d.*
    FROM dead_letters d
    WHERE d.namespace = p_namespace
        AND (p_choice ->> 'message_ids' IS NULL
            OR d.message_id = ANY (ARRAY(SELECT jsonb_array_elements_text(p_choice -> 'message_ids'))))
        AND (p_choice ->> 'cause' IS NULL OR strpos(lower(d.cause), lower(p_choice ->> 'cause')) > 0
            OR strpos(lower(cause_group(d.cause)), lower(p_choice ->> 'cause')) > 0)
        AND (p_choice ->> 'younger_than' IS NULL OR d.dead_lettered_at >=
            now() - make_interval(secs => CAST(p_choice ->> 'younger_than' AS double precision)))
        AND (p_choice ->> 'older_than' IS NULL OR d.dead_lettered_at <=
            now() - make_interval(secs => CAST(p_choice ->> 'older_than' AS double precision)))
        AND CASE p_choice ->> 'redrivable'
            WHEN 'due' THEN dead_letter_due(d.redriven_at, d.last_failed_at, d.redrives) <= now()
            WHEN 'now' THEN d.redriven_at IS NULL
                OR dead_letter_due(d.redriven_at, d.last_failed_at, d.redrives) <= now()
            ELSE true
        END
$$;

-- Raise insufficient_privilege unless the session's namespace is the letter's. p_into is the namespace of its requests:
-- the same one, or any namespace for a letter of the empty namespace, which has the messages that name no namespace.
-- require_session_namespace refuses the empty namespace.
CREATE OR REPLACE FUNCTION require_letters_of(p_namespace text, p_into text) RETURNS void
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF p_namespace IS DISTINCT FROM current_setting('mnemosyne.namespace', true)
        OR (p_namespace <> '' AND p_into IS DISTINCT FROM p_namespace) THEN
        RAISE insufficient_privilege USING MESSAGE = 'this session is not for that namespace';
    END IF;
END
$$;

-- Lock requests in the order of their ids, in which deliveries record outcomes. An UPDATE locks rows in the order of
-- its plan, so that it and a delivery could wait for each other.
CREATE OR REPLACE FUNCTION lock_requests(p_namespace text, p_request_ids uuid[]) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM FROM ingest_requests
    WHERE namespace = p_namespace AND request_id = ANY (p_request_ids)
    ORDER BY request_id
    FOR UPDATE;
END
$$;

-- Mark a letter as in flight, queue its dead-lettered requests, and return its letter_id. Return null and change
-- nothing if there is no such letter, or it is in flight, or its backoff has not ended and p_now is false.
CREATE OR REPLACE FUNCTION mark_redriven(
    p_namespace text, p_message_id text, p_into text, p_request_ids uuid[], p_now boolean
) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    marked uuid;
BEGIN
    PERFORM require_letters_of(p_namespace, p_into);
    UPDATE dead_letters d
    SET redriven_at = clock_timestamp(), redrives = d.redrives + 1
    WHERE d.namespace = p_namespace AND d.message_id = p_message_id
        AND (dead_letter_due(d.redriven_at, d.last_failed_at, d.redrives) <= clock_timestamp()
            OR (p_now AND d.redriven_at IS NULL))
    RETURNING d.letter_id INTO marked;
    IF marked IS NOT NULL THEN
        PERFORM lock_requests(p_into, p_request_ids);
        -- Requests that an earlier redrive has queued are marked too: it crashed, or its message is still on the way.
        UPDATE ingest_requests
        SET state = 'queued', updated_at = redriven.at, redriven_at = redriven.at, announced_at = NULL
        FROM (SELECT clock_timestamp() AS at) AS redriven
        WHERE namespace = p_into AND request_id = ANY (p_request_ids)
            AND (next_request_state(state, 'redriven') = 'queued' OR (state = 'queued' AND redriven_at = updated_at));
    END IF;
    RETURN marked;
END
$$;

-- Undo mark_redriven for a message that could not be published.
CREATE OR REPLACE FUNCTION unmark_redriven(p_namespace text, p_letter_id uuid, p_into text, p_request_ids uuid[])
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM require_letters_of(p_namespace, p_into);
    UPDATE dead_letters
    SET redriven_at = NULL, redrives = redrives - 1
    WHERE namespace = p_namespace AND letter_id = p_letter_id AND redriven_at IS NOT NULL;
    IF FOUND THEN
        PERFORM lock_requests(p_into, p_request_ids);
        UPDATE ingest_requests
        SET state = next_request_state(state, 'given_up'), updated_at = clock_timestamp(), announced_at = NULL
        WHERE namespace = p_into AND request_id = ANY (p_request_ids) AND state = 'queued';
    END IF;
END
$$;

-- Lock the letter that a message was republished from until the transaction ends. mark_redriven locks a letter before
-- its requests; without this lock, giving the message up would lock the requests first, and both could wait for each
-- other.
CREATE OR REPLACE FUNCTION lock_dead_letter(p_namespace text, p_letter_id uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    PERFORM FROM dead_letters WHERE letter_id = p_letter_id AND namespace IN (p_namespace, '') FOR UPDATE;
END
$$;

-- Record that the republished message of a letter has failed again, and return the letter; no row if there is no such
-- letter. A second delivery of the failed message changes only the cause, because the letter is no longer in flight. A
-- message whose namespace could not be read has the empty namespace.
CREATE OR REPLACE FUNCTION fail_dead_letter_again(p_namespace text, p_letter_id uuid, p_cause text, p_lost boolean)
RETURNS SETOF dead_letters
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM require_letters_of(p_namespace, p_namespace);
    RETURN QUERY UPDATE dead_letters d
    SET cause = p_cause, lost = d.lost OR p_lost, redriven_at = NULL,
        failures = d.failures + CASE WHEN d.redriven_at IS NULL THEN 0 ELSE 1 END,
        last_failed_at = CASE WHEN d.redriven_at IS NULL THEN d.last_failed_at ELSE clock_timestamp() END,
        changed_in = CASE WHEN d.redriven_at IS NULL AND d.lost >= p_lost THEN d.changed_in ELSE pg_current_xact_id() END
    WHERE d.letter_id = p_letter_id AND (d.namespace IN (p_namespace, '') OR p_namespace = '')
    RETURNING d.*;
END
$$;

-- Delete the letter that a message was republished from, unless a request of the message has no outcome yet.
CREATE OR REPLACE FUNCTION conclude_dead_letter(p_namespace text, p_letter_id uuid, p_request_ids uuid[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    DELETE FROM dead_letters
    WHERE letter_id = p_letter_id AND namespace IN (p_namespace, '') AND NOT EXISTS (
        SELECT FROM ingest_requests
        WHERE namespace = p_namespace AND request_id = ANY (p_request_ids) AND state IN ('queued', 'dead_lettered')
    );
END
$$;

-- Delete letters of the session's namespace by message id, and return their number. The outcomes of their requests
-- stay.
CREATE OR REPLACE FUNCTION drop_dead_letters(p_namespace text, p_message_ids text[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    dropped bigint;
BEGIN
    PERFORM require_letters_of(p_namespace, p_namespace);
    DELETE FROM dead_letters WHERE namespace = p_namespace AND message_id = ANY (p_message_ids);
    GET DIAGNOSTICS dropped = ROW_COUNT;
    RETURN dropped;
END
$$;

REVOKE ALL ON FUNCTION dead_letter_due, cause_group, select_dead_letters, require_letters_of, lock_requests, mark_redriven,
    unmark_redriven, lock_dead_letter, fail_dead_letter_again, conclude_dead_letter, drop_dead_letters FROM PUBLIC;
GRANT EXECUTE ON FUNCTION dead_letter_due, cause_group, select_dead_letters, mark_redriven, unmark_redriven,
    drop_dead_letters TO mnemosyne_runtime, mnemosyne_mcp;
GRANT EXECUTE ON FUNCTION lock_dead_letter, fail_dead_letter_again, conclude_dead_letter TO mnemosyne_runtime,
    mnemosyne_ingest, mnemosyne_dead_letter, mnemosyne_import_object;
