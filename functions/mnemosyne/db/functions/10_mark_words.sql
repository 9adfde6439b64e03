-- Mark the words of p_text whose stem is in p_lexemes: U+E000 before the word and U+E001 after the word. Without these
-- two characters, the result has the same length as p_text, so a position in the result gives the position in p_text.
-- Some separators are replaced by spaces.
CREATE OR REPLACE FUNCTION mark_words(p_lexemes tsvector, p_stemmer regconfig, p_text text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    -- PostgreSQL's parser takes "tea/coffee" for a file and <b> for a tag, and ts_headline does not mark these. So
    -- replace such separators by spaces.
    words text := regexp_replace(translate(p_text, U&'_/\005C@:#<>&\E000\E001', '           '),
        '(\w)[-+=~|](?=\w)|([[:alpha:]])\.(?=\w)', '\1\2 ', 'g');
BEGIN
    RETURN ts_headline(p_stemmer, words,
        CAST((SELECT string_agg(quote_literal(lexeme), ' | ') FROM unnest(tsvector_to_array(p_lexemes)) AS lexeme) AS tsquery),
        U&'HighlightAll=true, StartSel="\E000", StopSel="\E001"');
END
$$;

-- Mark the words of a query in the texts of several memories. p_memories is a JSON array with one array of texts per
-- memory. The language is detected once per memory, from its texts together. The result has an array for each text:
-- the marked text, and a second copy without accents if removing the accents keeps the length of the text.
--
-- The function reads no table. The function is SECURITY DEFINER, because the services have no right to call the
-- functions that extract words.
CREATE OR REPLACE FUNCTION mark_query_words(p_query text, p_memories jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    query_language text := text_language(p_query);
    marked jsonb := '[]';
    memory jsonb;
    memory_language text;
    plain tsvector;
    accented tsvector;
BEGIN
    FOR memory IN SELECT value FROM jsonb_array_elements(p_memories) LOOP
        memory_language := text_language((SELECT string_agg(text, ' ') FROM jsonb_array_elements_text(memory) AS text));
        plain := merge_words(stemmed_words(p_query, query_language), stemmed_words(p_query, memory_language));
        accented := merge_words(plain, merge_words(simple_words(split_characters(p_query), stemmer(query_language)),
            simple_words(split_characters(p_query), stemmer(memory_language))));
        marked := marked || jsonb_build_array((
            SELECT jsonb_agg(CASE
                WHEN plain = '' THEN '[]'
                WHEN without_accents(text) = text OR char_length(without_accents(text)) <> char_length(text)
                    THEN jsonb_build_array(mark_words(accented, stemmer(memory_language), text))
                ELSE jsonb_build_array(mark_words(accented, stemmer(memory_language), text),
                    mark_words(plain, stemmer(memory_language), without_accents(text))) END ORDER BY place)
            FROM jsonb_array_elements_text(memory) WITH ORDINALITY AS t (text, place)));
    END LOOP;
    RETURN marked;
END
$$;

REVOKE ALL ON FUNCTION mark_words, mark_query_words FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mark_query_words TO mnemosyne_runtime, mnemosyne_mcp;
