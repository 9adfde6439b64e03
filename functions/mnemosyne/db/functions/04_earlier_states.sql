-- Read memories as they were at an earlier time. The filter `as_of` of a search and the argument `as_of` of a tool name
-- this earlier time. Searches and tools with `as_of` call these SQL functions.
--
-- Before each change of a memory, the trigger keep_earlier_state writes the memory's title, tags, metadata, timestamp
-- and successor (the memory that supersedes it) to the table earlier_states. These values are an earlier state of the
-- memory. The time of a change is the start of its transaction. The content of a memory never changes.
--
-- When a memory is deleted or its expired row is removed, its earlier states are removed, too. Therefore searches with
-- `as_of` are refused for the period in which the removed memory was visible. The table incomplete_periods has these
-- periods for each namespace.

-- Raise the error that refuses a search with `as_of`. p_at is the time in `as_of`. p_known_from is the earliest time
-- after p_at for which a search is possible; the message recommends this time.
CREATE OR REPLACE FUNCTION raise_incomplete(p_at timestamptz, p_known_from timestamptz) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'MT001', MESSAGE = format('as_of %s cannot be answered, because memories '
        'have been deleted or restored, have expired or have been changed too often since then: give as_of %s or later, '
        'or omit as_of', utc_text(p_at), utc_text(p_known_from));
END
$$;

