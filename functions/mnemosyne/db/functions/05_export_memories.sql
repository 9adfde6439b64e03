-- Return one page of the memories of a namespace that match the filters, as JSON. If p_ids is not null, the page has
-- only memories with one of these ids. The page begins after the cursor and is ordered by timestamp, then by content
-- hash.
--
-- A page ends after p_limit memories, or earlier when the lengths of its contents add up to p_bytes. The function adds
-- up the lengths first, and then reads only the contents of the page.
CREATE OR REPLACE FUNCTION export_memories(
    p_namespace text, p_filters jsonb, p_ids uuid[], p_cursor_timestamp timestamptz, p_cursor_hash text, p_limit integer,
    p_bytes bigint
) RETURNS TABLE (record jsonb, superseded_by_hash text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    filters memory_filters := parse_filters(p_filters);
BEGIN
    PERFORM require_session_namespace(p_namespace);
    RETURN QUERY
    WITH page AS (
        SELECT m.id, octet_length(m.content) AS bytes, row_number() OVER (ORDER BY m."timestamp", m.content_hash) AS place
        FROM memories m
        WHERE m.namespace = p_namespace AND matches_filters(m, filters) AND (p_ids IS NULL OR m.id = ANY (p_ids))
            AND (p_cursor_hash IS NULL OR (m."timestamp", m.content_hash) > (p_cursor_timestamp, p_cursor_hash))
        ORDER BY m."timestamp", m.content_hash
        LIMIT p_limit
    ), summed AS (
        SELECT page.id, page.place, sum(page.bytes) OVER (ORDER BY page.place) - page.bytes AS bytes_before FROM page
    )
    -- The export has the expiry that the publisher gave, and not the expiry that was computed from the lifetimes of the
    -- namespace, because the namespace that imports the memory may have other lifetimes. A legal hold can keep a memory
    -- whose given expiry has passed. For such a memory, the export has no expiry, because an import leaves out expired
    -- memories.
    SELECT memory_record(m) || jsonb_build_object('expires_at', CASE WHEN is_unexpired(m.given_expiry) THEN m.given_expiry END),
        -- The export names the successor of a memory (the memory that supersedes it) by the successor's content hash.
        -- If the successor was deleted, its content hash is unknown, and the export has the hash of the successor's id
        -- instead. No memory has this hash as its content hash, so an import reports that the successor is missing.
        coalesce(successor.content_hash, encode(sha256(uuid_send(m.superseded_by)), 'hex'))
    FROM summed
    JOIN memories m USING (id)
    LEFT JOIN memories successor ON successor.id = m.superseded_by
    WHERE summed.bytes_before < p_bytes
    ORDER BY summed.place;
END
$$;

GRANT EXECUTE ON FUNCTION export_memories(text, jsonb, uuid[], timestamptz, text, integer, bigint)
    TO mnemosyne_runtime, mnemosyne_mcp;
