-- The schema as all migrations together leave it, for reading. Made by `make schema`; a test proves it is true.

CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
COMMENT ON EXTENSION vector IS 'vector data type and ivfflat and hnsw access methods';
CREATE TABLE public.ingest_requests (
    namespace text NOT NULL,
    request_id uuid NOT NULL,
    state text NOT NULL,
    memory_id uuid,
    attempts integer DEFAULT 0 NOT NULL,
    error text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT ingest_requests_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'stored'::text, 'duplicate'::text, 'failed'::text, 'dead_lettered'::text])))
)
WITH (fillfactor='70');
CREATE TABLE public.memories (
    id uuid NOT NULL,
    namespace text NOT NULL,
    "timestamp" timestamp with time zone NOT NULL,
    content text NOT NULL,
    title text NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    tag_keys text[] DEFAULT '{}'::text[] NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    content_hash text NOT NULL,
    embedding_model text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_seen_at timestamp with time zone DEFAULT now() NOT NULL,
    embedding public.halfvec(768) NOT NULL,
    CONSTRAINT memories_content_hash_check CHECK ((content_hash ~ '^[0-9a-f]{64}$'::text))
)
WITH (fillfactor='70', toast_tuple_target='8160');
ALTER TABLE ONLY public.memories ALTER COLUMN embedding SET STORAGE PLAIN;
CREATE TABLE public.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE ONLY public.ingest_requests
    ADD CONSTRAINT ingest_requests_pkey PRIMARY KEY (namespace, request_id);
ALTER TABLE ONLY public.memories
    ADD CONSTRAINT memories_namespace_content_hash_key UNIQUE (namespace, content_hash);
ALTER TABLE ONLY public.memories
    ADD CONSTRAINT memories_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);
CREATE INDEX memories_embedding ON public.memories USING hnsw (embedding public.halfvec_cosine_ops) WITH (m='16', ef_construction='200');
CREATE INDEX memories_newest ON public.memories USING btree (namespace, "timestamp" DESC, id DESC);
CREATE INDEX memories_tags ON public.memories USING gin (tag_keys);
ALTER TABLE public.ingest_requests ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.memories ENABLE ROW LEVEL SECURITY;
CREATE POLICY namespace_isolation ON public.ingest_requests TO mnemosyne_runtime USING ((namespace = current_setting('mnemosyne.namespace'::text, true)));
CREATE POLICY namespace_isolation ON public.memories TO mnemosyne_runtime USING ((namespace = current_setting('mnemosyne.namespace'::text, true)));
GRANT SELECT,INSERT,UPDATE ON TABLE public.ingest_requests TO mnemosyne_runtime;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.memories TO mnemosyne_runtime;
GRANT SELECT ON TABLE public.schema_migrations TO mnemosyne_runtime;
