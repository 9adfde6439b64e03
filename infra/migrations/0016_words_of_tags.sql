-- The words of a text, stemmed, without English stop words. Scripts without spaces between words are taken letter by
-- letter: Thai to Khmer, kana, Han. PostgreSQL's parser takes "tea/coffee" for a file, "done.Next" for a host and the end of
-- "INC-4821" for a negative number: they are parted first, as an address is at its @. 1,200 is 1200. Without lookbehind: with
-- it the time grows with the square of the text.
CREATE OR REPLACE FUNCTION words_of(p_text text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN to_tsvector('english', regexp_replace(regexp_replace(
    CASE WHEN octet_length(p_text) = char_length(p_text) THEN p_text ELSE regexp_replace(
        p_text, '([\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3041-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF])', ' \1 ', 'g'
    ) END,
    '(\w)[/@](?=\w)|(\w)[-+](?=\d)|([[:alpha:]]{2})\.(?=[[:alpha:]]{2})', '\1\2\3 ', 'g'
), '(\d),(?=\d{3}(?!\d))', '\1', 'g'));

-- Memories are found by the words of their tags too.
CREATE FUNCTION searched_text(p_title text, p_tags text[], p_content text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN concat_ws(' ', searched_text(p_title, p_content), nullif(array_to_string(p_tags, ' '), ''));
REVOKE ALL ON FUNCTION searched_text(text, text[], text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION collect_words() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    INSERT INTO memory_words (memory_id, keys, weights)
    SELECT one.id, term_keys(one.namespace, words), term_weights(one.namespace, words)
    FROM stored AS one CROSS JOIN LATERAL words_of(searched_text(one.title, one.tags, one.content)) AS words;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION collect_words_anew() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    words tsvector := words_of(searched_text(NEW.title, NEW.tags, NEW.content));
BEGIN
    UPDATE memory_words SET keys = term_keys(NEW.namespace, words), weights = term_weights(NEW.namespace, words)
    WHERE memory_id = NEW.id;
    RETURN NULL;
END
$$;

-- Keeps writers out until this has ended, and lets readers go on.
DROP TRIGGER collect_words_anew ON memories;
CREATE TRIGGER collect_words_anew AFTER UPDATE OF title, tags, content ON memories
    FOR EACH ROW EXECUTE FUNCTION collect_words_anew();
WITH anew AS MATERIALIZED (
    SELECT m.id, term_keys(m.namespace, words) AS keys, term_weights(m.namespace, words) AS weights
    FROM memories m CROSS JOIN LATERAL words_of(searched_text(m.title, m.tags, m.content)) AS words
)
UPDATE memory_words w SET keys = anew.keys, weights = anew.weights
FROM anew WHERE w.memory_id = anew.id AND w.weights <> anew.weights;

-- As refresh_words does at every tenth that is stored.
UPDATE namespace_words w
SET sampled = counted.sampled, mean_length = counted.mean_length, keys = counted.keys, shares = counted.shares
FROM namespace_words n CROSS JOIN LATERAL (
    WITH sampled AS MATERIALIZED (
        SELECT w.keys FROM memories m JOIN memory_words w ON w.memory_id = m.id WHERE m.namespace = n.namespace
        ORDER BY m."timestamp" DESC, m.id DESC LIMIT 3000
    ), counted AS (
        SELECT key, count(*) AS n FROM sampled, unnest(sampled.keys) AS key
        GROUP BY key ORDER BY n DESC, key LIMIT 5000
    ), size AS (
        SELECT count(*) AS n, avg(cardinality(keys)) AS mean_length FROM sampled
    )
    SELECT size.n AS sampled, greatest(size.mean_length, 1) AS mean_length,
        array(SELECT key FROM counted ORDER BY n DESC, key) AS keys,
        array(SELECT CAST(c.n AS real) / size.n FROM counted c ORDER BY c.n DESC, c.key) AS shares
    FROM size WHERE size.n > 0
) AS counted
WHERE w.namespace = n.namespace;
