-- Return a memory as the JSON object that all tools and the export show. The planner inlines this function.
--
-- The body is a string, not BEGIN ATOMIC. With BEGIN ATOMIC, the function would depend on the column `embedding`, and
-- the command `reembed` could not replace that column.
CREATE OR REPLACE FUNCTION memory_record(m memories) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT jsonb_build_object(
    'id', m.id,
    'content', m.content,
    'timestamp', m."timestamp",
    'title', m.title,
    'tags', m.tags,
    'metadata', m.metadata,
    'session', m.session,
    'content_hash', m.content_hash,
    'embedding_model', m.embedding_model,
    'created_at', m.created_at,
    'last_seen_at', m.last_seen_at,
    'superseded_by', m.superseded_by,
    'expires_at', m.expires_at,
    'pinned', m.pinned,
    'quality', memory_quality(m.rating_count, m.rating_sum)
)
$$;

-- Return the ids of the memories that the memory p_id superseded, directly or through other memories, as a JSON array.
-- The array has at most five ids, directly superseded memories first.
CREATE OR REPLACE FUNCTION superseded_memories(p_namespace text, p_id uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    -- Most memories supersede no other memory. Without this check, the recursive query below would take a fifth of the
    -- time in which a search reads ten hits.
    IF NOT EXISTS (SELECT FROM memories p WHERE p.superseded_by = p_id AND p.namespace = p_namespace AND is_unexpired(p.expires_at)) THEN
        RETURN '[]';
    END IF;
    RETURN (
        WITH RECURSIVE older (id, step) AS (
            SELECT p_id, 0
            UNION
            SELECT m.id, older.step + 1 FROM older CROSS JOIN LATERAL (
                SELECT p.id FROM memories p WHERE p.superseded_by = older.id AND p.namespace = p_namespace AND is_unexpired(p.expires_at) LIMIT 5
            ) AS m
            WHERE older.step < 5
        )
        SELECT coalesce(jsonb_agg(five.id ORDER BY five.step, five.id), '[]')
        FROM (SELECT o.id, o.step FROM older o WHERE o.step > 0 ORDER BY o.step, o.id LIMIT 5) AS five
    );
END
$$;

-- Return a hash that is equal for near-duplicate memories. Near-duplicates have the same wording (the digest in the
-- column `wording`), title, tags and metadata. A title that was derived from the content is ignored. A superseded
-- memory is not a near-duplicate of a memory that is not superseded. If the wording is null, the result is null, and
-- the memory has no near-duplicates.
CREATE OR REPLACE FUNCTION statement_key(m memories) RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT CASE WHEN m.wording IS NOT NULL THEN CAST(md5(jsonb_build_array(
    m.wording, CASE WHEN m.title = translate(left(m.content, 50), E'\n\t\r\u000B\f\u0085\u2028\u2029', '        ')
        OR (strpos(m.content, 'TITLE:') > 0 AND strpos(m.content, m.title) > 0) THEN '' ELSE m.title END, m.tags,
    m.metadata, m.superseded_by IS NULL) #>> '{}') AS uuid) END
$$;
GRANT EXECUTE ON FUNCTION memory_record(memories), superseded_memories(text, uuid) TO mnemosyne_runtime, mnemosyne_mcp;
