-- Extract the words of memories and compute their BM25 weights (Robertson, Zaragoza 2009, "The Probabilistic Relevance
-- Framework: BM25 and Beyond"), with k1 = 1.2.
--
-- The table memory_words stores a weight for each word of a memory. term_weights computes this weight from the number
-- of occurrences. To score a memory for a query, a search multiplies the weight by a factor for the memory's length
-- (lexical_score) and by a factor for the rarity of the word in the namespace (search_terms).
--
-- The rows of memory_words depend on words_and_forms, on the SQL functions that it calls, and on term_key,
-- term_weights, passage_weights and searched_text. A change to one of these functions needs a migration that fills the
-- table again.

-- Return the text without the accents and other marks of Latin, Greek, Cyrillic, Hebrew and Arabic letters. Ligatures
-- and stroked Latin letters, such as "ø", are replaced by their base letters. In other scripts, a letter with a mark
-- (for example a vowel sign or the Japanese dakuten) is a different letter, so these marks are kept.
CREATE OR REPLACE FUNCTION without_accents(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_text) = char_length(p_text) THEN p_text ELSE
    replace(replace(replace(replace(replace(replace(translate(normalize(regexp_replace(normalize(p_text, NFKD),
        '[\u0300-\u036F\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u0640\u064B-\u0655\u0670]', '', 'g'), NFC),
        'łŁøØđĐðÐħĦŧŦıς', 'lLoOdDdDhHtTiσ'), 'ß', 'ss'), 'ẞ', 'SS'), 'æ', 'ae'), 'Æ', 'AE'), 'œ', 'oe'), 'Œ', 'OE') END;

-- Return the text with a space between the parts of each compound. A compound is a path, an address, an identifier, a
-- file name or an issue key. Without these spaces, PostgreSQL's parser would take "tea/coffee" for a file, "done.Next"
-- for a host, and the end of "INC-4821" for a negative number.
--
-- A dot between digits is kept. If a dotted number follows letters, the number without the letters is added: "v1.2.3"
-- becomes "v1.2.3 1.2.3". The comma in 1,200 is removed. The regular expressions use no lookbehind, because the time of
-- a lookbehind is quadratic in the length of the text.
CREATE OR REPLACE FUNCTION split_compounds(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(regexp_replace(regexp_replace(translate(p_text, '_/\@:#', '      '),
    '(\w)[-+&=~|](?=\w)|([[:alpha:]])\.(?=\w)|(\d)\.(?=[[:alpha:]])', '\1\2\3 ', 'g'),
    '\m([[:alpha:]]+)(\d+(?:\.\d+)+)', '\1\2 \1 \2', 'g'),
    '(\d),(?=\d{3}(?!\d))', '\1', 'g');

-- Return the compounds of a text (see split_compounds), each as one word in lower case, for example "inc-4821".
CREATE OR REPLACE FUNCTION compound_words(p_text text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT DISTINCT lower(match[1])
    FROM regexp_matches(regexp_replace(p_text, '(\d),(?=\d{3}(?!\d))', '\1', 'g'), '\w+(?:[-./\\@:+#&=~|_]+\w+)+', 'g') AS match
    WHERE char_length(match[1]) <= 200
);

-- Return the union of two sets of words (tsvector). A tsvector has at most one megabyte. If the union could be larger,
-- the result is only p_words, without p_others.
CREATE OR REPLACE FUNCTION merge_words(p_words tsvector, p_others tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN pg_column_size(p_words) + pg_column_size(p_others) < 1000000 THEN p_words || p_others ELSE p_words END;

-- Return the union of two sets of words (tsvector). If a word is in both sets, only its positions in p_words are kept.
CREATE OR REPLACE FUNCTION add_words(p_words tsvector, p_others tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN merge_words(p_words, ts_delete(p_others, tsvector_to_array(p_words)));

-- Return the text in the Unicode normal form NFKC, with a space on both sides of each character of a script that has no
-- spaces between words (Thai, Lao, Burmese, Khmer, kana, Han). Each such character then counts as a word.
-- Soft hyphens, zero width spaces and marks of the direction of writing are removed. They are invisible, but for
-- PostgreSQL's parser they are letters. A space before a fraction or superscript keeps "3½" from becoming "31".
CREATE OR REPLACE FUNCTION split_characters(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_text) = char_length(p_text) THEN p_text ELSE regexp_replace(
    translate(normalize(regexp_replace(p_text, '(\d)(?=[²³¹¼-¾⁰-⁹₀-₉⅐-⅞])', '\1 ', 'g'), NFKC), U&'\00AD\061C\200B\200E\200F\202A\202B\202C\202D\202E\2060\2066\2067\2068\2069\FEFF', ''),
    '([\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3041-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF])', ' \1 ', 'g') END;

-- Return the text with a space between the parts of each CamelCase word.
CREATE OR REPLACE FUNCTION split_camel(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(p_text, '([[:lower:]\d])(?=[[:upper:]])|([[:upper:]])(?=[[:upper:]][[:lower:]])', '\1\2 ', 'g');

-- Return the words of a text, stemmed by the text search configuration p_stemmer, without the stop words of that
-- configuration. A CamelCase word is returned as a whole and in its parts.
CREATE OR REPLACE FUNCTION simple_words(p_text text, p_stemmer regconfig) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    parts text := split_compounds(p_text);
    words tsvector := to_tsvector(p_stemmer, parts);
    camel text := split_camel(parts);
BEGIN
    RETURN CASE WHEN camel = parts THEN words ELSE add_words(words, to_tsvector(p_stemmer, camel)) END;
END
$$;

-- Return the words of an English text, without the stop words: `stems` are the stemmed words, and `forms` the words as
-- they are written. A CamelCase word is returned as a whole and in its parts.
CREATE OR REPLACE FUNCTION english_words(p_text text, OUT stems tsvector, OUT forms tsvector)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    parts text := split_compounds(p_text);
    camel text := split_camel(parts);
BEGIN
    stems := to_tsvector('english', parts);
    forms := to_tsvector('english_forms', parts);
    IF camel <> parts THEN
        stems := add_words(stems, to_tsvector('english', camel));
        forms := add_words(forms, to_tsvector('english_forms', camel));
    END IF;
END
$$;

-- Remove the accents from the words. Words that become equal are merged. A word that consists only of accents is
-- dropped.
CREATE OR REPLACE FUNCTION fold_words(p_words tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CAST(regexp_replace(without_accents(CAST(p_words AS text)), $$(^| )''(:[0-9,]+)?(?= |$)$$, '', 'g') AS tsvector);

-- Return the words of a text, without accents. If PostgreSQL has a stemmer for the language, the words are stemmed, and
-- stop words are left out. In English texts and in texts of unknown language, accents are removed before stemming; in
-- other texts, after stemming.
CREATE OR REPLACE FUNCTION stemmed_words(p_text text, p_language text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN coalesce(p_language, 'en') = 'en' THEN simple_words(without_accents(split_characters(p_text)), 'english')
    ELSE fold_words(simple_words(split_characters(p_text), stemmer(p_language))) END;

-- Return the words of a text in the language p_language. A search finds a text only by its `words`. The `forms`
-- increase the score of a text that was found by its words.
--
-- `words` contains the stemmed words without accents, and each compound (for example a path or "INC-4821") as a whole.
-- If a word has accents, `words` also contains the word with its accents. If the language is known and not English,
-- `words` also contains the unstemmed words. A query for an unstemmed word then finds the text even if the query is too
-- short for detecting its language.
--
-- `forms` contains the unstemmed words of an English text, without accents. For other languages, `forms` is empty.
CREATE OR REPLACE FUNCTION words_and_forms(p_text text, p_language text, OUT words tsvector, OUT forms tsvector)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    accented text := split_characters(p_text);
    plain text := without_accents(accented);
    configuration regconfig := stemmer(p_language);
    unstemmed tsvector;
BEGIN
    forms := '';
    IF coalesce(p_language, 'en') = 'en' THEN
        SELECT e.stems, e.forms INTO words, forms FROM english_words(plain) AS e;
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
    words := merge_words(words, array_to_tsvector(compound_words(plain)));
END
$$;

-- Return the words by which a search finds a text in the language p_language.
CREATE OR REPLACE FUNCTION words_of(p_text text, p_language text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT w.words FROM words_and_forms(p_text, p_language) AS w);

-- Return the words by which a search finds a text, in the language that text_language detects.
CREATE OR REPLACE FUNCTION words_of(p_text text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN words_of(p_text, text_language(p_text));

-- Return the key of a word in a namespace: a 29-bit hash of both. Because the hash includes the namespace, a search in
-- an index of keys reads no entries of other namespaces.
CREATE OR REPLACE FUNCTION term_key(p_namespace text, p_lexeme text) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1 + (CAST(CAST('x' || left(md5(p_namespace || ' ' || p_lexeme), 8) AS bit(32)) AS integer) & 536870911);

-- Return the keys of a set of words, as term_key computes them. The function is written in PL/pgSQL, because PL/pgSQL
-- caches the plan of the query. In a function with LANGUAGE sql, PostgreSQL would plan the query at every call.
CREATE OR REPLACE FUNCTION term_keys(p_namespace text, p_words tsvector) RETURNS integer[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN ARRAY(SELECT term_key(p_namespace, lexeme) FROM unnest(tsvector_to_array(p_words)) AS lexeme);
END
$$;

-- Return a vector with the BM25 weight of each word in p_words and each form in p_forms. A form is a word of an English
-- text as it is written, not stemmed. The index of an element is the key of the word or form (see term_key).
--
-- The weight is (k1 + 1) n / (n + k1), where n is the number of occurrences. For a compound as a whole, such as
-- "inc-4821", n is 1, because p_words has no positions for it. If a form equals a stemmed word, the vector has one
-- element for both, with the occurrences of the stemmed word.
--
-- A sparsevec has at most 16,000 elements (https://github.com/pgvector/pgvector#sparsevec-type), but a text of 100,000
-- characters may have more distinct words. If p_words and p_forms together have more than 16,000 elements, only the
-- words in p_words get a weight, and of these only the 16,000 most frequent. A search still finds the memory by the
-- other words, because memory_words.keys contains the keys of all words.
CREATE OR REPLACE FUNCTION term_weights(p_namespace text, p_words tsvector, p_forms tsvector) RETURNS sparsevec
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN (
        SELECT CAST(
            '{' || coalesce(string_agg(counted.key || ':' || CAST(2.2 * n / (n + 1.2) AS real), ','), '') || '}/536870912'
            AS sparsevec)
        FROM (
            SELECT term_key(p_namespace, lexeme) AS key, coalesce(max(cardinality(positions)), 1) AS n
            FROM unnest(CASE WHEN length(p_words) + length(p_forms) <= 16000 THEN add_words(p_words, p_forms) ELSE p_words END)
            GROUP BY 1 ORDER BY n DESC, key LIMIT 16000
        ) AS counted
    );
END
$$;

-- Return the text in which a search by words looks for the query's words: the title and the content of a memory, or
-- only the content if it contains the title.
CREATE OR REPLACE FUNCTION searched_text(p_title text, p_content text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN position(p_title IN translate(p_content, E'\n\t\r', '   ')) > 0 THEN p_content ELSE p_title || ' ' || p_content END;

-- Return the text in which a search by words looks for the query's words: the title, the content and the tags of a
-- memory. The title is left out if the content contains it.
CREATE OR REPLACE FUNCTION searched_text(p_title text, p_tags text[], p_content text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN concat_ws(' ', searched_text(p_title, p_content), nullif(array_to_string(p_tags, ' '), ''));

-- Return an array with a vector of word weights (see term_weights) for each passage of a text. A passage consists of at
-- most 100 consecutive words, or of 100 characters in scripts without spaces between words. A text of more than 16,000
-- words is divided into 160 longer passages. The result is null if the text has only one passage.
--
-- A long memory usually has several topics. If one passage contains most of a query's words, this is better evidence
-- than the same words scattered over the whole memory.
--
-- The vector of a whole memory has several elements for one word: its stem without accents, the word as it is written,
-- the word with accents, and the whole compound. The vector of a passage has only those elements that get most
-- weight in a query: the stem without accents and, in English, also the word as it is written.
--
-- The function splits the text, because the positions in a tsvector do not show the passage of each word: a tsvector
-- has no position above 16,383, and at most 255 positions for each word.
CREATE OR REPLACE FUNCTION passage_weights(p_namespace text, p_text text, p_language text) RETURNS sparsevec[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    words text[] := array_remove(string_to_array(translate(split_characters(p_text), E'\n\t\r', '   '), ' '), '');
    word_count integer := cardinality(words);
    passages integer := least(160, greatest(1, ceil(word_count / 100.0)));
    passage_length integer := ceil(word_count / CAST(passages AS double precision));
BEGIN
    IF passages = 1 THEN
        RETURN NULL;
    END IF;
    RETURN ARRAY(
        SELECT CASE WHEN coalesce(p_language, 'en') = 'en'
            THEN (SELECT term_weights(p_namespace, e.stems, e.forms) FROM english_words(without_accents(passage.text)) AS e)
            ELSE term_weights(p_namespace, stemmed_words(passage.text, p_language), '') END
        FROM generate_series(1, word_count, passage_length) AS first
        CROSS JOIN LATERAL (SELECT array_to_string(words[first:first + passage_length - 1], ' ')) AS passage (text)
        ORDER BY first
    );
END
$$;

-- Trigger function: write the words of inserted memories to memory_words.
--
-- The function has SECURITY DEFINER, because the roles of the services have no right to write memory_words. PostgreSQL
-- runs triggers in the order of their names, so the trigger collect_words runs before the trigger count_stored, which
-- reads memory_words.
CREATE OR REPLACE FUNCTION collect_words() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    INSERT INTO memory_words (memory_id, language, keys, weights, passages)
    SELECT m.id, t.language, term_keys(m.namespace, w.words), term_weights(m.namespace, w.words, w.forms),
        passage_weights(m.namespace, t.text, t.language)
    FROM stored AS m
    CROSS JOIN LATERAL (
        SELECT searched.text, text_language(searched.text) AS language
        FROM (SELECT searched_text(m.title, m.tags, m.content)) AS searched (text) OFFSET 0
    ) AS t
    CROSS JOIN LATERAL words_and_forms(t.text, t.language) AS w;
    RETURN NULL;
END
$$;

-- Trigger function: compute the words of a memory again after a change of its title, tags or content.
CREATE OR REPLACE FUNCTION collect_changed_words() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    searched text := searched_text(NEW.title, NEW.tags, NEW.content);
    new_language text := text_language(searched);
BEGIN
    UPDATE memory_words SET language = new_language, keys = term_keys(NEW.namespace, w.words),
        weights = term_weights(NEW.namespace, w.words, w.forms),
        passages = passage_weights(NEW.namespace, searched, new_language)
    FROM words_and_forms(searched, new_language) AS w
    WHERE memory_id = NEW.id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER collect_words AFTER INSERT ON memories REFERENCING NEW TABLE AS stored
    FOR EACH STATEMENT EXECUTE FUNCTION collect_words();
CREATE OR REPLACE TRIGGER collect_changed_words AFTER UPDATE OF title, tags, content ON memories
    FOR EACH ROW EXECUTE FUNCTION collect_changed_words();
