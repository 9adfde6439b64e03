-- The content words of a query, rarest first: what they match, the share of the namespace's memories that they match,
-- and their weight, the root of the inverse document frequency: on conversations the root lost nothing against equal
-- weights, on abstracts it found a fifth more. A word not counted is taken to be rarer than one that stands in a single
-- memory: half of one; in a namespace not yet sampled, in one of a thousand. No word weighs more than one that stands in
-- a hundred-thousandth. Words are taken stemmed and without stop words, among them the question words.
CREATE OR REPLACE FUNCTION search_terms(p_namespace text, p_query text)
RETURNS TABLE (term tsquery, share double precision, weight double precision)
LANGUAGE sql STABLE SET search_path = public, pg_temp
BEGIN ATOMIC
    WITH own AS MATERIALIZED (
        SELECT words, shares, sampled FROM namespace_words WHERE namespace = p_namespace
    ), asked AS MATERIALIZED (
        SELECT lexeme FROM unnest(to_tsvector('english', p_query)) AS query
    ), weighed AS (
        SELECT CAST('''' || replace(replace(asked.lexeme, '\', '\\'), '''', '''''') || '''' AS tsquery) AS term,
            coalesce(CAST((SELECT shares[array_position(words, asked.lexeme)] FROM own) AS double precision),
                (SELECT 0.5 / greatest(sampled, 1) FROM own), 0.001) AS share
        FROM asked
    )
    SELECT term, share, sqrt(ln(1.0 + 1.0 / greatest(share, 0.00001))) FROM weighed ORDER BY share, term
    LIMIT 30;  -- a whole page pasted as a query: its rarest words tell what it is about
END;

REVOKE ALL ON FUNCTION search_terms(text, text) FROM PUBLIC;
