-- Return p_text with marks around each word whose stem is in p_lexemes. The mark before the word is U+E000, and the
-- mark after it is U+E001. In the result, separators such as / and _ are replaced by spaces.
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

-- Return p_text with U+E002 between the parts of each CamelCase word, and before the dotted number in a word such as
-- "v1.2.3".
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

-- Mark the words of a query in the texts of several memories (see mark_words), and return the marked texts. p_memories
-- is a JSON array with one array of texts for each memory. The language is detected once for each memory, from all its
-- texts.
--
-- The result has the form of p_memories, but each text is replaced by an array of marked copies of the text: the text,
-- and if they differ from it, the text without accents and the text with split words (see split_parts). If the query
-- has no words, the array is empty.
--
-- The function reads no table. It has SECURITY DEFINER, because the roles of the services have no right to call the SQL
-- functions that extract words.
CREATE OR REPLACE FUNCTION mark_query_words(p_query text, p_memories jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    query_language text := text_language(p_query);
    marked jsonb := '[]';
    memory jsonb;
    memory_language text;
    spelled text[] := ARRAY(SELECT s.spelling FROM spellings(p_query) AS s);
    -- The languages of the memories until now, and for each language the words of the query in a text without and with
    -- accents.
    languages text[] := '{}';
    plain_words tsvector[] := '{}';
    accented_words tsvector[] := '{}';
    plain tsvector;
    accented tsvector;
BEGIN
    FOR memory IN SELECT value FROM jsonb_array_elements(p_memories) LOOP
        memory_language := text_language((SELECT string_agg(text, ' ') FROM jsonb_array_elements_text(memory) AS text));
        plain := plain_words[array_position(languages, coalesce(memory_language, 'und'))];
        accented := accented_words[array_position(languages, coalesce(memory_language, 'und'))];
        IF plain IS NULL THEN
            plain := merge_words(merge_words(stemmed_words(p_query, query_language), stemmed_words(p_query, memory_language)),
                array_to_tsvector(ARRAY(
                    SELECT unnest(stem_of_spelling(spelling, stem_dictionary(language))) FROM unnest(spelled) AS spelling
                    CROSS JOIN unnest(ARRAY[query_language, memory_language, 'und']) AS language)));
            accented := merge_words(plain, merge_words(simple_words(split_characters(p_query), stemmer(query_language)),
                simple_words(split_characters(p_query), stemmer(memory_language))));
            languages := languages || coalesce(memory_language, 'und');
            plain_words := plain_words || plain;
            accented_words := accented_words || accented;
        END IF;
        marked := marked || jsonb_build_array((
            SELECT jsonb_agg(CASE WHEN plain = '' THEN '[]' ELSE (
                SELECT jsonb_agg(mark_words(CASE WHEN copy = text THEN accented ELSE plain END, stemmer(memory_language), copy))
                FROM (SELECT text UNION SELECT base_letters(text) UNION SELECT split_parts(base_letters(text))) AS u (copy)
            ) END ORDER BY place)
            FROM jsonb_array_elements_text(memory) WITH ORDINALITY AS t (raw, place)
            CROSS JOIN LATERAL translate(raw, U&'\E000\E001\E002', '   ') AS text));
    END LOOP;
    RETURN marked;
END
$$;

GRANT EXECUTE ON FUNCTION mark_query_words(text, jsonb) TO mnemosyne_runtime, mnemosyne_mcp;
