-- The best of the candidates, as JSON: by relevance and quality, as weighted.
--
-- p_characters bounds what contents and metadata have together: the longest are cut until all fit, and those cut say how
-- long they are.
CREATE OR REPLACE FUNCTION rank_candidates(
    candidates candidate[], p_strategy text, p_limit integer, p_quality_weight double precision, p_characters integer
) RETURNS json
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN (WITH scored AS (
        SELECT f.*, (1 - p_quality_weight) * f.relevance + p_quality_weight * f.quality AS score, count(*) OVER () AS n
        FROM unnest(candidates) AS f
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
