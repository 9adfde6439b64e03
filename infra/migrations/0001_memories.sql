-- Memories, the state of ingest requests, and the role the functions run as.
--
-- The embedding space is chosen by the session that applies this file:
--     SET mnemosyne.embedding_model = 'gemini-embedding-001';
--     SET mnemosyne.embedding_dimension = '768';

CREATE EXTENSION IF NOT EXISTS vector;

-- A table of the server that this one replaces, memories(id, timestamp, content, embedding, content_hash,
-- last_seen_at), is put aside; further down its rows are taken over.
DO $$
BEGIN
    IF to_regclass('public.memories') IS NOT NULL THEN
        CREATE SCHEMA mnemosyne_adopted;
        ALTER TABLE public.memories SET SCHEMA mnemosyne_adopted;
    END IF;
END
$$;

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

DO $$
BEGIN
    EXECUTE format('ALTER TABLE memories ADD COLUMN embedding halfvec(%s) NOT NULL',
        CAST(current_setting('mnemosyne.embedding_dimension') AS integer));
END
$$;

-- A repeated content, a read and a rating each update the row. Where a page has room for one version more, that is
-- HOT and touches no index; else the row goes into HNSW anew, which costs a hundred times as much. So two rows fill a
-- page but for a third, or one but for a second, and what makes a row larger than that goes to TOAST. The largest
-- embeddings leave no room for a second version, whatever is done.
CREATE FUNCTION fit_rows_to_pages(p_dimension integer) RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    IF p_dimension <= 1000 THEN
        ALTER TABLE memories SET (fillfactor = 66, toast_tuple_target = 2688);
    ELSIF p_dimension <= 1700 THEN
        ALTER TABLE memories SET (fillfactor = 50, toast_tuple_target = 4032);
    ELSE
        ALTER TABLE memories SET (fillfactor = 100, toast_tuple_target = 8160);
    END IF;
END
$$;
SELECT fit_rows_to_pages(CAST(current_setting('mnemosyne.embedding_dimension') AS integer));
REVOKE ALL ON FUNCTION fit_rows_to_pages FROM PUBLIC;

-- Out-of-line vectors make an exact scan three times slower.
ALTER TABLE memories ALTER COLUMN embedding SET STORAGE PLAIN;

-- Which space the memories are in, and were in before they were last moved. One row.
CREATE TABLE embedding_space (
    only_row           boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    model              text NOT NULL,
    previous_model     text,
    previous_dimension integer,
    next_model         text,     -- while they are being moved
    next_dimension     integer
);
INSERT INTO embedding_space (model) VALUES (current_setting('mnemosyne.embedding_model'));
GRANT SELECT ON embedding_space TO mnemosyne_runtime;

-- Take over the rows put aside. Their content_hash was made of date and content: the first of those with the same
-- content gets the hash of the content alone, so that it is found again; the others keep theirs, and are kept.
DO $$
DECLARE
    adopted_dimension integer;
    unusable bigint;
    expected bigint;
BEGIN
    IF to_regclass('mnemosyne_adopted.memories') IS NULL THEN
        RETURN;
    END IF;
    SELECT max(vector_dims(embedding)), count(*) FILTER (WHERE embedding IS NULL OR content IS NULL OR "timestamp" IS NULL),
        count(*)
        INTO adopted_dimension, unusable, expected
        FROM mnemosyne_adopted.memories;
    IF adopted_dimension <> CAST(current_setting('mnemosyne.embedding_dimension') AS integer) THEN
        RAISE EXCEPTION 'the memories to take over have embeddings of dimension %, the settings say %: set MNEMOSYNE_EMBEDDING_DIMENSION to it, and move them with `mnemosyne reembed` afterwards',
            adopted_dimension, current_setting('mnemosyne.embedding_dimension');
    END IF;
    IF unusable > 0 THEN
        RAISE EXCEPTION '% of the memories to take over lack a content, a timestamp or an embedding: mend or delete them first', unusable;
    END IF;
    INSERT INTO memories (
        id, namespace, "timestamp", content, title, tags, tag_keys, content_hash, embedding_model, embedding,
        created_at, last_seen_at
    )
    SELECT
        CASE WHEN CAST(old.id AS text) ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
            THEN CAST(CAST(old.id AS text) AS uuid) ELSE gen_random_uuid() END,
        'default', CAST(old."timestamp" AS timestamptz), old.content,
        -- As the server reads titles and tags out of a text.
        regexp_replace(coalesce(
            nullif(left(btrim((regexp_match(old.content, '(?n)^[ \t]*TITLE:(.*)$'))[1], E' \t\r'), 500), ''),
            left(old.content, 50)
        ), '[\u0001-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]', ' ', 'g'),
        tags.written, (SELECT coalesce(array_agg(replace(normalize(lower(tag), NFC), 'ß', 'ss') ORDER BY place), '{}')
            FROM unnest(tags.written) WITH ORDINALITY AS t (tag, place)),
        CASE WHEN row_number() OVER (PARTITION BY old.content ORDER BY old."timestamp", CAST(old.id AS text)) = 1
            THEN encode(sha256(convert_to(old.content, 'UTF8')), 'hex')
            WHEN old.content_hash ~ '^[0-9a-f]{64}$' THEN old.content_hash
            ELSE encode(sha256(convert_to(concat_ws(' ', 'taken over', old.id, old.content), 'UTF8')), 'hex') END,
        current_setting('mnemosyne.embedding_model'), CAST(old.embedding AS halfvec),
        coalesce(CAST(old.last_seen_at AS timestamptz), now()), coalesce(CAST(old.last_seen_at AS timestamptz), now())
    FROM mnemosyne_adopted.memories old, LATERAL (
        SELECT coalesce(array_agg(once.tag ORDER BY once.place), '{}') AS written FROM (
            SELECT DISTINCT ON (lower(part.tag)) part.tag, part.place FROM (
                SELECT btrim(regexp_replace(listed.tag, '[\u0001-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]', ' ', 'g')) AS tag, listed.place
                FROM unnest(string_to_array((regexp_match(old.content, '(?n)^[ \t]*TAGS:(.*)$'))[1], ','))
                    WITH ORDINALITY AS listed (tag, place)
            ) AS part
            WHERE part.tag <> '' AND length(part.tag) <= 100
            ORDER BY lower(part.tag), part.place
        ) AS once
    ) AS tags;
    IF (SELECT count(*) FROM memories) <> expected THEN
        RAISE EXCEPTION 'of % memories to take over % arrived', expected, (SELECT count(*) FROM memories);
    END IF;
    DROP TABLE mnemosyne_adopted.memories;
    DROP SCHEMA mnemosyne_adopted;
END
$$;

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
