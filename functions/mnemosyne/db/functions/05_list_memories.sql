-- The newest memories of a namespace that match the filters, after a cursor.
CREATE OR REPLACE FUNCTION list_memories(
    p_namespace text, p_filters jsonb, p_cursor_timestamp timestamptz, p_cursor_id uuid, p_limit integer
) RETURNS TABLE (id uuid, "timestamp" timestamptz, title text, tags text[], superseded_by uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    filters memory_filters := parse_filters(p_filters);
BEGIN
    PERFORM require_session_namespace(p_namespace);
    RETURN QUERY
    SELECT m.id, m."timestamp", m.title, m.tags, m.superseded_by
    FROM memories m
    WHERE m.namespace = p_namespace AND matches_filters(m, filters)
        AND (p_cursor_id IS NULL OR (m."timestamp", m.id) < (p_cursor_timestamp, p_cursor_id))
    ORDER BY m."timestamp" DESC, m.id DESC
    LIMIT p_limit;
END
$$;

REVOKE ALL ON FUNCTION list_memories(text, jsonb, timestamptz, uuid, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION list_memories(text, jsonb, timestamptz, uuid, integer) TO mnemosyne_runtime, mnemosyne_mcp;
