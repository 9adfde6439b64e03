-- This migration creates the tables, indexes, roles and policies of row-level security. The files in ../functions
-- create the SQL functions and triggers. Of these files, 90_adopt_memories.sql copies the memories of an earlier
-- server, if there are any.
--
-- An embedding space consists of a provider, a model and the dimension of the vectors that the model computes. The
-- session that applies this migration passes the embedding space in three settings: mnemosyne.embedding_provider,
-- mnemosyne.embedding_model and mnemosyne.embedding_dimension.
--
-- The schema uses no extension except `vector`, so it is the same on every server.
--
-- In these files, a service is one of the deployed Cloud Run functions: mcp, ingest, dead_letter, import_object, auth
-- and migrate. Each memory belongs to a namespace, and the namespaces are isolated from each other.

CREATE EXTENSION IF NOT EXISTS vector;

-- Move the memories of the earlier Go server out of the way. That server stored them in a table memories(id, timestamp,
-- content, embedding, content_hash, last_seen_at). If the database has such a table, move the table to the schema
-- mnemosyne_adopted. The file ../functions/90_adopt_memories.sql then copies its rows into the new table.
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

-- Create one role for each service except `migrate`, which uses the owner of the schema. The role mnemosyne_runtime is
-- for the command line and has the rights of all these services except `auth`.
DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['mnemosyne_runtime', 'mnemosyne_mcp', 'mnemosyne_ingest', 'mnemosyne_dead_letter',
        'mnemosyne_import_object', 'mnemosyne_auth'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;  -- The databases of a server share roles, so another database may have created the role.
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
    -- the tags in the order of `tags`, case-folded; filters compare these keys instead of `tags`
    tag_keys        text[] NOT NULL DEFAULT '{}',
    metadata        jsonb NOT NULL DEFAULT '{}',
    -- hashes of the paths and values in the metadata, see ../functions/03_metadata_keys.sql
    metadata_keys   integer[] NOT NULL DEFAULT '{}',
    session         text,  -- the conversation or document to which the memory belongs
    content_hash    text NOT NULL,
    -- Digest of the content without white space and without a final full stop. Near-duplicate memories have the same
    -- digest. A null digest means that the memory is never treated as a near-duplicate.
    wording         uuid,
    embedding_model text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    -- The latest time at which a row of earlier_states ends, or the time at which an import restored the memory. Null
    -- if the memory was neither changed nor restored.
    changed_at      timestamptz,
    last_seen_at    timestamptz NOT NULL DEFAULT now(),
    -- id of the memory that replaces this memory. No foreign key: if the successor is deleted, searches still leave
    -- this memory out.
    superseded_by   uuid,
    rating_count    integer NOT NULL DEFAULT 0,
    rating_sum      integer NOT NULL DEFAULT 0,
    given_expiry    timestamptz,  -- the expiry that the publisher asked for, if any
    pinned          boolean NOT NULL DEFAULT false,  -- if true, the default lifetime of the namespace does not apply
    -- Time of expiry. From this time on, only the owner of the schema sees the memory. The SQL function memory_expiry
    -- computes this time.
    expires_at      timestamptz,
    UNIQUE (namespace, content_hash),
    CHECK (array_position(tags, NULL) IS NULL AND array_position(tag_keys, NULL) IS NULL),
    -- The content hash is a SHA-256 in hexadecimal. PostgreSQL evaluates this check at every update of a row. `ltrim`
    -- costs less than compiling a regular expression, so the check uses no regular expression.
    CHECK (octet_length(content_hash) = 64 AND ltrim(content_hash, '0123456789abcdef') = '')
)
WITH (autovacuum_analyze_scale_factor = 0.05);

