-- What a content contains is found by its trigrams: three bytes of its UTF-8 in lower case that follow each other, and in
-- front of them 32 bits of the namespace, so that the index that holds everybody's is walked along one's own alone. Null
-- where the content has fewer than three bytes. Of bytes, for those are reached at the same cost wherever they stand.
CREATE FUNCTION content_trigrams(p_namespace text, p_content text) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT array_agg(once.trigram) FROM (
        SELECT DISTINCT (t.own << 24)
            | (get_byte(t.bytes, i) << 16) | (get_byte(t.bytes, i + 1) << 8) | get_byte(t.bytes, i + 2) AS trigram
        FROM (
            SELECT convert_to(lower(p_content), 'UTF8') AS bytes,
                CAST(CAST('x' || left(md5(p_namespace), 8) AS bit(32)) AS bigint) AS own
            OFFSET 0  -- once, not for each of its bytes
        ) AS t, generate_series(0, length(t.bytes) - 3) AS i
    ) AS once
);
REVOKE ALL ON FUNCTION content_trigrams FROM PUBLIC;
-- Whoever writes a memory writes what the index has of it.
GRANT EXECUTE ON FUNCTION content_trigrams TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest;

-- Keeps writers out until this has ended, and lets readers go on. No list of what is not yet in its place: everybody would
-- search that of all others too.
CREATE INDEX memories_trigrams ON memories USING gin (content_trigrams(namespace, content)) WITH (fastupdate = off);