-- Return a time as RFC 3339 text, in UTC and with microseconds.
CREATE OR REPLACE FUNCTION utc_text(p_at timestamptz) RETURNS text
LANGUAGE sql STABLE
RETURN to_char(p_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');

-- Record a period of a namespace for which searches with `as_of` are refused. Overlapping periods are merged into one
-- row. But a row that another transaction is changing at the moment is not merged, because the function would have to
-- wait for that transaction. So two rows can have overlapping periods, which does no harm.
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

-- Raise an error if a search of the namespace as of the time p_at must be refused. There are two cases: p_at is in a
-- period of incomplete_periods, or a memory was visible at p_at and has expired since, but its row has not been removed
-- yet.
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

-- Return the memory m as it was at the time p_at, or null if the memory was not visible at that time. The function
-- raises an error if the table earlier_states does not have the state at p_at, for example because the state has been
-- removed (see keep_earlier_state).
--
-- A search calls this function for each memory that has changed since p_at. The function forces a generic plan. Without
-- this setting, PostgreSQL would plan the SELECT below again at each call, because the connections of the services
-- force custom plans. The planning would take four times as long as the rest of the call.
CREATE OR REPLACE FUNCTION memory_as_of(m memories, p_at timestamptz) RETURNS memories
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan
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

-- Whether a memory was visible at the time of the filter `as_of`, and matched the other filters at that time.
-- matches_filters calls this function only for a memory that has changed since that time.
CREATE OR REPLACE FUNCTION matched_as_of(m memories, f memory_filters) RETURNS boolean
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    earlier memories := memory_as_of(m, f.as_of);
BEGIN
    RETURN earlier.id IS NOT NULL AND matches_conditions(earlier, f);
END
$$;

-- Return the timestamp that the memory m had at the time p_at. If p_at is null, return the present timestamp.
CREATE OR REPLACE FUNCTION timestamp_as_of(m memories, p_at timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE
RETURN CASE WHEN (m).changed_at > p_at THEN (memory_as_of(m, p_at))."timestamp" ELSE (m)."timestamp" END;

-- Return the metadata that the memory had at p_at. If p_at is null, return the present metadata.
CREATE OR REPLACE FUNCTION metadata_as_of(m memories, p_at timestamptz) RETURNS jsonb
LANGUAGE sql STABLE
RETURN CASE WHEN (m).changed_at > p_at THEN (memory_as_of(m, p_at)).metadata ELSE (m).metadata END;

-- Return a hash that is equal for near-duplicate memories (see statement_key), computed for the memory m as it was at
-- the time p_at. If p_at is null, compute the hash for the present memory.
CREATE OR REPLACE FUNCTION statement_key_as_of(m memories, p_at timestamptz) RETURNS uuid
LANGUAGE sql STABLE
RETURN CASE WHEN (m).changed_at > p_at THEN statement_key(memory_as_of(m, p_at)) ELSE statement_key(m) END;

-- Return the ids of the memories that the memory p_id had superseded at the time p_at, directly or through other
-- memories, as a JSON array. The array has at most five ids, directly superseded memories first. A memory whose state
-- at p_at was not kept is left out.
CREATE OR REPLACE FUNCTION superseded_as_of(p_namespace text, p_id uuid, p_at timestamptz) RETURNS jsonb
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
                    AND m.created_at <= p_at AND CASE WHEN m.changed_at > p_at THEN EXISTS (
                        SELECT FROM earlier_states e
                        WHERE e.memory_id = m.id AND e.since <= p_at AND e.until > p_at
                            AND e.superseded_by = older.id AND (e.expired_at > p_at OR e.expired_at IS NULL))
                        ELSE m.superseded_by = older.id END
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

-- Return a memory as JSON, as it was at the time p_at. The result is null if the memory does not exist or was not
-- visible at p_at.
CREATE OR REPLACE FUNCTION read_memory_as_of(p_namespace text, p_id uuid, p_at timestamptz) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    earlier memories;
BEGIN
    PERFORM require_session_namespace(p_namespace);
    SELECT (t.memory).* INTO earlier FROM (
        SELECT memory_as_of(m, p_at) AS memory FROM memories m
        WHERE m.namespace = p_namespace AND m.id = p_id AND is_unexpired(m.expires_at) OFFSET 0
    ) AS t;
    RETURN CASE WHEN earlier.id IS NOT NULL THEN memory_record(earlier)
        || jsonb_build_object('supersedes', superseded_as_of(p_namespace, p_id, p_at)) END;
END
$$;

-- Trigger function: before a memory is changed, write its state to the table earlier_states.
--
-- A memory has at most 200 earlier states. If there are more, the trigger removes the oldest state. From then on,
-- searches with `as_of` are refused for the period in which the memory had this state.
CREATE OR REPLACE FUNCTION keep_earlier_state() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    most CONSTANT integer := 200;
    -- The time of this change. It must be later than the time of the memory's last change. now() alone may be earlier,
    -- because now() is the start of this transaction, and another transaction may have changed the memory since that
    -- start.
    at timestamptz := greatest(now(), OLD.changed_at + interval '1 microsecond');
    oldest earlier_states;
BEGIN
    -- Only the restore of an export makes created_at earlier. An export has no earlier states of memories and no
    -- deleted memories. Therefore refuse searches with `as_of` for all times up to now.
    IF NEW.created_at < OLD.created_at THEN
        PERFORM note_incomplete_period(OLD.namespace, '-infinity', at);
        NEW.changed_at := at;
        RETURN NEW;
    END IF;
    -- A change may give a visible memory an expiry in the past, for example when a legal hold on the memory is
    -- released. Replace this expiry by now(), because the memory was visible until now.
    IF is_unexpired(OLD.expires_at) AND NEW.expires_at < now() THEN
        NEW.expires_at := now();
    END IF;
    -- Keep no state in three cases:
    --   * This transaction stored the memory, so the memory had no state before this transaction.
    --   * This transaction has changed the memory already. The first change kept the state before this transaction.
    --   * Only the expiry of an unexpired memory changes. The expiry is not part of a state.
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

-- Trigger function: add the size of new earlier states to the usage of the namespace, or subtract the size of removed
-- states. The size of a state is the size of its title, tags and metadata, and 200 bytes for the row and its index
-- entries.
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

-- Trigger function: when memories are removed, write the period in which they were visible to incomplete_periods.
-- Searches as of a time in this period can no longer find these memories.
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
-- The following triggers run once for each statement, not once for each row. If they ran for each row, they would
-- update the same row of namespace_usage many times in a transaction, and the total time would grow with the square of
-- the number of states.
CREATE OR REPLACE TRIGGER count_earlier_states AFTER INSERT ON earlier_states REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_earlier_states();
CREATE OR REPLACE TRIGGER count_removed_states AFTER DELETE ON earlier_states REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_earlier_states();
CREATE OR REPLACE TRIGGER note_missing_memories AFTER DELETE ON memories REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION note_missing_memories();

GRANT EXECUTE ON FUNCTION read_memory_as_of(text, uuid, timestamptz) TO mnemosyne_runtime, mnemosyne_mcp;
