-- The best memories within the filters, as JSON; null where the vector is not of the memories' embedding space.
--
-- Candidates by meaning (p_vector), by words (p_query, in mode hybrid, or where there is no vector) and by both; by
-- substring in mode exact; the newest where there is no query. What is made of them is said in fuse_candidates and
-- rank_candidates. Beside the filters stands which times are preferred, and whether to explain.
CREATE OR REPLACE FUNCTION search_memories(
    p_namespace text, p_mode text, p_query text, p_vector text, p_model text, p_filters jsonb, p_limit integer,
    p_quality_weight double precision, p_lexical_weight double precision, p_characters integer
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
-- Everybody's rows are never walked through: how long that takes would tell of them.
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    filters memory_filters := filters_of(p_filters);
    own bigint := (SELECT coalesce(sum(u.memories), 0) FROM namespace_usage u WHERE u.namespace = p_namespace);
    -- Of each list: three times what is asked for where fusion or quality may choose from it.
    by_words boolean := p_query IS NOT NULL AND (p_mode = 'hybrid' OR (p_mode = 'semantic' AND p_vector IS NULL));
    candidates integer := CASE WHEN by_words OR p_quality_weight > 0 THEN greatest(3 * p_limit, 100) ELSE p_limit END;
    query_vector halfvec := CAST(p_vector AS halfvec);
    -- Everybody's memories, that share the index: as of the last VACUUM.
    everybody double precision := (SELECT greatest(own, c.reltuples) FROM pg_class c WHERE c.oid = CAST('memories' AS regclass));
    -- One session that is left out narrows nothing.
    filtered boolean := jsonb_strip_nulls(p_filters) - CAST('{explain,preferred,not_session}' AS text[])
        <> '{"include_superseded": false}';
    -- More than 1,000 numbers make a row of more than 2,000 bytes, which keeps them out of line.
    out_of_line boolean := coalesce(vector_dims(query_vector) > 1000, false);
    -- Up to this many, comparing all that pass is as fast as asking the index, and exact. The index yields candidates *
    -- everybody / passing until enough of them pass, each at the cost of about 25 compared (256 dimensions: 9 to 45
    -- microseconds and 0.6 to 1.4), of 8 out of line (3,072: 42 to 104 and 7.4), or of 6 that lie here and there, as what has
    -- a tag does. Beside a filter all that pass are counted first, so that it is no more than 10,000 there.
    exact_up_to integer := greatest(2000, least(CASE WHEN filtered OR out_of_line THEN 10000 ELSE 40000 END,
        sqrt(CASE WHEN filtered THEN 6.0 WHEN out_of_line THEN 8.0 ELSE 25.0 END * candidates * everybody)));
    -- Words so common that with the rarer ones they match more than this only add to the score of what others found.
    lexical_rows CONSTANT integer := 2000;
    passing bigint := own;
    explain boolean := coalesce(CAST(p_filters ->> 'explain' AS boolean), false);
    strategy text;
    keys integer[];
    terms sparsevec;
    mean_length double precision;
    ids uuid[];
    vector_scores double precision[];
    lexical_scores double precision[];
    found_all candidate[];
    found integer;
    narrow boolean;
    fold record;
    others jsonb := '{}';
BEGIN
    PERFORM require_own(p_namespace);
    -- Holds off a move to another space until this search has ended.
    LOCK TABLE memories IN ACCESS SHARE MODE;
    IF p_vector IS NOT NULL AND (p_model, vector_dims(query_vector)) IS DISTINCT FROM (
        SELECT ROW (s.model, a.atttypmod) FROM embedding_space s, pg_attribute a
        WHERE a.attrelid = CAST('memories' AS regclass) AND a.attname = 'embedding'
    ) THEN
        RETURN NULL;
    END IF;
    -- Counted, and no further than it matters: the planner's estimate would be of everybody's memories.
    IF p_query IS NOT NULL AND filtered THEN
        passing := least(own, count_passing(p_namespace, filters, exact_up_to));
    END IF;
    IF p_query IS NULL OR p_mode = 'exact' THEN
        ids := CASE WHEN p_query IS NULL
            THEN ARRAY(SELECT n.id FROM newest_memories(p_namespace, filters, NULL, candidates) AS n)
            ELSE match_substring(p_namespace, filters, p_query, candidates, passing) END;
        strategy := CASE WHEN p_query IS NULL THEN 'newest' ELSE 'substring' END;
        RETURN rank_candidates(describe_candidates(ids, NULL, array_fill(CAST(CASE strategy WHEN 'newest' THEN 0 ELSE 1 END
            AS double precision), ARRAY[cardinality(ids)])), strategy, p_limit, p_quality_weight, p_characters, p_query, explain);
    END IF;
    IF by_words THEN
        SELECT array_agg(t.key) FILTER (WHERE t.together * own <= lexical_rows),
            terms_vector(array_agg(t.key), array_agg(t.weight))
        INTO keys, terms FROM (
            SELECT s.*, sum(s.share) OVER (ORDER BY s.share, s.key) AS together
            FROM search_terms(p_namespace, p_query) AS s
        ) AS t;
        SELECT w.mean_length INTO mean_length FROM namespace_words w WHERE w.namespace = p_namespace;
        mean_length := coalesce(mean_length, 16);
    END IF;
    -- Memories that state the same are folded. Where they leave too few, those folded make room for others.
    LOOP
        strategy := CASE WHEN query_vector IS NOT NULL THEN CASE WHEN passing > exact_up_to THEN 'hnsw' ELSE 'exact' END END;
        IF strategy = 'hnsw' THEN
            -- Of the true ten nearest among 410,000, 200 find .97, 400 find .985 to .99 at half as much again.
            PERFORM set_config('hnsw.ef_search',
                CASE WHEN everybody < 50000 THEN '200' WHEN everybody < 500000 THEN '400' ELSE '600' END, true);
            SELECT array_agg(w.id), array_agg(w.vector_score), count(*) INTO ids, vector_scores, found
            FROM walk_memories(p_namespace, filters, query_vector, candidates) AS w;
            -- A walk that ends early has spent itself on the memories of others, which lie nearer.
            IF found < candidates THEN
                strategy := 'exact';
            ELSIF EXISTS (SELECT FROM memory_chunks c WHERE c.namespace = p_namespace) THEN
                SELECT array_agg(b.id), array_agg(b.score) INTO ids, vector_scores FROM (
                    SELECT u.id, max(u.score) AS score FROM (
                        SELECT * FROM unnest(ids, vector_scores) AS w (id, score)
                        UNION ALL SELECT * FROM walk_chunks(p_namespace, filters, query_vector, candidates, p_limit)
                    ) AS u GROUP BY u.id ORDER BY 2 DESC, 1 LIMIT candidates
                ) AS b;
            END IF;
        END IF;
        IF strategy = 'exact' THEN
            SELECT array_agg(s.id), array_agg(s.vector_score) INTO ids, vector_scores
            FROM scan_memories(p_namespace, filters, query_vector, candidates) AS s;
        END IF;
        IF by_words THEN
            -- Few that pass of many are looked through; so are the newest where even the rarest word is common.
            narrow := passing < least(own, 2000);
            SELECT ids || array_agg(w.id), vector_scores || array_agg(CAST(NULL AS double precision)),
                array_fill(CAST(NULL AS double precision), ARRAY[coalesce(cardinality(ids), 0)]) || array_agg(w.lexical_score)
            INTO ids, vector_scores, lexical_scores
            FROM (
                SELECT * FROM match_memories(p_namespace, filters, keys, terms, mean_length, candidates, 2 * lexical_rows)
                WHERE NOT narrow AND keys IS NOT NULL
                UNION ALL
                SELECT * FROM match_newest(p_namespace, filters, terms, mean_length, candidates, 2 * lexical_rows)
                WHERE narrow OR keys IS NULL
            ) AS w;
        END IF;
        IF by_words AND query_vector IS NOT NULL THEN
            found_all := fuse_candidates(ids, vector_scores, lexical_scores, filters, CAST(ROW (query_vector, terms, mean_length,
                p_lexical_weight, name_words(p_query), CAST(p_filters ->> 'preferred' AS tstzmultirange)) AS question));
        ELSE
            found_all := describe_candidates(ids, vector_scores, CASE WHEN by_words THEN ARRAY(
                SELECT coalesce(u.score / nullif(max(u.score) OVER (), 0), 0) FROM unnest(lexical_scores) WITH ORDINALITY AS u (score, place)
                ORDER BY u.place) END);
        END IF;
        fold := fold_candidates(found_all, p_quality_weight);
        EXIT WHEN fold.folded IS NULL;
        others := others || fold.others;
        EXIT WHEN cardinality(fold.kept) >= p_limit OR cardinality(ids) < candidates;
        filters.folded := filters.folded || fold.folded;
        filters.shown := filters.shown || ARRAY(SELECT CAST(o.id AS uuid) FROM jsonb_object_keys(fold.others) AS o (id));
    END LOOP;
    RETURN rank_candidates(fold.kept, concat_ws('+', strategy, CASE WHEN by_words THEN 'fulltext' END), p_limit,
        p_quality_weight, p_characters, p_query, explain, others);
END
$$;

REVOKE ALL ON FUNCTION search_memories(
    text, text, text, text, text, jsonb, integer, double precision, double precision, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search_memories(
    text, text, text, text, text, jsonb, integer, double precision, double precision, integer)
    TO mnemosyne_runtime, mnemosyne_mcp;
