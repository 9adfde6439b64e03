-- The commonest tags among the newest 5,000 memories of a namespace within filters: more are not looked through for each
-- who asks.
CREATE OR REPLACE FUNCTION memory_facets(p_namespace text, p_filters jsonb, p_limit integer)
RETURNS TABLE (tag text, memories bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    filters memory_filters := filters_of(p_filters);
BEGIN
    PERFORM require_own(p_namespace);
    RETURN QUERY
    SELECT min(one.written), count(*)
    FROM (
        SELECT m.tags, m.tag_keys FROM memories m
        WHERE m.namespace = p_namespace AND passes(m, filters)
        ORDER BY m."timestamp" DESC, m.id DESC LIMIT 5000
    ) AS newest, unnest(newest.tags, newest.tag_keys) AS one (written, key)
    GROUP BY one.key
    ORDER BY count(*) DESC, one.key
    LIMIT p_limit;
END
$$;

REVOKE ALL ON FUNCTION memory_facets FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memory_facets TO mnemosyne_runtime, mnemosyne_mcp;
