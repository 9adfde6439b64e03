-- Return the words of a text, in lower case and not stemmed.
CREATE OR REPLACE FUNCTION plain_words(p_text text) RETURNS text[]
LANGUAGE sql IMMUTABLE
RETURN array_remove(regexp_split_to_array(literal_form(p_text), '[^\w' || marks_in_words() || ']+'), '');

-- Return the parts of a query that the function `snippet` looks for in a content, the longest part first. `pattern` is
-- a regular expression for the part. A part is the stem of a word, or another spelling of a word (see spellings). In
-- scripts without spaces, the parts are all substrings of two to ten characters of the query's first 40 characters.
CREATE OR REPLACE FUNCTION snippet_patterns(p_query text) RETURNS TABLE (part text, pattern text)
LANGUAGE plpgsql IMMUTABLE SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT w.part, replace(regexp_replace(regexp_replace(w.part, '(\W)', '\\\1', 'g'), 'i$', '[iy]'), 'ss', '(?:ss|ß)') FROM (
        (SELECT lexeme FROM unnest(tsvector_to_array(words_of(p_query))) AS lexeme
        WHERE lexeme !~ ('^' || unspaced_character() || '$') ORDER BY length(lexeme) DESC, lexeme LIMIT 10)
        UNION
        SELECT s.spelling FROM spellings(p_query) AS s
        UNION
        SELECT substr(run[1], start, size)
        FROM regexp_matches(normalize(left(p_query, 40), NFKC), unspaced_character() || '{2,}', 'g') AS run,
            generate_series(2, least(10, length(run[1]))) AS size, generate_series(1, length(run[1]) - size + 1) AS start
    ) AS w (part) ORDER BY length(w.part) DESC, w.part;
END
$$;

-- Return a snippet of a content: 240 characters around the first occurrence of a query word. If the content contains
-- several query words, the function chooses the longest of these words. In scripts without spaces, each part of the
-- query counts as a word (see snippet_patterns). The result is null if the first occurrence of the chosen word is
-- within the first p_shown characters, because the caller shows these characters anyway. The result is also null if the
-- content contains no query word.
--
-- Each word of the content that begins with the stem of a query word is an occurrence of the query word. If a stem ends
-- with i, a word with y in this place also matches, because the English stemmer replaces a final y by i. Accents are
-- ignored.
CREATE OR REPLACE FUNCTION snippet(p_content text, p_query text, p_shown integer) RETURNS text
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    plain text := base_letters(p_content);
    -- In a text with characters of a script without spaces, a word can also begin directly after such a character.
    word_start CONSTANT text := CASE WHEN octet_length(p_content) = char_length(p_content) THEN '\m'
        ELSE '(?:\m|' || unspaced_character() || ')' END;
    part record;
    place integer;
BEGIN
    FOR part IN SELECT s.* FROM snippet_patterns(p_query) AS s LOOP
        IF part.part ~ unspaced_character() THEN
            place := position(part.part IN p_content);
        ELSE
            place := regexp_instr(plain, word_start || part.pattern, 1, 1, 0, 'i');
            -- This scan of a long content takes about 10 ms, so a text without accents is scanned only once.
            IF place = 0 AND plain <> p_content THEN
                place := regexp_instr(p_content, word_start || part.pattern, 1, 1, 0, 'i');
            END IF;
        END IF;
        IF place > 0 THEN
            RETURN CASE WHEN place > p_shown THEN substr(p_content, place - 80, 240) END;
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

