-- The expiry of memories. An expired memory is invisible from the moment of its expiry: the policy of row-level security
-- on `memories` hides it, and functions with SECURITY DEFINER compare `expires_at` themselves. Its row is removed later,
-- by remove_expired or when the same content is sent again.

-- Whether a memory with this expiry has not expired. The planner inlines this function.
CREATE OR REPLACE FUNCTION is_unexpired(p_expires_at timestamptz) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN p_expires_at IS NULL OR p_expires_at > now();

-- When a memory of the namespace expires: at the expiry that its publisher gave, or after the default lifetime, and
-- never later than the maximum lifetime. The default lifetime does not apply to a pinned memory. Lifetimes begin at
-- p_sent. The result is null if the memory does not expire.
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

-- The expiry that a change gives to a memory. An expiry that has passed is refused, because the caller could not see the
-- changed memory.
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

-- Extend the expiry of memories whose content was sent again with a later expiry. p_sent is [{"content_hash": …,
-- "expires_at": …, "pinned": …}, …]. A request never moves an expiry to an earlier time.
CREATE OR REPLACE FUNCTION extend_expiry(p_namespace text, p_sent jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    WITH sent AS (
        SELECT DISTINCT ON (s.content_hash) s.content_hash, s.expires_at AS given, coalesce(s.pinned, false) AS pinned,
            memory_expiry(p_namespace, s.expires_at, coalesce(s.pinned, false), now()) AS expires_at
        FROM jsonb_to_recordset(p_sent) AS s (content_hash text, expires_at timestamptz, pinned boolean)
        ORDER BY s.content_hash, 4 DESC NULLS FIRST
    ), chosen AS MATERIALIZED (
        SELECT m.id, sent.* FROM sent JOIN memories m ON m.namespace = p_namespace AND m.content_hash = sent.content_hash
        -- The expiry of a held memory is suspended.
        WHERE is_unexpired(m.expires_at) AND coalesce(m.expires_at, m.given_expiry) < coalesce(sent.expires_at, 'infinity')
        ORDER BY m.id FOR UPDATE OF m
    )
    UPDATE memories m
    SET given_expiry = chosen.given, pinned = m.pinned OR chosen.pinned, expires_at = chosen.expires_at
    FROM chosen WHERE m.id = chosen.id;
END
$$;

-- Remove the rows of expired memories that have the content of one of the requests, so that the content can be stored
-- as a new memory, and of expired memories that are the current version of a record in the requests.
CREATE OR REPLACE FUNCTION remove_expired_for(p_namespace text, p_requests jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    IF NOT EXISTS (SELECT FROM memories m WHERE m.namespace = p_namespace AND m.expires_at <= now()) THEN
        RETURN;
    END IF;
    WITH request AS (
        SELECT r.content_hash, r.key_id FROM jsonb_to_recordset(p_requests) AS r (content_hash text, key_id uuid)
    ), concerned AS (
        SELECT m.id FROM memories m
        WHERE m.namespace = p_namespace AND m.content_hash = ANY (ARRAY(SELECT content_hash FROM request))
        UNION
        SELECT k.memory_id FROM source_keys k
        WHERE k.namespace = p_namespace AND k.key_id = ANY (ARRAY(SELECT key_id FROM request))
    ), chosen AS MATERIALIZED (
        SELECT m.id, is_held(m) AS held FROM memories m
        WHERE m.id = ANY (ARRAY(SELECT id FROM concerned)) AND m.expires_at <= now()
        ORDER BY m.id FOR UPDATE
    ), kept AS (
        UPDATE memories m SET expires_at = NULL FROM chosen WHERE m.id = chosen.id AND chosen.held
    )
    DELETE FROM memories m USING chosen WHERE m.id = chosen.id AND NOT chosen.held;
END
$$;

-- Remove the rows of at most p_limit expired memories of all namespaces, the earliest expiry first. Return their number.
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

-- Compute the expiry of at most p_limit memories of the namespace again, after a change of its lifetimes. The memories
-- are read in the order of their ids, after the id p_after. Return the last id, or null at the end, and the number of
-- changed memories.
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
        SELECT m.id, memory_expiry(p_namespace, m.given_expiry, m.pinned, m.last_seen_at) AS expires_at
        FROM memories m WHERE m.id = ANY (ids) AND is_unexpired(m.expires_at) ORDER BY m.id FOR UPDATE
    )
    UPDATE memories m SET expires_at = chosen.expires_at
    FROM chosen WHERE m.id = chosen.id AND m.expires_at IS DISTINCT FROM chosen.expires_at;
    GET DIAGNOSTICS changed = ROW_COUNT;
END
$$;

REVOKE ALL ON FUNCTION is_unexpired, memory_expiry, require_future, extend_expiry, remove_expired_for, remove_expired, apply_retention
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION require_future TO mnemosyne_runtime, mnemosyne_mcp;
GRANT EXECUTE ON FUNCTION is_unexpired, memory_expiry TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest,
    mnemosyne_dead_letter;
GRANT EXECUTE ON FUNCTION extend_expiry, remove_expired_for TO mnemosyne_runtime, mnemosyne_ingest,
    mnemosyne_dead_letter;
