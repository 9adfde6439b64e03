-- Tables, indexes, roles and rights. Functions and triggers are in ../functions, and so is the script that copies the
-- rows of an adopted table.
--
-- The session that applies this file passes the embedding space in three settings, mnemosyne.embedding_provider,
-- mnemosyne.embedding_model and mnemosyne.embedding_dimension. No extension other than `vector` is used, so that the
-- schema is the same on every server.

CREATE EXTENSION IF NOT EXISTS vector;

-- Move a table memories(id, timestamp, content, embedding, content_hash, last_seen_at) of the earlier Go server to
-- another schema. ../functions/90_adopt_memories.sql copies its rows.
DO $$
DECLARE
    owner oid := (SELECT relowner FROM pg_class WHERE oid = to_regclass('public.memories'));
BEGIN
    IF NOT pg_has_role(owner, 'USAGE') THEN
        RAISE EXCEPTION 'the table memories belongs to %, and % may not move it: as %, run ALTER TABLE memories OWNER TO a role that both are members of (on Cloud SQL: cloudsqlsuperuser), then migrate again',
            pg_get_userbyid(owner), current_user, pg_get_userbyid(owner);
    END IF;
    IF owner IS NOT NULL THEN
        CREATE SCHEMA mnemosyne_adopted;
        ALTER TABLE public.memories SET SCHEMA mnemosyne_adopted;
    END IF;
END
$$;