-- Return each word and each compound of a query, with the stems that a search looks for in a text in the language
-- p_language. `needed` is the number of these stems that a text must contain to match: all stems of a compound (such as
-- "inc-4821"), but only one stem of any other word. Such a word can have several stems, for example with and without
-- accents. A word with other spellings (see spellings) has further rows. One of the rows is enough to match.
--
-- A CamelCase word is returned as a whole and in its parts. In a script without spaces between words, each character is
-- a word.
CREATE OR REPLACE FUNCTION stems_of_words(p_query text, p_language text)
RETURNS TABLE (word text, stems text[], needed integer)
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    query text := plain_numbers(split_characters(p_query));
BEGIN
    RETURN QUERY
    WITH split AS MATERIALIZED (
        SELECT u.word, p.parts, compounds(u.word) <> '{}' AND p.parts <> '{}' AS is_compound
        FROM (
            SELECT DISTINCT unnest(plain_words(query) || plain_words(split_camel(query)) || compounds(literal_form(query)))
        ) AS u (word)
        CROSS JOIN LATERAL (SELECT tsvector_to_array(stemmed_words(u.word, p_language)) OFFSET 0) AS p (parts)
    )
    SELECT w.word, CASE WHEN w.is_compound THEN w.parts ELSE tsvector_to_array(words_of(w.word, p_language)) END,
        CASE WHEN w.is_compound THEN cardinality(w.parts) ELSE 1 END
    FROM split AS w
    UNION ALL
    SELECT w.word, joined_words(w.word, p_language), 1 FROM split AS w WHERE w.is_compound
    UNION ALL
    SELECT part, array_append(stem_of_spelling(s.spelling, stem_dictionary(p_language)), s.spelling), 1
    FROM spellings(p_query) AS s CROSS JOIN unnest(string_to_array(s.parts, ' ')) AS part
    WHERE ts_lexize(stem_dictionary(p_language), part) <> '{}';
END
$$;

