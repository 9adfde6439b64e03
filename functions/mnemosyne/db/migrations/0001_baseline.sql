-- This migration creates the tables, indexes and roles, and the policies of row-level security. The files in
-- ../functions create the functions and triggers. One of those files, 90_adopt_memories.sql, copies the rows of a
-- table that an earlier server has left.
--
-- The session that applies this migration passes the embedding space in three settings: mnemosyne.embedding_provider,
-- mnemosyne.embedding_model and mnemosyne.embedding_dimension. The schema uses no extension except `vector`, so it is
-- the same on every server.

CREATE EXTENSION IF NOT EXISTS vector;

-- The earlier Go server stored memories in a table memories(id, timestamp, content, embedding, content_hash,
-- last_seen_at). If the database has such a table, move it to the schema mnemosyne_adopted.
-- ../functions/90_adopt_memories.sql then copies its rows.
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

-- Each Cloud Run function has its own role. The command line uses mnemosyne_runtime, which has the rights of all
-- functions except `auth`.
DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['mnemosyne_runtime', 'mnemosyne_mcp', 'mnemosyne_ingest', 'mnemosyne_dead_letter',
        'mnemosyne_import_object', 'mnemosyne_auth'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;  -- All databases of a server share its roles, so another database may have created this role.
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
    -- the tags, case-folded, in the order of `tags`; filters compare these keys
    tag_keys        text[] NOT NULL DEFAULT '{}',
    metadata        jsonb NOT NULL DEFAULT '{}',
    -- hashes of the metadata's paths and values, see ../functions/03_metadata_keys.sql
    metadata_keys   integer[] NOT NULL DEFAULT '{}',
    session         text,  -- conversation or document that contains the memory
    content_hash    text NOT NULL,
    -- digest of the content without white space and a final full stop: near-duplicates have the same digest. A memory
    -- without a digest is never compared
    wording         uuid,
    embedding_model text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    -- end of the latest of earlier_states, or the time of a restore; null if there is neither
    changed_at      timestamptz,
    last_seen_at    timestamptz NOT NULL DEFAULT now(),
    superseded_by   uuid,  -- No foreign key: if the successor is deleted, searches still leave this memory out.
    rating_count    integer NOT NULL DEFAULT 0,
    rating_sum      integer NOT NULL DEFAULT 0,
    given_expiry    timestamptz,  -- expiry that the publisher has asked for
    pinned          boolean NOT NULL DEFAULT false,  -- the default lifetime of the namespace does not apply
    -- From this time on no role but the owner sees the memory. The function memory_expiry computes it.
    expires_at      timestamptz,
    UNIQUE (namespace, content_hash),
    CHECK (array_position(tags, NULL) IS NULL AND array_position(tag_keys, NULL) IS NULL),
    -- The hash is a SHA-256 in hexadecimal. The check uses no regular expression, because it runs at every update and
    -- compiling a regular expression costs more than `ltrim`.
    CHECK (octet_length(content_hash) = 64 AND ltrim(content_hash, '0123456789abcdef') = '')
)
WITH (autovacuum_analyze_scale_factor = 0.05);

-- Long memories are split into chunks, each with its own embedding. This table has the second and later chunks. The
-- embedding of the first chunk is in `memories`.
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
-- PLAIN keeps vectors in the row. A scan of all vectors takes three times as long if they are stored out of line.
ALTER TABLE memories ALTER COLUMN embedding SET STORAGE PLAIN;
ALTER TABLE memory_chunks ALTER COLUMN embedding SET STORAGE PLAIN;

-- The BM25 weight of each word of a memory. A word is represented by its hash, called a key. These weights have their
-- own table for two reasons: ten times as many rows fit on a page, and a change of weights does not rewrite the
-- embedding.
CREATE TABLE memory_words (
    memory_id uuid PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
    language  text,  -- ISO 639-1 code that the function text_language returns; null if the language is unknown
    keys      integer[] NOT NULL,
    weights   sparsevec NOT NULL
);