-- One role per function. mnemosyne_runtime has the rights of all functions except auth, for the command line.
DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['mnemosyne_runtime', 'mnemosyne_mcp', 'mnemosyne_ingest', 'mnemosyne_dead_letter',
        'mnemosyne_import_object', 'mnemosyne_auth'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;  -- Roles are shared by all databases of a server: another database may have created it.
        END;
    END LOOP;
END
$$;

CREATE TABLE memories (
    id              uuid PRIMARY KEY,
    namespace       text NOT NULL,
    "timestamp"     timestamptz NOT NULL,
    content         text NOT NULL,
    title           text NOT NULL,
    tags            text[] NOT NULL DEFAULT '{}',
    tag_keys        text[] NOT NULL DEFAULT '{}',  -- the tags, case-folded, in the same order: filters compare these
    metadata        jsonb NOT NULL DEFAULT '{}',
    metadata_keys   integer[] NOT NULL DEFAULT '{}',  -- hashes of metadata paths and values: ../functions/03_metadata_keys.sql
    session         text,  -- the conversation or document that the memory is a part of
    content_hash    text NOT NULL,
    wording         uuid,  -- digest of the content without white space and a final full stop; null: has no near-duplicates
    embedding_model text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    last_seen_at    timestamptz NOT NULL DEFAULT now(),
    superseded_by   uuid,  -- No foreign key: memories stay out of searches when their successor is deleted.
    rating_count    integer NOT NULL DEFAULT 0,
    rating_sum      integer NOT NULL DEFAULT 0,
    UNIQUE (namespace, content_hash),
    CHECK (array_position(tags, NULL) IS NULL AND array_position(tag_keys, NULL) IS NULL),
    -- SHA-256 in hex. No regular expression: the check runs at every update, and compiling one costs more.
    CHECK (octet_length(content_hash) = 64 AND ltrim(content_hash, '0123456789abcdef') = '')
)
WITH (autovacuum_analyze_scale_factor = 0.05);

-- The second and later chunks of long memories. The first chunk's embedding is on the memory.
CREATE TABLE memory_chunks (
    memory_id   uuid NOT NULL REFERENCES memories ON DELETE CASCADE,
    chunk_index integer NOT NULL CHECK (chunk_index > 0),
    namespace   text NOT NULL,
    PRIMARY KEY (memory_id, chunk_index)
)
WITH (toast_tuple_target = 8160);

DO $$
DECLARE
    type text := format('halfvec(%s)', CAST(current_setting('mnemosyne.embedding_dimension') AS integer));
BEGIN
    EXECUTE 'ALTER TABLE memories ADD COLUMN embedding ' || type || ' NOT NULL';
    EXECUTE 'ALTER TABLE memory_chunks ADD COLUMN embedding ' || type || ' NOT NULL';
END
$$;
-- An exact scan of vectors that are stored out of line takes three times as long.
ALTER TABLE memories ALTER COLUMN embedding SET STORAGE PLAIN;
ALTER TABLE memory_chunks ALTER COLUMN embedding SET STORAGE PLAIN;

-- The BM25 weights of a memory's words, by hashed word. In this separate table ten times as many rows fit on a page,
-- and a change of weights rewrites no vectors.
CREATE TABLE memory_words (
    memory_id uuid PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
    language  text,  -- by text_language; null if unknown
    keys      integer[] NOT NULL,
    weights   sparsevec NOT NULL
);

-- The rating of each principal. Searches read the sums in `memories`.
CREATE TABLE memory_ratings (
    memory_id  uuid NOT NULL REFERENCES memories ON DELETE CASCADE,
    rated_by   text NOT NULL,  -- id of the principal
    rater_name text NOT NULL,  -- name of its key or client
    namespace  text NOT NULL,
    rating     smallint NOT NULL CHECK (rating BETWEEN -1 AND 1),
    reason     text,
    rated_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (memory_id, rated_by)
);

-- The state of every accepted request. If a publisher gives source and key, each version of the record is a separate
-- request, and its id is computed from source, key, content and time.
CREATE TABLE ingest_requests (
    namespace    text NOT NULL,
    request_id   uuid NOT NULL,
    state        text NOT NULL CHECK (state IN ('queued', 'stored', 'duplicate', 'deleted', 'failed', 'dead_lettered')),
    memory_id    uuid,  -- No foreign key: the outcome outlives the memory, so that redelivery cannot revive it.
    content_hash bytea,  -- of the stored content: distinguishes a redelivery from another content under the same id
    source       text,
    key          text,
    version_at        timestamptz,  -- timestamp of a stored or deleted version of a record
    version_published timestamptz,  -- when that version was first published
    attempts     integer NOT NULL DEFAULT 0,
    error        text,
    provenance   jsonb,  -- client, import_name, import_line; without a memory: first_words; of a dead letter: dead_letter
    note         text,  -- further results: supersessions, and which labels were updated or ignored
    created_at   timestamptz NOT NULL DEFAULT now(),
    -- Not now(): the transaction may begin long before others see the row.
    updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_in   xid8 NOT NULL DEFAULT pg_current_xact_id(),  -- the transaction that set updated_at
    announced_at timestamptz,  -- when the outcome was published
    redriven_at  timestamptz,  -- when its dead letter was redriven last; equals updated_at until the next attempt
    PRIMARY KEY (namespace, request_id)
)
WITH (fillfactor = 70);

-- The current version of every record that a publisher has named by source and key, and its latest deletion.
CREATE TABLE source_keys (
    namespace         text NOT NULL,
    key_id            uuid NOT NULL,  -- uuid5(uuid5(NAMESPACE_URL, source), key)
    memory_id         uuid,           -- of the current version; null without one
    version_at        timestamptz,    -- the current version's timestamp, then when it was published: the order of versions
    version_published timestamptz,
    deleted_at        timestamptz,    -- the latest deletion's timestamp, and when it was published
    deleted_published timestamptz,
    PRIMARY KEY (namespace, key_id)
);

-- Complete messages that could not be processed, so that they can be published again. A letter is kept while its
-- message is in flight.
CREATE TABLE dead_letters (
    namespace        text NOT NULL,
    message_id       text NOT NULL,
    letter_id        uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),  -- the republished message carries it
    data             bytea NOT NULL,
    attributes       jsonb NOT NULL,
    cause            text NOT NULL,  -- of the last failure
    dead_lettered_at timestamptz NOT NULL DEFAULT now(),  -- when it failed first
    last_failed_at   timestamptz NOT NULL DEFAULT now(),
    failures         integer NOT NULL DEFAULT 1,
    redrives         integer NOT NULL DEFAULT 0,
    redriven_at      timestamptz,  -- when it was published again; null unless it is in flight
    lost             boolean NOT NULL DEFAULT false,  -- whether a request in the message has no other outcome
    changed_in       xid8 NOT NULL DEFAULT pg_current_xact_id(),  -- the transaction in which it failed last
    PRIMARY KEY (namespace, message_id)
);

