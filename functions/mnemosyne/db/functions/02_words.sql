-- Extract the words of memories and compute their BM25 weights (Robertson, Zaragoza 2009, "The Probabilistic Relevance
-- Framework: BM25 and Beyond"), with k1 = 1.2.
--
-- The table memory_words stores a weight for each word of a memory. term_weights computes this weight from the number
-- of occurrences. To score a memory for a query, a search multiplies the weight by a factor for the memory's length
-- (lexical_score) and by a factor for the rarity of the word in the namespace (query_terms).
--
-- The rows of memory_words depend on words_and_forms, on the SQL functions that it calls, and on term_key,
-- term_weights, passage_weights and searched_text. A change to one of these functions needs a migration that fills the
-- table again.

-- Return the union of two sets of words (tsvector). A tsvector has at most one megabyte. If the union could be larger,
-- the result is only p_words, without p_others.
CREATE OR REPLACE FUNCTION merge_words(p_words tsvector, p_others tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN pg_column_size(p_words) + pg_column_size(p_others) < 1000000 THEN p_words || p_others ELSE p_words END;

-- Return the union of two sets of words (tsvector). If a word is in both sets, only its positions in p_words are kept.
CREATE OR REPLACE FUNCTION add_words(p_words tsvector, p_others tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN merge_words(p_words, ts_delete(p_others, tsvector_to_array(p_words)));

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

-- Return the stems of the function words (such as "the") in a text. A stem is left out if a word of the text that is
-- not a function word has the same stem. p_words are the words of the text, not stemmed, and p_language is the language
-- of the text.
CREATE OR REPLACE FUNCTION stems_of_function_words(p_words tsvector, p_language text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    evidence CONSTANT jsonb := evidence_by_word(false);
    dictionary regdictionary := stem_dictionary(p_language);
BEGIN
    RETURN ARRAY(
        SELECT stem FROM unnest(tsvector_to_array(p_words)) AS word CROSS JOIN LATERAL unnest(ts_lexize(dictionary, word)) AS stem
        GROUP BY stem HAVING bool_and(coalesce(evidence -> word ? p_language, false))
    );
END
$$;

-- Whether PostgreSQL has a stemmer but no stop words for a language. For such a language, words_in_language leaves out
-- the function words of a text. Otherwise the Arabic name "علي" would find each text with "على" (on), which has the
-- same stem.
CREATE OR REPLACE FUNCTION lacks_stop_words(p_language text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_language IN ('ar', 'el', 'hi');

-- Return the words of a text, stemmed in the language p_language, without stop words.
CREATE OR REPLACE FUNCTION words_in_language(p_text text, p_language text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN lacks_stop_words(p_language)
    THEN ts_delete(simple_words(p_text, stemmer(p_language)), stems_of_function_words(simple_words(p_text, 'simple'), p_language))
    ELSE simple_words(p_text, stemmer(p_language)) END;

-- Return the words of a text, without accents. If PostgreSQL has a stemmer for the language, the words are stemmed, and
-- stop words are left out. In English texts and in texts of unknown language, accents are removed before stemming; in
-- other texts, after stemming.
CREATE OR REPLACE FUNCTION stemmed_words(p_text text, p_language text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN coalesce(p_language, 'en') = 'en' THEN simple_words(without_accents(split_characters(p_text)), 'english')
    ELSE fold_words(words_in_language(split_characters(p_text), p_language)) END;

-- Return the words of a text in the language p_language. A search finds a text only by its `words`. The `forms`
-- increase the score of a text that was found by its words.
--
-- `words` contains the stemmed words without accents, and the joined words (see joined_words), for example "inc4821"
-- for "INC-4821". If a word has accents, `words` also contains the word with its accents. If the language is known and
-- not English, `words` also contains the unstemmed words. A query for an unstemmed word then finds the text even if the
-- query is too short for detecting its language.
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
        words := words_in_language(accented, p_language);
        unstemmed := words;
        IF configuration <> CAST('simple' AS regconfig) THEN
            unstemmed := without_stop_words(simple_words(accented, 'simple'), p_language);
            words := CASE WHEN plain = accented THEN words ELSE add_words(fold_words(words), fold_words(unstemmed)) END;
        ELSIF plain <> accented THEN
            words := fold_words(words);
        END IF;
        words := add_words(words, unstemmed);
    END IF;
    IF plain ~ '\d|\w[-./\\@:+#&=~|_]\w' THEN
        words := merge_words(words, array_to_tsvector(joined_words(plain, p_language)));
    END IF;
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

-- Return the key of a word in a namespace: a 29-bit hash of the namespace and the word. Because the key depends on the
-- namespace, a search in an index of keys reads almost no entries of other namespaces. It reads such an entry only if
-- the hashes of two words of different namespaces happen to be equal.
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
-- The weight is (k1 + 1) n / (n + k1) with k1 = 1.2, where n is the number of occurrences of the word. For a compound
-- as a whole, such as "inc-4821", n is 1, because p_words has no positions for it. If a form equals a stemmed word, the
-- vector has one element for both, and n is the number of occurrences of the stemmed word.
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
