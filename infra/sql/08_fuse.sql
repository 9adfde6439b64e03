-- One relevance from all that is known of a candidate: score-normalised convex fusion of both lists over their union (Bruch,
-- Gai, Ingber 2023, "An Analysis of Fusion Functions for Hybrid Retrieval"), the time that the question names, who said it,
-- and what stands beside it in its session. The weights were measured: docs/decisions/0016. `tests/oracle.py` has the same.

-- Between the least and the largest of the candidates' scores, 0 to 1; below the least it is 0. Where all are equal, p_flat.
CREATE OR REPLACE FUNCTION normalised(p_score double precision, p_least double precision, p_span double precision, p_flat boolean)
RETURNS double precision
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN p_span IS NOT NULL THEN greatest(0.0, (p_score - p_least) / p_span) WHEN p_flat THEN 1.0 ELSE 0.0 END;

-- A text's words as they are written, in lower case.
CREATE OR REPLACE FUNCTION plain_words(p_text text) RETURNS text[]
LANGUAGE sql IMMUTABLE
RETURN array_remove(regexp_split_to_array(literal_form(p_text), '\W+'), '');

-- The same without accents: as they are compared with who said something.
CREATE OR REPLACE FUNCTION name_words(p_text text) RETURNS text[]
LANGUAGE sql IMMUTABLE
RETURN plain_words(without_accents(p_text));