-- Each principal has at most one rating per memory. Searches read the sums of the ratings in `memories`.
CREATE TABLE memory_ratings (
    memory_id  uuid NOT NULL REFERENCES memories ON DELETE CASCADE,
    rated_by   text NOT NULL,  -- id of the principal (authenticated caller) that gave the rating
    rater_name text NOT NULL,  -- name of the principal's API key, OAuth client or address
    namespace  text NOT NULL,
    rating     smallint NOT NULL CHECK (rating BETWEEN -1 AND 1),
    reason     text,
    rated_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (memory_id, rated_by)
);

-- The states of memories before each change, for reading them as they were at a time. ../functions/04_earlier_states.sql
-- writes them.
CREATE TABLE earlier_states (
    memory_id     uuid NOT NULL REFERENCES memories ON DELETE CASCADE,
    changed_in    xid8 NOT NULL DEFAULT pg_current_xact_id(),  -- id of the transaction that ended the state
    namespace     text NOT NULL,
    since         timestamptz NOT NULL,
    until         timestamptz NOT NULL,  -- exclusive
    title         text NOT NULL,
    tags          text[] NOT NULL,
    tag_keys      text[] NOT NULL,
    metadata      jsonb NOT NULL,
    "timestamp"   timestamptz NOT NULL,
    superseded_by uuid,
    expired_at    timestamptz,  -- when the memory had expired, if it was visible again after the change
    PRIMARY KEY (memory_id, until)
);

-- Periods in which the earlier memories of a namespace are not completely known, because some were deleted, expired or
-- restored since.
CREATE TABLE incomplete_periods (
    namespace text NOT NULL,
    since     timestamptz NOT NULL,
    until     timestamptz NOT NULL  -- exclusive
);

-- The state of each accepted ingest request. A publisher may name its record by source and key. In this case each
-- version of the record is a separate request, and the request id is computed from the source, key, content and time.
CREATE TABLE ingest_requests (
    namespace    text NOT NULL,
    request_id   uuid NOT NULL,
    state        text NOT NULL CHECK (state IN ('queued', 'stored', 'duplicate', 'deleted', 'failed', 'dead_lettered')),
    -- No foreign key: this row remains when the memory is deleted, so a redelivered request does not store the memory
    -- again.
    memory_id    uuid,
    -- hash of the stored content: tells a redelivery from a request with the same id and another content
    content_hash bytea,
    source       text,
    key          text,
    version_at        timestamptz,  -- timestamp of the record's version, stored or deleted
    version_published timestamptz,  -- time at which that version was first published
    attempts     integer NOT NULL DEFAULT 0,
    error        text,
    -- object with client, import_name and import_line; also first_words if there is no memory, and dead_letter if the
    -- message is a dead letter
    provenance   jsonb,
    -- messages for the publisher, for example that a memory was superseded or that labels were ignored
    note         text,
    created_at   timestamptz NOT NULL DEFAULT now(),
    -- clock_timestamp(), because now() is the start of the transaction, which may be long before other sessions see
    -- the row
    updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_in   xid8 NOT NULL DEFAULT pg_current_xact_id(),  -- id of the transaction that set updated_at
    announced_at timestamptz,  -- time at which the outcome was published
    -- time of the last redrive of the request's dead letter; equals updated_at until the next attempt
    redriven_at  timestamptz,
    PRIMARY KEY (namespace, request_id)
)
WITH (fillfactor = 70);

-- A record is a text that a publisher has named by source and key. This table has the current version and the latest
-- deletion of each record.
CREATE TABLE source_keys (
    namespace         text NOT NULL,
    key_id            uuid NOT NULL,  -- uuid5(uuid5(NAMESPACE_URL, source), key)
    memory_id         uuid,  -- memory of the current version; null if the record has no current version
    -- timestamp of the current version; versions are ordered by version_at, then version_published
    version_at        timestamptz,
    version_published timestamptz,
    -- timestamp of the latest deletion; deleted_published is when that deletion was published
    deleted_at        timestamptz,
    deleted_published timestamptz,
    PRIMARY KEY (namespace, key_id)
);

