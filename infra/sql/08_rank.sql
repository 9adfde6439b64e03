-- The best of the candidates, as JSON: score-normalised convex fusion over the union of both lists (Bruch, Gai, Ingber
-- 2023), then quality. A list that is not asked for has weight 0, and alone a list keeps its own scores.
--
-- p_characters bounds what contents and metadata have together: the longest are cut until all fit, and those cut say how
-- long they are.
CREATE OR REPLACE FUNCTION rank_candidates(
    p_ids uuid[], p_vector_scores double precision[], p_lexical_scores double precision[], p_vector halfvec,
    p_terms sparsevec, p_mean_length double precision, p_strategy text, p_limit integer,
    p_quality_weight double precision, p_lexical_weight double precision, p_characters integer
) RETURNS json
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN (WITH listed AS (
        SELECT u.id, max(u.vector_score) AS vector_score, max(u.lexical_score) AS lexical_score
        FROM unnest(p_ids, p_vector_scores, p_lexical_scores) AS u (id, vector_score, lexical_score)
        GROUP BY u.id
    ), completed AS (
        SELECT listed.id, m."timestamp", memory_quality(m.rating_count, m.rating_sum, m.fetches) AS quality,
            -- `+ 0` keeps the index of all chunks out of it.
            coalesce(listed.vector_score, greatest(1.0 - (m.embedding <=> p_vector), 1.0 - (
                SELECT min((c.embedding <=> p_vector) + 0) FROM memory_chunks c WHERE c.memory_id = listed.id
            ))) AS vector_score,
            coalesce(listed.lexical_score, CASE WHEN p_terms IS NOT NULL THEN (
                SELECT lexical_score(w, p_terms, p_mean_length) FROM memory_words w WHERE w.memory_id = listed.id
            ) END, 0) AS lexical_score
        FROM listed JOIN memories m ON m.id = listed.id
    ), bounds AS MATERIALIZED (
        SELECT min(c.vector_score) AS vector_min, nullif(max(c.vector_score) - min(c.vector_score), 0) AS vector_span,
            min(c.lexical_score) AS lexical_min, nullif(max(c.lexical_score) - min(c.lexical_score), 0) AS lexical_span
        FROM completed c
    ), fused AS (
        SELECT c.id, c."timestamp", c.quality, c.vector_score, CASE
            WHEN p_strategy IN ('newest', 'substring') THEN CASE WHEN p_strategy = 'substring' THEN 1.0 ELSE 0.0 END
            WHEN p_strategy LIKE '%+fulltext' THEN
                (1 - p_lexical_weight) * coalesce((c.vector_score - b.vector_min) / b.vector_span, 1.0)
                + p_lexical_weight * coalesce((c.lexical_score - b.lexical_min) / b.lexical_span,
                    CASE WHEN c.lexical_score > 0 THEN 1.0 ELSE 0.0 END)
            WHEN p_strategy = 'fulltext' THEN coalesce(c.lexical_score / (b.lexical_min + b.lexical_span), 1.0)
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
    ), allowed AS MATERIALIZED (
        -- The share of the first that does not fit is that of all longer ones too.
        SELECT (SELECT s.each_ FROM shared s WHERE s.length > s.each_ ORDER BY s.length LIMIT 1) AS each_
    )
    SELECT json_build_object('strategy', p_strategy, 'considered', coalesce(max(s.n), 0), 'hits', coalesce(
        json_agg(memory_record(m) || jsonb_build_object(
            'content', CASE WHEN d.length > a.each_ THEN left(m.content, CAST(greatest(0, a.each_ - CASE
                WHEN d.length - d.content_length <= a.each_ / 2 THEN d.length - d.content_length ELSE 0
                END) AS integer)) ELSE m.content END,
            'metadata', CASE WHEN d.length > a.each_ AND d.length - d.content_length > a.each_ / 2 THEN NULL
                ELSE m.metadata END,
            'length', d.content_length,
            'relevance', CASE WHEN p_strategy <> 'newest' THEN s.relevance END, 'score', s.score
        ) ORDER BY s.score DESC, s.vector_score DESC NULLS LAST, s."timestamp" DESC, s.id DESC), '[]'))
    FROM scored s JOIN memories m ON m.id = s.id JOIN measured d ON d.id = s.id CROSS JOIN allowed a);
END
$$;
REVOKE ALL ON FUNCTION rank_candidates FROM PUBLIC;
