-- A content of 100,000 characters may have more words than a sparsevec has elements, 16,000
-- (https://github.com/pgvector/pgvector#sparsevec-type): those said most often are weighed. By the others it is found too,
-- for they are among its keys.
CREATE OR REPLACE FUNCTION term_weights(p_namespace text, p_words tsvector) RETURNS sparsevec
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN (
        SELECT CAST(
            '{' || coalesce(string_agg(counted.key || ':' || CAST(2.2 * n / (n + 1.2) AS real), ','), '') || '}/536870912'
            AS sparsevec)
        FROM (
            SELECT term_key(p_namespace, lexeme) AS key, max(cardinality(positions)) AS n
            FROM unnest(p_words) GROUP BY 1 ORDER BY n DESC, key LIMIT 16000
        ) AS counted
    );
END
$$;