-- For each of several memories, return the words of a query that the memory contains. p_ids has the ids of the
-- memories, and p_texts has their texts. The result is a JSON object that maps each id to an array of at most 100
-- words. A query may be a whole page of text, so only its first 2,000 characters count.
CREATE OR REPLACE FUNCTION matched_words(p_query text, p_ids uuid[], p_texts text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    query_start text := left(p_query, 2000);
    query_language text := coalesce(text_language(query_start), 'en');
BEGIN
    RETURN (
        WITH memory AS MATERIALIZED (
            SELECT m.id, m.text, coalesce(text_language(m.text), 'en') AS language
            FROM unnest(p_ids, p_texts) AS m (id, text)
        ), stem AS MATERIALIZED (
            SELECT l.language, s.word, s.needed, unnest(s.stems) AS stem
            FROM (SELECT m.language FROM memory m UNION SELECT query_language) AS l
            CROSS JOIN LATERAL stems_of_words(query_start, l.language) AS s
        ), matched AS (
            SELECT m.id, s.word FROM memory m
            CROSS JOIN LATERAL unnest(tsvector_to_array(words_of(m.text, m.language))) AS lexeme
            JOIN stem s ON s.stem = lexeme AND s.language IN (m.language, query_language)
            GROUP BY m.id, s.word, s.language, s.needed HAVING count(*) >= s.needed
        )
        SELECT coalesce(jsonb_object_agg(w.id, w.words), '{}') FROM (
            SELECT d.id, (array_agg(d.word ORDER BY d.word))[:100] AS words FROM (
                SELECT DISTINCT n.id, n.word FROM matched n
            ) AS d GROUP BY d.id
        ) AS w
    );
END
$$;

-- Shorten a memory that is too long for a result: cut its content and metadata to p_share characters in total. The
-- function returns the fields to replace: `content`, `snippet` and, if necessary, `metadata`. If the memory has at most
-- p_share characters, the function returns an empty object. p_metadata are the present metadata of the memory, or its
-- metadata at an earlier time.
--
-- Metadata longer than half of p_share are replaced by null. The end of the content is cut off. If at least 500
-- characters are available for the content, the function looks for a query word in the part of the content that is cut
-- off (see the function snippet). If there is one, the field `snippet` has up to 240 characters around this word, and
-- the content is shortened by the length of the snippet. Otherwise `snippet` is null.
CREATE OR REPLACE FUNCTION cut_record(m memories, p_metadata jsonb, p_query text, p_share integer) RETURNS jsonb
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    metadata_length integer := char_length(CAST(p_metadata AS text));
    length_left integer;
    passage text;
BEGIN
    IF char_length(m.content) + metadata_length <= p_share THEN
        RETURN '{}';
    END IF;
    IF metadata_length > p_share / 2 THEN
        metadata_length := NULL;
    END IF;
    length_left := greatest(0, p_share - coalesce(metadata_length, 0));
    IF length_left >= 500 THEN
        passage := snippet(m.content, p_query, length_left - 240);
    END IF;
    RETURN jsonb_build_object('content', left(m.content, length_left - coalesce(char_length(passage), 0)), 'snippet', passage)
        || CAST(CASE WHEN metadata_length IS NULL THEN '{"metadata": null}' ELSE '{}' END AS jsonb);
END
$$;

-- Return the length in characters to which each longer memory must be cut, so that all memories together have at most
-- p_characters characters. The result is null if no memory needs to be cut.
--
-- Memories shorter than this length are not cut. The longer memories share the remaining characters equally. If
-- p_as_of is not null, the length of a memory includes its metadata at that time, not its present metadata.
CREATE OR REPLACE FUNCTION characters_per_memory(
    p_namespace text, p_ids uuid[], p_characters integer, p_as_of timestamptz
) RETURNS integer
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    lengths integer[] := ARRAY(
        SELECT char_length(m.content) + char_length(CAST(metadata_as_of(m, p_as_of) AS text)) AS length FROM memories m
        WHERE m.id = ANY (p_ids) AND m.namespace = p_namespace ORDER BY length
    );
    rest integer := p_characters;
BEGIN
    FOR n IN 1 .. cardinality(lengths) LOOP
        IF lengths[n] > rest / (cardinality(lengths) - n + 1) THEN
            RETURN rest / (cardinality(lengths) - n + 1);
        END IF;
        rest := rest - lengths[n];
    END LOOP;
    RETURN NULL;
END
$$;

-- Return the memories with the ids p_ids as JSON, in the order of p_ids. Deleted and expired memories are left out. If
-- p_as_of is not null, the memories are as they were at that time.
--
-- Contents and metadata are cut (see cut_record), so that all of them together have at most p_characters characters. If
-- p_characters is null, nothing is cut. If p_explain is true, the field `matched_words` of each memory has the words of
-- the query that the memory contains. Otherwise the field is null.
CREATE OR REPLACE FUNCTION read_hits(
    p_namespace text, p_ids uuid[], p_query text, p_characters integer, p_explain boolean, p_as_of timestamptz
) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    share integer;
    matches jsonb;
BEGIN
    PERFORM require_session_namespace(p_namespace);
    IF p_as_of IS NOT NULL THEN
        PERFORM require_complete(p_namespace, p_as_of);
    END IF;
    share := characters_per_memory(p_namespace, p_ids, p_characters, p_as_of);
    IF p_explain THEN
        matches := (
            SELECT matched_words(p_query, array_agg(m.id), array_agg(searched_text(m.title, m.tags, m.content)))
            FROM memories m WHERE m.id = ANY (p_ids) AND m.namespace = p_namespace);
    END IF;
    RETURN (
        SELECT coalesce(json_agg(CASE WHEN m.changed_at > p_as_of THEN memory_record(memory_as_of(m, p_as_of))
            ELSE memory_record(m) END || jsonb_build_object(
            'length', char_length(m.content),
            'snippet', NULL,
            'supersedes', CASE WHEN p_as_of IS NULL THEN superseded_memories(m.namespace, m.id)
                ELSE superseded_as_of(m.namespace, m.id, p_as_of) END,
            'matched_words', CASE WHEN p_explain THEN coalesce(matches -> CAST(m.id AS text), '[]') END
        ) || CASE WHEN share IS NULL THEN '{}' ELSE cut_record(m, metadata_as_of(m, p_as_of), p_query, share) END
        ORDER BY u.place), '[]')
        FROM unnest(p_ids) WITH ORDINALITY AS u (id, place) JOIN memories m ON m.id = u.id AND m.namespace = p_namespace
        WHERE is_unexpired(m.expires_at)
    );
END
$$;

-- Return the cosine similarity of each pair of memories. The result has one array for each memory in p_ids: its
-- similarities to all memories in p_ids, in the same order. The similarities of a deleted memory are null.
CREATE OR REPLACE FUNCTION pairwise_cosines(p_namespace text, p_ids uuid[]) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    RETURN (
        WITH vectors AS MATERIALIZED (
            SELECT u.place, (
                SELECT l2_normalize(m.embedding) FROM memories m WHERE m.id = u.id AND m.namespace = p_namespace
            ) AS vector
            FROM unnest(p_ids) WITH ORDINALITY AS u (id, place)
        )
        SELECT coalesce(json_agg(pairs.cosines ORDER BY pairs.place), '[]') FROM (
            SELECT a.place, json_agg(CAST(- (a.vector <#> b.vector) AS real) ORDER BY b.place) AS cosines
            FROM vectors a CROSS JOIN vectors b GROUP BY a.place
        ) AS pairs
    );
END
$$;
GRANT EXECUTE ON FUNCTION read_hits(text, uuid[], text, integer, boolean, timestamptz), pairwise_cosines(text, uuid[])
    TO mnemosyne_runtime, mnemosyne_mcp;
