-- The words of a query for memories in several languages, and how much each counts. The function words of the query's
-- language are left out, unless there are no others. The rest is stemmed by the query's language, by English and by the
-- languages of the namespace, because a query of a word or two may not show its language. Unstemmed words, words with
-- accents, and compounds as a whole count a quarter, because their stems count already.
CREATE OR REPLACE FUNCTION words_in_languages(p_query text, p_language text, p_languages text[])
RETURNS TABLE (word text, factor double precision)
LANGUAGE plpgsql IMMUTABLE SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    every_word tsvector := simple_words(split_characters(p_query), 'simple');
    words tsvector := without_stop_words(every_word, coalesce(p_language, 'en'));
BEGIN
    IF words = '' THEN
        words := every_word;
    END IF;
    RETURN QUERY
    SELECT u.word, max(u.factor) FROM (
        SELECT unnest(tsvector_to_array(stemmed_words(w.word, l.language))) AS word, CAST(1.0 AS double precision) AS factor
        FROM unnest(tsvector_to_array(words)) AS w (word)
        CROSS JOIN (SELECT DISTINCT unnest(p_languages || ARRAY['en', p_language])) AS l (language)
        WHERE l.language IS NOT NULL
        UNION ALL
        SELECT unnest(tsvector_to_array(words || fold_words(words)) || compound_words(without_accents(split_characters(p_query)))), 0.25
    ) AS u GROUP BY u.word;
END
$$;

-- The words of a query, rarest first: key, share of the namespace's memories that contain the word, and weight.
--
-- The weight is the square root of the inverse document frequency: it gave better recall than the frequency itself on
-- conversations, and the same on abstracts. A word outside the sample has half the share of a word in a single sampled
-- memory; without a sample, a share of 1/1000. Shares below 1/100,000 do not increase the weight. Words are stemmed;
-- stop words, which include question words, are left out. Words with accents, and compounds as a whole, get a quarter
-- of the weight, because their plain words count already.
CREATE OR REPLACE FUNCTION search_terms(p_namespace text, p_query text)
RETURNS TABLE (key integer, share double precision, weight double precision)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    sample namespace_words;
    query_language text := text_language(p_query);
    languages text[];
    simple text[];
    words text[];
    factors double precision[];
BEGIN
    SELECT w.* INTO sample FROM namespace_words w WHERE w.namespace = p_namespace;
    -- A language of fewer than one in a hundred memories is often a false detection. Stemming by such languages would
    -- double the cost of this function.
    languages := ARRAY(
        SELECT e.key FROM jsonb_each_text(sample.languages) AS e WHERE 100 * CAST(e.value AS integer) >= sample.sampled
    );
    IF coalesce(query_language, 'en') = 'en' AND languages <@ '{en}' THEN
        simple := tsvector_to_array(stemmed_words(p_query, 'en'));
        words := tsvector_to_array(words_of(p_query, 'en'));
        factors := ARRAY(SELECT CASE WHEN word = ANY (simple) THEN 1.0 ELSE 0.25 END FROM unnest(words) AS word);
    ELSE
        SELECT array_agg(w.word), array_agg(w.factor) INTO words, factors
        FROM words_in_languages(p_query, query_language, languages) AS w;
    END IF;
    RETURN QUERY
    WITH query_term AS (
        SELECT term_key(p_namespace, query.word) AS key, max(query.factor) AS factor
        FROM unnest(words, factors) AS query (word, factor) GROUP BY 1
    ), term_share AS MATERIALIZED (
        SELECT query_term.key, query_term.factor, coalesce(
            CAST(sample.shares[array_position(sample.keys, query_term.key)] AS double precision),
            0.5 / greatest(sample.sampled, 1),
            0.001
        ) AS share
        FROM query_term
    )
    SELECT w.key, w.share, w.factor * sqrt(ln(1.0 + 1.0 / greatest(w.share, 0.00001))) FROM term_share w ORDER BY w.share, w.key
    LIMIT 30;  -- of a whole page pasted as a query, the rarest words are enough
END
$$;

-- The weights of a query's words as a vector. Its inner product with the weights of a memory is the memory's score.
CREATE OR REPLACE FUNCTION terms_vector(p_keys integer[], p_weights double precision[]) RETURNS sparsevec
LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
    RETURN (
        SELECT CAST('{' || coalesce(string_agg(t.key || ':' || CAST(t.weight AS real), ','), '') || '}/536870912' AS sparsevec)
        FROM unnest(p_keys, p_weights) AS t (key, weight)
    );
END
$$;

-- BM25 score of a memory for a query: the inner product of the weights, times the length normalization (k1 + 1) / (1 +
-- k1 (1 - b + b length / mean length)). The length is the number of distinct words, at most four times the mean:
-- otherwise very long memories would never rank high (Lv, Zhai 2011, "When Documents Are Very Long, BM25 Fails!",
-- https://doi.org/10.1145/2009916.2010070).
CREATE OR REPLACE FUNCTION lexical_score(w memory_words, p_terms sparsevec, p_mean_length double precision)
RETURNS double precision
LANGUAGE sql IMMUTABLE
RETURN - ((w).weights <#> p_terms) * 2.2 / (1.72 + 0.48 * least(4.0, cardinality((w).keys) / p_mean_length));

REVOKE ALL ON FUNCTION words_in_languages, search_terms(text, text), terms_vector, lexical_score FROM PUBLIC;
