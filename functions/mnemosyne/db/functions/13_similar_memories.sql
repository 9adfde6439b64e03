-- What keeps a sentence from saying the same as another of the same words, and is no content word: of these each has the same.
CREATE OR REPLACE FUNCTION turning_words(p_text text) RETURNS text[]
LANGUAGE sql IMMUTABLE
RETURN ARRAY(
    SELECT unnest(plain_words(p_text)) INTERSECT SELECT unnest(CAST(
        '{not,no,nor,never,none,t,without,off,on,up,down,out,before,after,above,below,under,over,more,less,until,since}'
        AS text[]))
    ORDER BY 1
);

-- The content words of a text, without its tags: those of the same thing may be others.
CREATE OR REPLACE FUNCTION content_words(p_title text, p_content text) RETURNS text[]
LANGUAGE sql IMMUTABLE
RETURN tsvector_to_array(words_of(searched_text(p_title, p_content)));

-- The signs of a text, in their order, without punctuation: "A+" is not "A-", and "> 200" not "< 200".
CREATE OR REPLACE FUNCTION signs_of(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN regexp_replace(regexp_replace(p_text, '[!?]+(\s|$)', '\1', 'g'), '[[:alnum:][:space:].,;:''"()…‘’“”]', '', 'g');

-- Up to three memories that nearly say the same as one: among the eight nearest that are not superseded, those whose
-- content words, three at least, hold all of its own or are all among them, with no more than a fourth beside, and whose
-- words that turn a meaning and signs are the same. One word for another is another thing said: "on Monday", "on Friday".
CREATE OR REPLACE FUNCTION similar_memories(p_namespace text, p_id uuid)
RETURNS TABLE (id uuid, "timestamp" timestamptz, title text, tags text[], superseded_by uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
AS $$
DECLARE
    nearest CONSTANT integer := 8;
    filters memory_filters := filters_of('{"include_superseded": false}');
    own bigint := (SELECT coalesce(sum(u.memories), 0) FROM namespace_usage u WHERE u.namespace = p_namespace);
    vector halfvec;
    said text[];
    turning text[];
    signs text;
BEGIN
    PERFORM require_own(p_namespace);
    SELECT m.embedding, content_words(m.title, m.content), turning_words(m.content), signs_of(m.content)
    INTO vector, said, turning, signs
    FROM memories m WHERE m.namespace = p_namespace AND m.id = p_id;
    RETURN QUERY
    SELECT m.id, m."timestamp", m.title, m.tags, m.superseded_by
    FROM (
        SELECT * FROM scan_memories(p_namespace, filters, vector, nearest) WHERE own <= 2000
        UNION ALL SELECT * FROM walk_memories(p_namespace, filters, vector, nearest) WHERE own > 2000
    ) AS near
    JOIN memories m ON m.id = near.id CROSS JOIN LATERAL content_words(m.title, m.content) AS words
    WHERE vector IS NOT NULL AND near.id <> p_id AND (words <@ said OR words @> said)
        AND least(cardinality(words), cardinality(said)) >= greatest(3, 0.75 * greatest(cardinality(words), cardinality(said)))
        AND turning_words(m.content) = turning AND signs_of(m.content) = signs
    ORDER BY near.vector_score DESC, near.id LIMIT 3;
END
$$;
REVOKE ALL ON FUNCTION turning_words, content_words, signs_of, similar_memories FROM PUBLIC;
GRANT EXECUTE ON FUNCTION similar_memories TO mnemosyne_runtime, mnemosyne_mcp;
