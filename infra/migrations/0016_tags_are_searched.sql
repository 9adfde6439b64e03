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
UPDATE memory_words w SET keys = term_keys(m.namespace, words), weights = term_weights(m.namespace, words)
FROM memories m CROSS JOIN LATERAL words_of(searched_text(m.title, m.tags, m.content)) AS words
WHERE w.memory_id = m.id AND m.tags <> '{}';

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
