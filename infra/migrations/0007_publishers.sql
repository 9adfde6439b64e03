-- What publishers say of their memories, and what has been said to them of its outcome.

-- What a publisher calls a memory: the request's id is made of both. Whether its outcome has been published.
ALTER TABLE ingest_requests
    ADD COLUMN source text,
    ADD COLUMN key text,
    ADD COLUMN announced_at timestamptz,
    -- Of what was stored, and outlives it: another content under the same id is told from a redelivery.
    ADD COLUMN content_hash bytea,
    -- A request's transaction begins before its text is embedded: its beginning says little of when others see it.
    ALTER COLUMN updated_at SET DEFAULT clock_timestamp();

-- Whether something in the message has no other outcome than this.
ALTER TABLE dead_letters ADD COLUMN lost boolean NOT NULL DEFAULT false;
GRANT UPDATE (lost) ON dead_letters TO mnemosyne_runtime;

-- Outcomes in the order they came, and those of one source.
CREATE INDEX ingest_requests_updated ON ingest_requests (namespace, updated_at, request_id);
-- The source's digest, for an index's entry has 2,704 bytes at most.
CREATE INDEX ingest_requests_source ON ingest_requests (namespace, md5(source), key) WHERE source IS NOT NULL;

-- How far each object of a bucket has been read, so that whoever goes on after a crash need not begin anew.
CREATE TABLE object_imports (
    namespace   text NOT NULL,
    source      text NOT NULL,  -- gs://bucket/object#generation
    memories    bigint NOT NULL DEFAULT 0,  -- handed over so far, those that failed among them
    left_out    jsonb NOT NULL DEFAULT '{}',  -- how many of them had a field that memories have not
    error       text,  -- why no more of it could be read
    started_at  timestamptz NOT NULL DEFAULT now(),
    read_at     timestamptz,
    reported_at timestamptz,
    PRIMARY KEY (namespace, source)
);

ALTER TABLE object_imports ENABLE ROW LEVEL SECURITY;
CREATE POLICY namespace_isolation ON object_imports TO mnemosyne_runtime
    USING (namespace = current_setting('mnemosyne.namespace', true));
GRANT SELECT, INSERT, UPDATE ON object_imports TO mnemosyne_runtime;

-- As before, and: what has failed, or was given up, is tried again when it is published again; and a request under
-- whose id another content was stored is answered as taken, for its publisher to hear of it.
--
-- p_requests is [{"request_id": …, "content_hash": …, "source": …, "key": …}, …]; the answer {"busy": [content_hash, …],
-- "settled": [{request_id, state, memory_id, attempts, error}, …], "taken": [request_id, …]}. Requests whose memory was
-- stored, or found stored, are answered as they are; those whose content is stored by now are recorded as duplicates:
-- the memory was seen again, and nothing else about it changes.
--
-- The locks are held until the transaction ends, however it ends: two deliveries of one content cannot both store it,
-- and a crashed one leaves nothing to clean up. Trying instead of waiting keeps a pooled connection from queueing.
-- Whoever goes on to store what is new (p_to_store) needs a content for itself; those who only settle share it.
CREATE OR REPLACE FUNCTION claim_requests(p_namespace text, p_requests jsonb, p_to_store boolean) RETURNS jsonb
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    busy text[];
    answer jsonb;
BEGIN
    PERFORM set_config('mnemosyne.namespace', p_namespace, true);
    busy := ARRAY(
        SELECT content_hash
        FROM (SELECT DISTINCT r.content_hash FROM jsonb_to_recordset(p_requests) AS r (content_hash text)) AS content,
            hashtextextended(p_namespace || content_hash, 0) AS key
        WHERE NOT CASE WHEN p_to_store THEN pg_try_advisory_xact_lock(key)
            ELSE pg_try_advisory_xact_lock_shared(key) END
    );
    -- A statement of its own: it sees what was committed before the locks were had. The outcomes are looked up by an
    -- array of ids: joined, a plan made before the table grew would read all of the namespace's. One at a time touches
    -- a memory, and the others leave it to that one: waiting for each other's rows, they would do so in circles.
    WITH request AS (
        SELECT r.request_id, r.content_hash, r.source, r.key
        FROM jsonb_to_recordset(p_requests) AS r (request_id uuid, content_hash text, source text, key text)
        WHERE r.content_hash <> ALL (busy)
    ), final AS (
        SELECT i.request_id, i.state, i.memory_id, i.attempts, i.error, encode(i.content_hash, 'hex') AS content_hash
        FROM ingest_requests i
        WHERE i.namespace = p_namespace AND i.request_id = ANY (ARRAY(SELECT request_id FROM request))
            AND i.state IN ('stored', 'duplicate')
    ), taken AS (
        SELECT request.request_id
        FROM request
        JOIN final USING (request_id)
        LEFT JOIN memories m ON m.id = final.memory_id AND m.namespace = p_namespace  -- of requests before this version
        WHERE coalesce(final.content_hash, m.content_hash) <> request.content_hash
    ), seen AS (
        SELECT m.id, m.content_hash, m.superseded_by
        FROM memories m
        WHERE m.namespace = p_namespace AND m.content_hash = ANY (ARRAY(
            SELECT content_hash FROM request WHERE request_id NOT IN (SELECT request_id FROM final)
        ))
    ), touched AS (
        UPDATE memories
        SET last_seen_at = now()
        WHERE id = ANY (ARRAY(
            SELECT id FROM seen WHERE pg_try_advisory_xact_lock(hashtextextended(CAST(id AS text), 1))
        ))
    ), recorded AS (
        INSERT INTO ingest_requests AS i (
            request_id, namespace, state, memory_id, content_hash, attempts, error, source, key
        )
        SELECT DISTINCT ON (request.request_id) request.request_id, p_namespace, 'duplicate', seen.id,
               decode(seen.content_hash, 'hex'), 1,
               'the memory is superseded by ' || seen.superseded_by || ', so searches leave it out: '
                   || 'update_memory with superseded_by "none" brings it back',
               request.source, request.key
        FROM request
        JOIN seen USING (content_hash)
        WHERE request.request_id NOT IN (SELECT request_id FROM final)
        ON CONFLICT (namespace, request_id) DO UPDATE
        SET state = 'duplicate', memory_id = EXCLUDED.memory_id, content_hash = EXCLUDED.content_hash,
            attempts = i.attempts + 1, error = EXCLUDED.error, source = EXCLUDED.source, key = EXCLUDED.key,
            updated_at = clock_timestamp(), announced_at = NULL
        WHERE i.state IN ('queued', 'failed', 'dead_lettered')
        RETURNING request_id, state, memory_id, attempts, error
    ), settled AS (
        SELECT request_id, state, memory_id, attempts, error FROM final UNION ALL SELECT * FROM recorded
    )
    SELECT jsonb_build_object(
        -- A stored content whose request is not settled: another delivery has given it an outcome since we looked.
        'busy', to_jsonb(busy || ARRAY(
            SELECT content_hash FROM request JOIN seen USING (content_hash)
            WHERE request_id NOT IN (SELECT request_id FROM settled)
        )),
        'settled', (SELECT coalesce(jsonb_agg(settled), '[]') FROM settled),
        'taken', (SELECT coalesce(jsonb_agg(request_id), '[]') FROM taken)
    )
    INTO answer;
    RETURN answer;
END
$$;