-- The second and later chunks of long memories. A long memory is split into chunks, and each chunk has its own
-- embedding. The embedding of the first chunk is in `memories`.
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
-- PLAIN keeps each vector in its row. If the vectors were stored out of line, in the TOAST table, a scan of all vectors
-- would take three times as long.
ALTER TABLE memories ALTER COLUMN embedding SET STORAGE PLAIN;
ALTER TABLE memory_chunks ALTER COLUMN embedding SET STORAGE PLAIN;

-- The text search configuration english_forms leaves out the stop words of English and does not stem.
CREATE TEXT SEARCH DICTIONARY english_forms (TEMPLATE = simple, STOPWORDS = english);
CREATE TEXT SEARCH CONFIGURATION english_forms (COPY = simple);
ALTER TEXT SEARCH CONFIGURATION english_forms ALTER MAPPING FOR asciiword, word, asciihword, hword, hword_asciipart, hword_part
    WITH english_forms;

-- The BM25 weight of each word of a memory, and of each form of an English word that differs from its stem. A word is
-- stored as a hash, called its key. The keys of forms are not in `keys`, because the stems find the memory.
--
-- The weights are not in the table `memories` for two reasons. Ten times as many rows of this table fit on a page. And
-- a change of the weights does not rewrite the embedding.
CREATE TABLE memory_words (
    memory_id uuid PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
    language  text,  -- ISO 639-1 code, as the SQL function text_language detects it; null if unknown
    keys      integer[] NOT NULL,
    weights   sparsevec NOT NULL,
    passages  sparsevec[]  -- the weights of each passage of a long text; null if the text is one passage
)
-- A hybrid search reads the passages of its candidates. With this setting, the passages of a text of up to about 500 words
-- remain in its row.
WITH (toast_tuple_target = 4080);
-- MAIN moves the passages out of a long row before the weights, which every search by words reads.
ALTER TABLE memory_words ALTER COLUMN weights SET STORAGE MAIN;

-- The ratings of memories. A principal (an authenticated caller) has at most one rating of a memory. Searches do not
-- read this table: the columns rating_count and rating_sum of `memories` have the sums.
CREATE TABLE memory_ratings (
    memory_id  uuid NOT NULL REFERENCES memories ON DELETE CASCADE,
    rated_by   text NOT NULL,  -- id of the principal that gave the rating
    rater_name text NOT NULL,  -- name of the principal's API key, OAuth client or address
    namespace  text NOT NULL,
    rating     smallint NOT NULL CHECK (rating BETWEEN -1 AND 1),
    reason     text,
    rated_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (memory_id, rated_by)
);

-- The former titles, tags, metadata, timestamps and successors of memories. Searches with the filter as_of read this
-- table to return memories as they were at an earlier time. The triggers in ../functions/04_earlier_states.sql write
-- one row before each change of a memory.
CREATE TABLE earlier_states (
    memory_id     uuid NOT NULL REFERENCES memories ON DELETE CASCADE,
    changed_in    xid8 NOT NULL DEFAULT pg_current_xact_id(),  -- id of the transaction that changed the memory
    namespace     text NOT NULL,
    since         timestamptz NOT NULL,
    until         timestamptz NOT NULL,  -- exclusive
    title         text NOT NULL,
    tags          text[] NOT NULL,
    tag_keys      text[] NOT NULL,
    metadata      jsonb NOT NULL,
    "timestamp"   timestamptz NOT NULL,
    superseded_by uuid,
    -- Set if the memory had expired before the change and the change made the memory visible again: the time of that
    -- expiry.
    expired_at    timestamptz,
    PRIMARY KEY (memory_id, until)
);

-- Periods of a namespace for which a search with the filter as_of is refused. In such a period the namespace had
-- memories that were deleted, expired or replaced by a restore since, so their state at that time cannot be read any
-- more.
CREATE TABLE incomplete_periods (
    namespace text NOT NULL,
    since     timestamptz NOT NULL,
    until     timestamptz NOT NULL  -- exclusive
);

