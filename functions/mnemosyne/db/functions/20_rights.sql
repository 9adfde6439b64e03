-- Grant the rights on tables to the role of each service. This file first revokes all rights on tables, so the grants
-- below are complete. The rights on an SQL function are granted in the file that creates the function.

DO $$
DECLARE
    name text;
BEGIN
    -- Revoke only rights on tables of the current user. A view of an extension in the same schema may belong to another
    -- role.
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tableowner = current_user LOOP
        EXECUTE format('REVOKE ALL ON %I FROM mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter, '
            'mnemosyne_import_object, mnemosyne_auth', name);
    END LOOP;
END
$$;

GRANT SELECT ON embedding_space, schema_migrations, schema_repeatables TO mnemosyne_runtime, mnemosyne_mcp,
    mnemosyne_ingest, mnemosyne_dead_letter, mnemosyne_import_object;

-- mnemosyne_runtime is the role of the command line (the command `mnemosyne`). It has the rights of all services except
-- `auth`.
GRANT SELECT, INSERT, UPDATE, DELETE ON memories TO mnemosyne_runtime;
GRANT SELECT, INSERT ON memory_chunks TO mnemosyne_runtime;
GRANT SELECT, INSERT, UPDATE, DELETE ON memory_ratings TO mnemosyne_runtime;
GRANT SELECT, INSERT, UPDATE ON ingest_requests, object_imports TO mnemosyne_runtime;
GRANT SELECT ON source_keys TO mnemosyne_runtime;
GRANT SELECT, INSERT, DELETE, UPDATE (lost, changed_in) ON dead_letters TO mnemosyne_runtime;
GRANT SELECT, INSERT, DELETE ON object_import_lines TO mnemosyne_runtime;
GRANT SELECT ON namespace_usage, quotas, change_feeds, memory_changes TO mnemosyne_runtime;
GRANT INSERT ON audit_events TO mnemosyne_runtime, mnemosyne_mcp;

-- The service `mcp` reads, updates, rates and deletes memories. It does not store new memories, and cannot change their
-- content or timestamp.
GRANT SELECT, DELETE, UPDATE (title, tags, tag_keys, metadata, superseded_by, rating_count, rating_sum, given_expiry,
    pinned, expires_at) ON memories TO mnemosyne_mcp;
GRANT SELECT, INSERT, UPDATE, DELETE ON memory_ratings TO mnemosyne_mcp;
GRANT SELECT ON ingest_requests, dead_letters, namespace_usage, quotas TO mnemosyne_mcp;

-- The services `ingest` and `dead_letter` store memories. They have no right to read the content of a stored memory.
-- They have the right to read only the columns that show whether a content is stored.
GRANT INSERT, SELECT (id, namespace, content_hash, superseded_by, last_seen_at, expires_at), UPDATE (last_seen_at)
    ON memories TO mnemosyne_ingest, mnemosyne_dead_letter;
GRANT INSERT ON memory_chunks TO mnemosyne_ingest, mnemosyne_dead_letter;
GRANT SELECT, INSERT, UPDATE ON ingest_requests TO mnemosyne_ingest, mnemosyne_dead_letter;
GRANT SELECT ON source_keys TO mnemosyne_ingest, mnemosyne_dead_letter;
GRANT SELECT, INSERT, UPDATE (lost, changed_in) ON dead_letters TO mnemosyne_ingest, mnemosyne_dead_letter;
GRANT SELECT ON namespace_usage, quotas TO mnemosyne_ingest, mnemosyne_dead_letter;

-- The service `import_object` publishes the contents of objects in a bucket as messages. It has no right to read
-- memories.
GRANT SELECT, INSERT, UPDATE ON ingest_requests TO mnemosyne_import_object;
GRANT SELECT, INSERT, UPDATE (lost, changed_in) ON dead_letters TO mnemosyne_import_object;
GRANT SELECT, INSERT, UPDATE ON object_imports TO mnemosyne_import_object;
GRANT SELECT, INSERT, DELETE ON object_import_lines TO mnemosyne_import_object;

-- The service `auth` is the authorization server, and has rights only on its tables. It has no right to read memories.
GRANT SELECT, INSERT, UPDATE, DELETE ON oauth_clients, oauth_requests, oauth_grants, oauth_codes, oauth_refresh_tokens,
    oauth_consents TO mnemosyne_auth;
GRANT SELECT ON schema_migrations, oauth_blocked_people, oauth_blocked_clients TO mnemosyne_auth;

-- Grant rights on the table memory_chunks_next if it exists. It exists only while the command `reembed` replaces the
-- embeddings.
DO $$
BEGIN
    IF to_regclass('memory_chunks_next') IS NOT NULL THEN
        GRANT SELECT, INSERT ON memory_chunks_next TO mnemosyne_runtime;
        GRANT INSERT ON memory_chunks_next TO mnemosyne_ingest, mnemosyne_dead_letter;
    END IF;
END
$$;

-- Every role that writes to `memories` needs the right to call these functions, because expressions of indexes on
-- `memories` call them.
GRANT EXECUTE ON FUNCTION namespaced_tags(text, text[]), literal_form(text), content_trigrams(text, text)
    TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter;
