-- Convert a text to the form in which a search for a substring compares texts: in lower case and in the Unicode normal
-- form NFKC (see literal_form), with σ in place of ς. Both letters are the lower case of Σ. Greek uses ς at the end of
-- a word, but lower() returns σ for each Σ.
CREATE OR REPLACE FUNCTION caseless(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN replace(literal_form(p_text), 'ς', 'σ');

-- Return trigrams (sequences of three bytes) of the first 200 characters of a text. The index memories_trigrams has all
-- these trigrams for every content that contains the text. Trigrams that include σ or ς are left out, because the
-- content may have the other of the two letters. The result may be empty.
CREATE OR REPLACE FUNCTION required_trigrams(p_namespace text, p_text text) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
    RETURN ARRAY(
        SELECT DISTINCT trigram FROM regexp_split_to_table(left(literal_form(p_text), 200), '[σς]') AS part
        CROSS JOIN unnest(content_trigrams(p_namespace, part)) AS trigram
    );
END
$$;

-- Whether the content of a memory contains the text p_text. Case and differences of Unicode normal forms are ignored.
CREATE OR REPLACE FUNCTION contains_text(m memories, p_text text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN position(caseless(p_text) IN caseless((m).content)) > 0;

-- Return the ids of at most p_limit memories that contain a text and match the filters, among the newest p_rows
-- memories of the namespace.
--
-- Sorting is disabled. Therefore the planner reads the index memories_newest in order and stops after p_rows rows, even
-- if the planner's estimates are wrong.
CREATE OR REPLACE FUNCTION newest_containing(
    p_namespace text, filters memory_filters, p_text text, p_limit integer, p_rows integer
) RETURNS TABLE (id uuid)
LANGUAGE plpgsql STABLE SET enable_sort = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT (n.memory).id FROM (
        SELECT m AS memory FROM memories m WHERE m.namespace = p_namespace
        ORDER BY m."timestamp" DESC, m.id DESC
        LIMIT p_rows
    ) AS n
    WHERE contains_text(n.memory, p_text) AND matches_filters(n.memory, filters)
    LIMIT p_limit;
END
$$;

-- Return the ids of the newest p_limit memories that contain a text and match the filters, among all memories of the
-- namespace. With the filter `as_of`, the memories are ordered by the timestamps that they had at that time.
--
-- The function looks up the trigrams of the text (see required_trigrams) in the index memories_trigrams. Only memories
-- that have all these trigrams are searched for the text. Plain index scans are disabled, so that the planner uses this
-- index even if the planner's estimates are wrong. Each trigram includes a hash of the namespace. The query also
-- compares the namespace, because two namespaces may have the same hash.
CREATE OR REPLACE FUNCTION all_containing(p_namespace text, filters memory_filters, p_text text, p_limit integer)
RETURNS TABLE (id uuid)
LANGUAGE plpgsql STABLE SET enable_indexscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    trigrams bigint[] := required_trigrams(p_namespace, p_text);
BEGIN
    RETURN QUERY
    SELECT m.id FROM memories m
    WHERE content_trigrams(m.namespace, m.content) @> trigrams AND m.namespace || '' = p_namespace
        AND contains_text(m, p_text) AND matches_filters(m, filters)
    ORDER BY timestamp_as_of(m, filters.as_of) DESC, m.id DESC
    LIMIT p_limit;
END
$$;

-- Return the ids of the newest memories that contain a text and match the filters, at most p_limit. p_matching is the
-- number of memories that match the filters.
--
-- The function uses three searches:
--   newest_memories    reads every memory that matches the filters. This is the only search if at most 1,000 memories
--                      match the filters, or if the trigram index cannot find the text, for example because it has
--                      fewer than three bytes.
--   newest_containing  reads the newest 1,000 memories of the namespace. In all other cases, this search comes first,
--                      because these memories are enough if the text is frequent.
--   all_containing     uses the trigram index. This search follows if newest_containing has found fewer than p_limit
--                      memories.
--
-- If newest_containing has found p_limit memories, but the filter `as_of` is set, their ids are not returned, and
-- newest_memories searches instead, because other memories can have been the newest at the time in `as_of`.
CREATE OR REPLACE FUNCTION match_substring(
    p_namespace text, filters memory_filters, p_text text, p_limit integer, p_matching bigint
) RETURNS uuid[]
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    few_rows CONSTANT integer := 1000;
    ids uuid[];
BEGIN
    IF p_matching <= few_rows OR required_trigrams(p_namespace, p_text) = '{}' THEN
        RETURN ARRAY(SELECT n.id FROM newest_memories(p_namespace, filters, p_text, p_limit) AS n);
    END IF;
    ids := ARRAY(SELECT n.id FROM newest_containing(p_namespace, filters, p_text, p_limit, few_rows) AS n);
    IF cardinality(ids) < p_limit THEN
        ids := ARRAY(SELECT a.id FROM all_containing(p_namespace, filters, p_text, p_limit) AS a);
    ELSIF filters.as_of IS NOT NULL THEN
        ids := ARRAY(SELECT n.id FROM newest_memories(p_namespace, filters, p_text, p_limit) AS n);
    END IF;
    RETURN ids;
END
$$;
