-- A database role for each function, with what that function does and nothing more. mnemosyne_runtime keeps the rights of
-- all of them together, for an operator's own tools.

DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['mnemosyne_mcp', 'mnemosyne_ingest', 'mnemosyne_dead_letter', 'mnemosyne_import_object'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;  -- roles belong to the whole cluster: another database has made it
        END;
    END LOOP;
END
$$;

-- Everywhere: whether the schema is the one that is known, and which space the memories are in.
GRANT SELECT ON embedding_space, schema_migrations
    TO mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter, mnemosyne_import_object;

-- mcp reads, labels, rates and deletes. It stores nothing and settles no request.
GRANT SELECT, DELETE, UPDATE (title, tags, tag_keys, metadata, superseded_by, rating_count, rating_sum, fetches)
    ON memories TO mnemosyne_mcp;
GRANT SELECT, INSERT ON memory_ratings TO mnemosyne_mcp;
GRANT SELECT ON ingest_requests, dead_letters, namespace_usage, quotas TO mnemosyne_mcp;
GRANT EXECUTE ON FUNCTION find_api_key, usage_and_quota TO mnemosyne_mcp;
GRANT EXECUTE ON FUNCTION list_memories(text, memory_filters, timestamptz, uuid, integer) TO mnemosyne_mcp;
GRANT EXECUTE ON FUNCTION search_memories(
    text, text, text, text, text, memory_filters, integer, double precision, double precision, integer) TO mnemosyne_mcp;

-- ingest stores. It sees memories only as far as it must to tell what is stored already, and changes none.
GRANT INSERT ON memories TO mnemosyne_ingest;
GRANT SELECT (id, namespace, content_hash, superseded_by, last_seen_at), UPDATE (last_seen_at) ON memories TO mnemosyne_ingest;
GRANT INSERT ON memory_chunks TO mnemosyne_ingest;
GRANT SELECT, INSERT, UPDATE ON ingest_requests TO mnemosyne_ingest;
GRANT SELECT, INSERT, UPDATE (lost) ON dead_letters TO mnemosyne_ingest;
GRANT SELECT ON namespace_usage, quotas TO mnemosyne_ingest;
GRANT EXECUTE ON FUNCTION claim_requests, claim_within_quota, count_chunks, usage_and_quota TO mnemosyne_ingest;

-- dead_letter keeps messages that were given up; import_object hands over what is in objects. Neither sees a memory.
GRANT SELECT, INSERT, UPDATE ON ingest_requests TO mnemosyne_dead_letter, mnemosyne_import_object;
GRANT SELECT, INSERT, UPDATE (lost) ON dead_letters TO mnemosyne_dead_letter, mnemosyne_import_object;
GRANT SELECT, INSERT, UPDATE ON object_imports TO mnemosyne_import_object;

-- A move to another embedding space that is under way.
DO $$
BEGIN
    IF to_regclass('memory_chunks_next') IS NOT NULL THEN
        GRANT INSERT ON memory_chunks_next TO mnemosyne_ingest;
    END IF;
END
$$;

DO $$
DECLARE
    policy record;
BEGIN
    FOR policy IN SELECT tablename FROM pg_policies WHERE schemaname = 'public' AND policyname = 'namespace_isolation' LOOP
        EXECUTE format('ALTER POLICY namespace_isolation ON %I TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, '
            'mnemosyne_dead_letter, mnemosyne_import_object', policy.tablename);
    END LOOP;
END
$$;
