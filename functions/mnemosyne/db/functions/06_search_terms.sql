-- The content words of a query, rarest first: their keys, the share of the namespace's memories that they stand in, and
-- the root of the inverse document frequency: on conversations it finds more than that itself, on abstracts as much. A word not counted is taken to be rarer than one that stands in a single memory: half
-- of one; in a namespace not yet sampled, in one of a thousand. No word weighs more than one that stands in a
-- hundred-thousandth. Words are taken stemmed and without stop words, among them the question words. The same word with its
-- accents, and a compound beside its parts, weigh a fourth: they decide between memories that have the same words.
CREATE OR REPLACE FUNCTION search_terms(p_namespace text, p_query text)
RETURNS TABLE (key integer, share double precision, weight double precision)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    own namespace_words;
    simple text[] := tsvector_to_array(simple_words(without_accents(spaced(p_query))));
BEGIN
    SELECT w.* INTO own FROM namespace_words w WHERE w.namespace = p_namespace;
    RETURN QUERY
    WITH asked AS (
        SELECT term_key(p_namespace, query.word) AS key, max(CASE WHEN query.word = ANY (simple) THEN 1.0 ELSE 0.25 END) AS part
        FROM unnest(tsvector_to_array(words_of(p_query))) AS query (word) GROUP BY 1
    ), weighed AS MATERIALIZED (
        SELECT asked.key, asked.part, coalesce(
            CAST(own.shares[array_position(own.keys, asked.key)] AS double precision),
            0.5 / greatest(own.sampled, 1),
            0.001
        ) AS share
        FROM asked
    )
    SELECT w.key, w.share, w.part * sqrt(ln(1.0 + 1.0 / greatest(w.share, 0.00001))) FROM weighed w ORDER BY w.share, w.key
    LIMIT 30;  -- a whole page pasted as a query: its rarest words tell what it is about
END
$$;

-- A query's words as the vector whose inner product with a memory's is what they weigh in it together.
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

-- BM25 of a memory, where its words' weights are multiplied by what its length, in different words, leaves of them.
-- Longer ones say the same word more easily: (k1 + 1) / (1 + k1 (1 - b + b length / mean length)). Beyond four times the
-- mean it counts no more: else the longest would not be found at all (Lv, Zhai 2011, "When Documents Are Very Long, BM25
-- Fails!", https://doi.org/10.1145/2009916.2010070).
CREATE OR REPLACE FUNCTION lexical_score(w memory_words, p_terms sparsevec, p_mean_length double precision)
RETURNS double precision
LANGUAGE sql IMMUTABLE
RETURN - ((w).weights <#> p_terms) * 2.2 / (1.72 + 0.48 * least(4.0, cardinality((w).keys) / p_mean_length));

REVOKE ALL ON FUNCTION search_terms(text, text), terms_vector, lexical_score FROM PUBLIC;
