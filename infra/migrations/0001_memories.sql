-- Memories, the state of ingest requests, and the role the functions run as.
--
-- The embedding dimension is chosen once, by the session that applies this file:
--     SET mnemosyne.embedding_dimension = '768';

CREATE EXTENSION IF NOT EXISTS vector;

-- Holds every privilege the functions need and nothing more; login roles are made members of it.
DO $$
BEGIN
    CREATE ROLE mnemosyne_runtime NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;  -- roles belong to the whole cluster: another database has made it
END
$$;

CREATE TABLE memories (
    id              uuid PRIMARY KEY,
    namespace       text NOT NULL,
    "timestamp"     timestamptz NOT NULL,
    content         text NOT NULL,
    title           text NOT NULL,
    tags            text[] NOT NULL DEFAULT '{}',
    tag_keys        text[] NOT NULL DEFAULT '{}',  -- the tags case-folded, in the same order: what is compared
    metadata        jsonb NOT NULL DEFAULT '{}',
    content_hash    text NOT NULL CHECK (content_hash ~ '^[0-9a-f]{64}$'),
    embedding_model text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    last_seen_at    timestamptz NOT NULL DEFAULT now(),
    UNIQUE (namespace, content_hash),
    CHECK (array_position(tags, NULL) IS NULL AND array_position(tag_keys, NULL) IS NULL)
);

-- A repeated content, a read and a rating each update the row. Where a page has room for one version more, that is
-- HOT and touches no index; else the row goes into HNSW anew, which costs a hundred times as much. So two rows fill a
-- page but for a third, or one but for a second, and what makes a row larger than that goes to TOAST. The largest
-- embeddings leave no room for a second version, whatever is done.
DO $$
DECLARE
    dimension CONSTANT integer := current_setting('mnemosyne.embedding_dimension');
BEGIN
    EXECUTE format('ALTER TABLE memories ADD COLUMN embedding halfvec(%s) NOT NULL', dimension);
    IF dimension <= 1000 THEN
        ALTER TABLE memories SET (fillfactor = 66, toast_tuple_target = 2688);
    ELSIF dimension <= 1700 THEN
        ALTER TABLE memories SET (fillfactor = 50, toast_tuple_target = 4032);
    ELSE
        ALTER TABLE memories SET (fillfactor = 100, toast_tuple_target = 8160);
    END IF;
END
$$;

-- Out-of-line vectors make an exact scan three times slower.
ALTER TABLE memories ALTER COLUMN embedding SET STORAGE PLAIN;

CREATE INDEX memories_newest ON memories (namespace, "timestamp" DESC, id DESC);
CREATE INDEX memories_tags ON memories USING gin (tag_keys);
CREATE INDEX memories_embedding ON memories
    USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 200);

CREATE TABLE ingest_requests (
    namespace  text NOT NULL,
    request_id uuid NOT NULL,
    state      text NOT NULL CHECK (state IN ('queued', 'stored', 'duplicate', 'failed', 'dead_lettered')),
    memory_id  uuid,  -- no foreign key: the outcome outlives the memory, so that redelivery cannot revive it
    attempts   integer NOT NULL DEFAULT 0,
    error      text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (namespace, request_id)
)
WITH (fillfactor = 70);

-- A row is visible only to a transaction that has named its namespace, even if a query forgets to.
ALTER TABLE memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE ingest_requests ENABLE ROW LEVEL SECURITY;
CREATE POLICY namespace_isolation ON memories TO mnemosyne_runtime
    USING (namespace = current_setting('mnemosyne.namespace', true));
CREATE POLICY namespace_isolation ON ingest_requests TO mnemosyne_runtime
    USING (namespace = current_setting('mnemosyne.namespace', true));

GRANT SELECT, INSERT, UPDATE, DELETE ON memories TO mnemosyne_runtime;
GRANT SELECT, INSERT, UPDATE ON ingest_requests TO mnemosyne_runtime;
GRANT SELECT ON schema_migrations TO mnemosyne_runtime;