-- A dead letter is a complete message that could not be processed. To redrive a dead letter means to publish its
-- message again. The row is kept until the message has an outcome.
CREATE TABLE dead_letters (
    namespace        text NOT NULL,
    message_id       text NOT NULL,
    letter_id        uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),  -- attribute of the republished message
    data             bytea NOT NULL,
    attributes       jsonb NOT NULL,
    cause            text NOT NULL,  -- error of the last failure
    dead_lettered_at timestamptz NOT NULL DEFAULT now(),  -- time of the first failure
    last_failed_at   timestamptz NOT NULL DEFAULT now(),
    failures         integer NOT NULL DEFAULT 1,
    redrives         integer NOT NULL DEFAULT 0,
    redriven_at      timestamptz,  -- time of the redrive; null if the message is not being delivered
    -- whether a part of the message has no request, so that only this row reports its failure
    lost             boolean NOT NULL DEFAULT false,
    -- id of the transaction that recorded the last failure
    changed_in       xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (namespace, message_id)
);

-- The progress of each import of an object in a bucket. After a crash, the import continues from here.
CREATE TABLE object_imports (
    namespace   text NOT NULL,
    source      text NOT NULL,  -- gs://bucket/object#generation
    memories    bigint NOT NULL DEFAULT 0,  -- number of memories published so far, including failed ones
    left_out    jsonb NOT NULL DEFAULT '{}',  -- unknown fields, each with the number of memories that had it
    error       text,  -- reason why reading stopped
    started_at  timestamptz NOT NULL DEFAULT now(),
    read_at     timestamptz,
    reported_at timestamptz,
    PRIMARY KEY (namespace, source)
);

-- The id of the request that was published for each line of an object. The import deletes these rows when it has
-- written its report.
CREATE TABLE object_import_lines (
    namespace  text NOT NULL,
    source     text NOT NULL,
    line       text NOT NULL,
    request_id uuid NOT NULL,
    PRIMARY KEY (namespace, source, line)
);

-- The usage of each namespace. A namespace has up to 64 rows, called shards, and its usage is their sum. A session
-- writes to the shard given by its process id modulo 64, so that concurrent sessions rarely wait for each other.
CREATE TABLE namespace_usage (
    namespace text NOT NULL,
    shard     integer NOT NULL,
    memories  bigint NOT NULL DEFAULT 0,
    bytes     bigint NOT NULL DEFAULT 0,  -- size of contents, titles, tags and metadata in UTF-8
    day       date NOT NULL,  -- UTC
    texts     bigint NOT NULL DEFAULT 0,  -- number of chunks embedded on that day
    PRIMARY KEY (namespace, shard)
)
WITH (fillfactor = 50);

-- The limits of each namespace. The row with the namespace '' holds the default limits, which apply where a namespace
-- has null. Null in the default row means that there is no limit.
CREATE TABLE quotas (
    namespace   text PRIMARY KEY,
    memories    bigint CHECK (memories >= 0),
    bytes       bigint CHECK (bytes >= 0),
    texts_a_day bigint CHECK (texts_a_day >= 0)
);
INSERT INTO quotas (namespace, memories, bytes, texts_a_day) VALUES ('', 1000000, 20000000000, 200000);

-- The lifetimes of memories in seconds, counted from the time at which a memory was last sent. The row with the
-- namespace '' applies to all namespaces without a row. Null means that there is no such lifetime.
CREATE TABLE retention (
    namespace        text PRIMARY KEY,
    default_lifetime bigint CHECK (default_lifetime > 0),  -- of memories without an expiry that are not pinned
    maximum_lifetime bigint CHECK (maximum_lifetime > 0)  -- of all memories
);

