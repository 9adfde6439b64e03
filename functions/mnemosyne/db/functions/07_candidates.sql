-- Where the hits of a search come from: each function lists memories of the namespace within the filters, with what is
-- known of their scores; of equal scores, the newest. Those that narrow by filters are planned anew for each; the
-- others' plans never differ.

-- Whether the filters have keys that are the namespace's own: their index alone finds what passes. Beside it the planner,
-- which takes the two for independent, would read all of the namespace in another: an expression keeps it from that.
CREATE OR REPLACE FUNCTION narrows_by_keys(filters memory_filters) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
    RETURN filters.own_any IS NOT NULL OR filters.own_all IS NOT NULL OR filters.metadata_keys IS NOT NULL;
END
$$;

-- How many pass the filters; no further than to one more than p_limit. Where they are tags alone, how many have them, which
-- the index tells by itself of all pages that VACUUM has seen since they were written.
CREATE OR REPLACE FUNCTION count_passing(p_namespace text, filters memory_filters, p_limit integer) RETURNS bigint
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    keyed boolean := narrows_by_keys(filters);
    tags_alone boolean := keyed AND ROW (filters.after, filters.before, filters.session, filters.not_session,
        filters.metadata) IS NULL;
BEGIN
    IF tags_alone AND filters.own_all IS NULL THEN
        RETURN (SELECT count(*) FROM (
            SELECT FROM memories m WHERE own_tags(m.namespace, m.tag_keys) && filters.own_any LIMIT p_limit + 1
        ) AS some_);
    ELSIF tags_alone AND filters.own_any IS NULL THEN
        RETURN (SELECT count(*) FROM (
            SELECT FROM memories m WHERE own_tags(m.namespace, m.tag_keys) @> filters.own_all LIMIT p_limit + 1
        ) AS some_);
    END IF;
    RETURN (SELECT count(*) FROM (
        SELECT FROM memories m
        WHERE CASE WHEN keyed THEN m.namespace || '' ELSE m.namespace END = p_namespace AND passes(m, filters)
        LIMIT p_limit + 1
    ) AS some_);
END
$$;

-- The nearest of all that pass: every vector is compared.
CREATE OR REPLACE FUNCTION scan_memories(p_namespace text, filters memory_filters, p_vector halfvec, p_limit integer)
RETURNS TABLE (id uuid, vector_score double precision)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    chunked boolean := EXISTS (SELECT FROM memory_chunks c WHERE c.namespace = p_namespace);
    keyed boolean := narrows_by_keys(filters);
BEGIN
    RETURN QUERY
    SELECT s.id, s.score FROM (
        -- `+ 0` keeps the index out of it.
        SELECT m.id, m."timestamp", CASE WHEN chunked
                THEN 1.0 - least(m.embedding <=> p_vector, (
                    SELECT min((c.embedding <=> p_vector) + 0) FROM memory_chunks c WHERE c.memory_id = m.id))
                ELSE 1.0 - ((m.embedding <=> p_vector) + 0) END AS score
        FROM memories m
        WHERE CASE WHEN keyed THEN m.namespace || '' ELSE m.namespace END = p_namespace AND passes(m, filters)
    ) AS s
    ORDER BY s.score DESC, s."timestamp" DESC, s.id DESC
    LIMIT p_limit;
END
$$;

-- The nearest by the index, which is walked until enough of what it yields passes the filters. No sort: the planner is
-- to take that index whatever it thinks of the filters.
CREATE OR REPLACE FUNCTION walk_memories(p_namespace text, filters memory_filters, p_vector halfvec, p_limit integer)
RETURNS TABLE (id uuid, vector_score double precision)
LANGUAGE plpgsql STABLE SET enable_sort = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT m.id, 1.0 - (m.embedding <=> p_vector) FROM memories m
    WHERE m.namespace = p_namespace AND passes(m, filters)
    ORDER BY m.embedding <=> p_vector
    LIMIT p_limit;
END
$$;

-- The nearest by the chunks of long memories. Those of one may be nearer than all others': walk on, four times as far
-- each time and 64 times at most, until enough memories are met.
CREATE OR REPLACE FUNCTION walk_chunks(
    p_namespace text, filters memory_filters, p_vector halfvec, p_limit integer, p_memories integer
) RETURNS TABLE (id uuid, vector_score double precision)
LANGUAGE plpgsql STABLE SET enable_sort = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    ids uuid[];
    scores double precision[];
    met integer;
    walked integer := p_limit;
