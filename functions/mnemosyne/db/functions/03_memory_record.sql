-- Return a memory as the JSON object that all tools and the export show. The planner inlines this function.
--
-- The body of the function is a string, not BEGIN ATOMIC. With BEGIN ATOMIC, PostgreSQL would record that the function
-- depends on the column `embedding`, and the command `reembed` could not replace that column.
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
    -- Most memories supersede no other memory. Without this check, the recursive query below would run for these
    -- memories, too, and take a fifth of the time that a search needs to read ten hits.
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

-- Replace each control character of a text by a space, and remove invisible and private-use characters. statement_key
-- calls this function for a title and for the beginning of the content, and compares the results, to recognize a title
-- that was derived from the content. (The Python function one_line, which derives titles, keeps some invisible
-- characters, such as the joiners in emoji.)
CREATE OR REPLACE FUNCTION without_invisible(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_text) = char_length(p_text)
    THEN translate(p_text, E'\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10'
        '\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f', repeat(' ', 32))
    ELSE regexp_replace(regexp_replace(p_text, '[\u0001-\u001f\u007f-\u009f\u2028\u2029\u2800]', ' ', 'g'),
        '[\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f'
        '\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb'
        '\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]',
        '', 'g') END;

-- Return a hash of a memory that is equal for near-duplicates: memories with the same wording (the digest in the column
-- `wording`), title, tags and metadata. A title that was derived from the content is not compared. A superseded memory
-- and a memory that is not superseded are never near-duplicates. If the wording is null, the result is null, and the
-- memory has no near-duplicates.
CREATE OR REPLACE FUNCTION statement_key(m memories) RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT CASE WHEN m.wording IS NOT NULL THEN CAST(md5(jsonb_build_array(
    m.wording, CASE WHEN m.title = left(m.content, 50)
        OR without_invisible(m.title) = without_invisible(left(m.content, 50))
        OR (strpos(m.content, 'TITLE:') > 0 AND strpos(without_invisible(m.content), without_invisible(m.title)) > 0)
        THEN '' ELSE m.title END, m.tags, m.metadata, m.superseded_by IS NULL) #>> '{}') AS uuid) END
$$;
GRANT EXECUTE ON FUNCTION memory_record(memories), superseded_memories(text, uuid) TO mnemosyne_runtime, mnemosyne_mcp;
