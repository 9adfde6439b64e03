-- Return p_text with marks around each word whose lexeme in the configuration p_stemmer is in p_lexemes. The mark
-- before the word is U+E000, and the mark after it is U+E001. In the result, separators such as / and _ are replaced by
-- spaces.
--
-- Apart from the marks, the result has the same length as p_text. Therefore the caller can compute the position of a
-- marked word in p_text.
CREATE OR REPLACE FUNCTION mark_words(p_lexemes tsvector, p_stemmer regconfig, p_text text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    -- Replace separators by spaces. PostgreSQL's parser takes "tea/coffee" for a file path and <b> for an XML tag, and
    -- ts_headline does not mark words in file paths and XML tags.
    words text := regexp_replace(translate(p_text, U&'_/\005C@:#<>&', '         '),
        '(\w)[-+=~|](?=\w)|([[:alpha:]])\.(?=\w)|(\d)\.(?=[[:alpha:]])', '\1\2\3 ', 'g');
BEGIN
    RETURN ts_headline(p_stemmer, words,
        CAST((SELECT string_agg(quote_literal(lexeme), ' | ') FROM unnest(tsvector_to_array(p_lexemes)) AS lexeme) AS tsquery),
        U&'HighlightAll=true, StartSel="\E000", StopSel="\E001"');
END
$$;

-- Return p_text with the separator U+E002 in each place where a character of a script without spaces is next to another
-- letter or a digit, as in "便名はNH469".
CREATE OR REPLACE FUNCTION split_scripts(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_text) = char_length(p_text) THEN p_text ELSE regexp_replace(p_text,
    '(' || unspaced_character() || ')(?=(?!' || unspaced_character() || ')[[:alnum:]])'
        '|(?!' || unspaced_character() || ')([[:alnum:]])(?=' || unspaced_character() || ')',
    U&'\005C1\005C2\E002', 'g') END;

-- Return p_text with the separator U+E002 between the parts of each CamelCase word, and before the dotted number in a
-- word such as "v1.2.3".
CREATE OR REPLACE FUNCTION split_parts(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(
    regexp_replace(p_text, '([[:lower:]\d])(?=[[:upper:]])|([[:upper:]])(?=[[:upper:]][[:lower:]])', U&'\005C1\005C2\E002', 'g'),
    '\m([[:alpha:]]+)(?=\d+(?:\.\d+)+)', U&'\005C1\E002', 'g');

-- Return p_text with each accented letter replaced by its letter without the accent. Unlike without_accents, the
-- function replaces only single characters by single characters, so that each character keeps its position.
CREATE OR REPLACE FUNCTION base_letters(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_text) = char_length(p_text) THEN p_text ELSE (
    SELECT translate(p_text, coalesce(string_agg(letter, ''), ''), coalesce(string_agg(base, ''), ''))
    FROM (
        SELECT letter, without_accents(letter) AS base
        FROM (SELECT DISTINCT unnest(string_to_array(p_text, NULL)) AS letter) AS letters
    ) AS pairs
    WHERE char_length(base) = 1 AND base <> letter
) END;

-- Return the words of a query as they are written, in lower case and without stop words. In scripts without spaces
-- between words, each character counts as a word. These one-character words are left out, because a single character is
-- part of too many words.
CREATE OR REPLACE FUNCTION written_words(p_query text, p_language text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    words tsvector := simple_words(split_characters(p_query), 'simple');
    dictionary regdictionary := stem_dictionary(p_language);
BEGIN
    RETURN ARRAY(
        SELECT word
        FROM unnest(tsvector_to_array(CASE WHEN p_language = 'en' THEN words ELSE without_stop_words(words, p_language) END)) AS word
        WHERE ts_lexize(dictionary, word) <> '{}' AND word !~ ('^' || unspaced_character() || '$')
    );
END
$$;

-- Return a JSON object whose keys are the stems of the words p_words in each of the languages p_languages, and the
-- words themselves, with and without accents. The values are true.
CREATE OR REPLACE FUNCTION lexemes_of(p_words text[], p_languages text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN (
        WITH stemming AS MATERIALIZED (
            SELECT DISTINCT l.language = 'en' AS is_english, stem_dictionary(l.language) AS dictionary
            FROM unnest(p_languages) AS l (language)
        ), written AS MATERIALIZED (
            SELECT w.word, without_accents(w.word) AS plain FROM unnest(p_words) AS w (word)
        )
        SELECT coalesce(jsonb_object_agg(u.lexeme, true), '{}') FROM (
            SELECT without_accents(stem) AS lexeme FROM written w CROSS JOIN stemming s
            -- In English, accents are removed before stemming; in other languages, after stemming (see stemmed_words).
            CROSS JOIN LATERAL unnest(ts_lexize(s.dictionary, CASE WHEN s.is_english THEN w.plain ELSE w.word END)) AS stem
            UNION SELECT w.word FROM written w
            UNION SELECT w.plain FROM written w
        ) AS u
    );
END
$$;

-- Return the words of a text that match a query, as they are written in the text. p_language is the language of the
-- text. The keys of p_lexemes are the stems and spellings of the query's words.
--
-- A word of the text matches if p_lexemes has its stem, or the word as it is written, with or without accents. A search
-- looks up the same forms of a word in the index of a memory (see words_and_forms). A stop word does not match.
CREATE OR REPLACE FUNCTION matching_words(p_text text, p_language text, p_lexemes jsonb) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    dictionary regdictionary := stem_dictionary(p_language);
    is_english boolean := p_language = 'en';
    words tsvector := simple_words(p_text, 'simple');
BEGIN
    IF lacks_stop_words(p_language) THEN
        words := without_stop_words(words, p_language);
    END IF;
    RETURN array_to_tsvector(ARRAY(
        SELECT w.word FROM (
            SELECT word, plain, ts_lexize(dictionary, CASE WHEN is_english THEN plain ELSE word END) AS stem
            FROM unnest(tsvector_to_array(words)) AS word
            CROSS JOIN LATERAL (SELECT without_accents(word) OFFSET 0) AS p (plain)
        ) AS w
        WHERE w.stem <> '{}'
            AND (p_lexemes ? w.word OR p_lexemes ? w.plain OR (w.stem[1] <> w.word AND p_lexemes ? without_accents(w.stem[1])))
    ));
END
$$;

-- Mark the parts of p_text that match a query as one word although they are written in several parts, such as "Wi-Fi"
-- for the query "wifi". Such a part is a compound or a number in several parts. Return the marked text (see
-- mark_words), or null if the text has no such part. If the text has more than 50 different such parts, only 50 of them
-- are marked, because each one needs a scan of the text. The parameters have the same meaning as in matching_words.
CREATE OR REPLACE FUNCTION mark_joined(p_text text, p_language text, p_lexemes jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    dictionary regdictionary := stem_dictionary(p_language);
    marked text;
    part text;
BEGIN
    FOR part IN
        SELECT compound FROM unnest(compounds(p_text)) AS compound
        WHERE p_lexemes ?| ts_lexize(dictionary, joined(without_accents(compound)))
        UNION
        SELECT n.parts FROM numbers_in_parts(p_text) AS n WHERE p_lexemes ? n.joined
        ORDER BY 1 LIMIT 50
    LOOP
        marked := regexp_replace(coalesce(marked, p_text), CASE WHEN part ~ '^\w' THEN '\m' ELSE '' END
            || replace(regexp_replace(part, '(\W)', '\\\1', 'g'), '\ ', '[ ()./-]+'), U&'\E000\005C&\E001', 'gi');
    END LOOP;
    RETURN marked;
END
$$;

-- Return an array of marked copies of a text (see mark_words). There are up to three copies: the text itself, the text
-- with split words (see split_parts), if a word can be split, and the text with marked compounds (see mark_joined). A
-- copy in which no word is marked is left out. The keys of p_words are the lexemes of the query's words (see
-- lexemes_of). p_lexemes also has the lexemes of other spellings of these words.
CREATE OR REPLACE FUNCTION marked_copies(p_text text, p_language text, p_words jsonb, p_lexemes jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    plain text := split_scripts(translate(p_text, U&'\E000\E001\E002', '   '));
    split text := split_parts(plain);
    matching tsvector := matching_words(CASE WHEN split = plain THEN plain ELSE plain || ' ' || split END, p_language, p_lexemes);
BEGIN
    RETURN to_jsonb(array_remove(ARRAY[
        mark_words(matching, 'simple', plain),
        CASE WHEN split <> plain THEN mark_words(matching, 'simple', split) END,
        mark_joined(plain, p_language, p_words)
    ], NULL));
END
$$;

-- Mark the words of a query in the texts of several memories (see mark_words), and return the marked texts. p_memories
-- is a JSON array with one array of texts for each memory. The language is detected once for each memory, from all its
-- texts.
--
-- The result has the form of p_memories, but each text is replaced by an array of marked copies of the text (see
-- marked_copies). If the query has no words, the array is empty.
--
-- The function reads no table. It has SECURITY DEFINER, because the roles of the services have no right to call the SQL
-- functions that extract words.
CREATE OR REPLACE FUNCTION mark_query_words(p_query text, p_memories jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    query_language text := coalesce(text_language(p_query), 'en');
    words text[] := written_words(p_query, query_language);
    spelled text[] := ARRAY(SELECT s.spelling FROM spellings(p_query) AS s);
    marked jsonb := '[]';
    memory jsonb;
    memory_language text;
    -- The languages of the memories that were handled so far. For each of these languages, word_lexemes has the lexemes
    -- of the query's words, and all_lexemes also has the lexemes of their other spellings.
    languages text[] := '{}';
    word_lexemes jsonb[] := '{}';
    all_lexemes jsonb[] := '{}';
    n integer;
BEGIN
    FOR memory IN SELECT value FROM jsonb_array_elements(p_memories) LOOP
        memory_language := coalesce(
            text_language((SELECT string_agg(text, ' ') FROM jsonb_array_elements_text(memory) AS text)), 'en');
        n := array_position(languages, memory_language);
        IF n IS NULL THEN
            languages := languages || memory_language;
            n := cardinality(languages);
            word_lexemes[n] := lexemes_of(words, ARRAY[query_language, memory_language, 'en']);
            all_lexemes[n] := word_lexemes[n] || (
                SELECT coalesce(jsonb_object_agg(lexeme, true), '{}') FROM unnest(spelled) AS spelling
                CROSS JOIN unnest(ARRAY[query_language, memory_language]) AS language
                CROSS JOIN LATERAL unnest(spelling || stem_of_spelling(spelling, stem_dictionary(language))) AS lexeme);
        END IF;
        marked := marked || jsonb_build_array((
            SELECT jsonb_agg(CASE WHEN words = '{}' THEN '[]'
                ELSE marked_copies(text, memory_language, word_lexemes[n], all_lexemes[n]) END ORDER BY place)
            FROM jsonb_array_elements_text(memory) WITH ORDINALITY AS t (text, place)));
    END LOOP;
    RETURN marked;
END
$$;

GRANT EXECUTE ON FUNCTION mark_query_words(text, jsonb) TO mnemosyne_runtime, mnemosyne_mcp;
