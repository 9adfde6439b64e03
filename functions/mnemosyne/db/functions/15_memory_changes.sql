-- Write the change feed, from which other systems learn which memories have changed. If the feed of a namespace is on,
-- the triggers in this file write a row to the table `memory_changes` for each memory that a transaction changed. Such
-- a row is an event. If a transaction changes a memory several times, one event has the result of all these changes.
--
-- The column `sequence` gives the order of the changes of one memory: the event of a later change has a higher
-- sequence, because a transaction takes the next sequence while it holds the lock of the memory's row. Transactions
-- that change different memories do not wait for each other, so `sequence` does not give the order of their commits.
--
-- The trigger functions have SECURITY DEFINER: they run with the rights of the owner of the table. Therefore the roles
-- of the services need no right to write events.

-- Whether the change feed of a namespace is on.
CREATE OR REPLACE FUNCTION has_change_feed(p_namespace text) RETURNS boolean
LANGUAGE sql STABLE
RETURN coalesce((
    SELECT f.enabled FROM change_feeds f WHERE f.namespace IN (p_namespace, '') ORDER BY f.namespace DESC LIMIT 1
), false);

-- Return the kind of the event for a memory that one transaction has changed twice. Both changes share one event.
-- p_earlier and p_later are the kinds of the two changes. p_superseded_by is the memory's successor after both changes.
CREATE OR REPLACE FUNCTION merged_kind(p_earlier text, p_later text, p_superseded_by uuid) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_earlier IN ('created', 'expired', 'deleted', 'forgotten') THEN p_earlier
    WHEN 'superseded' IN (p_earlier, p_later) AND p_superseded_by IS NOT NULL THEN 'superseded'
    WHEN p_earlier = 'rated' AND p_later = 'rated' THEN 'rated'
    ELSE 'updated'
END;

-- Record a change of a stored memory. If this transaction has changed the memory before, add the change to the event of
-- the earlier change.
CREATE OR REPLACE FUNCTION record_change(
    p_namespace text, p_memory_id uuid, p_kind text, p_fields text[], p_superseded_by uuid
) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    INSERT INTO memory_changes AS c (namespace, memory_id, kind, fields, superseded_by)
    VALUES (p_namespace, p_memory_id, p_kind, p_fields, p_superseded_by)
    ON CONFLICT (namespace, changed_in, memory_id) DO UPDATE
    SET kind = merged_kind(c.kind, EXCLUDED.kind, EXCLUDED.superseded_by), superseded_by = EXCLUDED.superseded_by,
        fields = CASE WHEN c.fields = '{}' THEN '{}'
            ELSE ARRAY(SELECT DISTINCT f FROM unnest(c.fields || EXCLUDED.fields) AS f ORDER BY f) END;
END
$$;

-- Return the content, title, tags and metadata of a memory, for the reader of an event. These are the values at the
-- time of reading, not of the change. The result is null if the feed of the namespace shows no contents, or if the
-- memory was removed or has expired.
CREATE OR REPLACE FUNCTION event_contents(p_namespace text, p_memory_id uuid) RETURNS jsonb
LANGUAGE sql STABLE
RETURN (
    SELECT jsonb_build_object('content', m.content, 'title', m.title, 'tags', m.tags, 'metadata', m.metadata)
    FROM memories m
    WHERE m.id = p_memory_id AND m.namespace = p_namespace AND is_unexpired(m.expires_at) AND (
        SELECT f.contents FROM change_feeds f
        WHERE f.namespace IN (p_namespace, '') ORDER BY f.namespace DESC LIMIT 1
    )
);

-- Trigger function: record inserted memories in the change feed.
CREATE OR REPLACE FUNCTION note_created_memories() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM change_feeds f WHERE f.enabled) THEN
        RETURN NULL;
    END IF;
    INSERT INTO memory_changes (namespace, memory_id, kind, fields, superseded_by)
    SELECT s.namespace, s.id, 'created', '{}', s.superseded_by FROM stored s WHERE has_change_feed(s.namespace)
    ON CONFLICT (namespace, changed_in, memory_id) DO NOTHING;
    RETURN NULL;
END
$$;

