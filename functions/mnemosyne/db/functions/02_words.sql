-- The words of a memory, as BM25 weighs them (Robertson, Zaragoza 2009, "The Probabilistic Relevance Framework: BM25
-- and Beyond"), with k1 = 1.2 and b = 0.4. Each memory stores the saturated frequency of each word. A query multiplies
-- it by factors for the memory's length and for the rarity of the word in the namespace.
--
-- A change to words_of, a function that it uses, term_key, term_weights or searched_text needs a migration that fills
-- memory_words again.

-- Remove the marks of Latin, Greek, Cyrillic, Hebrew and Arabic letters. Also replace ligatures and stroked Latin letters,
-- such as "ø", by their base letters. Marks of other scripts, for example vowel signs and the Japanese dakuten,
-- distinguish letters and are kept.
CREATE OR REPLACE FUNCTION without_accents(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_text) = char_length(p_text) THEN p_text ELSE
    replace(replace(replace(replace(replace(replace(translate(normalize(regexp_replace(normalize(p_text, NFKD),
        '[\u0300-\u036F\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u0640\u064B-\u0655\u0670]', '', 'g'), NFC),
        'łŁøØđĐðÐħĦŧŦıς', 'lLoOdDdDhHtTiσ'), 'ß', 'ss'), 'ẞ', 'SS'), 'æ', 'ae'), 'Æ', 'AE'), 'œ', 'oe'), 'Œ', 'OE') END;

-- Put a space between the parts of each compound: a path, an address, an identifier, a file name, an issue key.
-- Otherwise PostgreSQL's parser takes "tea/coffee" for a file, "done.Next" for a host and the end of "INC-4821" for a
-- negative number. A dot between digits stays. A dotted number is also added without the letters before it:
-- "v1.2.3" gives "v1.2.3 1.2.3". The comma in 1,200 is removed. The expressions have no lookbehind, because it takes
-- time quadratic in the text's length.
CREATE OR REPLACE FUNCTION split_compounds(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(regexp_replace(regexp_replace(translate(p_text, '_/\@:#', '      '),
    '(\w)[-+&=~|](?=\w)|([[:alpha:]])\.(?=\w)|(\d)\.(?=[[:alpha:]])', '\1\2\3 ', 'g'),
    '\m([[:alpha:]]+)(\d+(?:\.\d+)+)', '\1\2 \1 \2', 'g'),
    '(\d),(?=\d{3}(?!\d))', '\1', 'g');

-- The compounds of a text in lower case, not split: "inc-4821". `split_compounds` splits them.
CREATE OR REPLACE FUNCTION compound_words(p_text text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT DISTINCT lower(match[1]) FROM regexp_matches(p_text, '\w+(?:[-./\\@:+#&=~|_]+\w+)+', 'g') AS match
    WHERE char_length(match[1]) <= 200
);

-- The union of both; p_words alone if the union would exceed the maximum size of a tsvector, one megabyte.
CREATE OR REPLACE FUNCTION merge_words(p_words tsvector, p_others tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN pg_column_size(p_words) + pg_column_size(p_others) < 1000000 THEN p_words || p_others ELSE p_words END;

-- The union of both, with the positions of p_words for a word that is in both.
CREATE OR REPLACE FUNCTION add_words(p_words tsvector, p_others tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN merge_words(p_words, ts_delete(p_others, tsvector_to_array(p_words)));

-- Normalize the text to NFKC, and put spaces around each character of scripts that separate no words (Thai to Khmer,
-- kana, Han).
CREATE OR REPLACE FUNCTION split_characters(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_text) = char_length(p_text) THEN p_text ELSE regexp_replace(normalize(p_text, NFKC),
    '([\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3041-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF])', ' \1 ', 'g') END;

-- The words of a text, stemmed by a configuration, without its stop words. CamelCase words occur whole and in parts.
CREATE OR REPLACE FUNCTION simple_words(p_text text, p_stemmer regconfig) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    parts text := split_compounds(p_text);
    words tsvector := to_tsvector(p_stemmer, parts);
    camel text := regexp_replace(parts, '([[:lower:]\d])(?=[[:upper:]])|([[:upper:]])(?=[[:upper:]][[:lower:]])', '\1\2 ', 'g');
BEGIN
    RETURN CASE WHEN camel = parts THEN words ELSE add_words(words, to_tsvector(p_stemmer, camel)) END;
END
$$;

-- The words without accents. Words that become equal are counted together; a word of accents alone disappears.
CREATE OR REPLACE FUNCTION fold_words(p_words tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CAST(regexp_replace(without_accents(CAST(p_words AS text)), $$(^| )''(:[0-9,]+)?(?= |$)$$, '', 'g') AS tsvector);

-- The words of a text as a search first compares them: stemmed by its language, or as they are where the language has
-- no stemmer, without accents and stop words. English and unknown texts lose their accents before they are stemmed.
CREATE OR REPLACE FUNCTION stemmed_words(p_text text, p_language text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN coalesce(p_language, 'en') = 'en' THEN simple_words(without_accents(split_characters(p_text)), 'english')
    ELSE fold_words(simple_words(split_characters(p_text), stemmer(p_language))) END;

-- The searchable words of a text in a language: the stemmed ones, those as written with accents, and compounds as a
-- whole; if the language is known and not English, also the unstemmed words, because a query of a word or two may not
-- show its language.
CREATE OR REPLACE FUNCTION words_of(p_text text, p_language text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    accented text := split_characters(p_text);
    plain text := without_accents(accented);
    configuration regconfig := stemmer(p_language);
    words tsvector;
    unstemmed tsvector;
BEGIN
    IF coalesce(p_language, 'en') = 'en' THEN
        words := simple_words(plain, configuration);
        IF plain <> accented THEN
            words := add_words(words, to_tsvector(configuration, split_compounds(accented)));
        END IF;
    ELSE
        words := simple_words(accented, configuration);
        unstemmed := words;
        IF configuration <> CAST('simple' AS regconfig) THEN
            unstemmed := without_stop_words(simple_words(accented, 'simple'), p_language);
            words := CASE WHEN plain = accented THEN words ELSE add_words(fold_words(words), fold_words(unstemmed)) END;
        ELSIF plain <> accented THEN
            words := fold_words(words);
        END IF;
        words := add_words(words, unstemmed);
    END IF;
    RETURN merge_words(words, array_to_tsvector(compound_words(plain)));
END
$$;

-- The searchable words of a text, stemmed by its own language.
CREATE OR REPLACE FUNCTION words_of(p_text text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN words_of(p_text, text_language(p_text));

-- Hash of a namespace and a word, 29 bits: an index entry belongs to a single namespace.
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

-- (k1 + 1) n / (n + k1) by key, where n is the number of occurrences (1 for a compound). A sparsevec has at most 16,000
-- elements (https://github.com/pgvector/pgvector#sparsevec-type), and a content of 100,000 characters may have more
-- distinct words: only the most frequent get a weight. The others still match, because they are among the memory's
-- keys.
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

-- The searchable text of a memory: the title, unless the content contains it, then the content, then the tags.
CREATE OR REPLACE FUNCTION searched_text(p_title text, p_content text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN position(p_title IN translate(p_content, E'\n\t\r', '   ')) > 0 THEN p_content ELSE p_title || ' ' || p_content END;

CREATE OR REPLACE FUNCTION searched_text(p_title text, p_tags text[], p_content text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN concat_ws(' ', searched_text(p_title, p_content), nullif(array_to_string(p_tags, ' '), ''));

-- SECURITY DEFINER, because no service's role may write memory_words. Triggers fire in the order of their names:
-- collect_words comes before count_stored, which reads the words.
CREATE OR REPLACE FUNCTION collect_words() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    INSERT INTO memory_words (memory_id, language, keys, weights)
    SELECT m.id, t.language, term_keys(m.namespace, words), term_weights(m.namespace, words)
    FROM stored AS m
    CROSS JOIN LATERAL (
        SELECT searched.text, text_language(searched.text) AS language
        FROM (SELECT searched_text(m.title, m.tags, m.content)) AS searched (text) OFFSET 0
    ) AS t
    CROSS JOIN LATERAL words_of(t.text, t.language) AS words;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION collect_changed_words() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    searched text := searched_text(NEW.title, NEW.tags, NEW.content);
    new_language text := text_language(searched);
    words tsvector := words_of(searched, new_language);
BEGIN
    UPDATE memory_words SET language = new_language, keys = term_keys(NEW.namespace, words), weights = term_weights(NEW.namespace, words)
    WHERE memory_id = NEW.id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER collect_words AFTER INSERT ON memories REFERENCING NEW TABLE AS stored
    FOR EACH STATEMENT EXECUTE FUNCTION collect_words();
CREATE OR REPLACE TRIGGER collect_changed_words AFTER UPDATE OF title, tags, content ON memories
    FOR EACH ROW EXECUTE FUNCTION collect_changed_words();

REVOKE ALL ON FUNCTION without_accents, split_compounds, compound_words, merge_words, add_words, split_characters, simple_words,
    fold_words, stemmed_words, words_of(text, text), words_of(text), term_key, term_keys, term_weights, searched_text(text, text),
    searched_text(text, text[], text), collect_words, collect_changed_words FROM PUBLIC;