-- A hold keeps memories: what it selects cannot be deleted or forgotten and does not expire. ../functions/04_selections.sql
-- describes a selection.
CREATE TABLE holds (
    namespace text NOT NULL CHECK (namespace <> ''),
    id        uuid NOT NULL DEFAULT gen_random_uuid(),
    selection jsonb NOT NULL,
    reason    text NOT NULL CHECK (reason <> ''),
    placed_by text NOT NULL,
    placed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (namespace, id)
);

-- A forgetting deletes the memories of a selection, and their texts in requests and dead letters. Memories of messages
-- that were published before started_at and match the selection are not stored later.
CREATE TABLE forgettings (
    namespace    text NOT NULL,
    id           uuid NOT NULL,
    selection    jsonb NOT NULL,
    requested_by text NOT NULL,
    started_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at  timestamptz,
    counts       jsonb NOT NULL DEFAULT '{}',  -- removed rows by table
    -- the last dead letter that the forgetting has checked
    letter_at    timestamptz,
    letter_id    text,
    PRIMARY KEY (namespace, id)
);

-- The memories of each forgetting. The content hash recognises the same content in messages published before.
CREATE TABLE forgotten_memories (
    namespace     text NOT NULL,
    forgetting_id uuid NOT NULL,
    memory_id     uuid NOT NULL,
    content_hash  bytea NOT NULL,
    removed       boolean NOT NULL DEFAULT false,
    PRIMARY KEY (namespace, forgetting_id, memory_id)
);

-- Whether the changes of a namespace's memories are recorded in `memory_changes`. The row with the namespace '' applies to
-- all namespaces without a row.
CREATE TABLE change_feeds (
    namespace text PRIMARY KEY,
    enabled   boolean NOT NULL,
    contents  boolean NOT NULL  -- whether events have the content, title, tags and metadata of the memory
);

-- The change feed: one event for each transaction that changed a memory. It has no contents: readers join them from
-- `memories`, so that the event of a deleted memory has none.
CREATE TABLE memory_changes (
    sequence      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace     text NOT NULL,
    memory_id     uuid NOT NULL,
    kind          text NOT NULL
        CHECK (kind IN ('created', 'updated', 'superseded', 'rated', 'expired', 'deleted', 'forgotten')),
    fields        text[] NOT NULL,  -- names of the changed fields; empty if the memory was created or removed
    superseded_by uuid,  -- of the memory after the change
    -- clock_timestamp(), because now() is the start of the transaction
    at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_in    xid8 NOT NULL DEFAULT pg_current_xact_id(),
    announced_at  timestamptz,  -- time at which the event was published
    UNIQUE (namespace, changed_in, memory_id)
);

-- Statistics of a sample of each namespace's newest memories: the share of memories that contain each word (as a
-- hash), the mean number of distinct words, and the number of memories in each detected language.
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

-- This table has one row. The row names the current and the previous embedding space of the memories. While `reembed`
-- runs, the row also names the next embedding space.
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

-- API keys. The database has only the hash of each secret.
CREATE TABLE api_keys (
    id          text PRIMARY KEY,
    name        text NOT NULL,
    namespace   text NOT NULL CHECK (namespace <> ''),
    scopes      text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'operate', 'admin'] AND scopes <> '{}'),
    secret_hash bytea NOT NULL CHECK (length(secret_hash) = 32),
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz,
    revoked_at  timestamptz,
    blocked_at  timestamptz,  -- a blocked key is refused until the operator unblocks it
    last_used_at timestamptz  -- exact to a minute
);

-- The audit trail: who did what, without contents. Functions insert events and have no right to read or change the
-- table. audit_page() returns the events of the session's namespace, for people with the scope operate.
CREATE TABLE audit_events (
    id         bigint GENERATED ALWAYS AS IDENTITY,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    principal  text NOT NULL,  -- such as key:ID, oauth:SUBJECT, google:ADDRESS or local:USER
    credential text NOT NULL,  -- key:ID or grant:ID; empty for other credentials
    client     text NOT NULL,  -- id of the OAuth client, or name of the API key
    namespace  text NOT NULL,  -- empty for actions on the whole system
    action     text NOT NULL,  -- name of the tool or of the operator's operation
    outcome    text NOT NULL,
    ids        text[] NOT NULL DEFAULT '{}',  -- at most 100
    count      integer NOT NULL DEFAULT 0,    -- number of all ids, or of changed rows
    PRIMARY KEY (at, id)
);