-- How far each object of a bucket has been read, so that an import continues there after a crash.
CREATE TABLE object_imports (
    namespace   text NOT NULL,
    source      text NOT NULL,  -- gs://bucket/object#generation
    memories    bigint NOT NULL DEFAULT 0,  -- published so far, including those that failed
    left_out    jsonb NOT NULL DEFAULT '{}',  -- unknown fields, with the number of memories that had each
    error       text,  -- why reading stopped
    started_at  timestamptz NOT NULL DEFAULT now(),
    read_at     timestamptz,
    reported_at timestamptz,
    PRIMARY KEY (namespace, source)
);

-- The request that each line of an object became, until its report is written.
CREATE TABLE object_import_lines (
    namespace  text NOT NULL,
    source     text NOT NULL,
    line       text NOT NULL,
    request_id uuid NOT NULL,
    PRIMARY KEY (namespace, source, line)
);

-- Usage of each namespace: the sum over its rows, at most 64, one per remainder of the backend's process id, so that
-- concurrent writers do not wait for one another.
CREATE TABLE namespace_usage (
    namespace text NOT NULL,
    shard     integer NOT NULL,
    memories  bigint NOT NULL DEFAULT 0,
    bytes     bigint NOT NULL DEFAULT 0,  -- contents, titles, tags and metadata, in UTF-8
    day       date NOT NULL,              -- in UTC
    texts     bigint NOT NULL DEFAULT 0,  -- chunks embedded on that day
    PRIMARY KEY (namespace, shard)
)
WITH (fillfactor = 50);

-- Limits per namespace. The row of namespace '' has the defaults, which replace nulls; a null in that row means no
-- limit.
CREATE TABLE quotas (
    namespace   text PRIMARY KEY,
    memories    bigint CHECK (memories >= 0),
    bytes       bigint CHECK (bytes >= 0),
    texts_a_day bigint CHECK (texts_a_day >= 0)
);
INSERT INTO quotas (namespace, memories, bytes, texts_a_day) VALUES ('', 1000000, 20000000000, 200000);

-- How common each hashed word is among a namespace's newest memories, the mean number of distinct words, and the number
-- of memories in each language that is known.
CREATE TABLE namespace_words (
    namespace   text PRIMARY KEY,
    memories    bigint NOT NULL,
    sampled     integer NOT NULL,
    mean_length real NOT NULL,
    keys        integer[] NOT NULL,
    shares      real[] NOT NULL,
    languages   jsonb NOT NULL,
    CHECK (cardinality(keys) = cardinality(shares))
);

-- One row: the embedding space of the memories, the one before it, and the next while `reembed` runs.
CREATE TABLE embedding_space (
    only_row           boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    provider           text NOT NULL,
    model              text NOT NULL,
    previous_provider  text,
    previous_model     text,
    previous_dimension integer,
    next_provider      text,
    next_model         text,
    next_dimension     integer
);
INSERT INTO embedding_space (provider, model)
VALUES (current_setting('mnemosyne.embedding_provider'), current_setting('mnemosyne.embedding_model'));

-- API keys. Only the hash of the secret is stored.
CREATE TABLE api_keys (
    id          text PRIMARY KEY,
    name        text NOT NULL,
    namespace   text NOT NULL CHECK (namespace <> ''),
    scopes      text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'operate', 'admin'] AND scopes <> '{}'),
    secret_hash bytea NOT NULL CHECK (length(secret_hash) = 32),
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz,
    revoked_at  timestamptz
);

-- The authorization server: clients, open authorization requests, grants, codes, tokens, consents. Codes, tokens and
-- cookies are stored as SHA-256.
CREATE TABLE oauth_clients (
    id         text PRIMARY KEY,
    metadata   jsonb NOT NULL,
    read_at    timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);

-- A request between /authorize and the person's decision, bound to a browser by the cookie.
CREATE TABLE oauth_requests (
    cookie_hash   bytea PRIMARY KEY CHECK (length(cookie_hash) = 32),
    parameters    jsonb NOT NULL,
    client        jsonb,
    network       text NOT NULL,
    large_network text NOT NULL,
    status        text NOT NULL DEFAULT 'started'
        CHECK (status IN ('started', 'logging_in', 'logged_in', 'decided')),
    log_in_hash   bytea CHECK (length(log_in_hash) = 32),
    attempts      integer NOT NULL DEFAULT 0,
    person        jsonb,
    expires_at    timestamptz NOT NULL
);

