-- Searches that read nothing of other namespaces, and answer no more text than was asked for.
--
-- The functions of before stay as they are for the version before this one, and go with the next migration of their own.

-- What narrows the set that is searched or listed; null is any. Stated once, and put into each statement by the planner.
CREATE TYPE memory_filters AS (
    after timestamptz, before timestamptz, any_tags text[], all_tags text[], include_superseded boolean
);

CREATE FUNCTION passes(m memories, f memory_filters) RETURNS boolean
LANGUAGE sql STABLE
RETURN ((f).after IS NULL OR (m)."timestamp" >= (f).after)
    AND ((f).before IS NULL OR (m)."timestamp" < (f).before)
    AND ((f).any_tags IS NULL OR (m).tag_keys && (f).any_tags)
    AND ((f).all_tags IS NULL OR (m).tag_keys @> (f).all_tags)
    AND ((f).include_superseded OR (m).superseded_by IS NULL);

-- These functions see every row, because row-level security would keep full text and tags off their indexes: they work
-- for the session's own namespace and refuse any other.
CREATE FUNCTION require_own(p_namespace text) RETURNS void
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF p_namespace IS DISTINCT FROM nullif(current_setting('mnemosyne.namespace', true), '') THEN
        RAISE insufficient_privilege USING MESSAGE = 'this session is not for that namespace';
    END IF;
END
$$;

