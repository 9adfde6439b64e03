-- Find the candidates of a search: memories that may be among its results. Each function that returns candidates
-- considers the memories of the namespace that match the filters, and returns the ids and scores of the best of them.
-- The functions that compare vectors are in 07_nearest.sql.
--
-- PostgreSQL caches a generic plan for a query, or makes a custom plan for the values at each call. If the best plan of
-- a query depends on the filters, the function forces a custom plan. The other functions force a generic plan, which
-- saves the time for planning.

-- Whether the filters contain tags or metadata that a GIN index can look up. The indexes have only the current tags and
-- metadata, not earlier ones, so the result is false for a search with `as_of`.
--
-- If this function returns true, its caller compares p_namespace with the expression `namespace || ''` instead of the
-- column `namespace`. With the column, the planner would also scan all entries of the namespace in another index. This
-- scan is not needed, because each key in the GIN indexes already includes a hash of the namespace. With the
-- expression, there is no such scan, because no index contains the expression.
CREATE OR REPLACE FUNCTION narrows_by_keys(filters memory_filters) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
    RETURN filters.as_of IS NULL
        AND (filters.own_any IS NOT NULL OR filters.own_all IS NOT NULL OR filters.metadata_keys IS NOT NULL);
END
$$;

-- Return the number of memories that match the filters, or p_limit + 1 if there are more than p_limit. The limit bounds
-- the cost: counting a memory takes as long as comparing its vector.
CREATE OR REPLACE FUNCTION count_matching(p_namespace text, filters memory_filters, p_limit integer) RETURNS bigint
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    keyed boolean := narrows_by_keys(filters);
BEGIN
    RETURN (SELECT count(*) FROM (
        SELECT FROM memories m
        WHERE CASE WHEN keyed THEN m.namespace || '' ELSE m.namespace END = p_namespace AND matches_filters(m, filters)
        LIMIT p_limit + 1
    ) AS some_);
END
$$;

-- Whether more than p_rows memories have any of the tags in the filters, according to a quick check of the index. The
-- result false may be wrong, because the check may read only a part of the index entries.
--
-- The setting gin_fuzzy_search_limit limits the cost of frequent tags: if more than 1,000 memories have a tag, the
-- index returns about 1,000 of these memories at random. Without this setting, the index would collect all of them
-- before the query reads the first one.
CREATE OR REPLACE FUNCTION has_many_tagged(filters memory_filters, p_rows integer) RETURNS boolean
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET gin_fuzzy_search_limit = 1000
AS $$
BEGIN
    RETURN (SELECT count(*) FROM (
        SELECT FROM memories m WHERE namespaced_tags(m.namespace, m.tag_keys) && filters.own_any LIMIT p_rows + 1
    ) AS some_) > p_rows;
END
$$;

-- Estimate the share of the namespace's memories that match the filters, from a sample of 400 memories. If the share is
-- a tenth, the standard error of the estimate is .015.
--
-- The sample consists of the memories with the lowest content hashes. This sample is as good as a random one, because a
-- content hash (SHA-256) does not depend on the tags, times and metadata of a memory. Bitmap scans and sorting are
-- disabled, so that the planner reads the unique index of content hashes in order.
CREATE OR REPLACE FUNCTION estimate_share(p_namespace text, filters memory_filters) RETURNS double precision
LANGUAGE plpgsql STABLE SET enable_bitmapscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    highest_hash text := (
        SELECT m.content_hash FROM memories m WHERE m.namespace = p_namespace ORDER BY m.content_hash OFFSET 399 LIMIT 1);
BEGIN
    RETURN (
        SELECT CAST(count(*) FILTER (WHERE matches_filters(m, filters)) AS double precision) / greatest(count(*), 1)
        FROM memories m WHERE m.namespace = p_namespace AND m.content_hash <= coalesce(highest_hash, 'g')
    );
END
$$;

-- Return the number of memories that match the filters: exact if it is small, and otherwise an estimate from the share
-- that estimate_share returns.
--   p_memories  the number of memories of the namespace
--   p_few       the caller already knows that more than p_few memories match, so an estimate is at least p_few + 1
--   p_exactly   a result up to this number is exact: if the estimate is below 2 * p_exactly, the function counts the
--               matching memories, but stops after p_exactly + 1
CREATE OR REPLACE FUNCTION estimate_matching(
    p_namespace text, filters memory_filters, p_memories bigint, p_few integer, p_exactly integer
) RETURNS bigint
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    estimate bigint := greatest(p_few + 1, p_memories * estimate_share(p_namespace, filters));
    counted bigint;
