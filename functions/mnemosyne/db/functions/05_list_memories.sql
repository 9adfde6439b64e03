-- Return one page of the memories of a namespace that match the filters. The page begins after the cursor. The newest
-- memories are first, or the oldest if p_oldest_first is true. The column `beginning` has the first p_beginning
-- characters of the content.
CREATE OR REPLACE FUNCTION list_memories(
    p_namespace text, p_filters jsonb, p_cursor_timestamp timestamptz, p_cursor_id uuid, p_limit integer,
    p_oldest_first boolean, p_beginning integer
) RETURNS TABLE (
    id uuid, "timestamp" timestamptz, title text, tags text[], superseded_by uuid, session text, expires_at timestamptz,
    pinned boolean, beginning text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    filters memory_filters := parse_filters(p_filters);
BEGIN
    PERFORM require_session_namespace(p_namespace);
    -- The two orders (oldest first and newest first) have separate statements, so that PostgreSQL can read the index
    -- memories_newest in the requested order and stop at the limit.
    IF p_oldest_first THEN
        RETURN QUERY
        SELECT m.id, m."timestamp", m.title, m.tags, m.superseded_by, m.session, m.expires_at, m.pinned,
            left(m.content, p_beginning)
        FROM memories m
        WHERE m.namespace = p_namespace AND matches_filters(m, filters)
            AND (p_cursor_id IS NULL OR (m."timestamp", m.id) > (p_cursor_timestamp, p_cursor_id))
        ORDER BY m."timestamp", m.id
        LIMIT p_limit;
    ELSE
        RETURN QUERY
        SELECT m.id, m."timestamp", m.title, m.tags, m.superseded_by, m.session, m.expires_at, m.pinned,
            left(m.content, p_beginning)
        FROM memories m
        WHERE m.namespace = p_namespace AND matches_filters(m, filters)
            AND (p_cursor_id IS NULL OR (m."timestamp", m.id) < (p_cursor_timestamp, p_cursor_id))
        ORDER BY m."timestamp" DESC, m.id DESC
        LIMIT p_limit;
    END IF;
END
$$;

GRANT EXECUTE ON FUNCTION list_memories(text, jsonb, timestamptz, uuid, integer, boolean, integer)
    TO mnemosyne_runtime, mnemosyne_mcp;