-- The ingest requests and their states. An ingest request asks to store one memory.
--
-- A publisher may name a text by source and key; the named text is called a record, and each new content of the record
-- is a version. Each version is a separate request. The id of such a request is computed from the source, the key, the
-- content and the time.
CREATE TABLE ingest_requests (
    namespace    text NOT NULL,
    request_id   uuid NOT NULL,
    state        text NOT NULL CHECK (state IN ('queued', 'stored', 'duplicate', 'deleted', 'failed', 'dead_lettered')),
    -- The memory that was stored, or that has the same content. No foreign key: the request remains after the deletion
    -- of the memory. Otherwise a redelivered message would store the memory again.
    memory_id    uuid,
    -- Hash of the stored content. If a message has the id of an existing request, this hash shows whether the message
    -- is a redelivery or has another content.
    content_hash bytea,
    source       text,
    key          text,
    version_at        timestamptz,  -- the publisher's timestamp of the version, which was stored or deleted
    version_published timestamptz,  -- time at which that version was first published
    attempts     integer NOT NULL DEFAULT 0,
    error        text,
    -- Origin of the request: an object with client, import_name and import_line. The object also has first_words if the
    -- request has no memory, and dead_letter if the message is a dead letter.
    provenance   jsonb,
    -- Remarks for the publisher, for example that a memory was superseded or that labels were ignored.
    note         text,
    created_at   timestamptz NOT NULL DEFAULT now(),
    -- Time of the last change of the state. The default is clock_timestamp(), not now(): now() is the start of the
    -- transaction, and other sessions may see the row only long after that start.
    updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_in   xid8 NOT NULL DEFAULT pg_current_xact_id(),  -- id of the transaction that set updated_at
    announced_at timestamptz,  -- time at which the outcome was published
    -- A redrive publishes the message of a dead letter again. This is the time of the last redrive of the dead letter
    -- that contains the request. Until the next attempt, redriven_at equals updated_at.
    redriven_at  timestamptz,
    PRIMARY KEY (namespace, request_id)
)
WITH (fillfactor = 70);

-- The current version and the latest deletion of each record. A record is a text that a publisher has named by source
-- and key.
CREATE TABLE source_keys (
    namespace         text NOT NULL,
    key_id            uuid NOT NULL,  -- uuid5(uuid5(NAMESPACE_URL, source), key)
    memory_id         uuid,  -- the memory of the current version; null if the record has none
    -- version_at is the timestamp that the publisher gave to the current version of the record. version_published is the
    -- time at which that version was first published. The version with the latest version_at is current. Between
    -- versions with an equal version_at, version_published decides.
    version_at        timestamptz,
    version_published timestamptz,
    -- The publisher's timestamp of the latest deletion of the record, and the time at which that deletion was
    -- published.
    deleted_at        timestamptz,
    deleted_published timestamptz,
    PRIMARY KEY (namespace, key_id)
);

-- Dead letters. A dead letter is a complete message that could not be processed. To redrive a dead letter means to
-- publish its message again. The row is kept until every request in the message has an outcome.
CREATE TABLE dead_letters (
    namespace        text NOT NULL,
    message_id       text NOT NULL,
    -- A redrive sends this id with the message, in an attribute. When the message has an outcome, the subscriber finds
    -- the dead letter by this id.
    letter_id        uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
    data             bytea NOT NULL,
    attributes       jsonb NOT NULL,
    cause            text NOT NULL,  -- error of the last failure
    dead_lettered_at timestamptz NOT NULL DEFAULT now(),  -- time of the first failure
    last_failed_at   timestamptz NOT NULL DEFAULT now(),
    failures         integer NOT NULL DEFAULT 1,
    redrives         integer NOT NULL DEFAULT 0,
    -- time of the last redrive while the republished message has no outcome; otherwise null
    redriven_at      timestamptz,
    -- True if a part of the message has no row in ingest_requests. The failure of such a part is reported only by this
    -- dead letter.
    lost             boolean NOT NULL DEFAULT false,
    -- id of the transaction that recorded the last failure; readers of outcomes use the id to find new failures
    changed_in       xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (namespace, message_id)
);

