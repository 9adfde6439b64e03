-- Return the tags and sessions of the memories that match the filters. To bound the cost, the function counts only the
-- newest p_counted of these memories. The result is a JSON object about the counted memories:
--   tags        the p_limit most frequent tags, among the tags that begin with the case-folded text p_prefix
--   total_tags  the number of different tags, with any beginning
--   sessions    the p_limit sessions with the newest memories
--   memories    the number of counted memories
--   complete    true if all memories that match the filters were counted
CREATE OR REPLACE FUNCTION memory_facets(
    p_namespace text, p_filters jsonb, p_prefix text, p_limit integer, p_counted integer
) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    filters memory_filters := parse_filters(p_filters);
BEGIN
    PERFORM require_session_namespace(p_namespace);
    RETURN (
        WITH newest AS MATERIALIZED (
            SELECT m.tags, m.tag_keys, m."timestamp", m.session, row_number() OVER (ORDER BY m."timestamp" DESC, m.id DESC) AS place
            FROM memories m
            WHERE m.namespace = p_namespace AND matches_filters(m, filters)
            ORDER BY m."timestamp" DESC, m.id DESC LIMIT p_counted + 1
        ), counted AS NOT MATERIALIZED (
            SELECT * FROM newest WHERE place <= p_counted
        ), tag AS MATERIALIZED (
            SELECT max(t.written) AS tag, t.key, count(*) AS memories, max(counted."timestamp") AS last_used
            FROM counted, unnest(counted.tags, counted.tag_keys) AS t (written, key)
            GROUP BY t.key
        ), latest AS (
            SELECT s.session, count(*) AS memories, max(s."timestamp") AS last_used
            FROM counted s WHERE s.session IS NOT NULL
            GROUP BY s.session ORDER BY last_used DESC, s.session LIMIT p_limit
        ), top AS (
            SELECT * FROM tag WHERE starts_with(tag.key, p_prefix) ORDER BY tag.memories DESC, tag.key LIMIT p_limit
        ), size AS (
            SELECT count(*) FILTER (WHERE place <= p_counted) AS memories, count(*) <= p_counted AS is_complete FROM newest
        )
        SELECT jsonb_build_object(
            'tags', (SELECT coalesce(jsonb_agg(to_jsonb(top) - 'key' ORDER BY top.memories DESC, top.key), '[]') FROM top),
            'total_tags', (SELECT count(*) FROM tag),
            'sessions', (SELECT coalesce(jsonb_agg(to_jsonb(latest) ORDER BY latest.last_used DESC, latest.session), '[]') FROM latest),
            'memories', size.memories,
            'complete', size.is_complete
        ) FROM size
    );
END
$$;

GRANT EXECUTE ON FUNCTION memory_facets(text, jsonb, text, integer, integer) TO mnemosyne_runtime, mnemosyne_mcp;
