-- Return the candidates of a search as JSON, with their scores and their neighbours. Neighbours are memories shortly
-- before or after a candidate in the same session. The Python module functions/mnemosyne/domain/ranking.py ranks the
-- candidates.

-- Return the neighbours of some candidates, the heads (p_heads). The neighbours of a head are the two memories before
-- and the two memories after the head in its session. `place` is the distance from the head: -1 and -2 for the memories
-- before the head, 1 and 2 for the memories after it. If p_as_of is not null, a memory that was stored after p_as_of is
-- not a neighbour.
CREATE OR REPLACE FUNCTION neighbours_in_session(p_heads uuid[], p_as_of timestamptz)
RETURNS TABLE (head uuid, id uuid, place bigint)
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN QUERY
    SELECT m.id, n.id, n.place
    FROM (SELECT DISTINCT unnest(p_heads)) AS h (id) JOIN memories m ON m.id = h.id CROSS JOIN LATERAL (
        (SELECT b.id, - row_number() OVER (ORDER BY b."timestamp" DESC, b.id DESC) AS place FROM memories b
        WHERE b.namespace = m.namespace AND b.session = m.session AND (b."timestamp", b.id) < (m."timestamp", m.id)
            AND is_unexpired(b.expires_at) AND (p_as_of IS NULL OR b.created_at <= p_as_of)
        ORDER BY b."timestamp" DESC, b.id DESC LIMIT 2)
        UNION ALL
        (SELECT a.id, row_number() OVER (ORDER BY a."timestamp", a.id) FROM memories a
        WHERE a.namespace = m.namespace AND a.session = m.session AND (a."timestamp", a.id) > (m."timestamp", m.id)
            AND is_unexpired(a.expires_at) AND (p_as_of IS NULL OR a.created_at <= p_as_of)
        ORDER BY a."timestamp", a.id LIMIT 2)
    ) AS n
    WHERE m.session IS NOT NULL;
END
$$;