-- The progress of each import of an object in a bucket. If an import crashes, the next attempt reads this row and
-- continues after the last published memory.
CREATE TABLE object_imports (
    namespace   text NOT NULL,
    source      text NOT NULL,  -- gs://bucket/object#generation
    memories    bigint NOT NULL DEFAULT 0,  -- memories published so far, including memories that failed
    -- unknown fields in the object, each with the number of memories that had the field
    left_out    jsonb NOT NULL DEFAULT '{}',
    error       text,  -- reason why reading stopped
    started_at  timestamptz NOT NULL DEFAULT now(),
    read_at     timestamptz,
    reported_at timestamptz,
    PRIMARY KEY (namespace, source)
);

-- The id of the request that was published for each line of an object. When the import has written its report, the
-- import deletes these rows.
CREATE TABLE object_import_lines (
    namespace  text NOT NULL,
    source     text NOT NULL,
    line       text NOT NULL,
    request_id uuid NOT NULL,
    PRIMARY KEY (namespace, source, line)
);

-- The usage of each namespace, which the quotas limit. The usage of a namespace is the sum of up to 64 rows, called
-- shards. A session writes to the shard with the number of its process id modulo 64, so that two sessions rarely wait
-- for a lock on the same row.
CREATE TABLE namespace_usage (
    namespace text NOT NULL,
    shard     integer NOT NULL,
    memories  bigint NOT NULL DEFAULT 0,
    bytes     bigint NOT NULL DEFAULT 0,  -- size of contents, titles, tags and metadata in UTF-8
    day       date NOT NULL,  -- UTC
    texts     bigint NOT NULL DEFAULT 0,  -- chunks embedded on the date in `day`
    PRIMARY KEY (namespace, shard)
)
WITH (fillfactor = 50);

-- The limits of each namespace. The row with the namespace '' has the default limits. Null in the row of a namespace
-- means that the default limit applies. Null in the default row means that there is no limit.
CREATE TABLE quotas (
    namespace   text PRIMARY KEY,
    memories    bigint CHECK (memories >= 0),
    bytes       bigint CHECK (bytes >= 0),
    texts_a_day bigint CHECK (texts_a_day >= 0)
);
INSERT INTO quotas (namespace, memories, bytes, texts_a_day) VALUES ('', 1000000, 20000000000, 200000);

-- The lifetimes of memories in seconds. The lifetime of a memory begins at the time at which its content was last sent.
-- A namespace without a row uses the row with the namespace ''. Null means that there is no such lifetime.
CREATE TABLE retention (
    namespace        text PRIMARY KEY,
    default_lifetime bigint CHECK (default_lifetime > 0),  -- for memories that have no given expiry and are not pinned
    maximum_lifetime bigint CHECK (maximum_lifetime > 0)  -- for all memories
);

-- Legal holds. A memory that a hold selects cannot be deleted or forgotten and does not expire. The file
-- ../functions/04_selections.sql describes the column `selection`.
CREATE TABLE holds (
    namespace text NOT NULL CHECK (namespace <> ''),
    id        uuid NOT NULL DEFAULT gen_random_uuid(),
    selection jsonb NOT NULL,
    reason    text NOT NULL CHECK (reason <> ''),
    placed_by text NOT NULL,
    placed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (namespace, id)
);

