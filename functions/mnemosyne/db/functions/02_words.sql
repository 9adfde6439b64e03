-- The words of a memory, as BM25 weighs them (Robertson, Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and
-- Beyond"), with k1 = 1.2 and b = 0.4. Stored per memory: the saturated frequency of each word. The query multiplies it by
-- what depends on the memory's length and on how rare the word is in the namespace.
--
-- A change to words_of, a function that it uses, term_key, term_weights or searched_text needs a migration that fills
-- memory_words again.

-- The text without accents: without the marks of Latin, Greek, Cyrillic, Hebrew and Arabic letters, and with the base letter
-- of Latin letters that have a stroke or are ligatures. Marks of other scripts, such as vowel signs and the Japanese dakuten,
-- make other letters and stay.
CREATE OR REPLACE FUNCTION without_accents(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_text) = char_length(p_text) THEN p_text ELSE
    replace(replace(replace(replace(replace(replace(translate(normalize(regexp_replace(normalize(p_text, NFKD),
        '[\u0300-\u036F\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u0640\u064B-\u0655\u0670]', '', 'g'), NFC),
        'łŁøØđĐðÐħĦŧŦıς', 'lLoOdDdDhHtTiσ'), 'ß', 'ss'), 'ẞ', 'SS'), 'æ', 'ae'), 'Æ', 'AE'), 'œ', 'oe'), 'Œ', 'OE') END;

-- The text with a space between the parts of a compound: a path, an address, an identifier, a file name, an issue key. Left
-- as it is, PostgreSQL's parser takes "tea/coffee" for a file, "done.Next" for a host and the end of "INC-4821" for a negative
-- number. A dot between digits stays; a number with dots is added without the letters before it ("v1.2.3", "1.2.3").
-- 1,200 becomes 1200. No lookbehind: with it the time grows with the square of the text.
CREATE OR REPLACE FUNCTION separated(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(regexp_replace(regexp_replace(translate(p_text, '_/\@:#', '      '),
    '(\w)[-+&=~|](?=\w)|([[:alpha:]])\.(?=\w)|(\d)\.(?=[[:alpha:]])', '\1\2\3 ', 'g'),
    '\m([[:alpha:]]+)(\d+(?:\.\d+)+)', '\1\2 \1 \2', 'g'),
    '(\d),(?=\d{3}(?!\d))', '\1', 'g');

-- The words of a text that `separated` has taken apart, each whole: "inc-4821".
CREATE OR REPLACE FUNCTION compounds(p_text text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT DISTINCT lower(found[1]) FROM regexp_matches(p_text, '\w+(?:[-./\\@:+#&=~|_]+\w+)+', 'g') AS found
    WHERE char_length(found[1]) <= 200
);

-- Both together; p_words alone where both would be larger than a tsvector can be, a megabyte.
CREATE OR REPLACE FUNCTION united_words(p_words tsvector, p_others tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN pg_column_size(p_words) + pg_column_size(p_others) < 1000000 THEN p_words || p_others ELSE p_words END;

-- The words, and those of a text that are not among them.
CREATE OR REPLACE FUNCTION with_words_of(p_words tsvector, p_text text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN united_words(p_words, ts_delete(to_tsvector('english', p_text), tsvector_to_array(p_words)));

-- The text in one Unicode normal form, in which scripts that write without spaces (Thai to Khmer, kana, Han) are split into
-- characters.
CREATE OR REPLACE FUNCTION spaced(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_text) = char_length(p_text) THEN p_text ELSE regexp_replace(normalize(p_text, NFKC),
    '([\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3041-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF])', ' \1 ', 'g') END;

-- The stemmed words of a text without English stop words; CamelCase whole and in parts.
CREATE OR REPLACE FUNCTION simple_words(p_text text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    apart text := separated(p_text);
    words tsvector := to_tsvector('english', apart);
    camel text := regexp_replace(apart, '([[:lower:]\d])(?=[[:upper:]])|([[:upper:]])(?=[[:upper:]][[:lower:]])', '\1\2 ', 'g');
BEGIN
    RETURN CASE WHEN camel = apart THEN words ELSE with_words_of(words, camel) END;
END
$$;

-- The words by which a text is found: without accents, with the accents that it has, and compounds whole.
CREATE OR REPLACE FUNCTION words_of(p_text text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    accented text := spaced(p_text);
    plain text := without_accents(accented);
    words tsvector := simple_words(plain);
BEGIN
    IF plain <> accented THEN
        words := with_words_of(words, separated(accented));
    END IF;
    RETURN united_words(words, array_to_tsvector(compounds(plain)));
END
$$;

-- A word as a number of 29 bits, with the namespace hashed in: entries of one index belong to one namespace each.
CREATE OR REPLACE FUNCTION term_key(p_namespace text, p_lexeme text) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1 + (CAST(CAST('x' || left(md5(p_namespace || ' ' || p_lexeme), 8) AS bit(32)) AS integer) & 536870911);

-- In PL/pgSQL, which caches the plan: a function in SQL that contains a query is planned at every call.
CREATE OR REPLACE FUNCTION term_keys(p_namespace text, p_words tsvector) RETURNS integer[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN ARRAY(SELECT term_key(p_namespace, lexeme) FROM unnest(tsvector_to_array(p_words)) AS lexeme);
END
$$;

-- (k1 + 1) n / (n + k1) by key, where n is the number of occurrences, 1 of a compound. A sparsevec has 16,000 elements at most
-- (https://github.com/pgvector/pgvector#sparsevec-type), and a content of 100,000 characters may have more distinct words:
-- the most frequent are weighed. The memory is still found by the others, which are among its keys.
CREATE OR REPLACE FUNCTION term_weights(p_namespace text, p_words tsvector) RETURNS sparsevec
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN (
        SELECT CAST(
            '{' || coalesce(string_agg(counted.key || ':' || CAST(2.2 * n / (n + 1.2) AS real), ','), '') || '}/536870912'
            AS sparsevec)
        FROM (
            SELECT term_key(p_namespace, lexeme) AS key, coalesce(max(cardinality(positions)), 1) AS n
            FROM unnest(p_words) GROUP BY 1 ORDER BY n DESC, key LIMIT 16000
        ) AS counted
    );
END
$$;

-- The text whose words are searched: the title comes first unless it is the beginning of the content, and tags last.
CREATE OR REPLACE FUNCTION searched_text(p_title text, p_content text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN position(p_title IN translate(p_content, E'\n\t\r', '   ')) > 0 THEN p_content ELSE p_title || ' ' || p_content END;

CREATE OR REPLACE FUNCTION searched_text(p_title text, p_tags text[], p_content text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN concat_ws(' ', searched_text(p_title, p_content), nullif(array_to_string(p_tags, ' '), ''));

-- SECURITY DEFINER, because no function's role may write memory_words. Triggers fire in the order of their names:
-- collect_words comes before count_stored, which reads the words.
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

CREATE OR REPLACE FUNCTION collect_changed_words() RETURNS trigger
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

CREATE OR REPLACE TRIGGER collect_words AFTER INSERT ON memories REFERENCING NEW TABLE AS stored
    FOR EACH STATEMENT EXECUTE FUNCTION collect_words();
CREATE OR REPLACE TRIGGER collect_changed_words AFTER UPDATE OF title, tags, content ON memories
    FOR EACH ROW EXECUTE FUNCTION collect_changed_words();

REVOKE ALL ON FUNCTION without_accents, separated, compounds, united_words, with_words_of, spaced, simple_words,
    words_of, term_key, term_keys, term_weights, searched_text(text, text),
    searched_text(text, text[], text), collect_words, collect_changed_words FROM PUBLIC;