-- This table has one row: how long the audit trail is kept. The owner of the schema sets it.
CREATE TABLE audit_retention (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    days     integer NOT NULL CHECK (days > 0)
);
INSERT INTO audit_retention (days) VALUES (400);

-- The tables of the authorization server. These tables have only the SHA-256 of codes, tokens and cookies.
CREATE TABLE oauth_clients (
    id         text PRIMARY KEY,
    metadata   jsonb NOT NULL,
    read_at    timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);

-- An authorization request from the call of /authorize to the person's decision. A cookie binds the request to one
-- browser.
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

-- A grant is the authorization that a person gave to a client. Each code and token belongs to a grant.
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
    revoked_for text,
    last_used_at timestamptz  -- exact to a minute
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
    -- the next refresh token is derived from this token and this salt
    successor_salt bytea CHECK (length(successor_salt) = 32)
);

-- The consents that a person has given, so that the consent page is not shown again for the same client.
CREATE TABLE oauth_consents (
    subject   text NOT NULL,
    client_id text NOT NULL,
    scopes    text[] NOT NULL,
    resource  text NOT NULL,
    given_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (subject, client_id, resource)
);

-- Blocked people, by address or subject. A blocked person cannot log in even if a rule allows it.
CREATE TABLE oauth_blocked_people (
    who        text PRIMARY KEY CHECK (who <> ''),
    subjects   text[] NOT NULL DEFAULT '{}',  -- subjects of the person's grants at the time of the block
    blocked_at timestamptz NOT NULL DEFAULT now()
);

-- Blocked clients. A blocked client gets no code and no token, and its grants are not accepted.
CREATE TABLE oauth_blocked_clients (
    client_id  text PRIMARY KEY CHECK (client_id <> ''),
    blocked_at timestamptz NOT NULL DEFAULT now()
);

-- Filters of a search or a list. A null filter matches all memories. The function matches_filters in
-- ../functions/04_filters.sql applies the filters.
CREATE TYPE memory_filters AS (
    after timestamptz, before timestamptz, any_tags text[], all_tags text[], include_superseded boolean, session text,
    metadata jsonpath, metadata_keys integer[], own_any text[], own_all text[], not_session text,
    folded uuid[], shown uuid[], as_of timestamptz
);

-- The next three functions are used in index expressions. A change to one of these functions needs a migration that
-- rebuilds its index.
--
-- Each of these indexes covers all namespaces, and each index key begins with 32 bits of the MD5 of the namespace. So
-- a search reads only index entries of the caller's namespace, and the cost of the search does not depend on other
-- namespaces. MD5 gives the same result in all versions of PostgreSQL.

-- Put a hash of the namespace before each tag. Every insert calls this function, so it uses native array functions,
-- which are fast. A tag that contains the separator becomes two entries; therefore `matches_filters` also compares the
-- tags themselves.
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

-- The text in lower case and in Unicode normal form NFKC. In this form an exact search finds a text regardless of
-- composed letters, full-width letters and ligatures.
CREATE FUNCTION literal_form(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_text) = char_length(p_text) THEN lower(p_text)
    ELSE normalize(lower(normalize(p_text, NFKC)), NFKC) END;