-- Authorizations that a person gave to a client. All codes and tokens belong to a grant.
CREATE TABLE oauth_grants (
    id          uuid PRIMARY KEY,
    subject     text NOT NULL,
    person      text NOT NULL,
    namespace   text NOT NULL CHECK (namespace <> ''),
    client_id   text NOT NULL,
    client_name text NOT NULL,
    scopes      text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'operate', 'admin'] AND scopes <> '{}'),
    resource    text NOT NULL,
    granted_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz NOT NULL,
    revoked_at  timestamptz,
    revoked_for text
);

CREATE TABLE oauth_codes (
    hash           bytea PRIMARY KEY CHECK (length(hash) = 32),
    grant_id       uuid NOT NULL REFERENCES oauth_grants ON DELETE CASCADE,
    redirect_uri   text NOT NULL,
    code_challenge text NOT NULL,
    expires_at     timestamptz NOT NULL,
    used_at        timestamptz
);

CREATE TABLE oauth_refresh_tokens (
    hash           bytea PRIMARY KEY CHECK (length(hash) = 32),
    grant_id       uuid NOT NULL REFERENCES oauth_grants ON DELETE CASCADE,
    expires_at     timestamptz NOT NULL,
    used_at        timestamptz,
    successor_salt bytea CHECK (length(successor_salt) = 32)  -- the successor is derived from the token and this salt
);

-- Earlier consents, so that a person is not asked twice for the same client.
CREATE TABLE oauth_consents (
    subject   text NOT NULL,
    client_id text NOT NULL,
    scopes    text[] NOT NULL,
    resource  text NOT NULL,
    given_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (subject, client_id, resource)
);

-- People who may not log in, by address or subject, even if a rule allows them.
CREATE TABLE oauth_blocked_people (
    who        text PRIMARY KEY CHECK (who <> ''),
    subjects   text[] NOT NULL DEFAULT '{}',  -- of their grants when they were blocked
    blocked_at timestamptz NOT NULL DEFAULT now()
);

-- Filters of a search or a list; null means any. ../functions/04_filters.sql applies them.
CREATE TYPE memory_filters AS (
    after timestamptz, before timestamptz, any_tags text[], all_tags text[], include_superseded boolean, session text,
    metadata jsonpath, metadata_keys integer[], own_any text[], own_all text[], not_session text,
    folded uuid[], shown uuid[]
);

-- Functions that indexes use. A change to one of them needs a migration that rebuilds the index.
--
-- An index holds the memories of all namespaces. 32 bits of the namespace's MD5 in every key make a search read only
-- entries of its own namespace, so that neither its cost nor its duration depends on other namespaces. MD5 is the same
-- in all versions of PostgreSQL.

-- Tags prefixed by a hash of the namespace. Built from native array functions, because every insert evaluates it. A tag
-- that contains the separator becomes two entries; `matches_filters` compares the tags themselves as well.
CREATE FUNCTION namespaced_tags(p_namespace text, p_tag_keys text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    prefix text := left(md5(p_namespace), 8);
BEGIN
    RETURN CASE WHEN cardinality(p_tag_keys) > 0
        THEN string_to_array(prefix || array_to_string(p_tag_keys, E'\x1f' || prefix), E'\x1f') ELSE '{}' END;
END
$$;

-- The text in lower case and in Unicode normal form NFKC, so that an exact search treats composed and decomposed
-- letters, full-width letters and ligatures alike.
CREATE FUNCTION literal_form(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_text) = char_length(p_text) THEN lower(p_text)
    ELSE normalize(lower(normalize(p_text, NFKC)), NFKC) END;

-- Trigrams of the UTF-8 bytes of the content's literal form, prefixed by namespace; null for fewer than three bytes.
-- Bytes, because reaching the n-th byte costs the same everywhere, unlike the n-th character.
CREATE FUNCTION content_trigrams(p_namespace text, p_content text) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    bytes bytea := convert_to(public.literal_form(p_content), 'UTF8');  -- REINDEX and pg_restore set no search_path
    prefix bigint := CAST(CAST('x' || left(md5(p_namespace), 8) AS bit(32)) AS bigint) << 24;
BEGIN
    RETURN (
        SELECT array_agg(once.trigram) FROM (
            SELECT DISTINCT prefix | (get_byte(bytes, i) << 16) | (get_byte(bytes, i + 1) << 8) | get_byte(bytes, i + 2)
                AS trigram
            FROM generate_series(0, length(bytes) - 3) AS i
        ) AS once
    );
END
$$;
REVOKE ALL ON FUNCTION namespaced_tags, literal_form, content_trigrams FROM PUBLIC;

CREATE INDEX memories_newest ON memories (namespace, "timestamp" DESC, id DESC);
CREATE INDEX memories_session ON memories (namespace, session, "timestamp", id) WHERE session IS NOT NULL;
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memories_embedding ON memories
    USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 200);
