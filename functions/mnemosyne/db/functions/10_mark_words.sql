-- The text with U+E000 before and U+E001 after each word whose stem is one of p_lexemes. Without these two characters it
-- has the same length as p_text, so that their places can be counted; some of its other characters differ.
CREATE OR REPLACE FUNCTION mark_words(p_lexemes tsvector, p_stemmer regconfig, p_text text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    -- PostgreSQL's parser would take "tea/coffee" for a file and <b> for a tag, which ts_headline leaves out.
    words text := regexp_replace(translate(p_text, U&'_/\005C@:#<>&\E000\E001', '           '),
        '(\w)[-+=~|](?=\w)|([[:alpha:]])\.(?=\w)', '\1\2 ', 'g');
BEGIN
    RETURN ts_headline(p_stemmer, words,
        CAST((SELECT string_agg(quote_literal(lexeme), ' | ') FROM unnest(tsvector_to_array(p_lexemes)) AS lexeme) AS tsquery),
        U&'HighlightAll=true, StartSel="\E000", StopSel="\E001"');
END
$$;

-- Mark the words of a query in texts, given as a JSON array of arrays: the texts of one memory have one language. Each
-- text becomes an array: it with its accents and, if it is as long without them, also without them. It reads no table;
-- SECURITY DEFINER, because services may not call the functions on words.
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