-- Return the candidates of a hybrid search as JSON. A hybrid search has two lists of candidates, one by vector and one
-- by words. In the result, every candidate has both scores, even if only one of the lists contains it.
--
-- These parameters describe the search:
--   p_ids          the ids of both lists, so an id may occur twice; p_vector_scores and p_lexical_scores have their
--                  scores
--   p_heads        candidates whose neighbours (see neighbours_in_session) are added to the result
--   p_word_keys    the keys (see term_key) of the eight rarest words of the query. A word can have several keys: its
--                  variants in several languages (see query_terms).
--   p_word_shares  for each key: the weight of the word, divided by the total weight of these words
--   p_word_names   for each key: the number of the name (such as "Lovelace") that the word belongs to, or null if the
--                  word belongs to no name. The array is null if the query has no names.
--   p_word_places  for each key: the place of the word (see query_terms). All variants of a word have the same place.
--                  By the place, the function recognises that a memory contains several variants of one word, and
--                  counts this word only once. The array is null if each word has only one key. Without the array, a
--                  hybrid search takes 4% less time.
--
-- The rows of the result are first the memories in p_ids, then the neighbours. The JSON object has three fields:
--   columns     an array with one array of values for each column of the rows
--   listed      the number of rows for the memories in p_ids
--   neighbours  three arrays: `head`, `place` and `row`. Together, the entries of these arrays with the same index
--               describe one neighbour: the index of its head's row, its place relative to the head, and the index of
--               its own row.
--
-- Some of the columns:
--   words_share    the share of the query's words that the memory contains (see share_by_length)
--   lacks_name     true if the query has a name that the memory does not contain. A name can have several keys, for
--                  example the keys of its stems in several languages. One of these keys in the memory is enough.
--   eligible       true if the memory can be a result: a memory in p_ids, or a neighbour at the place -1 or 1 that
--                  matches the filters. All other neighbours only add to the scores of other memories.
--   statement_key  a hash that is equal for near-duplicates. It is computed only for eligible memories that have the
--                  same wording as another eligible memory, and otherwise null.
CREATE OR REPLACE FUNCTION candidate_rows(
    p_namespace text, filters memory_filters, p_ids uuid[], p_vector_scores double precision[],
    p_lexical_scores double precision[], p_vector halfvec, p_terms sparsevec, p_word_keys integer[],
    p_word_shares double precision[], p_word_names integer[], p_word_places bigint[],
    p_mean_length double precision, p_heads uuid[]
) RETURNS json
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    chunked boolean := EXISTS (SELECT FROM memory_chunks c WHERE c.namespace = p_namespace);
BEGIN
    RETURN (
        WITH around AS MATERIALIZED (
            SELECT n.* FROM neighbours_in_session(p_heads, filters.as_of) AS n
        ), listed AS MATERIALIZED (
            SELECT u.id, max(u.vector_score) AS vector_score, max(u.lexical_score) AS lexical_score, min(u.place) AS place
            FROM unnest(p_ids, p_vector_scores, p_lexical_scores) WITH ORDINALITY AS u (id, vector_score, lexical_score, place)
            GROUP BY u.id
        ), members AS (
            SELECT l.id, l.vector_score, l.lexical_score, l.place, true AS listed, false AS direct FROM listed l
            UNION ALL
            SELECT a.id, NULL, NULL, NULL, false, min(abs(a.place)) = 1 FROM around a
            WHERE a.id NOT IN (SELECT l.id FROM listed l) GROUP BY a.id
        ), scored AS MATERIALIZED (
            SELECT s.*, row_number() OVER () - 1 AS index FROM (
                SELECT m.id, timestamp_as_of(m, filters.as_of) AS "timestamp", m.session, m.wording,
                    memory_quality(m.rating_count, m.rating_sum) AS quality,
                    CASE WHEN (members.listed OR members.direct) AND position(': ' IN left(m.content, 42)) > 1
                        THEN split_part(left(m.content, 42), ': ', 1) END AS speaker,
                    -- Read only the chunks of this memory. `+ 0` stops the planner from using the HNSW index, which has
                    -- the chunks of all memories.
                    coalesce(members.vector_score, CASE WHEN chunked
                        THEN greatest(1.0 - (m.embedding <=> p_vector), 1.0 - (
                            SELECT min((c.embedding <=> p_vector) + 0) FROM memory_chunks c WHERE c.memory_id = m.id))
                        ELSE 1.0 - (m.embedding <=> p_vector) END) AS vector_score,
                    coalesce(members.lexical_score, lexical_score(w, p_terms, p_mean_length), 0) AS lexical_score,
                    -- Read the passages only if the content has more than 200 bytes. The text of a memory with a
                    -- shorter content is usually one passage. It has several passages only if the title is long or the
                    -- tags are many. All passages have about the same length, so their scores need no length
                    -- normalization.
                    CASE WHEN octet_length(m.content) > 200
                        THEN (SELECT - min(passage <#> p_terms) FROM unnest(w.passages) AS passage) END AS passage_score,
                    CASE WHEN p_word_keys IS NOT NULL AND (members.listed OR members.direct) THEN share_by_length(
                        CASE WHEN p_word_places IS NULL
                            THEN (SELECT sum(q.share) FROM unnest(p_word_keys, p_word_shares) AS q (key, share) WHERE q.key = ANY (w.keys))
                            ELSE (SELECT sum(d.share) FROM (
                                SELECT DISTINCT q.place, q.share FROM unnest(p_word_keys, p_word_shares, p_word_places)
                                    AS q (key, share, place) WHERE q.key = ANY (w.keys)) AS d) END,
                        cardinality(w.keys), p_mean_length) END AS words_share,
                    p_word_names IS NOT NULL AND (members.listed OR members.direct) AND EXISTS (
                        SELECT FROM unnest(p_word_keys, p_word_names) AS q (key, name) WHERE q.name IS NOT NULL
                        GROUP BY q.name HAVING bool_and(coalesce(q.key <> ALL (w.keys), true))) AS lacks_name,
                    members.listed OR (members.direct AND matches_filters(m, filters)) AS eligible,
                    -- octet_length() returns the length without reading a content that is stored out of line.
                    octet_length(m.content) AS length
                FROM members CROSS JOIN LATERAL (SELECT * FROM memories m WHERE m.id = members.id OFFSET 0) AS m
                LEFT JOIN LATERAL (SELECT * FROM memory_words w WHERE w.memory_id = members.id OFFSET 0) AS w ON true
                ORDER BY members.place
            ) AS s
        ), shared AS (
            SELECT s.wording FROM scored s WHERE s.eligible AND s.wording IS NOT NULL
            GROUP BY s.wording HAVING count(*) > 1
        ), columns AS (
            SELECT json_build_array(
                array_agg(k.id),
                array_agg(CAST(extract(epoch FROM k."timestamp") * 1000000 AS bigint)),
                array_agg(hashtextextended(k.session, 0)),
                array_agg(k.quality),
                array_agg(CAST(k.vector_score AS real)),
                array_agg(CAST(k.lexical_score AS real)),
                array_agg(k.speaker),
                array_agg(CASE WHEN k.eligible AND k.wording IN (SELECT w.wording FROM shared w)
                    THEN (SELECT statement_key_as_of(m, filters.as_of) FROM memories m WHERE m.id = k.id) END),
                array_agg(k.eligible),
                array_agg(k.length),
                array_agg(CAST(k.passage_score AS real)),
                array_agg(CAST(k.words_share AS real)),
                array_agg(k.lacks_name)) AS columns
            FROM (SELECT * FROM scored s ORDER BY s.index) AS k
        )
        SELECT json_build_object(
            'columns', (SELECT c.columns FROM columns c),
            'listed', (SELECT count(*) FROM listed),
            'neighbours', (SELECT json_build_array(array_agg(h.index), array_agg(a.place), array_agg(s.index))
                FROM around a JOIN scored h ON h.id = a.head JOIN scored s ON s.id = a.id))
    );
END
$$;

-- Return candidates as JSON in the form of candidate_rows, for a search with only one list of candidates: by vector, by
-- words, by a substring, or the newest memories. This function takes half the time of candidate_rows.
--
-- Such a search uses no neighbours, so the field `neighbours` is an empty array, and the columns for session and
-- speaker contain only nulls. If a search has no vector scores or no lexical scores (for example, a search by vector
-- has no lexical scores), the column for these scores contains only nulls, too.
CREATE OR REPLACE FUNCTION list_rows(
    p_ids uuid[], p_vector_scores double precision[], p_lexical_scores double precision[], p_terms sparsevec,
    p_word_keys integer[], p_word_shares double precision[], p_word_names integer[], p_word_places bigint[],
    p_mean_length double precision, p_statements boolean, p_as_of timestamptz
) RETURNS json
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN (
        SELECT json_build_object('listed', count(*), 'neighbours', CAST('[]' AS json), 'columns', json_build_array(
            array_agg(r.id),
            array_agg(CAST(extract(epoch FROM r."timestamp") * 1000000 AS bigint)),
            array_agg(CAST(NULL AS bigint)),
            array_agg(memory_quality(r.rating_count, r.rating_sum)),
            array_agg(r.vector_score),
            array_agg(r.lexical_score),
            array_agg(CAST(NULL AS text)),
            array_agg(CASE WHEN p_statements AND r.copies > 1 AND r.wording IS NOT NULL
                THEN (SELECT statement_key_as_of(m, p_as_of) FROM memories m WHERE m.id = r.id) END),
            array_agg(true),
            array_agg(r.length),
            array_agg(CASE WHEN r.lexical_score IS NOT NULL AND r.length > 200 THEN (
                SELECT CAST(- min(passage <#> p_terms) AS real) FROM memory_words w CROSS JOIN LATERAL unnest(w.passages) AS passage
                WHERE w.memory_id = r.id
            ) END),
            array_agg(CASE WHEN r.lexical_score IS NOT NULL AND p_word_keys IS NOT NULL THEN (
                SELECT CAST(share_by_length(
                    CASE WHEN p_word_places IS NULL
                        THEN (SELECT sum(q.share) FROM unnest(p_word_keys, p_word_shares) AS q (key, share) WHERE q.key = ANY (w.keys))
                        ELSE (SELECT sum(d.share) FROM (
                            SELECT DISTINCT q.place, q.share FROM unnest(p_word_keys, p_word_shares, p_word_places)
                                AS q (key, share, place) WHERE q.key = ANY (w.keys)) AS d) END,
                    cardinality(w.keys), p_mean_length) AS real)
                FROM memory_words w WHERE w.memory_id = r.id
            ) END),
            array_agg(p_word_names IS NOT NULL AND NOT EXISTS (
                SELECT FROM memory_words w WHERE w.memory_id = r.id AND NOT EXISTS (
                    SELECT FROM unnest(p_word_keys, p_word_names) AS q (key, name) WHERE q.name IS NOT NULL
                    GROUP BY q.name HAVING bool_and(q.key <> ALL (w.keys)))))))
        FROM (
            SELECT m.id, timestamp_as_of(m, p_as_of) AS "timestamp", m.rating_count, m.rating_sum, m.wording,
                CAST(u.vector_score AS real) AS vector_score, CAST(u.lexical_score AS real) AS lexical_score,
                count(*) OVER (PARTITION BY m.wording) AS copies, octet_length(m.content) AS length
            FROM unnest(p_ids, p_vector_scores, p_lexical_scores) WITH ORDINALITY AS u (id, vector_score, lexical_score, place)
            JOIN memories m ON m.id = u.id
            ORDER BY u.place
        ) AS r
    );
END
$$;
