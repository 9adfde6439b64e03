-- The expiry of memories. A memory becomes invisible at the moment of its expiry, because the policy of row-level
-- security on `memories` hides expired memories. SQL functions with SECURITY DEFINER bypass this policy. Therefore they
-- compare `expires_at` with the present time themselves.
--
-- The row of an expired memory stays in the table until a function removes it. remove_expired removes such rows in
-- batches. remove_expired_for removes the rows that must not wait for a batch, for example the row of an expired memory
-- whose content is sent again.

-- Whether a memory with the expiry p_expires_at is visible. A memory is visible if its expiry is in the future, or if
-- it never expires (p_expires_at is null). The planner inlines this function.
CREATE OR REPLACE FUNCTION is_unexpired(p_expires_at timestamptz) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN p_expires_at IS NULL OR p_expires_at > now();

-- Return the time at which a memory of the namespace expires, or null if the memory does not expire.
--
-- If the publisher gave an expiry (p_given), the memory expires at this time. If the publisher gave none, a pinned
-- memory does not expire, and any other memory expires at the end of the namespace's default lifetime, if there is one.
-- If the namespace has a maximum lifetime, every memory, even a pinned one, expires at the latest at the end of the
-- maximum lifetime. Both lifetimes begin at p_sent, the time when the content was last sent.
CREATE OR REPLACE FUNCTION memory_expiry(p_namespace text, p_given timestamptz, p_pinned boolean, p_sent timestamptz)
RETURNS timestamptz
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    lifetimes retention;
BEGIN
    PERFORM require_session_namespace(p_namespace);
    SELECT * INTO lifetimes FROM retention r WHERE r.namespace IN (p_namespace, '') ORDER BY r.namespace DESC LIMIT 1;
    RETURN least(
        coalesce(p_given, CASE WHEN NOT p_pinned THEN p_sent + make_interval(secs => lifetimes.default_lifetime) END),
        p_sent + make_interval(secs => lifetimes.maximum_lifetime)
    );
END
$$;

-- Return the expiry p_expires_at unchanged, or raise an error if it is in the past. The tool update_memory passes the
-- new expiry of a memory to this function. Without the error, a memory with an expiry in the past would be invisible
-- directly after the update.
CREATE OR REPLACE FUNCTION require_future(p_expires_at timestamptz) RETURNS timestamptz
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF p_expires_at <= now() THEN
        RAISE EXCEPTION USING ERRCODE = 'MT001', MESSAGE = 'the memory would expire at once, because the lifetime of the '
            'namespace has passed since it was sent: keep it pinned, give expires_at, or delete it; nothing was changed';
    END IF;
    RETURN p_expires_at;
END
$$;

