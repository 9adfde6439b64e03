-- Of a content, 240 characters around where the longest word of the query that is in it stands first; null where that is
-- among its first p_shown characters. A stem is the beginning of its word, but for an i that was a y. Accents are ignored
-- where that leaves each character in its place.
CREATE OR REPLACE FUNCTION snippet(p_content text, p_query text, p_shown integer) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN (
    SELECT CASE WHEN f.place > p_shown THEN substr(p_content, f.place - 80, 240) END FROM (
        SELECT w.lexeme, regexp_instr(
            CASE WHEN char_length(c.plain) = char_length(p_content) THEN c.plain ELSE p_content END, '\m' || regexp_replace(regexp_replace(w.lexeme, '(\W)', '\\\1', 'g'), 'i$', '[iy]'), 1, 1, 0, 'i'
        ) AS place
        FROM (SELECT without_accents(p_content)) AS c (plain), unnest(tsvector_to_array(words_of(p_query))) AS w (lexeme)
        ORDER BY length(w.lexeme) DESC, w.lexeme LIMIT 10
    ) AS f
    WHERE f.place > 0 ORDER BY length(f.lexeme) DESC, f.lexeme LIMIT 1
);

-- The query's words that a memory has, and the query's compounds of which it has a part.
CREATE OR REPLACE FUNCTION matched_words(p_query text, p_words tsvector) RETURNS text[]
LANGUAGE sql IMMUTABLE
RETURN ARRAY(
    SELECT DISTINCT w.word FROM unnest(plain_words(p_query) || compounds(literal_form(p_query))) AS w (word)
    WHERE tsvector_to_array(words_of(w.word)) && tsvector_to_array(p_words) ORDER BY w.word LIMIT 100
);

-- Of a memory with more characters than its share, the fields that are cut: metadata that take more than half of it are
-- left out, the content begins, and of one that shows 500 characters or more the last 240 are where the query's words stand.
CREATE OR REPLACE FUNCTION cut_record(m memories, p_query text, p_share integer) RETURNS jsonb
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    of_metadata integer := char_length(CAST(m.metadata AS text));
    shown integer;
    found text;
BEGIN
    IF char_length(m.content) + of_metadata <= p_share THEN
        RETURN '{}';
    END IF;
    IF of_metadata > p_share / 2 THEN
        of_metadata := NULL;
    END IF;
    shown := greatest(0, p_share - coalesce(of_metadata, 0));
    IF shown >= 500 THEN
        found := snippet(m.content, p_query, shown - 240);
    END IF;
    RETURN jsonb_build_object('content', left(m.content, shown - coalesce(char_length(found), 0)), 'snippet', found)
        || CAST(CASE WHEN of_metadata IS NULL THEN '{"metadata": null}' ELSE '{}' END AS jsonb);
END
$$;

-- How many characters each of the memories may have that together have no more than so many: the shorter ones are whole,
-- and the longer share what these leave. Null where all are whole.
CREATE OR REPLACE FUNCTION shared_characters(p_ids uuid[], p_characters integer) RETURNS integer
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    lengths integer[] := ARRAY(
        SELECT char_length(m.content) + char_length(CAST(m.metadata AS text)) AS length FROM memories m
        WHERE m.id = ANY (p_ids) ORDER BY length
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

-- The candidates, of those that state the same the best alone; by its id the ids of the others; and of these statements
-- the keys.
CREATE OR REPLACE FUNCTION fold_candidates(
    candidates candidate[], p_quality_weight double precision, OUT kept candidate[], OUT others jsonb, OUT folded uuid[]
)
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    WITH worded AS (
        SELECT c AS one, count(m.wording) OVER (PARTITION BY m.wording) AS times, row_number() OVER (ORDER BY
            (1 - p_quality_weight) * c.relevance + p_quality_weight * c.quality DESC,
            c.vector_score DESC NULLS LAST, c."timestamp" DESC, c.id DESC) AS place
        FROM unnest(candidates) AS c JOIN memories m ON m.id = c.id
    ), ordered AS (
        -- Contents are read only where the wording is another's too.
        SELECT w.one, w.place, CASE WHEN w.times > 1 THEN (
            SELECT statement_key(m) FROM memories m WHERE m.id = (w.one).id) END AS statement
        FROM worded w
    ), grouped AS (
        SELECT o.statement, (array_agg(o.one ORDER BY o.place))[1] AS best,
            (array_agg((o.one).id ORDER BY o.place))[2:] AS others
        FROM ordered o GROUP BY o.statement, CASE WHEN o.statement IS NULL THEN o.place END
    )
    SELECT array_agg(g.best), jsonb_object_agg((g.best).id, g.others) FILTER (WHERE g.others <> '{}'),
        array_agg(g.statement) FILTER (WHERE g.others <> '{}')
    INTO kept, others, folded FROM grouped g;
END
$$;

-- The best of the candidates, as JSON: by relevance and quality, as weighted. p_others: which memories each stands for.
--
-- p_characters bounds what contents and metadata have together: the longest are cut until all fit, and those cut say how
-- long they are and show what was asked for. p_explain: why each was found.
CREATE OR REPLACE FUNCTION rank_candidates(
    candidates candidate[], p_strategy text, p_limit integer, p_quality_weight double precision, p_characters integer,
    p_query text, p_explain boolean, p_others jsonb DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    best candidate[] := ARRAY(
        SELECT c FROM unnest(candidates) AS c
        -- Opposite meanings are all of relevance 0: nearness orders them still.
        ORDER BY (1 - p_quality_weight) * c.relevance + p_quality_weight * c.quality DESC,
            c.vector_score DESC NULLS LAST, c."timestamp" DESC, c.id DESC
        LIMIT p_limit
    );
    each_ integer := CASE WHEN p_characters IS NOT NULL
        THEN shared_characters(ARRAY(SELECT b.id FROM unnest(best) AS b), p_characters) END;
BEGIN
    RETURN (
        SELECT json_build_object('strategy', p_strategy, 'considered', coalesce(cardinality(candidates), 0), 'hits', coalesce(
            json_agg(memory_record(m) || jsonb_build_object(
                'length', char_length(m.content),
                'snippet', NULL,
                'supersedes', superseded_memories(m.namespace, m.id),
                'near_duplicates', coalesce(p_others -> CAST(m.id AS text), '[]'),
                'why', CASE WHEN p_explain THEN json_build_object(
                    'matched_words', matched_words(p_query, words_of(searched_text(m.title, m.tags, m.content))),
                    'vector_score', b.vector_score, 'lexical_score', b.lexical_score, 'neighbours', b.neighbours,
                    'time', b.timely, 'speaker', b.said, 'redundancy', b.redundancy) END,
                'relevance', CASE WHEN p_strategy <> 'newest' THEN b.relevance END,
                'score', (1 - p_quality_weight) * b.relevance + p_quality_weight * b.quality
            ) || CASE WHEN each_ IS NULL THEN '{}' ELSE cut_record(m, p_query, each_) END ORDER BY b.place), '[]'))
        FROM unnest(best) WITH ORDINALITY AS b (
            id, "timestamp", session, quality, vector_score, lexical_score, timely, said, neighbours, redundancy, relevance,
            place
        ) JOIN memories m ON m.id = b.id
    );
END
$$;
REVOKE ALL ON FUNCTION snippet, matched_words, shared_characters, cut_record, fold_candidates, rank_candidates FROM PUBLIC;