-- Forgettings. A forgetting deletes the memories that a selection matches, and the texts of these memories in requests
-- and dead letters. A forgetting runs in many transactions. A row of this table is the progress of one forgetting.
--
-- A message that was published before started_at may still arrive later. If a memory in this message matches the
-- selection, the memory is not stored.
CREATE TABLE forgettings (
    namespace    text NOT NULL,
    id           uuid NOT NULL,
    selection    jsonb NOT NULL,
    requested_by text NOT NULL,
    started_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at  timestamptz,
    counts       jsonb NOT NULL DEFAULT '{}',  -- the number of rows removed from each table
    -- The position of this forgetting in the table dead_letters: dead_lettered_at and message_id of the last dead
    -- letter that it has checked. A forgetting that is continued after an interruption continues with the dead letters
    -- after this position. Note that letter_id is a message_id, not a dead_letters.letter_id.
    letter_at    timestamptz,
    letter_id    text,
    PRIMARY KEY (namespace, id)
);

-- The memories of each forgetting. By the content hash, the services recognise the content of a forgotten memory in
-- messages that were published before the forgetting began.
CREATE TABLE forgotten_memories (
    namespace     text NOT NULL,
    forgetting_id uuid NOT NULL,
    memory_id     uuid NOT NULL,
    content_hash  bytea NOT NULL,
    -- whether the memory has been deleted
    removed       boolean NOT NULL DEFAULT false,
    PRIMARY KEY (namespace, forgetting_id, memory_id)
);

-- The settings of the change feed: whether changes of a namespace's memories are recorded in `memory_changes`. A
-- namespace without a row uses the row with the namespace ''.
CREATE TABLE change_feeds (
    namespace text PRIMARY KEY,
    enabled   boolean NOT NULL,
    contents  boolean NOT NULL  -- whether events include the content, title, tags and metadata
);

-- The change feed: one event for each memory that a transaction changed. An event has no content. A reader takes the
-- content from `memories` at the time of reading, so the event of a deleted memory has no content.
CREATE TABLE memory_changes (
    sequence      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace     text NOT NULL,
    memory_id     uuid NOT NULL,
    kind          text NOT NULL
        CHECK (kind IN ('created', 'updated', 'superseded', 'rated', 'expired', 'deleted', 'forgotten')),
    fields        text[] NOT NULL,  -- names of the changed fields; empty for a created or removed memory
    superseded_by uuid,  -- the memory's successor after the change
    -- Time of the event: clock_timestamp(), not now(), because now() is the start of the transaction.
    at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_in    xid8 NOT NULL DEFAULT pg_current_xact_id(),
    announced_at  timestamptz,  -- time at which the event was published
    UNIQUE (namespace, changed_in, memory_id)
);

-- Word statistics of each namespace, from a sample of its newest memories: the share of the sampled memories that
-- contain each word (`keys` and `shares`), the mean number of distinct words of a memory, and the number of memories in
-- each detected language. Searches use the statistics to weigh the words of a query.
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

-- The embedding space of the memories. The table has one row, which also names the previous embedding space. While the
-- command `reembed` runs, the row names the next embedding space too.
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

-- API keys. The database has only the hash of the secret of each key.
CREATE TABLE api_keys (
    id          text PRIMARY KEY,
    name        text NOT NULL,
    namespace   text NOT NULL CHECK (namespace <> ''),
    scopes      text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'operate', 'admin'] AND scopes <> '{}'),
    secret_hash bytea NOT NULL CHECK (length(secret_hash) = 32),
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz,
    revoked_at  timestamptz,
    blocked_at  timestamptz,  -- a blocked key is refused until an operator unblocks it
    last_used_at timestamptz  -- exact to a minute
);

-- The audit trail: who did what, without the contents of memories. The services may insert events, but have no right to
-- read or change this table. To show the trail to people with the scope `operate`, the services call the SQL function
-- audit_page(), which returns the events of the session's namespace.
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
    count      integer NOT NULL DEFAULT 0,  -- the number of all ids, or of changed rows
    PRIMARY KEY (at, id)
);

-- The time for which events of the audit trail are kept. The table has one row, and only the owner of the schema can
-- change the row.
CREATE TABLE audit_retention (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    days     integer NOT NULL CHECK (days > 0)
);
INSERT INTO audit_retention (days) VALUES (400);