BEGIN
    IF estimate < 2 * p_exactly THEN
        counted := count_matching(p_namespace, filters, p_exactly);
        estimate := CASE WHEN counted > p_exactly THEN greatest(counted, estimate) ELSE counted END;
    END IF;
    RETURN estimate;
END
$$;

-- Return the memories that contain any of the words with the keys p_keys, with their lexical scores. The result has at
-- most p_rows memories, because the word statistics may be outdated: a word that is rare in the statistics may have
-- become frequent, and without the maximum the query would be slow. Plain index scans are disabled, so that the planner
-- uses the GIN index memory_words_keys even if the planner's estimates are wrong.
CREATE OR REPLACE FUNCTION match_keys(p_keys integer[], p_terms sparsevec, p_mean_length double precision, p_rows integer)
RETURNS TABLE (memory_id uuid, lexical_score double precision)
LANGUAGE plpgsql STABLE SET enable_indexscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT w.memory_id, lexical_score(w, p_terms, p_mean_length) FROM memory_words w WHERE w.keys && p_keys LIMIT p_rows;
END
$$;

-- Return the memories with the best lexical scores, among the memories that contain any of the words with the keys
-- p_keys and match the filters.
--
-- Each key includes a hash of the namespace. The query also compares the namespace, because two namespaces may have the
-- same hash. `OFFSET 0` makes the planner look up the words first. Otherwise the planner may scan the table `memories`
-- first.
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
        SELECT * FROM match_keys(p_keys, p_terms, p_mean_length, p_rows) AS matches
        ORDER BY matches.lexical_score DESC, matches.memory_id DESC
    ) AS k
    CROSS JOIN LATERAL (
        SELECT FROM memories m
        WHERE m.id = k.memory_id AND m.namespace || '' = p_namespace AND matches_filters(m, filters) OFFSET 0
    ) AS matching_memory
    ORDER BY k.lexical_score DESC, k.memory_id DESC
    LIMIT p_limit;
END
$$;

-- Return the memories with the best lexical scores, among the newest p_rows memories that match the filters.
-- find_candidates calls this function if few memories match the filters, or if even the rarest word of the query is
-- common.
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
            SELECT m.id, m."timestamp" FROM memories m WHERE m.namespace = p_namespace AND matches_filters(m, filters)
            ORDER BY m."timestamp" DESC, m.id DESC
            LIMIT p_rows
        ) AS n JOIN memory_words w ON w.memory_id = n.id
    ) AS s
    WHERE s.score > 0
    ORDER BY s.score DESC, s."timestamp" DESC, s.id DESC
    LIMIT p_limit;
END
$$;

-- Return the ids of the newest memories that match the filters, at most p_limit. If p_text is not null, the result has
-- only memories that contain this text. With the filter `as_of`, the memories are ordered by the timestamps that they
-- had at that time.
CREATE OR REPLACE FUNCTION newest_memories(p_namespace text, filters memory_filters, p_text text, p_limit integer)
RETURNS TABLE (id uuid)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    IF filters.as_of IS NOT NULL THEN
        RETURN QUERY
        SELECT s.id FROM (
            (SELECT m.id, m."timestamp" FROM memories m
            WHERE m.namespace = p_namespace AND (m.changed_at <= filters.as_of OR m.changed_at IS NULL)
                AND matches_filters(m, filters) AND (p_text IS NULL OR contains_text(m, p_text))
            ORDER BY m."timestamp" DESC, m.id DESC
            LIMIT p_limit)
            UNION ALL
            SELECT m.id, timestamp_as_of(m, filters.as_of) FROM memories m
            WHERE m.namespace = p_namespace AND m.changed_at > filters.as_of
                AND matches_filters(m, filters) AND (p_text IS NULL OR contains_text(m, p_text))
        ) AS s
        ORDER BY s."timestamp" DESC, s.id DESC
        LIMIT p_limit;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT m.id FROM memories m
    WHERE m.namespace = p_namespace AND matches_filters(m, filters)
        AND (p_text IS NULL OR contains_text(m, p_text))
    ORDER BY m."timestamp" DESC, m.id DESC
    LIMIT p_limit;
END
$$;