-- The trigrams of the content's literal form, each prefixed by a hash of the namespace. The result is null if the
-- content has fewer than three bytes. A trigram consists of three UTF-8 bytes, not characters: reading the n-th byte
-- takes constant time, reading the n-th character does not.
CREATE FUNCTION content_trigrams(p_namespace text, p_content text) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    -- Qualified by schema, because REINDEX and pg_restore set no search_path.
    bytes bytea := convert_to(public.literal_form(p_content), 'UTF8');
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
CREATE INDEX memories_expiring ON memories (expires_at) WHERE expires_at IS NOT NULL;
-- With this index, the expired memories of one namespace do not slow down another.
CREATE INDEX memories_expiring_here ON memories (namespace, expires_at) WHERE expires_at IS NOT NULL;
-- For memories that have changed since a time.
CREATE INDEX memories_changed ON memories (namespace, changed_at) WHERE changed_at IS NOT NULL;
CREATE INDEX earlier_states_superseded ON earlier_states (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX incomplete_periods_until ON incomplete_periods (namespace, until);
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memories_embedding ON memories
    USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 200);
CREATE INDEX memory_chunks_embedding ON memory_chunks
    USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 200);
-- With fastupdate, every search would read the list of pending entries of all namespaces.
-- https://www.postgresql.org/docs/current/gin.html#GIN-FAST-UPDATE
CREATE INDEX memories_tags ON memories USING gin (namespaced_tags(namespace, tag_keys)) WITH (fastupdate = off);
CREATE INDEX memories_metadata ON memories USING gin (metadata_keys) WITH (fastupdate = off);
CREATE INDEX memories_trigrams ON memories USING gin (content_trigrams(namespace, content)) WITH (fastupdate = off);
CREATE INDEX memory_words_keys ON memory_words USING gin (keys) WITH (fastupdate = off);

CREATE INDEX ingest_requests_updated ON ingest_requests (namespace, updated_at, request_id);
CREATE INDEX ingest_requests_changed ON ingest_requests (namespace, changed_in, request_id) WHERE state <> 'queued';
CREATE INDEX ingest_requests_without_key ON ingest_requests (namespace, updated_at) WHERE source IS NULL;
-- The index uses the MD5 of the source, because an index entry has at most 2,704 bytes.
CREATE INDEX ingest_requests_source ON ingest_requests (namespace, md5(source), key) WHERE source IS NOT NULL;
CREATE INDEX source_keys_memory ON source_keys (namespace, memory_id) WHERE memory_id IS NOT NULL;
CREATE INDEX ingest_requests_open ON ingest_requests (namespace, state) WHERE state IN ('queued', 'dead_lettered');
CREATE INDEX ingest_requests_unstored ON ingest_requests (namespace, content_hash)
    WHERE memory_id IS NULL AND content_hash IS NOT NULL;
CREATE INDEX forgotten_contents ON forgotten_memories (namespace, content_hash);
CREATE INDEX forgotten_memories_left ON forgotten_memories (namespace, forgetting_id, memory_id) WHERE NOT removed;
CREATE INDEX dead_letters_newest ON dead_letters (namespace, dead_lettered_at, message_id);
CREATE INDEX dead_letters_changed ON dead_letters (namespace, changed_in) WHERE lost;

CREATE INDEX memory_changes_sequence ON memory_changes (namespace, sequence);
CREATE INDEX memory_changes_unannounced ON memory_changes (sequence) WHERE announced_at IS NULL;

CREATE INDEX audit_events_principal ON audit_events (principal, at, id);
CREATE INDEX audit_events_credential ON audit_events (credential, at, id) WHERE credential <> '';
CREATE INDEX audit_events_client ON audit_events (client, at, id) WHERE client <> '';
CREATE INDEX audit_events_namespace ON audit_events (namespace, at, id);

CREATE INDEX oauth_clients_expire ON oauth_clients (expires_at);
CREATE INDEX oauth_requests_expire ON oauth_requests (expires_at);
CREATE INDEX oauth_requests_of_network ON oauth_requests (network, expires_at) WHERE status = 'started';
CREATE INDEX oauth_requests_of_large_network ON oauth_requests (large_network, expires_at) WHERE status = 'started';
CREATE INDEX oauth_grants_expire ON oauth_grants (expires_at);
CREATE INDEX oauth_grants_of_person ON oauth_grants (subject, client_id);
CREATE INDEX oauth_codes_of_grant ON oauth_codes (grant_id);
CREATE INDEX oauth_refresh_tokens_of_grant ON oauth_refresh_tokens (grant_id);

