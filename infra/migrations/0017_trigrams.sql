-- What a content contains is found by its trigrams: three bytes of its UTF-8 in lower case that follow each other, and in
-- front of them 32 bits of the namespace, so that the index that holds everybody's is walked along one's own alone. Null
-- where the content has fewer than three bytes. Of bytes, for those are reached at the same cost wherever they stand.
CREATE FUNCTION content_trigrams(p_namespace text, p_content text) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    bytes bytea := convert_to(lower(p_content), 'UTF8');
    own bigint := CAST(CAST('x' || left(md5(p_namespace), 8) AS bit(32)) AS bigint) << 24;
BEGIN
    RETURN (
        SELECT array_agg(once.trigram) FROM (
            SELECT DISTINCT own | (get_byte(bytes, i) << 16) | (get_byte(bytes, i + 1) << 8) | get_byte(bytes, i + 2)
                AS trigram
            FROM generate_series(0, length(bytes) - 3) AS i
        ) AS once
    );
END
$$;
REVOKE ALL ON FUNCTION content_trigrams FROM PUBLIC;
-- Whoever writes a memory writes what the index has of it.
GRANT EXECUTE ON FUNCTION content_trigrams TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest;

-- Keeps writers out until this has ended, and lets readers go on. No list of what is not yet in its place: everybody would
-- search that of all others too.
CREATE INDEX memories_trigrams ON memories USING gin (content_trigrams(namespace, content)) WITH (fastupdate = off);

-- As they were, in the language whose plans are kept: a function in SQL that has a query in it is planned at every call.
CREATE OR REPLACE FUNCTION term_keys(p_namespace text, p_words tsvector) RETURNS integer[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN ARRAY(SELECT term_key(p_namespace, lexeme) FROM unnest(tsvector_to_array(p_words)) AS lexeme);
END
$$;

CREATE OR REPLACE FUNCTION term_weights(p_namespace text, p_words tsvector) RETURNS sparsevec
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN (
        SELECT CAST(
            '{' || coalesce(string_agg(counted.key || ':' || CAST(2.2 * n / (n + 1.2) AS real), ','), '') || '}/536870912'
            AS sparsevec)
        FROM (
            SELECT term_key(p_namespace, lexeme) AS key, max(cardinality(positions)) AS n FROM unnest(p_words) GROUP BY 1
        ) AS counted
    );
END
$$;
