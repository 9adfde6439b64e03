-- The most frequent tags of the newest 5,000 memories of a namespace that match the filters. The limit bounds the cost
-- of a call.
CREATE OR REPLACE FUNCTION memory_facets(p_namespace text, p_filters jsonb, p_limit integer)
RETURNS TABLE (tag text, memories bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    filters memory_filters := parse_filters(p_filters);
BEGIN
    PERFORM require_session_namespace(p_namespace);
    RETURN QUERY
    SELECT min(tag_.written), count(*)
    FROM (
        SELECT m.tags, m.tag_keys FROM memories m
        WHERE m.namespace = p_namespace AND matches_filters(m, filters)
        ORDER BY m."timestamp" DESC, m.id DESC LIMIT 5000
    ) AS newest, unnest(newest.tags, newest.tag_keys) AS tag_ (written, key)
    GROUP BY tag_.key
    ORDER BY count(*) DESC, tag_.key
    LIMIT p_limit;
END
$$;

REVOKE ALL ON FUNCTION memory_facets FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memory_facets TO mnemosyne_runtime, mnemosyne_mcp;
