-- Words are ranked by BM25: of each memory is kept what its words weigh, of each namespace how common they are.
--
-- Robertson, Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond", with k1 = 1.2 and b = 0.4.
-- A word's weight in a memory is what saturates with its number; the memory's length and how rare the word is in the
-- namespace are known to the query alone, and multiply it.

-- The words of a text, stemmed, without English stop words. Scripts without spaces between words are taken letter by
-- letter: Thai to Khmer, kana, Han.
CREATE FUNCTION words_of(p_text text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN to_tsvector('english', CASE WHEN octet_length(p_text) = char_length(p_text) THEN p_text ELSE regexp_replace(
    p_text, '([\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3041-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF])', ' \1 ', 'g'
) END);

-- A word as a number of 29 bits, another one in each namespace: the index that holds everybody's words is walked along
-- one's own alone. By MD5, which is the same in every version of PostgreSQL.
CREATE FUNCTION term_key(p_namespace text, p_lexeme text) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1 + (CAST(CAST('x' || left(md5(p_namespace || ' ' || p_lexeme), 8) AS bit(32)) AS integer) & 536870911);

CREATE FUNCTION term_keys(p_namespace text, p_words tsvector) RETURNS integer[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(SELECT term_key(p_namespace, lexeme) FROM unnest(tsvector_to_array(p_words)) AS lexeme);

-- By key, (k1 + 1) n / (n + k1), where n is how often the word stands there.
CREATE FUNCTION term_weights(p_namespace text, p_words tsvector) RETURNS sparsevec
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT CAST('{' || coalesce(string_agg(key || ':' || CAST(2.2 * n / (n + 1.2) AS real), ','), '') || '}/536870912' AS sparsevec)
    FROM (
        SELECT term_key(p_namespace, lexeme) AS key, max(cardinality(positions)) AS n FROM unnest(p_words) GROUP BY 1
    ) AS counted
);

-- What is searched by words: the title stands in front where it is not the content's beginning.
CREATE FUNCTION searched_text(p_title text, p_content text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN position(p_title IN translate(p_content, E'\n\t\r', '   ')) > 0 THEN p_content ELSE p_title || ' ' || p_content END;

-- What words weigh, beside the memories: a table of its own is filled without writing theirs and its vectors anew, and
-- ten times as many of its rows lie on a page. Whoever changes the functions above fills it anew.
CREATE TABLE memory_words (
    memory_id uuid PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
    keys integer[] NOT NULL,
    weights sparsevec NOT NULL
);
ALTER TABLE memory_words ENABLE ROW LEVEL SECURITY;

-- Under the owner's rights, and by name before count_stored, which looks at the words.
CREATE FUNCTION collect_words() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    INSERT INTO memory_words (memory_id, keys, weights)
    SELECT one.id, term_keys(one.namespace, words), term_weights(one.namespace, words)
    FROM stored AS one CROSS JOIN LATERAL words_of(searched_text(one.title, one.content)) AS words;
    RETURN NULL;
END
$$;

CREATE FUNCTION collect_words_anew() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    words tsvector := words_of(searched_text(NEW.title, NEW.content));
BEGIN
    UPDATE memory_words SET keys = term_keys(NEW.namespace, words), weights = term_weights(NEW.namespace, words)
    WHERE memory_id = NEW.id;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION words_of, term_key, term_keys, term_weights, searched_text, collect_words, collect_words_anew FROM PUBLIC;

-- Keeps writers out until this has ended, and lets readers go on.
CREATE TRIGGER collect_words AFTER INSERT ON memories REFERENCING NEW TABLE AS stored
    FOR EACH STATEMENT EXECUTE FUNCTION collect_words();
CREATE TRIGGER collect_words_anew AFTER UPDATE OF title, content ON memories
    FOR EACH ROW EXECUTE FUNCTION collect_words_anew();
INSERT INTO memory_words (memory_id, keys, weights)
SELECT m.id, term_keys(m.namespace, words), term_weights(m.namespace, words)
FROM memories m CROSS JOIN LATERAL words_of(searched_text(m.title, m.content)) AS words;
-- No list of what is not yet in its place: everybody would search that of all others too.
CREATE INDEX memory_words_keys ON memory_words USING gin (keys) WITH (fastupdate = off);
ANALYZE memory_words;

-- The version before calls the functions that stay.
DROP FUNCTION search_memories(
    text, text, text, text, text, memory_filters, integer, double precision, double precision, integer);
DROP FUNCTION list_memories(text, memory_filters, timestamptz, uuid, integer);
DROP FUNCTION search_terms(text, text);

-- How common each word is among a namespace's newest memories, and how many words those have on average.
DROP TABLE namespace_words;
CREATE TABLE namespace_words (
    namespace text PRIMARY KEY,
    memories bigint NOT NULL,
    sampled integer NOT NULL,
    mean_length real NOT NULL,
    keys integer[] NOT NULL,
    shares real[] NOT NULL,
    CHECK (cardinality(keys) = cardinality(shares))
);
ALTER TABLE namespace_words ENABLE ROW LEVEL SECURITY;
-- As refresh_words does at every tenth that is stored.
INSERT INTO namespace_words (namespace, memories, sampled, mean_length, keys, shares)
SELECT u.namespace, u.memories, counted.sampled, counted.mean_length, counted.keys, counted.shares
FROM (SELECT namespace, sum(memories) AS memories FROM namespace_usage GROUP BY namespace) AS u
CROSS JOIN LATERAL (
    WITH sampled AS MATERIALIZED (
        SELECT w.keys FROM memories m JOIN memory_words w ON w.memory_id = m.id WHERE m.namespace = u.namespace
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
) AS counted;

-- Last, for it keeps readers out.
ALTER TABLE memories DROP COLUMN search_text;
