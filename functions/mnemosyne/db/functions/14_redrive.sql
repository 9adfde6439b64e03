-- Select dead letters and record their redrives. A dead letter is a message that could not be processed. To redrive a
-- dead letter means to publish its message again.
--
-- The row of a dead letter is kept while its message is published again. From mark_redriven until the message has an
-- outcome or fails again, the dead letter is in flight, and its column `redriven_at` is set.
--
-- The republished message carries the `letter_id` of the dead letter. With this id, the subscriber finds the dead
-- letter: it deletes the dead letter when every request of the message has an outcome, and updates the dead letter when
-- the message fails again. The id is random, and only this database and the message contain it. So other publishers
-- cannot delete a dead letter.

-- Return the time from which a dead letter may be redriven.
--
-- There are three cases:
--   * A dead letter that was never redriven may be redriven at once.
--   * A dead letter that failed again after a redrive must wait 10 minutes from this failure. The wait doubles with
--     each further redrive, up to one day.
--   * A dead letter in flight must wait 24 hours from its redrive, because Pub/Sub may still deliver the message: the
--     maximum of 100 deliveries, 600 seconds apart, takes 16 h 40 min. The wait ends even if the redrive crashed before
--     it published the message.
CREATE OR REPLACE FUNCTION dead_letter_due(p_redriven_at timestamptz, p_last_failed_at timestamptz, p_redrives integer)
RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
    WHEN p_redriven_at IS NOT NULL THEN p_redriven_at + interval '24 hours'
    WHEN p_redrives = 0 THEN p_last_failed_at
    ELSE p_last_failed_at + least(interval '10 minutes' * 2 ^ least(p_redrives - 1, 10), interval '24 hours')
END;

-- Whether a namespace has fewer than p_letters dead letters, and their data have fewer than p_bytes bytes.
CREATE OR REPLACE FUNCTION fewer_dead_letters(p_namespace text, p_letters integer, p_bytes bigint) RETURNS boolean
LANGUAGE sql STABLE
RETURN (SELECT count(*) < p_letters AND coalesce(sum(octet_length(d.data)), 0) < p_bytes
    FROM dead_letters d WHERE d.namespace = p_namespace);

-- Return the first 300 characters of the cause of a dead letter, with each id and number replaced by #. Dead letters
-- for which this text is equal form a group.
CREATE OR REPLACE FUNCTION cause_group(p_cause text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN left(regexp_replace(
    p_cause, '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9]+([.,][0-9]+)*', '#', 'gi'), 300);

-- Return the dead letters of a namespace that p_choice selects. p_choice is an object with these fields; a field that
-- is absent or null restricts nothing:
--   message_ids   an array of message ids
--   cause         a text that the cause of the dead letter contains, or that the result of cause_group contains
--   younger_than  the maximum number of seconds since the first failure, by the clock of the database
--   older_than    the minimum number of seconds since the first failure, by the clock of the database
--   redrivable    "now" excludes dead letters in flight (whose message was published again and has no result yet) for
--                 the first 24 hours; "due" also excludes dead letters that must wait after a failed redrive
--
-- The function has no SET clause, so that the planner can inline it and stop at the caller's LIMIT.
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

-- Raise insufficient_privilege if the session is not allowed to change a dead letter.
--   p_namespace  the namespace of the dead letter; it must be equal to the setting mnemosyne.namespace of the session
--   p_into       the namespace of the requests in the message; if p_namespace is not empty, p_into must be equal to it
--
-- The dead letter of a message without a namespace has the empty namespace, and the setting is then empty, too. A
-- redrive of such a dead letter chooses the namespace p_into for the requests in the message. require_session_namespace
-- cannot do this check, because it refuses the empty namespace.
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

-- Lock the rows of requests in the order of their ids, until the end of the transaction. Deliveries record outcomes in
-- the same order. An UPDATE alone would lock the rows in the order of its plan, and could deadlock with a delivery.
--
-- These are row locks, and a transaction waits for them. They are independent of the advisory locks of claim_requests,
-- for which no delivery waits.
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

-- Mark a dead letter as in flight, change the state of its dead-lettered requests to queued, and return its letter_id.
-- The caller then publishes the message.
--
-- The function returns null and changes nothing in three cases: the dead letter does not exist; it has been in flight
-- for less than 24 hours; or p_now is false and the wait after a failed redrive has not ended.
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
        -- Also update requests that an earlier redrive has changed to queued, and that have not changed since. That
        -- redrive crashed, or its message has not been processed yet.
        UPDATE ingest_requests
        SET state = 'queued', updated_at = redriven.at, redriven_at = redriven.at, announced_at = NULL
        FROM (SELECT clock_timestamp() AS at) AS redriven
        WHERE namespace = p_into AND request_id = ANY (p_request_ids)
            AND (next_request_state(state, 'redriven') = 'queued' OR (state = 'queued' AND redriven_at = updated_at));
    END IF;
    RETURN marked;
END
$$;

-- Undo mark_redriven, because the message could not be published: the dead letter is no longer in flight, and its
-- queued requests become dead_lettered again.
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

-- Lock the dead letter from which a message was republished, until the end of the transaction.
--
-- mark_redriven locks a dead letter before it locks the requests of the message. A transaction in which the republished
-- message becomes a dead letter again must take the locks in the same order. Otherwise the two transactions could
-- deadlock.
CREATE OR REPLACE FUNCTION lock_dead_letter(p_namespace text, p_letter_id uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    PERFORM FROM dead_letters WHERE letter_id = p_letter_id AND namespace IN (p_namespace, '') FOR UPDATE;
END
$$;

-- Record that the republished message of a dead letter has failed again. Return the dead letter, or no row if the dead
-- letter does not exist. p_namespace is empty if the namespace of the message could not be read. p_lost is true if some
-- contents of the message have no row in ingest_requests, so that only the dead letter reports their failure.
--
-- With the first failure after a redrive, the dead letter is no longer in flight, and its number of failures increases
-- by one. If Pub/Sub delivers the same failed message again, only `cause` changes, and also `lost` and `changed_in` if
-- `lost` becomes true.
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

-- Delete the dead letter from which a message was republished, if every request of the message has an outcome.
-- Otherwise change nothing.
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

-- Delete dead letters of the session's namespace by message id, and return the number of deleted dead letters. The
-- requests of the messages, with their outcomes, are kept.
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

-- The services `ingest`, `dead_letter` and `import_object` need the right to call dead_letter_due, because they call it
-- in the query that finds out whether a dead letter is stored.
GRANT EXECUTE ON FUNCTION dead_letter_due(timestamptz, timestamptz, integer), fewer_dead_letters(text, integer, bigint)
    TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter, mnemosyne_import_object;
GRANT EXECUTE ON FUNCTION cause_group(text), select_dead_letters(text, jsonb),
    mark_redriven(text, text, text, uuid[], boolean), unmark_redriven(text, uuid, text, uuid[]),
    drop_dead_letters(text, text[]) TO mnemosyne_runtime, mnemosyne_mcp;
GRANT EXECUTE ON FUNCTION lock_dead_letter(text, uuid), fail_dead_letter_again(text, uuid, text, boolean),
    conclude_dead_letter(text, uuid, uuid[])
    TO mnemosyne_runtime, mnemosyne_ingest, mnemosyne_dead_letter, mnemosyne_import_object;