-- Extend the expiry of stored memories whose content was sent again, if the new expiry is later than the present one.
-- p_sent has one object for each ingest request that sent a content again. The field `expires_at` is the expiry that
-- the publisher gave, or null: [{"content_hash": …, "expires_at": …, "pinned": …}, …].
--
-- `pinned` is true if the default lifetime of the namespace must not apply to the memory. If a request is pinned and
-- gives no expiry, the function also makes the stored memory pinned, and removes the expiry that a publisher gave for
-- this memory earlier. The function does this even if the namespace has no default lifetime now, because the namespace
-- can get one later.
--
-- If the stored memory is already pinned and has no expiry from a publisher, the function ignores the expiry that a
-- request gives.
CREATE OR REPLACE FUNCTION extend_expiry(p_namespace text, p_sent jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    WITH sent AS (
        SELECT s.content_hash, s.expires_at AS given, coalesce(s.pinned, false) AS pinned
        FROM jsonb_to_recordset(p_sent) AS s (content_hash text, expires_at timestamptz, pinned boolean)
    ), longest AS (
        SELECT DISTINCT ON (m.id) m.id, united.given, united.pinned, united.pinned AND united.given IS NULL AS outlasts,
            memory_expiry(p_namespace, united.given, united.pinned, now()) AS expires_at
        FROM sent
        JOIN memories m ON m.namespace = p_namespace AND m.content_hash = sent.content_hash
        CROSS JOIN LATERAL (SELECT m.pinned AND m.given_expiry IS NULL AS is_pinned) AS stored
        CROSS JOIN LATERAL (
            SELECT CASE WHEN NOT stored.is_pinned THEN sent.given END AS given, stored.is_pinned OR sent.pinned AS pinned
        ) AS united
        WHERE is_unexpired(m.expires_at)
        ORDER BY m.id, outlasts DESC, expires_at DESC NULLS FIRST
    ), chosen AS MATERIALIZED (
        -- Choose the memories that get a later expiry, and the memories that become pinned. The new expiry is compared
        -- with the memory's present expiry, `expires_at`. A memory under a legal hold has no `expires_at`. For such a
        -- memory, the new expiry is compared with the expiry that the publisher gave earlier, `given_expiry`.
        SELECT longest.*, coalesce(m.expires_at, m.given_expiry) < coalesce(longest.expires_at, 'infinity') AS is_later
        FROM longest JOIN memories m ON m.id = longest.id
        WHERE coalesce(m.expires_at, m.given_expiry) < coalesce(longest.expires_at, 'infinity')
            OR (longest.outlasts AND NOT (m.pinned AND m.given_expiry IS NULL))
        ORDER BY m.id FOR UPDATE OF m
    )
    UPDATE memories m
    SET given_expiry = chosen.given, pinned = chosen.pinned,
        expires_at = CASE WHEN chosen.is_later THEN chosen.expires_at ELSE m.expires_at END
    FROM chosen WHERE m.id = chosen.id;
END
$$;

-- Remove the rows of expired memories that would prevent the ingest requests in p_requests from being stored as new
-- memories. Such a memory has the same content as a request, or is the current version of a record that a request
-- names. A record is a text that a publisher has named by source and key. If a legal hold is on the expired memory, its
-- row is not removed. Instead, the expiry of this memory is cleared, because a memory under a hold does not expire.
CREATE OR REPLACE FUNCTION remove_expired_for(p_namespace text, p_requests jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    concerned uuid[];
BEGIN
    PERFORM require_session_namespace(p_namespace);
    IF NOT EXISTS (SELECT FROM memories m WHERE m.namespace = p_namespace AND m.expires_at <= now()) THEN
        RETURN;
    END IF;
    WITH request AS (
        SELECT r.content_hash, r.key_id FROM jsonb_to_recordset(p_requests) AS r (content_hash text, key_id uuid)
    )
    SELECT array_agg(m.id) INTO concerned FROM memories m
    WHERE m.expires_at <= now() AND m.id = ANY (ARRAY(
        SELECT same.id FROM memories same
        WHERE same.namespace = p_namespace AND same.content_hash = ANY (ARRAY(SELECT content_hash FROM request))
        UNION
        SELECT k.memory_id FROM source_keys k
        WHERE k.namespace = p_namespace AND k.key_id = ANY (ARRAY(SELECT key_id FROM request))
    ));
    IF concerned IS NULL THEN
        RETURN;
    END IF;
    -- Take the advisory lock of lock_supersession before the row locks below. The caller also takes this advisory lock,
    -- later in the same transaction. If the transaction waited for the advisory lock while it already has the row
    -- locks, it could deadlock with a transaction that has the advisory lock and waits for one of these rows.
    PERFORM lock_supersession(p_namespace);
    WITH chosen AS MATERIALIZED (
        SELECT m.id, is_held(m) AS held FROM memories m
        WHERE m.id = ANY (concerned) AND m.expires_at <= now()
        ORDER BY m.id FOR UPDATE
    ), kept AS (
        UPDATE memories m SET expires_at = NULL FROM chosen WHERE m.id = chosen.id AND chosen.held
    )
    DELETE FROM memories m USING chosen WHERE m.id = chosen.id AND NOT chosen.held;
END
$$;

-- Remove the rows of at most p_limit expired memories of all namespaces, the earliest expiry first. Return the number
-- of removed rows. Memories under a legal hold are kept.
CREATE OR REPLACE FUNCTION remove_expired(p_limit integer) RETURNS bigint
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    removed bigint;
BEGIN
    WITH chosen AS MATERIALIZED (
        SELECT m.id FROM memories m WHERE m.expires_at <= now() AND NOT is_held(m)
        ORDER BY m.expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    )
    DELETE FROM memories m USING chosen WHERE m.id = chosen.id;
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;

-- Compute the expiry of a namespace's memories again, after the lifetimes of the namespace have changed. A memory under
-- a legal hold gets no expiry. One call handles at most p_limit memories, in the order of their ids, beginning after
-- the id p_after.
--
-- The result has two columns. `changed` is the number of memories whose expiry changed. `last_id` is the last id that
-- this call has handled. The caller passes it to the next call as p_after. If `last_id` is null, all memories of the
-- namespace have been handled.
CREATE OR REPLACE FUNCTION apply_retention(
    p_namespace text, p_after uuid, p_limit integer, OUT last_id uuid, OUT changed bigint
)
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    ids uuid[];
BEGIN
    PERFORM set_config('mnemosyne.namespace', p_namespace, true);
    ids := ARRAY(
        SELECT m.id FROM memories m WHERE m.namespace = p_namespace AND (p_after IS NULL OR m.id > p_after)
        ORDER BY m.id LIMIT p_limit
    );
    last_id := ids[p_limit];
    WITH chosen AS MATERIALIZED (
        SELECT m.id, CASE WHEN NOT is_held(m)
            THEN memory_expiry(p_namespace, m.given_expiry, m.pinned, m.last_seen_at) END AS expires_at
        FROM memories m WHERE m.id = ANY (ids) AND is_unexpired(m.expires_at) ORDER BY m.id FOR UPDATE
    )
    UPDATE memories m SET expires_at = chosen.expires_at
    FROM chosen WHERE m.id = chosen.id AND m.expires_at IS DISTINCT FROM chosen.expires_at;
    GET DIAGNOSTICS changed = ROW_COUNT;
END
$$;

GRANT EXECUTE ON FUNCTION require_future(timestamptz) TO mnemosyne_runtime, mnemosyne_mcp;
GRANT EXECUTE ON FUNCTION is_unexpired(timestamptz), memory_expiry(text, timestamptz, boolean, timestamptz)
    TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter;
GRANT EXECUTE ON FUNCTION extend_expiry(text, jsonb), remove_expired_for(text, jsonb)
    TO mnemosyne_runtime, mnemosyne_ingest, mnemosyne_dead_letter;