-- The following tables belong to the authorization server. They store codes, tokens and cookies only as SHA-256 hashes.
CREATE TABLE oauth_clients (
    id         text PRIMARY KEY,
    metadata   jsonb NOT NULL,
    read_at    timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);

-- The open authorization requests. An authorization request begins with the call of /authorize and ends with the
-- person's decision. A cookie binds the request to one browser.
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

-- Grants. A grant is the authorization that a person gave to a client. Each code and each token belongs to a grant.
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
    -- The next refresh token is computed from this refresh token and this salt.
    successor_salt bytea CHECK (length(successor_salt) = 32)
);

-- The consents that people have given. The consent page is not shown again for a client to which the person has
-- consented.
CREATE TABLE oauth_consents (
    subject   text NOT NULL,
    client_id text NOT NULL,
    scopes    text[] NOT NULL,
    resource  text NOT NULL,
    given_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (subject, client_id, resource)
);

-- Blocked people, each identified by an address or a subject. A blocked person cannot log in, even if a rule allows the
-- person.
CREATE TABLE oauth_blocked_people (
    who        text PRIMARY KEY CHECK (who <> ''),
    subjects   text[] NOT NULL DEFAULT '{}',  -- subjects of the person's grants when the person was blocked
    blocked_at timestamptz NOT NULL DEFAULT now()
);

-- Blocked clients. A blocked client gets no code and no token, and its grants are not accepted.
CREATE TABLE oauth_blocked_clients (
    client_id  text PRIMARY KEY CHECK (client_id <> ''),
    blocked_at timestamptz NOT NULL DEFAULT now()
);

-- The filters of a search or a list of memories. A null field matches all memories. The SQL function matches_filters in
-- ../functions/04_filters.sql applies the filters.
CREATE TYPE memory_filters AS (
    after timestamptz, before timestamptz, any_tags text[], all_tags text[], include_superseded boolean, session text,
    metadata jsonpath, metadata_keys integer[], own_any text[], own_all text[], not_session text,
    folded uuid[], shown uuid[], as_of timestamptz
);

-- The expressions of the indexes below call the next three SQL functions. PostgreSQL does not rebuild an index when
-- such a function changes, so a change to one of these functions needs a migration that rebuilds its index.
--
-- Each of these indexes covers all namespaces. Each key in an index begins with 32 bits of the MD5 of the namespace, so
-- that a search reads only the index entries of the caller's namespace. The cost of a search then does not depend on
-- other namespaces. MD5 gives the same result in all versions of PostgreSQL.

-- Return the tag keys, each with a hash of the namespace in front.
--
-- Every insert of a memory calls this function, so it uses native array functions, which are fast. A tag that contains
-- the separator U+001F becomes two entries. Therefore matches_filters also compares the tags themselves.
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

-- Return the text in lower case and in the Unicode normal form NFKC. With this form of a text, an exact search ignores
-- the differences between composed and decomposed letters, between full-width and normal letters, and between ligatures
-- and their letters.
CREATE FUNCTION literal_form(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_text) = char_length(p_text) THEN lower(p_text)
    ELSE normalize(lower(normalize(p_text, NFKC)), NFKC) END;

-- Return the trigrams of literal_form(p_content), each with a hash of the namespace in front. The result is null if
-- literal_form(p_content) has fewer than three bytes.
--
-- A trigram consists of three bytes of UTF-8, not of three characters: PostgreSQL reads the n-th byte of a value in
-- constant time, but not the n-th character.
CREATE FUNCTION content_trigrams(p_namespace text, p_content text) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    -- The name has its schema, because REINDEX and pg_restore set no search_path.
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
-- With this index, a query for the expired memories of one namespace does not read the expired memories of other
-- namespaces.
CREATE INDEX memories_expiring_here ON memories (namespace, expires_at) WHERE expires_at IS NOT NULL;
-- Searches with the filter as_of use this index to find the memories that have changed since that time.
CREATE INDEX memories_changed ON memories (namespace, changed_at) WHERE changed_at IS NOT NULL;
CREATE INDEX earlier_states_superseded ON earlier_states (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX incomplete_periods_until ON incomplete_periods (namespace, until);
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memories_embedding ON memories
    USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 200);