-- Whether it begins with "Ada: " or the like, and Ada is asked about.
CREATE OR REPLACE FUNCTION is_said_by(p_content text, p_words text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN position(': ' IN left(p_content, 42)) > 1
    THEN name_words(split_part(left(p_content, 42), ': ', 1)) && p_words ELSE false END;

-- Each of the ids once, with the scores that its list did not know.
CREATE OR REPLACE FUNCTION complete_candidates(
    p_ids uuid[], p_vector_scores double precision[], p_lexical_scores double precision[], asked question
) RETURNS SETOF candidate
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    p_vector halfvec := asked.vector;
    p_terms sparsevec := asked.terms;
BEGIN
    RETURN QUERY
    SELECT m.id, m."timestamp", m.session, memory_quality(m.rating_count, m.rating_sum),
        -- `+ 0` keeps the index of all chunks out of it.
        coalesce(listed.vector_score, greatest(1.0 - (m.embedding <=> p_vector), 1.0 - (
            SELECT min((c.embedding <=> p_vector) + 0) FROM memory_chunks c WHERE c.memory_id = m.id
        ))),
        coalesce(listed.lexical_score, CASE WHEN p_terms IS NOT NULL THEN (
            SELECT lexical_score(w, p_terms, asked.mean_length) FROM memory_words w WHERE w.memory_id = m.id
        ) END, 0),
        CASE WHEN m."timestamp" <@ asked.preferred THEN CAST(0.2 AS double precision) ELSE 0 END,
        CASE WHEN is_said_by(m.content, asked.words) THEN CAST(0.2 AS double precision) ELSE 0 END,
        CAST(0 AS double precision), CAST(0 AS double precision), CAST(NULL AS double precision)
    FROM (
        SELECT u.id, max(u.vector_score) AS vector_score, max(u.lexical_score) AS lexical_score
        FROM unnest(p_ids, p_vector_scores, p_lexical_scores) AS u (id, vector_score, lexical_score)
        GROUP BY u.id
    ) AS listed JOIN memories m ON m.id = listed.id;
END
$$;

-- The candidate's own score: the fused one and what its time is worth. Bounds are the least vector score of all candidates
-- and the span of them, and the same of the lexical scores.
CREATE OR REPLACE FUNCTION own_score(c candidate, p_lexical_weight double precision, bounds double precision[])
RETURNS double precision
LANGUAGE sql IMMUTABLE
RETURN (c).timely
    + (1 - p_lexical_weight) * normalised((c).vector_score, bounds[1], bounds[2], (c).vector_score >= bounds[1])
    + p_lexical_weight * normalised((c).lexical_score, bounds[3], bounds[4], (c).lexical_score > 0);

-- What stands before and after each in its session, so many places; a place before is negative.
CREATE OR REPLACE FUNCTION session_neighbours(p_ids uuid[], p_reach integer)
RETURNS TABLE (id uuid, neighbour uuid, place bigint)
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN QUERY
    SELECT m.id, n.id, n.place FROM memories m CROSS JOIN LATERAL (
        (SELECT b.id, - row_number() OVER (ORDER BY b."timestamp" DESC, b.id DESC) AS place FROM memories b
        WHERE b.namespace = m.namespace AND b.session = m.session AND (b."timestamp", b.id) < (m."timestamp", m.id)
        ORDER BY b."timestamp" DESC, b.id DESC LIMIT p_reach)
        UNION ALL
        (SELECT a.id, row_number() OVER (ORDER BY a."timestamp", a.id) FROM memories a
        WHERE a.namespace = m.namespace AND a.session = m.session AND (a."timestamp", a.id) > (m."timestamp", m.id)
        ORDER BY a."timestamp", a.id LIMIT p_reach)
    ) AS n
    WHERE m.id = ANY (p_ids) AND m.session IS NOT NULL;
END
$$;

-- The candidates, and those that stand beside the ten best in their sessions and pass the filters; their scores by what
-- stands around them. Before a memory stands what it answers, which counts for more than what comes after, and the best of a
-- session speaks for all of it.
CREATE OR REPLACE FUNCTION add_context(
    candidates candidate[], filters memory_filters, bounds double precision[], asked question
) RETURNS SETOF candidate
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    best uuid[];
    joined uuid[];
BEGIN
    SELECT array_agg(b.id) INTO best FROM (
        SELECT u.id FROM unnest(candidates) AS u ORDER BY u.relevance DESC, u.id LIMIT 100
    ) AS b;
    -- OFFSET 0 keeps the planner from reading all memories to join them: it takes the few neighbours for a thousand.
    SELECT array_agg(DISTINCT n.neighbour) INTO joined
    FROM session_neighbours(best[:10], 1) AS n
    CROSS JOIN LATERAL (SELECT passes(m, filters) AS passes FROM memories m WHERE m.id = n.neighbour OFFSET 0) AS m
    WHERE n.neighbour NOT IN (SELECT u.id FROM unnest(candidates) AS u) AND m.passes;
    RETURN QUERY
    WITH around AS MATERIALIZED (
        SELECT n.id, n.neighbour, CASE n.place WHEN -1 THEN 0.45 WHEN -2 THEN 0.25 WHEN 1 THEN 0.1 ELSE 0.05 END AS weight
        FROM session_neighbours(best || joined, 2) AS n
    ), met AS (
        SELECT c AS one, own_score(c, asked.lexical_weight, bounds) AS own, c.id = ANY (joined) IS TRUE AS is_candidate
        FROM complete_candidates(ARRAY(
            SELECT a.neighbour FROM around a UNION SELECT unnest(joined) EXCEPT SELECT u.id FROM unnest(candidates) AS u
        ), NULL, NULL, asked) AS c
    ), scored AS MATERIALIZED (
        SELECT u.id, u.session, u AS one, u.relevance AS own, true AS is_candidate FROM unnest(candidates) AS u
        UNION ALL
        SELECT (m.one).id, (m.one).session, m.one, m.own, m.is_candidate FROM met m
    ), beside AS (
        SELECT a.id, sum(a.weight * n.own) AS score FROM around a JOIN scored n ON n.id = a.neighbour GROUP BY a.id
    )
    SELECT s.id, (s.one).timestamp, s.session, (s.one).quality, (s.one).vector_score, (s.one).lexical_score,
        (s.one).timely, (s.one).said, s.neighbours,
        (s.one).redundancy, s.own + s.neighbours
    FROM (
        SELECT a.*, coalesce(b.score + 0.3 * max(a.own) OVER (PARTITION BY a.session), 0) AS neighbours
        FROM scored a LEFT JOIN beside b ON b.id = a.id
    ) AS s
    WHERE s.is_candidate;
END
$$;

-- Candidates with their relevance, the best of which is 1 at most.
CREATE OR REPLACE FUNCTION fuse_candidates(
    p_ids uuid[], p_vector_scores double precision[], p_lexical_scores double precision[], filters memory_filters,
    asked question
) RETURNS candidate[]
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    candidates candidate[];
    bounds double precision[];
    has_sessions boolean;
BEGIN
    SELECT array_agg(c), bool_or(c.session IS NOT NULL),
        ARRAY[min(c.vector_score), nullif(max(c.vector_score) - min(c.vector_score), 0), min(c.lexical_score),
            nullif(max(c.lexical_score) - min(c.lexical_score), 0)]
    INTO candidates, has_sessions, bounds
    FROM complete_candidates(p_ids, p_vector_scores, p_lexical_scores, asked) AS c;
    IF NOT has_sessions THEN
        RETURN ARRAY(
            SELECT CAST(ROW (u.id, u.timestamp, u.session, u.quality, u.vector_score, u.lexical_score, u.timely, u.said,
                u.neighbours, u.redundancy, u.score / greatest(1.0, max(u.score) OVER ())) AS candidate)
            FROM (SELECT c.*, own_score(c, asked.lexical_weight, bounds) + c.said AS score FROM unnest(candidates) AS c) AS u);
    END IF;
    candidates := ARRAY(
        SELECT CAST(ROW (u.id, u.timestamp, u.session, u.quality, u.vector_score, u.lexical_score, u.timely, u.said,
            u.neighbours, u.redundancy, own_score(u, asked.lexical_weight, bounds)) AS candidate) FROM unnest(candidates) AS u);
    RETURN diversify(ARRAY(
        SELECT CAST(ROW (u.id, u.timestamp, u.session, u.quality, u.vector_score, u.lexical_score, u.timely, u.said,
            u.neighbours, u.redundancy, (u.relevance + u.said) / greatest(1.0, max(u.relevance + u.said) OVER ())) AS candidate)
        FROM add_context(candidates, filters, bounds, asked) AS u));
END
$$;

-- Candidates that are not fused: their relevance is what is given, or how near they are.
CREATE OR REPLACE FUNCTION describe_candidates(
    p_ids uuid[], p_vector_scores double precision[], p_relevances double precision[]
) RETURNS candidate[]
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN ARRAY(
        SELECT CAST(ROW (m.id, m."timestamp", m.session, memory_quality(m.rating_count, m.rating_sum),
            u.vector_score, NULL, NULL, NULL, NULL, NULL, coalesce(u.relevance, least(1.0, greatest(0.0, u.vector_score)))) AS candidate)
        FROM unnest(p_ids, p_vector_scores, p_relevances) AS u (id, vector_score, relevance) JOIN memories m ON m.id = u.id);
END
$$;

REVOKE ALL ON FUNCTION normalised, plain_words, name_words, is_said_by, complete_candidates, own_score, session_neighbours, add_context,
    fuse_candidates, describe_candidates FROM PUBLIC;