-- Row-level security. A transaction sees only the rows of the namespace in its setting mnemosyne.namespace, even if a
-- query does not compare the namespace. The tables without a policy, such as api_keys and
-- holds, show their rows to their owner only.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['memories', 'memory_chunks', 'memory_ratings', 'ingest_requests', 'source_keys',
        'dead_letters', 'object_imports', 'object_import_lines', 'namespace_usage', 'memory_changes', 'earlier_states',
        'incomplete_periods'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY namespace_isolation ON %I TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, '
            'mnemosyne_dead_letter, mnemosyne_import_object '
            'USING (namespace = current_setting(''mnemosyne.namespace'', true))', name);
    END LOOP;
    -- An expired memory cannot be read, but a memory may be stored at the moment at which it expires.
    ALTER POLICY namespace_isolation ON memories
        USING (namespace = current_setting('mnemosyne.namespace', true) AND (expires_at IS NULL OR expires_at > now()))
        WITH CHECK (namespace = current_setting('mnemosyne.namespace', true));
    FOREACH name IN ARRAY ARRAY['oauth_clients', 'oauth_requests', 'oauth_grants', 'oauth_codes', 'oauth_refresh_tokens',
        'oauth_consents', 'oauth_blocked_people', 'oauth_blocked_clients'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY authorization_server ON %I TO mnemosyne_auth USING (true)', name);
    END LOOP;
END
$$;
ALTER TABLE quotas ENABLE ROW LEVEL SECURITY;
CREATE POLICY namespace_isolation ON quotas TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest,
    mnemosyne_dead_letter, mnemosyne_import_object
    USING (namespace IN ('', current_setting('mnemosyne.namespace', true)));
ALTER TABLE change_feeds ENABLE ROW LEVEL SECURITY;
CREATE POLICY namespace_isolation ON change_feeds TO mnemosyne_runtime
    USING (namespace IN ('', current_setting('mnemosyne.namespace', true)));
ALTER TABLE retention ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
-- A function records an action in the transaction of the change, which is confined to a namespace.
ALTER TABLE audit_events ENABLE ROW LEVEL SECURITY;
CREATE POLICY namespace_isolation ON audit_events FOR INSERT TO mnemosyne_runtime, mnemosyne_mcp
    WITH CHECK (namespace = current_setting('mnemosyne.namespace', true));
ALTER TABLE audit_retention ENABLE ROW LEVEL SECURITY;
ALTER TABLE namespace_words ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_words ENABLE ROW LEVEL SECURITY;
ALTER TABLE holds ENABLE ROW LEVEL SECURITY;
ALTER TABLE forgettings ENABLE ROW LEVEL SECURITY;
ALTER TABLE forgotten_memories ENABLE ROW LEVEL SECURITY;

-- No statistics of texts, because ANALYZE would copy texts into the catalogue, where they outlive their rows. No query
-- plan uses them.
ALTER TABLE memories ALTER content SET STATISTICS 0, ALTER title SET STATISTICS 0, ALTER metadata SET STATISTICS 0;
ALTER TABLE earlier_states ALTER title SET STATISTICS 0, ALTER metadata SET STATISTICS 0, ALTER tags SET STATISTICS 0,
    ALTER tag_keys SET STATISTICS 0;
ALTER TABLE memory_ratings ALTER reason SET STATISTICS 0;
ALTER TABLE ingest_requests ALTER error SET STATISTICS 0, ALTER note SET STATISTICS 0, ALTER provenance SET STATISTICS 0;
ALTER TABLE dead_letters ALTER data SET STATISTICS 0, ALTER attributes SET STATISTICS 0, ALTER cause SET STATISTICS 0;