CREATE INDEX memory_chunks_embedding ON memory_chunks
    USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 200);
-- Every search by vector asks whether its namespace has chunks. Without this index, it would read the chunks of all
-- namespaces.
CREATE INDEX memory_chunks_namespace ON memory_chunks (namespace);
-- fastupdate is off, because with it every search would read the pending entries of all namespaces.
-- https://www.postgresql.org/docs/current/gin.html#GIN-FAST-UPDATE
CREATE INDEX memories_tags ON memories USING gin (namespaced_tags(namespace, tag_keys)) WITH (fastupdate = off);
CREATE INDEX memories_metadata ON memories USING gin (metadata_keys) WITH (fastupdate = off);
CREATE INDEX memories_trigrams ON memories USING gin (content_trigrams(namespace, content)) WITH (fastupdate = off);
CREATE INDEX memory_words_keys ON memory_words USING gin (keys) WITH (fastupdate = off);

CREATE INDEX ingest_requests_updated ON ingest_requests (namespace, updated_at, request_id);
CREATE INDEX ingest_requests_changed ON ingest_requests (namespace, changed_in, request_id) WHERE state <> 'queued';
CREATE INDEX ingest_requests_without_key ON ingest_requests (namespace, updated_at) WHERE source IS NULL;
-- The index contains the MD5 of the source instead of the source, because PostgreSQL limits an index entry to 2,704
-- bytes.
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

-- Row-level security. The setting mnemosyne.namespace names the namespace of a transaction. The policies show only the
-- rows of this namespace, even if a query does not compare the namespace. A table with row-level security but without a
-- policy, such as api_keys or holds, shows its rows only to the owner of the table.
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
    -- An expired memory cannot be read (USING). But a memory may be stored at the moment at which it expires, so the
    -- check of new rows (WITH CHECK) does not compare expires_at.
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
-- A service inserts an audit event in the transaction of the change that the event describes. The policy allows only
-- events of the namespace of that transaction.
ALTER TABLE audit_events ENABLE ROW LEVEL SECURITY;
CREATE POLICY namespace_isolation ON audit_events FOR INSERT TO mnemosyne_runtime, mnemosyne_mcp
    WITH CHECK (namespace = current_setting('mnemosyne.namespace', true));
ALTER TABLE audit_retention ENABLE ROW LEVEL SECURITY;
ALTER TABLE namespace_words ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_words ENABLE ROW LEVEL SECURITY;
ALTER TABLE holds ENABLE ROW LEVEL SECURITY;
ALTER TABLE forgettings ENABLE ROW LEVEL SECURITY;
ALTER TABLE forgotten_memories ENABLE ROW LEVEL SECURITY;

-- Collect no statistics of columns with texts. ANALYZE would copy texts into the catalogue, where they would remain
-- after the deletion of their rows. No query plan needs these statistics.
ALTER TABLE memories ALTER content SET STATISTICS 0, ALTER title SET STATISTICS 0, ALTER metadata SET STATISTICS 0;
ALTER TABLE earlier_states ALTER title SET STATISTICS 0, ALTER metadata SET STATISTICS 0, ALTER tags SET STATISTICS 0,
    ALTER tag_keys SET STATISTICS 0;
ALTER TABLE memory_ratings ALTER reason SET STATISTICS 0;
ALTER TABLE ingest_requests ALTER error SET STATISTICS 0, ALTER note SET STATISTICS 0, ALTER provenance SET STATISTICS 0;
ALTER TABLE dead_letters ALTER data SET STATISTICS 0, ALTER attributes SET STATISTICS 0, ALTER cause SET STATISTICS 0;