CREATE FUNCTION list_memories(
    p_namespace text, p_filters memory_filters, p_beyond_timestamp timestamptz, p_beyond_id uuid, p_limit integer
) RETURNS TABLE (id uuid, "timestamp" timestamptz, title text, tags text[], superseded_by uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM require_own(p_namespace);
    RETURN QUERY
    SELECT m.id, m."timestamp", m.title, m.tags, m.superseded_by
    FROM memories m
    WHERE m.namespace = p_namespace AND passes(m, p_filters)
        AND (p_beyond_id IS NULL OR (m."timestamp", m.id) < (p_beyond_timestamp, p_beyond_id))
    ORDER BY m."timestamp" DESC, m.id DESC
    LIMIT p_limit;
END
$$;

-- The content words of a query, rarest first: what they match, the share of the namespace's memories that they match,
-- and their weight, the root of the inverse document frequency: on conversations the root lost nothing against equal
-- weights, on abstracts it found a fifth more. A word not counted is taken to be rarer than one that stands in a single
-- memory. Words are taken stemmed and without stop words, among them the question words.
CREATE FUNCTION search_terms(p_namespace text, p_query text)
RETURNS TABLE (term tsquery, share double precision, weight double precision)
LANGUAGE sql STABLE SET search_path = public, pg_temp
BEGIN ATOMIC
    WITH own AS MATERIALIZED (
        SELECT words, shares, sampled FROM namespace_words WHERE namespace = p_namespace
    ), asked AS MATERIALIZED (
        SELECT lexeme FROM unnest(to_tsvector('english', p_query)) AS query
    ), weighed AS (
        SELECT CAST('''' || replace(replace(asked.lexeme, '\', '\\'), '''', '''''') || '''' AS tsquery) AS term,
            coalesce(CAST((SELECT shares[array_position(words, asked.lexeme)] FROM own) AS double precision),
                (SELECT 0.5 / greatest(sampled, 1) FROM own), 0.001) AS share
        FROM asked
    )
    SELECT term, share, sqrt(ln(1.0 + 1.0 / greatest(share, 0.00001))) FROM weighed ORDER BY share, term
    LIMIT 30;  -- a whole page pasted as a query: its rarest words tell what it is about
END;

-- The best memories within the filters, as JSON; null where the vector is not of the memories' space.
--
-- Candidates by meaning (p_vector), by words (p_query, in mode hybrid, or where there is no vector) and by both,
-- fused; by substring in mode exact; the newest where there is no query. p_characters bounds what contents and metadata
-- have together: the longest are cut until all fit, and those cut say how long they are.
CREATE FUNCTION search_memories(
    p_namespace text, p_mode text, p_query text, p_vector text, p_model text, p_filters memory_filters, p_limit integer,
    p_quality_weight double precision, p_lexical_weight double precision, p_characters integer
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
-- Everybody's rows are never walked through: how long that takes would tell of them.
SET enable_seqscan = off
AS $$
DECLARE
    -- Up to this many, comparing every vector is as fast as walking the index, and exact.
    exact_up_to CONSTANT integer := 10000;
    -- Up to this many, looking through one's own is faster than asking the index, which holds everybody's words.
    own_up_to CONSTANT integer := 2000;
    -- Words so common that together they would match more than this only add to the score of what others found.
    lexical_rows CONSTANT integer := 5000;
    candidates integer := greatest(3 * p_limit, 100);
    vector_ halfvec := CAST(p_vector AS halfvec);
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
    near_ids uuid[] := '{}';
    near double precision[] := '{}';
    word_ids uuid[] := '{}';
    words double precision[] := '{}';
    hits json;
    considered integer;
BEGIN
    PERFORM require_own(p_namespace);
    -- Holds off a move to another space until this search has ended.
    LOCK TABLE memories IN ACCESS SHARE MODE;
    IF p_vector IS NOT NULL AND (p_model, vector_dims(vector_)) IS DISTINCT FROM (
        SELECT ROW (s.model, a.atttypmod) FROM embedding_space s, pg_attribute a
        WHERE a.attrelid = CAST('memories' AS regclass) AND a.attname = 'embedding'
    ) THEN
        RETURN NULL;
    END IF;
    -- Counted, and no further than it matters: the planner's estimate would be of everybody's memories.
    IF estimated > exact_up_to AND vector_ IS NOT NULL THEN
        SELECT count(*) INTO passing FROM (
            SELECT FROM memories m WHERE m.namespace = p_namespace AND passes(m, p_filters) LIMIT exact_up_to + 1
        ) AS some_;
        estimated := CASE WHEN passing > exact_up_to THEN estimated ELSE passing END;
    END IF;
    IF p_query IS NULL OR p_mode = 'exact' THEN
        strategy := CASE WHEN p_query IS NULL THEN 'newest' ELSE 'substring' END;
        SELECT array_agg(found.id), array_agg(1.0) INTO near_ids, near FROM (
            SELECT m.id FROM memories m
            WHERE m.namespace = p_namespace AND passes(m, p_filters)
                AND (p_query IS NULL OR m.content ILIKE '%' || replace(replace(replace(
                    p_query, '\', '\\'), '%', '\%'), '_', '\_') || '%')
            ORDER BY m."timestamp" DESC, m.id DESC
            LIMIT CASE WHEN p_quality_weight > 0 THEN candidates ELSE p_limit END
        ) AS found;
    END IF;

    IF p_query IS NOT NULL AND p_mode <> 'exact' AND vector_ IS NOT NULL THEN
        IF estimated > exact_up_to THEN
            -- The index is walked until enough of what it yields passes the filters.
            strategy := 'hnsw';
            SELECT array_agg(walked.id), array_agg(walked.distance) INTO walked_ids, walked_distances FROM (
                SELECT m.id, m.embedding <=> vector_ AS distance FROM memories m
                WHERE m.namespace = p_namespace AND passes(m, p_filters)
                ORDER BY m.embedding <=> vector_
                LIMIT candidates
            ) AS walked;
            -- The chunks of one long memory may be nearer than all others': walk on until enough memories are met.
            chunk_limit := candidates;
            LOOP
                SELECT array_agg(walked.memory_id), array_agg(walked.distance), count(DISTINCT walked.memory_id)
                INTO chunk_ids, chunk_distances, chunk_memories FROM (
                    SELECT c.memory_id, c.embedding <=> vector_ AS distance FROM memory_chunks c
                    WHERE c.namespace = p_namespace
                        AND EXISTS (SELECT FROM memories m WHERE m.id = c.memory_id AND passes(m, p_filters))
                    ORDER BY c.embedding <=> vector_
                    LIMIT chunk_limit
                ) AS walked;
                EXIT WHEN chunk_memories >= p_limit OR coalesce(cardinality(chunk_ids), 0) < chunk_limit
                    OR chunk_limit >= 64 * candidates;
                chunk_limit := 4 * chunk_limit;
            END LOOP;
            SELECT array_agg(found.id), array_agg(1.0 - found.distance) INTO near_ids, near FROM (
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
            SELECT array_agg(found.id), array_agg(1.0 - found.distance) INTO near_ids, near FROM (
                SELECT both_.id, min(both_.distance) AS distance FROM (
                    SELECT m.id, (m.embedding <=> vector_) + 0 AS distance FROM memories m
                    WHERE m.namespace = p_namespace AND passes(m, p_filters)
                    UNION ALL
                    SELECT m.id, (c.embedding <=> vector_) + 0 AS distance
                    FROM memory_chunks c JOIN memories m ON m.id = c.memory_id
                    WHERE m.namespace = p_namespace AND c.namespace = p_namespace AND passes(m, p_filters)
                ) AS both_
                GROUP BY both_.id ORDER BY 2, 1 LIMIT candidates
            ) AS found;
        END IF;
    END IF;

    IF p_query IS NOT NULL AND (p_mode = 'hybrid' OR (p_mode = 'semantic' AND vector_ IS NULL)) THEN
        strategy := concat_ws('+', strategy, 'fulltext');
        SELECT array_agg(t.term), array_agg(t.share), array_agg(t.weight) INTO terms, shares, weights
        FROM search_terms(p_namespace, p_query) AS t;
        SELECT CAST(string_agg(CAST(t.term AS text), ' | ') AS tsquery) INTO generating FROM (
            SELECT s.term, sum(s.share) OVER (ORDER BY s.share, s.term) - s.share AS rarer_share
            FROM unnest(terms, shares) AS s (term, share)
        ) AS t
        WHERE t.rarer_share * estimated <= lexical_rows;
        SELECT array_agg(found.id), array_agg(found.rank) INTO word_ids, words FROM (
            SELECT m.id, (
                SELECT sum(t.weight * ts_rank(m.search_text, t.term, 1)) FROM unnest(terms, weights) AS t (term, weight)
            ) AS rank
            FROM memories m
            WHERE m.namespace = p_namespace AND passes(m, p_filters) AND CASE WHEN estimated <= own_up_to
                THEN m.search_text @@ generating IS TRUE ELSE m.search_text @@ generating END
            ORDER BY rank DESC, m.id
            LIMIT candidates
        ) AS found;
    END IF;

    -- Score-normalised convex fusion over the union of both lists (Bruch, Gai, Ingber 2023), then quality. A list
    -- that is not asked for has weight 0, and alone a list keeps its own scores.
    WITH listed AS (
        SELECT coalesce(n.id, w.id) AS id, n.score AS near, w.score AS words
        FROM unnest(near_ids, near) AS n (id, score)
        FULL JOIN unnest(word_ids, words) AS w (id, score) ON w.id = n.id
    ), completed AS (
        SELECT listed.id, m."timestamp", memory_quality(m.rating_count, m.rating_sum, m.fetches) AS quality,
               coalesce(listed.near, greatest(1.0 - (m.embedding <=> vector_), 1.0 - (
                   SELECT min(c.embedding <=> vector_) FROM memory_chunks c WHERE c.memory_id = listed.id
               ))) AS near,
               coalesce(listed.words, (
                   SELECT sum(t.weight * ts_rank(m.search_text, t.term, 1))
                   FROM unnest(terms, weights) AS t (term, weight)
               ), 0) AS words
        FROM listed JOIN memories m ON m.id = listed.id
    ), bounds AS (
        SELECT min(c.near) AS near_min, nullif(max(c.near) - min(c.near), 0) AS near_span,
               min(c.words) AS words_min, nullif(max(c.words) - min(c.words), 0) AS words_span
        FROM completed c
    ), fused AS (
        SELECT c.id, c."timestamp", c.quality, c.near, CASE
            WHEN p_query IS NULL THEN 0.0
            WHEN strategy LIKE '%+fulltext' THEN
                (1 - p_lexical_weight) * coalesce((c.near - b.near_min) / b.near_span, 1.0)
                + p_lexical_weight * coalesce((c.words - b.words_min) / b.words_span, CASE WHEN c.words > 0 THEN 1.0 ELSE 0.0 END)
            WHEN strategy = 'fulltext' THEN coalesce(c.words / (b.words_min + b.words_span), 1.0)
            ELSE least(1.0, greatest(0.0, c.near))
        END AS relevance
        FROM completed c, bounds b
    ), scored AS (
        SELECT f.*, (1 - p_quality_weight) * f.relevance + p_quality_weight * f.quality AS score, count(*) OVER () AS n
        FROM fused f
        -- Opposite meanings are all of relevance 0: nearness orders them still.
        ORDER BY score DESC, f.near DESC NULLS LAST, f."timestamp" DESC, f.id DESC
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
    SELECT json_agg(json_build_object(
        'id', m.id, 'timestamp', m."timestamp", 'title', m.title, 'tags', m.tags,
        'content', CASE WHEN d.length > a.each_ THEN left(m.content, CAST(greatest(0, a.each_ - CASE
            WHEN d.length - d.content_length <= a.each_ / 2 THEN d.length - d.content_length ELSE 0
            END) AS integer)) ELSE m.content END,
        'metadata', CASE WHEN d.length > a.each_ AND d.length - d.content_length > a.each_ / 2 THEN NULL ELSE m.metadata END,
        'length', d.content_length,
        'superseded_by', m.superseded_by, 'quality', s.quality,
        'relevance', CASE WHEN p_query IS NOT NULL THEN s.relevance END, 'score', s.score
    ) ORDER BY s.score DESC, s.near DESC NULLS LAST, s."timestamp" DESC, s.id DESC), max(s.n)
    INTO hits, considered
    FROM scored s JOIN memories m ON m.id = s.id JOIN measured d ON d.id = s.id CROSS JOIN allowed a;

    RETURN json_build_object('strategy', strategy, 'considered', coalesce(considered, 0), 'hits', coalesce(hits, '[]'));
END
$$;

REVOKE ALL ON FUNCTION require_own FROM PUBLIC;
REVOKE ALL ON FUNCTION passes FROM PUBLIC;
REVOKE ALL ON FUNCTION list_memories(text, memory_filters, timestamptz, uuid, integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION search_terms(text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION search_memories(
    text, text, text, text, text, memory_filters, integer, double precision, double precision, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION list_memories(text, memory_filters, timestamptz, uuid, integer) TO mnemosyne_runtime;
GRANT EXECUTE ON FUNCTION search_memories(
    text, text, text, text, text, memory_filters, integer, double precision, double precision, integer) TO mnemosyne_runtime;
