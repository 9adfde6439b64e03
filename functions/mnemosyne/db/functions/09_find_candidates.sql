-- Return the candidates of a search as JSON. The Python module functions/mnemosyne/domain/ranking.py ranks the
-- candidates. The result is null if p_vector is not from the embedding space of the memories.
--
-- p_mode is the mode of the search:
--   hybrid    finds memories by words and, if p_vector is not null, also by vector
--   semantic  finds memories by vector, or by words if p_vector is null
--   exact     finds memories that contain the text p_query
--
-- Further parameters:
--   p_query       the text to search for; if it is null, the candidates are the newest memories
--   p_names       the words of the query that look like names of people or things
--   p_limit       the number of results that the search will show
--   p_candidates  the maximum length of each list of candidates
--
-- In the result, `full` is true if there may be more candidates than the returned ones. With the filter `as_of`, the
-- candidates are found by their present words and vectors, and returned as they were at the time of the filter.
CREATE OR REPLACE FUNCTION find_candidates(
    p_namespace text, p_mode text, p_query text, p_names text[], p_vector text, p_model text, p_filters jsonb, p_limit integer,
    p_candidates integer
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
-- Sequential scans are disabled, because the duration of a sequential scan depends on the number of memories in other
-- namespaces and would reveal this number.
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    filters memory_filters := parse_filters(p_filters);
    own_memories bigint := (SELECT coalesce(sum(u.memories), 0) FROM namespace_usage u WHERE u.namespace = p_namespace);
    by_words boolean := p_query IS NOT NULL AND (p_mode = 'hybrid' OR (p_mode = 'semantic' AND p_vector IS NULL));
    query_vector halfvec := CAST(p_vector AS halfvec);
    -- The number of memories in the HNSW index that this search would use. The cost of a search in the index depends on
    -- this number. If the namespace has its own index, the number is the namespace's number of memories. Otherwise the
    -- search uses the index that all namespaces share. Then the number is PostgreSQL's estimate for the whole table,
    -- from the last VACUUM or ANALYZE.
    all_memories double precision := CASE WHEN has_own_index(p_namespace) THEN own_memories ELSE (
        SELECT greatest(own_memories, c.reltuples) FROM pg_class c WHERE c.oid = CAST('memories' AS regclass)) END;
    -- Whether filters may exclude many memories. Three filters do not count, because they exclude only a few memories.
    -- `not_session` excludes one session. `folded` and `shown` together exclude near-duplicates: a search that looks up
    -- candidates again sets them to exclude the near-duplicates of the results that it already has.
    filtered boolean := jsonb_strip_nulls(p_filters) - CAST('{not_session,folded,shown}' AS text[])
        <> '{"include_superseded": false}';
    -- Whether the vectors have more than 1,000 dimensions, so that one vector takes more than 2,000 bytes. Comparing
    -- such long vectors takes longer.
    long_vectors boolean := coalesce(vector_dims(query_vector) > 1000, false);
    -- The maximum number of memories that the search takes from the HNSW index. With filters, the maximum is lower,
    -- because the search must read several rows of the index to find one memory that matches.
    nearest integer := CASE WHEN filtered THEN least(p_candidates, greatest(60, 3 * p_limit)) ELSE p_candidates END;
    -- If at most this number of memories match, the search compares the vectors of all matching memories, which is
    -- exact. If more memories match, a search in the HNSW index is faster.
    --
    -- To find `nearest` memories that match, a search in the index reads about nearest * all_memories / matching rows.
    -- Reading one row costs as much as comparing 36 vectors. Without the index, the search compares as many vectors as
    -- memories match. So both ways cost the same if `matching` is sqrt(nearest * all_memories * 36).
    --
    -- The factor 36 was measured with 256 dimensions: reading a row took 9 to 45 microseconds, and comparing a vector
    -- 0.6 to 1.4 microseconds. With a filter that uses the index of tags or metadata, the factor is 16: the compared
    -- rows are then scattered in the table, so each comparison takes longer. With more than 1,000 dimensions, the
    -- factor is 8. It was measured with 3,072 dimensions: reading a row took 42 to 104 microseconds, and comparing a
    -- vector 7.4 microseconds.
    exact_up_to integer := greatest(2000, least(CASE WHEN long_vectors THEN 10000 ELSE 40000 END, sqrt(nearest * all_memories
        * CASE WHEN long_vectors THEN 8.0 WHEN filtered AND narrows_by_keys(filters) THEN 16.0 ELSE 36.0 END)));
    -- The search counts matching memories up to this number. If more memories match, the search estimates their number.
    few CONSTANT integer := 200;
    -- To find memories, the search looks up only the rarest words of the query: words that together match at most this
    -- number of memories, according to the word statistics. The other words only add to the scores of the memories
    -- found.
    lexical_rows CONSTANT integer := 2000;
    -- Neighbours (see neighbours_in_session) are read only for the first 20 candidates of each of the two lists: by
    -- vector and by words.
    heads CONSTANT integer := 20;
    matching bigint := own_memories;
    strategy text;
    tagged boolean := filters.own_any IS NOT NULL AND filters.as_of IS NULL;  -- whether the index of tags can be used
    compared boolean := false;  -- whether the vectors of all matching memories have been compared already
    keys integer[];
    terms sparsevec;
    -- Keys of the query's eight rarest words. The other words are left out, because no memory contains most of the
    -- words of a long query.
    word_keys integer[];
    word_shares double precision[];  -- for each key of word_keys: the word's share of the words' total weight
    -- For each key of word_keys: which of the query's names (such as "Lovelace") contains the word of the key. The
    -- first name has the number 1 (see `name` in query_terms). The number is null if no name contains the word, and the
    -- array is null if the query has no names.
    word_names integer[];
    -- For each key of word_keys: the rank of the query word that the key belongs to; the rarest word has rank 1. A word
    -- can have several keys, for example of its other spellings. If each word has only one key, the array is null.
    word_places bigint[];
    mean_length double precision;
    ids uuid[];
    vector_scores double precision[];
    lexical_ids uuid[];
    lexical_scores double precision[];
    row_count integer;
    few_match boolean;
BEGIN
    PERFORM require_session_namespace(p_namespace);
    -- Until the end of this transaction, the lock stops `reembed` from replacing the column `embedding`. Without the
    -- lock, the column could be replaced after the check below, which compares the embedding space of the query with
    -- the embedding space of the memories.
    LOCK TABLE embedding_space, memories IN ACCESS SHARE MODE;
    IF p_vector IS NOT NULL AND (p_model, vector_dims(query_vector)) IS DISTINCT FROM (
        SELECT ROW (s.model, a.atttypmod) FROM embedding_space s, pg_attribute a
        WHERE a.attrelid = CAST('memories' AS regclass) AND a.attname = 'embedding'
    ) THEN
        RETURN NULL;
    END IF;
    IF p_query IS NOT NULL AND filtered THEN
        IF tagged AND has_many_tagged(filters, few) THEN
            matching := few + 1;
        ELSIF tagged AND query_vector IS NOT NULL AND p_mode <> 'exact' THEN
            -- A rare tag has only a few memories. Count these memories and compare their vectors in one query, so that
            -- they are read only once.
            SELECT array_agg(t.id), array_agg(t.vector_score), coalesce(max(t.matching), 0)
            INTO ids, vector_scores, matching
            FROM knn_few_tagged(p_namespace, filters, query_vector, p_candidates, few) AS t;
            compared := matching <= few;
        ELSE
            matching := count_matching(p_namespace, filters, few);
        END IF;
        IF matching > few THEN
            matching := estimate_matching(p_namespace, filters, own_memories, few,
                CASE WHEN by_words OR p_mode = 'exact' THEN lexical_rows ELSE 0 END);
        END IF;
    END IF;
    IF p_query IS NULL THEN
        strategy := 'newest';
        ids := ARRAY(SELECT n.id FROM newest_memories(p_namespace, filters, NULL, p_candidates) AS n);
    ELSIF p_mode = 'exact' THEN
        strategy := 'substring';
        ids := match_substring(p_namespace, filters, p_query, p_candidates, matching);
    ELSIF query_vector IS NOT NULL THEN
        strategy := CASE WHEN matching > exact_up_to THEN 'hnsw' ELSE 'exact' END;
    END IF;
    IF strategy = 'hnsw' THEN
        -- The index returns its rows in steps of hnsw.ef_search rows, until enough of the returned rows match the
        -- filters. A higher value of hnsw.ef_search gives better recall at a higher cost. The value is all_memories /
        -- 40, but at least 400 and at most 800. With the value 400, the recall of the ten nearest memories was 1.00 in
        -- an index of 10,000 memories. In an index of 32,000 memories, half of which belonged to the namespace, the
        -- recall was 0.987 with the value 400 and 0.996 with the value 800, which cost 1.4 times as much.
        --
        -- If only a small part of the memories in the index match, the value is higher: 1.2 times the number of rows
        -- that the search is expected to read, but at most 1,000. The first step is then usually enough.
        PERFORM set_config('hnsw.ef_search', CAST(CAST(least(1000, greatest(
            400, least(800, all_memories / 40), 1.2 * nearest * all_memories / matching)) AS integer) AS text), true);
        SELECT array_agg(w.id), array_agg(w.vector_score), count(*) INTO ids, vector_scores, row_count
        FROM knn_hnsw(p_namespace, filters, query_vector, nearest) AS w;
        -- If the index returns fewer rows than requested (`nearest`), the index scan has ended early, because too many
        -- memories of other namespaces are nearer. Then compare the vectors of all matching memories instead.
        IF row_count < nearest THEN
            strategy := 'exact';
        ELSIF EXISTS (SELECT FROM memory_chunks c WHERE c.namespace = p_namespace) THEN
            SELECT array_agg(b.id), array_agg(b.score) INTO ids, vector_scores FROM (
                SELECT u.id, max(u.score) AS score FROM (
                    SELECT * FROM unnest(ids, vector_scores) AS w (id, score)
                    UNION ALL SELECT * FROM knn_chunks(p_namespace, filters, query_vector, nearest, p_limit)
                ) AS u GROUP BY u.id ORDER BY 2 DESC, 1 LIMIT nearest
            ) AS b;
        END IF;
    END IF;
    IF strategy = 'exact' AND NOT compared THEN
        IF NOT filtered AND has_many_chunks(p_namespace, query_vector, p_candidates) THEN
            SELECT array_agg(s.id), array_agg(s.vector_score) INTO ids, vector_scores
            FROM knn_exact_and_chunk_index(p_namespace, filters, query_vector, p_candidates, p_limit) AS s;
        ELSE
            SELECT array_agg(s.id), array_agg(s.vector_score) INTO ids, vector_scores
            FROM knn_exact(p_namespace, filters, query_vector, p_candidates) AS s;
        END IF;
    END IF;
    IF by_words THEN
        SELECT array_agg(t.key) FILTER (WHERE t.share IS NOT NULL AND t.together * own_memories <= lexical_rows),
            terms_vector(array_agg(t.key), array_agg(t.weight)),
            array_agg(t.key) FILTER (WHERE t.place <= 8),
            array_agg(t.word_weight / t.weight_of_eight) FILTER (WHERE t.place <= 8),
            CASE WHEN count(t.name) > 0 THEN array_agg(t.name) FILTER (WHERE t.place <= 8) END,
            CASE WHEN bool_or(t.variant > 1) THEN array_agg(t.place) FILTER (WHERE t.place <= 8) END
        INTO keys, terms, word_keys, word_shares, word_names, word_places FROM (
            SELECT o.*, sum(o.word_weight) FILTER (WHERE o.place <= 8 AND o.variant = 1) OVER () AS weight_of_eight FROM (
                SELECT s.*, sum(s.share) OVER (ORDER BY s.share, s.key) AS together,
                    CASE WHEN s.place IS NOT NULL THEN row_number() OVER (PARTITION BY s.place) END AS variant
                FROM query_terms(p_namespace, p_query, p_names) AS s
            ) AS o
        ) AS t;
        SELECT w.mean_length INTO mean_length FROM namespace_words w WHERE w.namespace = p_namespace;
        mean_length := coalesce(mean_length, 16);
        -- If few memories match the filters, compare the query with the words of all these memories. If even the rarest
        -- word of the query is common, compare the query with the words of the newest matching memories.
        few_match := matching < least(own_memories, lexical_rows);
        SELECT array_agg(w.id), array_agg(w.lexical_score) INTO lexical_ids, lexical_scores FROM (
            SELECT * FROM match_memories(p_namespace, filters, keys, terms, mean_length, p_candidates, 2 * lexical_rows)
            WHERE NOT few_match AND keys IS NOT NULL
            UNION ALL
            SELECT * FROM match_newest(p_namespace, filters, terms, mean_length, p_candidates, 2 * lexical_rows)
            WHERE few_match OR keys IS NULL
        ) AS w;
        -- Until now, only the rare words of the query have been looked up, and a word that no memory contains also
        -- counts as rare. If a search by words alone has found nothing, compare all words of the query with the words
        -- of the newest memories. For example, after "gard" has been typed, the query is "gard garden". If "garden" is
        -- common, only "gard" has been looked up, and no memory contains it.
        IF lexical_ids IS NULL AND query_vector IS NULL AND keys IS NOT NULL AND NOT few_match THEN
            SELECT array_agg(w.id), array_agg(w.lexical_score) INTO lexical_ids, lexical_scores
            FROM match_newest(p_namespace, filters, terms, mean_length, p_candidates, 2 * lexical_rows) AS w;
        END IF;
    END IF;
    -- Refuse the search if the memories of the time `as_of` are not completely known, for example because one of them
    -- has been deleted since then. This check is at the end, so that it notices a deletion that happened during the
    -- search.
    IF filters.as_of IS NOT NULL THEN
        PERFORM require_complete(p_namespace, filters.as_of);
    END IF;
    RETURN json_build_object(
        'strategy', concat_ws('+', strategy, CASE WHEN by_words THEN 'fulltext' END),
        'full', coalesce(cardinality(ids), 0) + coalesce(cardinality(lexical_ids), 0)
            >= CASE WHEN strategy = 'hnsw' THEN nearest ELSE p_candidates END,
        'candidates', CASE WHEN by_words AND query_vector IS NOT NULL THEN candidate_rows(
            p_namespace, filters, ids || lexical_ids,
            vector_scores || array_fill(CAST(NULL AS double precision), ARRAY[coalesce(cardinality(lexical_ids), 0)]),
            array_fill(CAST(NULL AS double precision), ARRAY[coalesce(cardinality(ids), 0)]) || lexical_scores,
            query_vector, terms, word_keys, word_shares, word_names, word_places, mean_length, ids[1:heads] || lexical_ids[1:heads])
        ELSE list_rows(
            coalesce(ids, lexical_ids), vector_scores, lexical_scores, terms, word_keys, word_shares, word_names,
            word_places, mean_length, p_query IS NOT NULL AND p_mode <> 'exact', filters.as_of)
        END);
END
$$;

GRANT EXECUTE ON FUNCTION find_candidates(text, text, text, text[], text, text, jsonb, integer, integer)
    TO mnemosyne_runtime, mnemosyne_mcp;
