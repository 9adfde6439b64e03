-- The stop words and adverbs of a text that may reverse its meaning, such as "not" or "before". Two near-duplicates
-- must have the same ones.
CREATE OR REPLACE FUNCTION polarity_words(p_text text) RETURNS text[]
LANGUAGE sql IMMUTABLE
RETURN ARRAY(
    SELECT unnest(plain_words(p_text)) INTERSECT SELECT unnest(CAST(
        '{not,no,nor,never,none,t,without,off,on,up,down,out,before,after,above,below,under,over,more,less,until,since}'
        AS text[]))
    ORDER BY 1
);

-- The words of a memory's title and content. Tags are left out, because near-duplicates may have different tags.
CREATE OR REPLACE FUNCTION content_words(p_title text, p_content text) RETURNS text[]
LANGUAGE sql IMMUTABLE
RETURN tsvector_to_array(words_of(searched_text(p_title, p_content)));

-- The symbols of a text in their order, without punctuation. They distinguish "A+" from "A-", and "> 200" from "<
-- 200".
CREATE OR REPLACE FUNCTION symbols_of(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN regexp_replace(regexp_replace(p_text, '[!?]+(\s|$)', '\1', 'g'), '[[:alnum:][:space:].,;:''"()…‘’“”]', '', 'g');

-- Up to three near-duplicates of a memory, among the eight nearest memories that are not superseded.
--
-- A near-duplicate has the same polarity words and the same symbols. Its words are a subset or a superset of the
-- memory's words. The smaller set has at least three words, and at least three quarters as many words as the larger
-- set. A memory that differs by a replaced word ("on Monday", "on Friday") is not a near-duplicate.
CREATE OR REPLACE FUNCTION similar_memories(p_namespace text, p_id uuid)
RETURNS TABLE (id uuid, "timestamp" timestamptz, title text, tags text[], superseded_by uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
AS $$
DECLARE
    nearest CONSTANT integer := 8;
    filters memory_filters := parse_filters('{"include_superseded": false}');
    own_memories bigint := (SELECT coalesce(sum(u.memories), 0) FROM namespace_usage u WHERE u.namespace = p_namespace);
    vector halfvec;
    own_words text[];
    polarity text[];
    symbols text;
BEGIN
    PERFORM require_session_namespace(p_namespace);
    SELECT m.embedding, content_words(m.title, m.content), polarity_words(m.content), symbols_of(m.content)
    INTO vector, own_words, polarity, symbols
    FROM memories m WHERE m.namespace = p_namespace AND m.id = p_id;
    RETURN QUERY
    SELECT m.id, m."timestamp", m.title, m.tags, m.superseded_by
    FROM (
        SELECT * FROM knn_exact(p_namespace, filters, vector, nearest) WHERE own_memories <= 2000
        UNION ALL SELECT * FROM knn_hnsw(p_namespace, filters, vector, nearest) WHERE own_memories > 2000
    ) AS near
    JOIN memories m ON m.id = near.id CROSS JOIN LATERAL content_words(m.title, m.content) AS words
    WHERE vector IS NOT NULL AND near.id <> p_id AND (words <@ own_words OR words @> own_words)
        AND least(cardinality(words), cardinality(own_words)) >= greatest(3, 0.75 * greatest(cardinality(words), cardinality(own_words)))
        AND polarity_words(m.content) = polarity AND symbols_of(m.content) = symbols
    ORDER BY near.vector_score DESC, near.id LIMIT 3;
END
$$;
REVOKE ALL ON FUNCTION polarity_words, content_words, symbols_of, similar_memories FROM PUBLIC;
GRANT EXECUTE ON FUNCTION similar_memories TO mnemosyne_runtime, mnemosyne_mcp;