BEGIN
    LOOP
        SELECT array_agg(w.memory_id), array_agg(w.score), count(DISTINCT w.memory_id) INTO ids, scores, met FROM (
            SELECT c.memory_id, 1.0 - (c.embedding <=> p_vector) AS score FROM memory_chunks c
            WHERE c.namespace = p_namespace
                AND EXISTS (SELECT FROM memories m WHERE m.id = c.memory_id AND passes(m, filters))
            ORDER BY c.embedding <=> p_vector
            LIMIT walked
        ) AS w;
        EXIT WHEN met >= p_memories OR coalesce(cardinality(ids), 0) < walked OR walked >= 64 * p_limit;
        walked := 4 * walked;
    END LOOP;
    RETURN QUERY SELECT u.id, max(u.score) FROM unnest(ids, scores) AS u (id, score) GROUP BY u.id;
END
$$;

-- Whose keys any of these are; of no more than p_rows, however wrong the shares may be. No index scan: whatever the
-- planner thinks of the table, it is to ask the index of the keys.
CREATE OR REPLACE FUNCTION match_keys(p_keys integer[], p_terms sparsevec, p_mean_length double precision, p_rows integer)
RETURNS TABLE (memory_id uuid, lexical_score double precision)
LANGUAGE plpgsql STABLE SET enable_indexscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT w.memory_id, lexical_score(w, p_terms, p_mean_length) FROM memory_words w WHERE w.keys && p_keys LIMIT p_rows;
END
$$;

-- Those in which any of the keys stands, by all the words: the best first, until enough pass the filters. The keys are
-- the namespace's own: it is compared for chance's sake alone. `OFFSET 0` keeps the planner from walking through the
-- memories instead.
CREATE OR REPLACE FUNCTION match_memories(
    p_namespace text, filters memory_filters, p_keys integer[], p_terms sparsevec, p_mean_length double precision,
    p_limit integer, p_rows integer
) RETURNS TABLE (id uuid, lexical_score double precision)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT k.memory_id, k.lexical_score
    FROM (
        SELECT * FROM match_keys(p_keys, p_terms, p_mean_length, p_rows) AS found
        ORDER BY found.lexical_score DESC, found.memory_id DESC
    ) AS k
    CROSS JOIN LATERAL (
        SELECT FROM memories m
        WHERE m.id = k.memory_id AND m.namespace || '' = p_namespace AND passes(m, filters) OFFSET 0
    ) AS one
    ORDER BY k.lexical_score DESC, k.memory_id DESC
    LIMIT p_limit;
END
$$;

-- Where even the rarest word is common: of the newest p_rows within the filters, those in which most of the words stand.
CREATE OR REPLACE FUNCTION match_newest(
    p_namespace text, filters memory_filters, p_terms sparsevec, p_mean_length double precision, p_limit integer,
    p_rows integer
) RETURNS TABLE (id uuid, lexical_score double precision)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
BEGIN
    RETURN QUERY
    SELECT s.id, s.score FROM (
        SELECT n.id, n."timestamp", lexical_score(w, p_terms, p_mean_length) AS score
        FROM (
            SELECT m.id, m."timestamp" FROM memories m WHERE m.namespace = p_namespace AND passes(m, filters)
            ORDER BY m."timestamp" DESC, m.id DESC
            LIMIT p_rows
        ) AS n JOIN memory_words w ON w.memory_id = n.id
    ) AS s
    WHERE s.score > 0
    ORDER BY s.score DESC, s."timestamp" DESC, s.id DESC
    LIMIT p_limit;
END
$$;

-- The newest, or the newest that contain a text, in upper or lower case.
CREATE OR REPLACE FUNCTION newest_memories(p_namespace text, filters memory_filters, p_text text, p_limit integer)
RETURNS TABLE (id uuid)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT m.id FROM memories m
    WHERE m.namespace = p_namespace AND passes(m, filters)
        AND (p_text IS NULL OR contains(m, p_text))
    ORDER BY m."timestamp" DESC, m.id DESC
    LIMIT p_limit;
END
$$;

REVOKE ALL ON FUNCTION narrows_by_keys, count_passing, scan_memories, walk_memories, walk_chunks, match_keys, match_memories,
    match_newest, newest_memories FROM PUBLIC;
