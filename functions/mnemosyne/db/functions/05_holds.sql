-- Legal holds. A hold has a selection of memories (see 04_selections.sql). A memory that a hold selects cannot be
-- deleted and does not expire. A change of its labels (tags, metadata, session or timestamp) is refused if no hold
-- would select the memory after the change. The triggers keep_held_rows, suspend_expiry and keep_held_labels on
-- `memories` enforce these rules for every statement. A refused statement raises an error with the SQLSTATE MH001.

-- Return the hold that selects a memory, or null if there is none. If several holds select the memory, return the hold
-- that was placed first. In a namespace without holds, a call costs one lookup in an index.
CREATE OR REPLACE FUNCTION hold_on(m memories) RETURNS holds
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    found holds;
BEGIN
    SELECT h.* INTO found FROM holds h WHERE h.namespace = m.namespace AND selects(h.selection, m)
    ORDER BY h.placed_at, h.id LIMIT 1;
    RETURN found;
END
$$;

-- Whether a legal hold selects the memory.
CREATE OR REPLACE FUNCTION is_held(m memories) RETURNS boolean
LANGUAGE sql STABLE
RETURN (hold_on(m)).id IS NOT NULL;

-- Return the reason why a memory under a hold cannot be deleted.
CREATE OR REPLACE FUNCTION held_reason(p_memory_id uuid, p_hold holds) RETURNS text
LANGUAGE sql STABLE
RETURN format('memory %s is under the legal hold %s (%s) and must be kept', p_memory_id, (p_hold).id, (p_hold).reason);

-- Return the message of the error about a memory under a hold. The message ends with "nothing was changed", except
-- during a forgetting. A forgetting (a deletion of selected memories) may have deleted other memories in earlier
-- transactions.
CREATE OR REPLACE FUNCTION held_error(p_memory_id uuid, p_hold holds) RETURNS text
LANGUAGE sql STABLE
RETURN held_reason(p_memory_id, p_hold)
    || CASE WHEN current_setting('mnemosyne.removal', true) = 'forgotten' THEN '' ELSE '; nothing was changed' END;

-- Raise the error MH001 about a memory under a hold.
CREATE OR REPLACE FUNCTION raise_held(p_memory_id uuid, p_hold holds) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'MH001', MESSAGE = held_error(p_memory_id, p_hold);
END
$$;

-- Trigger function: raise the error MH001 if a statement deletes a memory under a hold.
CREATE OR REPLACE FUNCTION keep_held_rows() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    held record;
BEGIN
    IF NOT EXISTS (SELECT FROM holds) THEN
        RETURN NULL;
    END IF;
    FOR held IN
        SELECT d.id, h AS hold FROM holds h JOIN deleted d ON d.namespace = h.namespace
        WHERE selects(h.selection, CAST(d AS memories)) LIMIT 1
    LOOP
        PERFORM raise_held(held.id, held.hold);
    END LOOP;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER keep_held_rows AFTER DELETE ON memories REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION keep_held_rows();

-- Trigger function: clear the expiry of a memory under a hold, because such a memory does not expire. The trigger also
-- runs when the tags, metadata, session or timestamp of a memory change, because such a change can bring the memory
-- under a hold.
CREATE OR REPLACE FUNCTION suspend_expiry() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF is_held(NEW) THEN
        NEW.expires_at := NULL;
    END IF;
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER suspend_expiry
    BEFORE INSERT OR UPDATE OF expires_at, tags, metadata, session, "timestamp" ON memories
    FOR EACH ROW WHEN (NEW.expires_at IS NOT NULL) EXECUTE FUNCTION suspend_expiry();

-- Trigger function: raise the error MH001 if a hold selects the memory before the change, but no hold selects it after
-- the change.
CREATE OR REPLACE FUNCTION keep_held_labels() RETURNS trigger
LANGUAGE plpgsql
AS $$
DECLARE
    hold holds := hold_on(OLD);
BEGIN
    IF hold.id IS NOT NULL AND NOT is_held(NEW) THEN
        PERFORM raise_held(OLD.id, hold);
    END IF;
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER keep_held_labels BEFORE UPDATE OF tags, metadata, session, "timestamp" ON memories
    FOR EACH ROW EXECUTE FUNCTION keep_held_labels();

-- Clear the expiry of memories that the hold p_hold selects, after the hold was placed. One call clears the expiry of
-- at most p_limit memories and returns their number, which is 0 if no memory is left.
CREATE OR REPLACE FUNCTION suspend_expiries(p_namespace text, p_hold uuid, p_limit integer) RETURNS bigint
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    changed bigint;
BEGIN
    PERFORM set_config('mnemosyne.namespace', p_namespace, true);
    WITH chosen AS MATERIALIZED (
        SELECT m.id FROM holds h, memories m
        WHERE h.namespace = p_namespace AND h.id = p_hold AND m.namespace = p_namespace AND m.expires_at IS NOT NULL
            AND selects(h.selection, m)
        ORDER BY m.id LIMIT p_limit FOR UPDATE OF m
    )
    UPDATE memories m SET expires_at = NULL FROM chosen WHERE m.id = chosen.id;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

GRANT EXECUTE ON FUNCTION hold_on(memories), is_held(memories), held_reason(uuid, holds), held_error(uuid, holds),
    raise_held(uuid, holds)
    TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter;
