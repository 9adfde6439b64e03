-- Return the title, the tags and the first 1,000 characters of a memory as one text, in lower case and without accents.
--
-- The function is written in PL/pgSQL, because the planner would inline a function with LANGUAGE sql. The inlined
-- expression would assemble the text nine times for each memory.
CREATE OR REPLACE FUNCTION beginning_of(m memories) RETURNS text
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    beginning text := literal_form(concat_ws(' ', m.title, array_to_string(m.tags, ' '), left(m.content, 1000)));
BEGIN
    RETURN without_accents(beginning);
END
$$;

-- Find up to p_rows memories that match the filters and whose content has all trigrams of the text p_text. Return the
-- title, the tags and the first 1,000 characters of each memory, as beginning_of does. A trigram is a sequence of three
-- bytes. Plain index scans are disabled, so that the planner uses the trigram index even if its estimates are wrong.
CREATE OR REPLACE FUNCTION beginnings_by_trigrams(p_namespace text, filters memory_filters, p_text text, p_rows integer)
RETURNS TABLE (beginning text)
LANGUAGE plpgsql STABLE SET enable_indexscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    trigrams bigint[] := content_trigrams(p_namespace, p_text);
BEGIN
    RETURN QUERY
    SELECT beginning_of(m) FROM memories m
    WHERE content_trigrams(m.namespace, m.content) @> trigrams AND m.namespace || '' = p_namespace
        AND matches_filters(m, filters)
    LIMIT p_rows;
END
$$;

-- Return up to p_limit words that begin with the text p_start, the most frequent first, in lower case and without
-- accents. The text p_start itself is not in the result.
--
-- The function looks for such words in the newest 300 memories that match the filters p_filters. It reads the title,
-- the tags and the first 1,000 characters of the content of each memory. If fewer than 20 of these memories have such a
-- word, the function also looks in up to 200 memories that the trigram index finds. The index cannot look up a text of
-- fewer than three bytes, so the function does not use the index if p_start is shorter.
CREATE OR REPLACE FUNCTION complete_word(p_namespace text, p_filters jsonb, p_start text, p_limit integer) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    newest_rows CONSTANT integer := 300;
    trigram_rows CONSTANT integer := 200;
    enough CONSTANT integer := 20;
    filters memory_filters := parse_filters(p_filters);
    start text := without_accents(literal_form(p_start));
    pattern text := '\m' || regexp_replace(start, '(\W)', '\\\1', 'g') || '[\w' || marks_in_words() || ']*';
    beginnings text[];
BEGIN
    PERFORM require_session_namespace(p_namespace);
    beginnings := ARRAY(
        SELECT b.beginning FROM newest_memories(p_namespace, filters, NULL, newest_rows) AS n
        CROSS JOIN LATERAL (SELECT beginning_of(m) AS beginning FROM memories m WHERE m.id = n.id OFFSET 0) AS b
        WHERE b.beginning ~ pattern
    );
    IF cardinality(beginnings) < enough AND octet_length(start) >= 3 THEN
        beginnings := beginnings || ARRAY(
            -- Look up only the trigrams of the first eight characters of p_start, because the lookup of each trigram
            -- takes time. The regular expression `pattern` then excludes memories without a word that begins with the
            -- whole text p_start.
            SELECT b.beginning
            FROM beginnings_by_trigrams(p_namespace, filters, left(literal_form(p_start), 8), trigram_rows) AS b
            WHERE b.beginning ~ pattern
        );
    END IF;
    RETURN ARRAY(
        SELECT w.word FROM (
            SELECT DISTINCT b.place, matches.parts[1] AS word
            FROM unnest(beginnings) WITH ORDINALITY AS b (beginning, place),
                regexp_matches(b.beginning, pattern, 'g') AS matches (parts)
        ) AS w
        WHERE w.word <> start
        GROUP BY w.word ORDER BY count(*) DESC, w.word LIMIT p_limit
    );
END
$$;

GRANT EXECUTE ON FUNCTION complete_word(text, jsonb, text, integer) TO mnemosyne_runtime, mnemosyne_mcp;
