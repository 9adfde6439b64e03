-- Of a content, 240 characters around where the longest word of the query that is in it stands first; null where that is
-- among its first p_shown characters. A stem is the beginning of its word, but for an i that was a y.
CREATE OR REPLACE FUNCTION snippet(p_content text, p_query text, p_shown integer) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN (
    SELECT CASE WHEN f.place > p_shown THEN substr(p_content, f.place - 80, 240) END FROM (
        SELECT w.lexeme, regexp_instr(
            p_content, '\m' || regexp_replace(regexp_replace(w.lexeme, '(\W)', '\\\1', 'g'), 'i$', '[iy]'), 1, 1, 0, 'i'
        ) AS place
        FROM unnest(tsvector_to_array(words_of(p_query))) AS w (lexeme) ORDER BY length(w.lexeme) DESC, w.lexeme LIMIT 10
    ) AS f
    WHERE f.place > 0 ORDER BY length(f.lexeme) DESC, f.lexeme LIMIT 1
);

-- The query's words that stand among a memory's.
CREATE OR REPLACE FUNCTION matched_words(p_query text, p_words tsvector) RETURNS text[]
LANGUAGE sql IMMUTABLE
RETURN ARRAY(
    SELECT DISTINCT w.word FROM unnest(plain_words(p_query)) AS w (word)
    WHERE tsvector_to_array(words_of(w.word)) && tsvector_to_array(p_words) ORDER BY w.word LIMIT 100
);

-- The best of the candidates, as JSON: by relevance and quality, as weighted.
--
-- p_characters bounds what contents and metadata have together: the longest are cut until all fit, and those cut say how
-- long they are and show what was asked for. p_explain: why each was found.
CREATE OR REPLACE FUNCTION rank_candidates(
    candidates candidate[], p_strategy text, p_limit integer, p_quality_weight double precision, p_characters integer,
    p_query text, p_explain boolean
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
            'content', CASE WHEN d.length > a.each_ THEN left(m.content, p.shown - coalesce(char_length(p.snippet), 0))
                ELSE m.content END,
            'metadata', CASE WHEN d.length > a.each_ AND d.length - d.content_length > a.each_ / 2 THEN NULL
                ELSE m.metadata END,
            'length', d.content_length,
            'snippet', p.snippet,
            'why', CASE WHEN p_explain THEN json_build_object(
                'matched_words', matched_words(p_query, words_of(searched_text(m.title, m.tags, m.content))),
                'vector_score', s.vector_score, 'lexical_score', s.lexical_score, 'neighbours', s.neighbours,
                'time', s.timely, 'speaker', s.said, 'redundancy', s.redundancy) END,
            'relevance', CASE WHEN p_strategy <> 'newest' THEN s.relevance END, 'score', s.score
        ) ORDER BY s.score DESC, s.vector_score DESC NULLS LAST, s."timestamp" DESC, s.id DESC), '[]'))
    FROM scored s JOIN memories m ON m.id = s.id JOIN measured d ON d.id = s.id CROSS JOIN allowed a
    CROSS JOIN LATERAL (
        SELECT o.shown, CASE WHEN d.length > a.each_ AND o.shown >= 500 THEN snippet(m.content, p_query, o.shown - 240) END
            AS snippet
        FROM (
            SELECT CAST(greatest(0, a.each_ - CASE WHEN d.length - d.content_length <= a.each_ / 2
                THEN d.length - d.content_length ELSE 0 END) AS integer) AS shown
        ) AS o
    ) AS p);
END
$$;
REVOKE ALL ON FUNCTION snippet, matched_words, rank_candidates FROM PUBLIC;
