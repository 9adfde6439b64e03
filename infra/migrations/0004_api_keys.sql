-- API keys. Of a key's secret only the hash is kept. The functions look a key up by its id and can do nothing else.

CREATE TABLE api_keys (
    id          text PRIMARY KEY,
    name        text NOT NULL,
    namespace   text NOT NULL CHECK (namespace <> ''),
    scopes      text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'admin'] AND scopes <> '{}'),
    secret_hash bytea NOT NULL CHECK (length(secret_hash) = 32),
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz,
    revoked_at  timestamptz
);

-- Without a policy nobody but the owner sees a row, whatever is granted.
ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;

CREATE FUNCTION find_api_key(p_id text) RETURNS SETOF api_keys
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
    SELECT * FROM api_keys WHERE id = p_id;
END;

REVOKE ALL ON FUNCTION find_api_key FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_api_key TO mnemosyne_runtime;

-- The newest memories of a namespace, within filters. Like a search it applies the namespace itself, because under
-- row-level security a filter by tags would be kept off its index.
CREATE FUNCTION list_memories(
    p_namespace text, p_after timestamptz, p_before timestamptz, p_any_tags text[], p_all_tags text[],
    p_include_superseded boolean, p_beyond_timestamp timestamptz, p_beyond_id uuid, p_limit integer
) RETURNS TABLE (id uuid, "timestamp" timestamptz, title text, tags text[], superseded_by uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT m.id, m."timestamp", m.title, m.tags, m.superseded_by
    FROM memories m
    WHERE m.namespace = p_namespace
        AND (p_after IS NULL OR m."timestamp" >= p_after)
        AND (p_before IS NULL OR m."timestamp" < p_before)
        AND (p_any_tags IS NULL OR m.tag_keys && p_any_tags)
        AND (p_all_tags IS NULL OR m.tag_keys @> p_all_tags)
        AND (p_include_superseded OR m.superseded_by IS NULL)
        AND (p_beyond_id IS NULL OR (m."timestamp", m.id) < (p_beyond_timestamp, p_beyond_id))
    ORDER BY m."timestamp" DESC, m.id DESC
    LIMIT p_limit;
END
$$;

REVOKE ALL ON FUNCTION list_memories FROM PUBLIC;
GRANT EXECUTE ON FUNCTION list_memories TO mnemosyne_runtime;
