-- Memories that contain a text, in upper or lower case and any Unicode normal form: the newest within the filters.
CREATE OR REPLACE FUNCTION contains(m memories, p_text text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN position(literal_form(p_text) IN literal_form((m).content)) > 0;

-- Among the namespace's newest p_rows. No sort: whatever the planner thinks of the namespace, it is to read no more of it.
CREATE OR REPLACE FUNCTION newest_containing(
    p_namespace text, filters memory_filters, p_text text, p_limit integer, p_rows integer
) RETURNS TABLE (id uuid)
LANGUAGE plpgsql STABLE SET enable_sort = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT (n.one).id FROM (
        SELECT m AS one FROM memories m WHERE m.namespace = p_namespace
        ORDER BY m."timestamp" DESC, m.id DESC
        LIMIT p_rows
    ) AS n
    WHERE contains(n.one, p_text) AND passes(n.one, filters)
    LIMIT p_limit;
END
$$;

-- Among all, by the trigrams of the text's beginning. No index scan: whatever the planner thinks of the table, it is to ask
-- the index of the trigrams. They are the namespace's own: it is compared for chance's sake alone.
CREATE OR REPLACE FUNCTION all_containing(p_namespace text, filters memory_filters, p_text text, p_limit integer)
RETURNS TABLE (id uuid)
LANGUAGE plpgsql STABLE SET enable_indexscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    trigrams bigint[] := content_trigrams(p_namespace, left(literal_form(p_text), 200));
BEGIN
    RETURN QUERY
    SELECT m.id FROM memories m
    WHERE content_trigrams(m.namespace, m.content) @> trigrams AND m.namespace || '' = p_namespace
        AND contains(m, p_text) AND passes(m, filters)
    ORDER BY m."timestamp" DESC, m.id DESC
    LIMIT p_limit;
END
$$;

-- By whichever way reads least: few that pass are looked through, and so are all where the text has no trigrams, being of
-- fewer than three bytes; what many contain is found among the newest.
CREATE OR REPLACE FUNCTION match_substring(
    p_namespace text, filters memory_filters, p_text text, p_limit integer, p_passing bigint
) RETURNS uuid[]
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    few CONSTANT integer := 1000;
    ids uuid[];
BEGIN
    IF octet_length(literal_form(p_text)) < 3 OR p_passing <= few THEN
        RETURN ARRAY(SELECT n.id FROM newest_memories(p_namespace, filters, p_text, p_limit) AS n);
    END IF;
    ids := ARRAY(SELECT n.id FROM newest_containing(p_namespace, filters, p_text, p_limit, few) AS n);
    IF cardinality(ids) < p_limit THEN
        ids := ARRAY(SELECT a.id FROM all_containing(p_namespace, filters, p_text, p_limit) AS a);
    END IF;
    RETURN ids;
END
$$;

REVOKE ALL ON FUNCTION contains, newest_containing, all_containing, match_substring FROM PUBLIC;