CREATE INDEX memory_chunks_embedding ON memory_chunks
    USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 200);
-- Without fastupdate: every search would read the whole list of pending entries of all namespaces.
-- https://www.postgresql.org/docs/current/gin.html#GIN-FAST-UPDATE
CREATE INDEX memories_tags ON memories USING gin (namespaced_tags(namespace, tag_keys)) WITH (fastupdate = off);
CREATE INDEX memories_metadata ON memories USING gin (metadata_keys) WITH (fastupdate = off);
CREATE INDEX memories_trigrams ON memories USING gin (content_trigrams(namespace, content)) WITH (fastupdate = off);
CREATE INDEX memory_words_keys ON memory_words USING gin (keys) WITH (fastupdate = off);

CREATE INDEX ingest_requests_updated ON ingest_requests (namespace, updated_at, request_id);
CREATE INDEX ingest_requests_changed ON ingest_requests (namespace, changed_in, request_id) WHERE state <> 'queued';
CREATE INDEX ingest_requests_without_key ON ingest_requests (namespace, updated_at) WHERE source IS NULL;
-- The digest of the source: an index entry holds 2,704 bytes at most.
CREATE INDEX ingest_requests_source ON ingest_requests (namespace, md5(source), key) WHERE source IS NOT NULL;
CREATE INDEX source_keys_memory ON source_keys (namespace, memory_id) WHERE memory_id IS NOT NULL;
CREATE INDEX ingest_requests_open ON ingest_requests (namespace, state) WHERE state IN ('queued', 'dead_lettered');
CREATE INDEX dead_letters_newest ON dead_letters (namespace, dead_lettered_at, message_id);
CREATE INDEX dead_letters_changed ON dead_letters (namespace, changed_in) WHERE lost;

CREATE INDEX oauth_clients_expire ON oauth_clients (expires_at);
CREATE INDEX oauth_requests_expire ON oauth_requests (expires_at);
CREATE INDEX oauth_requests_of_network ON oauth_requests (network, expires_at) WHERE status = 'started';
CREATE INDEX oauth_requests_of_large_network ON oauth_requests (large_network, expires_at) WHERE status = 'started';
CREATE INDEX oauth_grants_expire ON oauth_grants (expires_at);
CREATE INDEX oauth_grants_of_person ON oauth_grants (subject, client_id);
CREATE INDEX oauth_codes_of_grant ON oauth_codes (grant_id);
CREATE INDEX oauth_refresh_tokens_of_grant ON oauth_refresh_tokens (grant_id);

-- Row-level security. A transaction sees the rows of the namespace that it has set, even if a query omits the
-- condition. Tables without a policy (api_keys, namespace_words, memory_words) are visible to the owner only.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['memories', 'memory_chunks', 'memory_ratings', 'ingest_requests', 'source_keys',
        'dead_letters', 'object_imports', 'object_import_lines', 'namespace_usage'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY namespace_isolation ON %I TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, '
            'mnemosyne_dead_letter, mnemosyne_import_object '
            'USING (namespace = current_setting(''mnemosyne.namespace'', true))', name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['oauth_clients', 'oauth_requests', 'oauth_grants', 'oauth_codes', 'oauth_refresh_tokens',
        'oauth_consents', 'oauth_blocked_people'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY authorization_server ON %I TO mnemosyne_auth USING (true)', name);
    END LOOP;
END
$$;
ALTER TABLE quotas ENABLE ROW LEVEL SECURITY;
CREATE POLICY namespace_isolation ON quotas TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest,
    mnemosyne_dead_letter, mnemosyne_import_object
    USING (namespace IN ('', current_setting('mnemosyne.namespace', true)));
ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE namespace_words ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_words ENABLE ROW LEVEL SECURITY;