-- Trigger function: record removed memories in the change feed.
--
-- The kind of the event is:
--   forgotten  if the setting mnemosyne.removal is 'forgotten'; forget_rows sets it for a forgetting
--   expired    if the expiry of the memory has passed, whichever statement removes the row
--   deleted    in all other cases
CREATE OR REPLACE FUNCTION note_removed_memories() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM change_feeds f WHERE f.enabled) THEN
        RETURN NULL;
    END IF;
    INSERT INTO memory_changes (namespace, memory_id, kind, fields, superseded_by)
    SELECT d.namespace, d.id, CASE WHEN current_setting('mnemosyne.removal', true) = 'forgotten' THEN 'forgotten'
        WHEN d.expires_at <= now() THEN 'expired' ELSE 'deleted' END, '{}', d.superseded_by
    FROM deleted d WHERE has_change_feed(d.namespace)
    ON CONFLICT (namespace, changed_in, memory_id) DO UPDATE
    SET kind = EXCLUDED.kind, fields = '{}', superseded_by = EXCLUDED.superseded_by;
    RETURN NULL;
END
$$;

-- Trigger function: record an updated memory in the change feed, with the names of the changed fields.
CREATE OR REPLACE FUNCTION note_updated_memory() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    IF NOT has_change_feed(NEW.namespace) THEN
        RETURN NULL;
    END IF;
    PERFORM record_change(NEW.namespace, NEW.id,
        CASE WHEN NEW.superseded_by IS NOT NULL AND NEW.superseded_by IS DISTINCT FROM OLD.superseded_by
            THEN 'superseded' ELSE 'updated' END,
        array_remove(ARRAY[
            CASE WHEN NEW.expires_at IS DISTINCT FROM OLD.expires_at THEN 'expires_at' END,
            CASE WHEN NEW.metadata IS DISTINCT FROM OLD.metadata THEN 'metadata' END,
            CASE WHEN NEW.pinned IS DISTINCT FROM OLD.pinned THEN 'pinned' END,
            CASE WHEN NEW.superseded_by IS DISTINCT FROM OLD.superseded_by THEN 'superseded_by' END,
            CASE WHEN NEW.tags IS DISTINCT FROM OLD.tags THEN 'tags' END,
            CASE WHEN NEW."timestamp" IS DISTINCT FROM OLD."timestamp" THEN 'timestamp' END,
            CASE WHEN NEW.title IS DISTINCT FROM OLD.title THEN 'title' END
        ], NULL), NEW.superseded_by);
    RETURN NULL;
END
$$;

-- Trigger function: record a new, changed or removed rating of a memory in the change feed. When a memory is removed,
-- its ratings are removed in the same transaction. The memory still has only one event, with the kind of the removal
-- (see merged_kind).
CREATE OR REPLACE FUNCTION note_rated_memory() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    rating memory_ratings := coalesce(NEW, OLD);
BEGIN
    IF has_change_feed(rating.namespace) THEN
        PERFORM record_change(rating.namespace, rating.memory_id, 'rated', ARRAY['rating'],
            (SELECT m.superseded_by FROM memories m WHERE m.id = rating.memory_id));
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER note_created AFTER INSERT ON memories REFERENCING NEW TABLE AS stored
    FOR EACH STATEMENT EXECUTE FUNCTION note_created_memories();
CREATE OR REPLACE TRIGGER note_removed AFTER DELETE ON memories REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION note_removed_memories();
-- UPDATE OF limits this row trigger to updates of some columns. A statement trigger with a transition table cannot be
-- limited to columns: it would also run when last_seen_at or an embedding is updated, and PostgreSQL would copy each
-- updated row into the transition table.
CREATE OR REPLACE TRIGGER note_updated
    AFTER UPDATE OF title, tags, metadata, "timestamp", superseded_by, expires_at, pinned ON memories
    FOR EACH ROW WHEN (OLD.title IS DISTINCT FROM NEW.title OR OLD.tags IS DISTINCT FROM NEW.tags
        OR OLD.metadata IS DISTINCT FROM NEW.metadata OR OLD."timestamp" IS DISTINCT FROM NEW."timestamp"
        OR OLD.superseded_by IS DISTINCT FROM NEW.superseded_by OR OLD.expires_at IS DISTINCT FROM NEW.expires_at
        OR OLD.pinned IS DISTINCT FROM NEW.pinned)
    EXECUTE FUNCTION note_updated_memory();
CREATE OR REPLACE TRIGGER note_rated AFTER INSERT OR UPDATE OR DELETE ON memory_ratings
    FOR EACH ROW EXECUTE FUNCTION note_rated_memory();

GRANT EXECUTE ON FUNCTION has_change_feed(text), event_contents(text, uuid) TO mnemosyne_runtime;
