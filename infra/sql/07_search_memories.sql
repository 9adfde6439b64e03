-- The best memories within the filters, as JSON; null where the vector is not of the memories' embedding space.
--
-- Candidates by meaning (p_vector), by words (p_query, in mode hybrid, or where there is no vector) and by both,
-- fused; by substring in mode exact; the newest where there is no query. p_characters bounds what contents and metadata
-- have together: the longest are cut until all fit, and those cut say how long they are.
CREATE OR REPLACE FUNCTION search_memories(
    p_namespace text, p_mode text, p_query text, p_vector text, p_model text, p_filters jsonb, p_limit integer,
    p_quality_weight double precision, p_lexical_weight double precision, p_characters integer
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
-- Everybody's rows are never walked through: how long that takes would tell of them.
SET enable_seqscan = off
AS $$
DECLARE
    filters memory_filters := filters_of(p_filters);
    -- Up to this many, comparing every vector is as fast as walking the index, and exact.
    exact_up_to CONSTANT integer := 10000;
    -- Up to this many, looking through one's own is faster than asking the index, which holds everybody's words.
    own_up_to CONSTANT integer := 2000;
    -- Words so common that together they would match more than this only add to the score of what others found.
    lexical_rows CONSTANT integer := 5000;
    -- Of each list: three times what is asked for, so that fusion and quality have something to choose from.
    candidates integer := greatest(3 * p_limit, 100);
    query_vector halfvec := CAST(p_vector AS halfvec);
    estimated bigint := (SELECT coalesce(sum(u.memories), 0) FROM namespace_usage u WHERE u.namespace = p_namespace);
    passing bigint;
    strategy text;
    terms tsquery[];
    shares double precision[];
    weights double precision[];
    generating tsquery;
    walked_ids uuid[];
    walked_distances double precision[];
    chunk_ids uuid[];
    chunk_distances double precision[];
    chunk_memories integer;
    chunk_limit integer;
    vector_ids uuid[] := '{}';
    vector_scores double precision[] := '{}';
    lexical_ids uuid[] := '{}';
    lexical_scores double precision[] := '{}';
    hits json;
    considered integer;
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
    IF estimated > exact_up_to AND query_vector IS NOT NULL THEN
        SELECT count(*) INTO passing FROM (
            SELECT FROM memories m WHERE m.namespace = p_namespace AND passes(m, filters) LIMIT exact_up_to + 1
        ) AS some_;
        estimated := CASE WHEN passing > exact_up_to THEN estimated ELSE passing END;
    END IF;
    IF p_query IS NULL OR p_mode = 'exact' THEN
        strategy := CASE WHEN p_query IS NULL THEN 'newest' ELSE 'substring' END;
        SELECT array_agg(found.id), array_agg(1.0) INTO vector_ids, vector_scores FROM (
            SELECT m.id FROM memories m
            WHERE m.namespace = p_namespace AND passes(m, filters)
                AND (p_query IS NULL OR m.content ILIKE '%' || replace(replace(replace(
                    p_query, '\', '\\'), '%', '\%'), '_', '\_') || '%')
            ORDER BY m."timestamp" DESC, m.id DESC
            LIMIT CASE WHEN p_quality_weight > 0 THEN candidates ELSE p_limit END
        ) AS found;
    END IF;

    IF p_query IS NOT NULL AND p_mode <> 'exact' AND query_vector IS NOT NULL THEN
        IF estimated > exact_up_to THEN
            -- The index is walked until enough of what it yields passes the filters.
            strategy := 'hnsw';
            SELECT array_agg(walked.id), array_agg(walked.distance) INTO walked_ids, walked_distances FROM (
                SELECT m.id, m.embedding <=> query_vector AS distance FROM memories m
                WHERE m.namespace = p_namespace AND passes(m, filters)
                ORDER BY m.embedding <=> query_vector
                LIMIT candidates
            ) AS walked;
            -- The chunks of one long memory may be nearer than all others': walk on, four times as far each time and 64
            -- times at most, until enough memories are met.
            chunk_limit := candidates;
            LOOP
                SELECT array_agg(walked.memory_id), array_agg(walked.distance), count(DISTINCT walked.memory_id)
                INTO chunk_ids, chunk_distances, chunk_memories FROM (
                    SELECT c.memory_id, c.embedding <=> query_vector AS distance FROM memory_chunks c
                    WHERE c.namespace = p_namespace
                        AND EXISTS (SELECT FROM memories m WHERE m.id = c.memory_id AND passes(m, filters))
                    ORDER BY c.embedding <=> query_vector
                    LIMIT chunk_limit
                ) AS walked;
                EXIT WHEN chunk_memories >= p_limit OR coalesce(cardinality(chunk_ids), 0) < chunk_limit
                    OR chunk_limit >= 64 * candidates;
                chunk_limit := 4 * chunk_limit;
            END LOOP;
            SELECT array_agg(found.id), array_agg(1.0 - found.distance) INTO vector_ids, vector_scores FROM (
                SELECT both_.id, min(both_.distance) AS distance
                FROM (
                    SELECT * FROM unnest(walked_ids, walked_distances)
                    UNION ALL
                    SELECT * FROM unnest(chunk_ids, chunk_distances)
                ) AS both_ (id, distance)
                GROUP BY both_.id ORDER BY 2, 1 LIMIT candidates
            ) AS found;
        END IF;
        -- A walk that ends early has spent itself on the memories of others, which lie nearer.
        IF estimated <= exact_up_to OR coalesce(cardinality(walked_ids), 0) < candidates THEN
            -- `+ 0` keeps the index out of it: every vector that passes the filters is compared.
            strategy := 'exact';
            SELECT array_agg(found.id), array_agg(1.0 - found.distance) INTO vector_ids, vector_scores FROM (
                SELECT both_.id, min(both_.distance) AS distance FROM (
                    SELECT m.id, (m.embedding <=> query_vector) + 0 AS distance FROM memories m
                    WHERE m.namespace = p_namespace AND passes(m, filters)
                    UNION ALL
                    SELECT m.id, (c.embedding <=> query_vector) + 0 AS distance
                    FROM memory_chunks c JOIN memories m ON m.id = c.memory_id
                    WHERE m.namespace = p_namespace AND c.namespace = p_namespace AND passes(m, filters)
                ) AS both_
                GROUP BY both_.id ORDER BY 2, 1 LIMIT candidates
            ) AS found;
        END IF;
    END IF;

    IF p_query IS NOT NULL AND (p_mode = 'hybrid' OR (p_mode = 'semantic' AND query_vector IS NULL)) THEN
        strategy := concat_ws('+', strategy, 'fulltext');
        SELECT array_agg(t.term), array_agg(t.share), array_agg(t.weight) INTO terms, shares, weights
        FROM search_terms(p_namespace, p_query) AS t;
        SELECT CAST(string_agg(CAST(t.term AS text), ' | ') AS tsquery) INTO generating FROM (
            SELECT s.term, sum(s.share) OVER (ORDER BY s.share, s.term) - s.share AS rarer_share
            FROM unnest(terms, shares) AS s (term, share)
        ) AS t
        WHERE t.rarer_share * estimated <= lexical_rows;
        SELECT array_agg(found.id), array_agg(found.rank) INTO lexical_ids, lexical_scores FROM (
            SELECT m.id, (
                SELECT sum(t.weight * ts_rank(m.search_text, t.term, 1)) FROM unnest(terms, weights) AS t (term, weight)
            ) AS rank
            FROM memories m
            WHERE m.namespace = p_namespace AND passes(m, filters) AND CASE WHEN estimated <= own_up_to
                THEN m.search_text @@ generating IS TRUE ELSE m.search_text @@ generating END
            ORDER BY rank DESC, m.id
            LIMIT candidates
        ) AS found;
    END IF;

    -- Score-normalised convex fusion over the union of both lists (Bruch, Gai, Ingber 2023), then quality. A list
    -- that is not asked for has weight 0, and alone a list keeps its own scores.
    WITH listed AS (
        SELECT coalesce(n.id, w.id) AS id, n.score AS vector_score, w.score AS lexical_score
        FROM unnest(vector_ids, vector_scores) AS n (id, score)
        FULL JOIN unnest(lexical_ids, lexical_scores) AS w (id, score) ON w.id = n.id
    ), completed AS (
        SELECT listed.id, m."timestamp", memory_quality(m.rating_count, m.rating_sum, m.fetches) AS quality,
               coalesce(listed.vector_score, greatest(1.0 - (m.embedding <=> query_vector), 1.0 - (
                   SELECT min(c.embedding <=> query_vector) FROM memory_chunks c WHERE c.memory_id = listed.id
               ))) AS vector_score,
               coalesce(listed.lexical_score, (
                   SELECT sum(t.weight * ts_rank(m.search_text, t.term, 1))
                   FROM unnest(terms, weights) AS t (term, weight)
               ), 0) AS lexical_score
        FROM listed JOIN memories m ON m.id = listed.id
    ), bounds AS (
        SELECT min(c.vector_score) AS vector_min, nullif(max(c.vector_score) - min(c.vector_score), 0) AS vector_span,
               min(c.lexical_score) AS lexical_min, nullif(max(c.lexical_score) - min(c.lexical_score), 0) AS lexical_span
        FROM completed c
    ), fused AS (
        SELECT c.id, c."timestamp", c.quality, c.vector_score, CASE
            WHEN p_query IS NULL THEN 0.0
            WHEN strategy LIKE '%+fulltext' THEN
                (1 - p_lexical_weight) * coalesce((c.vector_score - b.vector_min) / b.vector_span, 1.0)
                + p_lexical_weight * coalesce((c.lexical_score - b.lexical_min) / b.lexical_span, CASE WHEN c.lexical_score > 0 THEN 1.0 ELSE 0.0 END)
            WHEN strategy = 'fulltext' THEN coalesce(c.lexical_score / (b.lexical_min + b.lexical_span), 1.0)
            ELSE least(1.0, greatest(0.0, c.vector_score))
        END AS relevance
        FROM completed c, bounds b
    ), scored AS (
        SELECT f.*, (1 - p_quality_weight) * f.relevance + p_quality_weight * f.quality AS score, count(*) OVER () AS n
        FROM fused f
        -- Opposite meanings are all of relevance 0: nearness orders them still.
        ORDER BY score DESC, f.vector_score DESC NULLS LAST, f."timestamp" DESC, f.id DESC
        LIMIT p_limit
    ), measured AS (
        SELECT m.id, char_length(m.content) AS content_length,
            char_length(m.content) + char_length(CAST(m.metadata AS text)) AS length
        FROM scored s JOIN memories m ON m.id = s.id
    ), shared AS (
        SELECT d.length, (p_characters - (sum(d.length) OVER shorter - d.length))
            / (count(*) OVER () - row_number() OVER shorter + 1) AS each_
        FROM measured d WINDOW shorter AS (ORDER BY d.length, d.id ROWS UNBOUNDED PRECEDING)
    ), allowed AS (
        -- The share of the first that does not fit is that of all longer ones too.
        SELECT (SELECT s.each_ FROM shared s WHERE s.length > s.each_ ORDER BY s.length LIMIT 1) AS each_
    )
    SELECT json_agg(memory_record(m) || jsonb_build_object(
        'content', CASE WHEN d.length > a.each_ THEN left(m.content, CAST(greatest(0, a.each_ - CASE
            WHEN d.length - d.content_length <= a.each_ / 2 THEN d.length - d.content_length ELSE 0
            END) AS integer)) ELSE m.content END,
        'metadata', CASE WHEN d.length > a.each_ AND d.length - d.content_length > a.each_ / 2 THEN NULL ELSE m.metadata END,
        'length', d.content_length,
        'relevance', CASE WHEN p_query IS NOT NULL THEN s.relevance END, 'score', s.score
    ) ORDER BY s.score DESC, s.vector_score DESC NULLS LAST, s."timestamp" DESC, s.id DESC), max(s.n)
    INTO hits, considered
    FROM scored s JOIN memories m ON m.id = s.id JOIN measured d ON d.id = s.id CROSS JOIN allowed a;

    RETURN json_build_object('strategy', strategy, 'considered', coalesce(considered, 0), 'hits', coalesce(hits, '[]'));
END
$$;

REVOKE ALL ON FUNCTION search_memories(
    text, text, text, text, text, jsonb, integer, double precision, double precision, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search_memories(
    text, text, text, text, text, jsonb, integer, double precision, double precision, integer)
    TO mnemosyne_runtime, mnemosyne_mcp;
