-- The memories as they were at a time (`as_of`). A trigger keeps the title, tags, metadata, timestamp and successor that
-- a memory had before each change. A change counts from the start of its transaction. Contents never change.
--
-- Earlier memories that were deleted or have expired are not kept, so some times cannot be answered. For each namespace
-- the table incomplete_periods has these times.

-- Raise the error for a time at which not all memories are known. p_known_from is the end of the incomplete period.
CREATE OR REPLACE FUNCTION raise_incomplete(p_at timestamptz, p_known_from timestamptz) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'MT001', MESSAGE = format('as_of %s cannot be answered: what was deleted, expired, '
        'restored or changed too often since is not known; give as_of %s or later, or omit it', utc_text(p_at), utc_text(p_known_from));
END
$$;

-- The time in RFC 3339, in UTC and with microseconds.
CREATE OR REPLACE FUNCTION utc_text(p_at timestamptz) RETURNS text
LANGUAGE sql STABLE
RETURN to_char(p_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');

-- Record a period in which not all memories of the namespace are known. Overlapping periods are merged, except a period
-- that another transaction is changing.
CREATE OR REPLACE FUNCTION note_incomplete_period(p_namespace text, p_since timestamptz, p_until timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    IF p_since >= p_until THEN
        RETURN;
    END IF;
    WITH overlapping AS MATERIALIZED (
        SELECT p.since, p.until FROM incomplete_periods p
        WHERE p.namespace = p_namespace AND p.until >= p_since AND p.since <= p_until FOR UPDATE SKIP LOCKED
    ), merged AS (
        DELETE FROM incomplete_periods p USING overlapping o
        WHERE p.namespace = p_namespace AND p.since = o.since AND p.until = o.until
    )
    INSERT INTO incomplete_periods (namespace, since, until)
    SELECT p_namespace, least(p_since, min(o.since)), greatest(p_until, max(o.until)) FROM overlapping o;
END
$$;

-- Refuse a time at which not all memories of the namespace are known. These are the times in the recorded periods, and
-- the times at which a memory was visible that has expired since then and whose row is not removed yet.
CREATE OR REPLACE FUNCTION require_complete(p_namespace text, p_at timestamptz) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp
AS $$
DECLARE
    known_from timestamptz := p_at;
    next_end timestamptz;
BEGIN
    LOOP
        next_end := greatest(
            (SELECT max(p.until) FROM incomplete_periods p
            WHERE p.namespace = p_namespace AND p.since <= known_from AND p.until > known_from),
            (SELECT max(m.expires_at) FROM memories m
            WHERE m.namespace = p_namespace AND m.expires_at <= now() AND m.expires_at > known_from
                AND m.created_at <= known_from));
        EXIT WHEN next_end IS NULL;
        known_from := next_end;
    END LOOP;
    IF known_from > p_at THEN
        PERFORM raise_incomplete(p_at, known_from);
    END IF;
END
$$;

-- The memory as it was at a time; null if it was not visible then.
CREATE OR REPLACE FUNCTION memory_then(m memories, p_at timestamptz) RETURNS memories
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp
AS $$
DECLARE
    earlier earlier_states;
BEGIN
    IF m.created_at > p_at THEN
        RETURN NULL;
    END IF;
    IF m.changed_at > p_at THEN
        SELECT * INTO earlier FROM earlier_states e WHERE e.memory_id = m.id AND e.since <= p_at AND e.until > p_at;
        IF NOT FOUND THEN
            PERFORM raise_incomplete(p_at, coalesce(
                (SELECT min(e.since) FROM earlier_states e WHERE e.memory_id = m.id AND e.since > p_at), m.changed_at));
        ELSIF earlier.expired_at <= p_at THEN
            RETURN NULL;
        END IF;
        m.title := earlier.title;
        m.tags := earlier.tags;
        m.tag_keys := earlier.tag_keys;
        m.metadata := earlier.metadata;
        m."timestamp" := earlier."timestamp";
        m.superseded_by := earlier.superseded_by;
    END IF;
    RETURN m;
END
$$;

-- Whether a memory that has changed since p_at was visible then and matched the filters.
CREATE OR REPLACE FUNCTION matched_then(m memories, f memory_filters) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp
AS $$
DECLARE
    earlier memories := memory_then(m, f.as_of);
BEGIN
    RETURN earlier.id IS NOT NULL AND matches_conditions(earlier, f);
END
$$;

-- The timestamp that the memory had at a time. Null means now.
CREATE OR REPLACE FUNCTION timestamp_then(m memories, p_at timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE
RETURN CASE WHEN (m).changed_at > p_at THEN (memory_then(m, p_at))."timestamp" ELSE (m)."timestamp" END;

-- The key of near-duplicates that the memory had at a time. Null means now.
CREATE OR REPLACE FUNCTION statement_then(m memories, p_at timestamptz) RETURNS uuid
LANGUAGE sql STABLE
RETURN CASE WHEN (m).changed_at > p_at THEN statement_key(memory_then(m, p_at)) ELSE statement_key(m) END;

-- The ids of the memories that a memory had superseded at a time, directly or through other memories. The result has at
-- most five ids, the directly superseded ones first.
CREATE OR REPLACE FUNCTION superseded_then(p_namespace text, p_id uuid, p_at timestamptz) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp
AS $$
BEGIN
    RETURN (
        WITH RECURSIVE older (id, step) AS (
            SELECT p_id, 0
            UNION
            SELECT p.id, older.step + 1 FROM older CROSS JOIN LATERAL (
                SELECT m.id FROM memories m
                WHERE m.id IN (
                        SELECT now_.id FROM memories now_ WHERE now_.superseded_by = older.id
                        UNION SELECT e.memory_id FROM earlier_states e WHERE e.superseded_by = older.id)
                    AND m.namespace = p_namespace AND is_unexpired(m.expires_at)
                    AND (memory_then(m, p_at)).superseded_by = older.id
                LIMIT 5
            ) AS p
            WHERE older.step < 5
        )
        SELECT coalesce(jsonb_agg(o.id ORDER BY o.step, o.id), '[]') FROM (
            SELECT older.id, min(older.step) AS step FROM older WHERE older.step > 0 GROUP BY older.id
            ORDER BY 2, 1 LIMIT 5
        ) AS o
    );
END
$$;

-- The record of a memory as it was at a time. Null if the memory does not exist, or was not visible then.
CREATE OR REPLACE FUNCTION read_memory_then(p_namespace text, p_id uuid, p_at timestamptz) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    earlier memories;
BEGIN
    PERFORM require_session_namespace(p_namespace);
    SELECT (t.memory).* INTO earlier FROM (
        SELECT memory_then(m, p_at) AS memory FROM memories m
        WHERE m.namespace = p_namespace AND m.id = p_id AND is_unexpired(m.expires_at) OFFSET 0
    ) AS t;
    RETURN CASE WHEN earlier.id IS NOT NULL THEN memory_record(earlier)
        || jsonb_build_object('supersedes', superseded_then(p_namespace, p_id, p_at)) END;
END
$$;

-- Keep the state of a memory before it changes. At most the latest 200 states of a memory are kept. The time
-- before the oldest kept state is recorded as an incomplete period of the namespace.
CREATE OR REPLACE FUNCTION keep_earlier_state() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    most CONSTANT integer := 200;
    -- A transaction may begin before the memory's last change and commit after it. The time of its change must still be
    -- later than the time of the last change.
    at timestamptz := greatest(now(), OLD.changed_at + interval '1 microsecond');
    oldest earlier_states;
BEGIN
    -- A restored export sets an earlier time of creation. The states of the memory since that time are not known, and
    -- neither are the memories that were deleted before the export.
    IF NEW.created_at < OLD.created_at THEN
        PERFORM note_incomplete_period(OLD.namespace, '-infinity', at);
        NEW.changed_at := at;
        RETURN NEW;
    END IF;
    -- A visible memory may get an expiry in the past, for example when a hold is released. It was visible until now.
    IF is_unexpired(OLD.expires_at) AND NEW.expires_at < now() THEN
        NEW.expires_at := now();
    END IF;
    -- Keep no state in three cases: this transaction stored the memory, this transaction has changed the memory before,
    -- or only the expiry changes and the memory has not expired.
    IF OLD.created_at >= now()
        OR EXISTS (SELECT FROM earlier_states e
            WHERE e.memory_id = OLD.id AND e.until >= now() AND e.changed_in = pg_current_xact_id())
        OR (is_unexpired(OLD.expires_at) AND ROW (OLD.title, OLD.tags, OLD.metadata, OLD."timestamp", OLD.superseded_by)
            IS NOT DISTINCT FROM ROW (NEW.title, NEW.tags, NEW.metadata, NEW."timestamp", NEW.superseded_by))
    THEN
        RETURN NEW;
    END IF;
    INSERT INTO earlier_states (
        namespace, memory_id, since, until, title, tags, tag_keys, metadata, "timestamp", superseded_by, expired_at)
    VALUES (OLD.namespace, OLD.id, coalesce(OLD.changed_at, OLD.created_at), at, OLD.title, OLD.tags, OLD.tag_keys,
        OLD.metadata, OLD."timestamp", OLD.superseded_by, CASE WHEN OLD.expires_at <= now() THEN OLD.expires_at END);
    IF (SELECT count(*) FROM earlier_states e WHERE e.memory_id = OLD.id) > most THEN
        DELETE FROM earlier_states e WHERE e.memory_id = OLD.id
            AND e.since = (SELECT min(first.since) FROM earlier_states first WHERE first.memory_id = OLD.id)
        RETURNING * INTO oldest;
        PERFORM note_incomplete_period(OLD.namespace, oldest.since, oldest.until);
    END IF;
    NEW.changed_at := at;
    RETURN NEW;
END
$$;

-- The size of earlier states counts towards the quota: their labels, and 200 bytes for the row and its index entries.
CREATE OR REPLACE FUNCTION count_earlier_states() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM count_usage(summed.namespace, 0, CASE WHEN TG_OP = 'INSERT' THEN summed.bytes ELSE - summed.bytes END, 0)
    FROM (
        SELECT c.namespace, CAST(sum(200 + memory_bytes('', c.title, c.tags, c.metadata)) AS bigint) AS bytes
        FROM changed c GROUP BY c.namespace
    ) AS summed;
    RETURN NULL;
END
$$;

-- Record the lifetimes of removed memories as periods in which not all memories are known.
CREATE OR REPLACE FUNCTION note_missing_memories() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM note_incomplete_period(removed.namespace, removed.since, removed.until) FROM (
        SELECT d.namespace, min(d.created_at) AS since, max(least(now(), d.expires_at)) AS until
        FROM deleted d GROUP BY d.namespace
    ) AS removed;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER keep_earlier_state
    BEFORE UPDATE OF title, tags, metadata, "timestamp", superseded_by, expires_at, created_at ON memories
    FOR EACH ROW WHEN (OLD.title IS DISTINCT FROM NEW.title OR OLD.tags IS DISTINCT FROM NEW.tags
        OR OLD.metadata IS DISTINCT FROM NEW.metadata OR OLD."timestamp" IS DISTINCT FROM NEW."timestamp"
        OR OLD.superseded_by IS DISTINCT FROM NEW.superseded_by OR OLD.expires_at IS DISTINCT FROM NEW.expires_at
        OR OLD.created_at > NEW.created_at)
    EXECUTE FUNCTION keep_earlier_state();
-- One change of namespace_usage for each statement: changing its row again for each state takes quadratic time.
CREATE OR REPLACE TRIGGER count_earlier_states AFTER INSERT ON earlier_states REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_earlier_states();
CREATE OR REPLACE TRIGGER count_removed_states AFTER DELETE ON earlier_states REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_earlier_states();
CREATE OR REPLACE TRIGGER note_missing_memories AFTER DELETE ON memories REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION note_missing_memories();

REVOKE ALL ON FUNCTION raise_incomplete, utc_text, note_incomplete_period, require_complete, memory_then, matched_then,
    timestamp_then, statement_then, superseded_then, read_memory_then, keep_earlier_state, count_earlier_states, note_missing_memories
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION read_memory_then TO mnemosyne_runtime, mnemosyne_mcp;
