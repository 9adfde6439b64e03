-- The schema as all migrations together leave it, for reading. Made by `make schema`; a test proves it is true.

CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
COMMENT ON EXTENSION vector IS 'vector data type and ivfflat and hnsw access methods';
CREATE TYPE public.memory_filters AS (
	after timestamp with time zone,
	before timestamp with time zone,
	any_tags text[],
	all_tags text[],
	include_superseded boolean
);
CREATE FUNCTION public.claim_requests(p_namespace text, p_requests jsonb, p_to_store boolean) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
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
    -- array of ids: joined, a plan made before the table grew would read all of the namespace's. One at a time marks
    -- a memory as seen, and the others leave it to that one: waiting for each other's rows, they would do so in circles.
    WITH request AS (
        SELECT r.request_id, r.content_hash, r.source, r.key
        FROM jsonb_to_recordset(p_requests) AS r (request_id uuid, content_hash text, source text, key text)
        WHERE r.content_hash <> ALL (busy)
    ), final AS (
        SELECT i.request_id, i.state, i.memory_id, i.attempts, i.error, encode(i.content_hash, 'hex') AS content_hash
        FROM ingest_requests i
        WHERE i.namespace = p_namespace AND i.request_id = ANY (ARRAY(SELECT request_id FROM request))
            AND i.state IN ('stored', 'duplicate')
    ), conflicting AS (
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
    ), seen_again AS (
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
    ), already_final AS (
        SELECT request_id, state, memory_id, attempts, error FROM final UNION ALL SELECT * FROM recorded
    )
    SELECT jsonb_build_object(
        -- A stored content whose request is not final: another delivery has given it an outcome since we looked.
        'busy', to_jsonb(busy || ARRAY(
            SELECT content_hash FROM request JOIN seen USING (content_hash)
            WHERE request_id NOT IN (SELECT request_id FROM already_final)
        )),
        'already_final', (SELECT coalesce(jsonb_agg(already_final), '[]') FROM already_final),
        'conflicting', (SELECT coalesce(jsonb_agg(request_id), '[]') FROM conflicting)
    )
    INTO answer;
    RETURN answer || jsonb_build_object('settled', answer -> 'already_final', 'taken', answer -> 'conflicting');
END
$$;
CREATE FUNCTION public.claim_within_quota(p_namespace text, p_requests jsonb, p_to_store boolean) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    answer jsonb := claim_requests(p_namespace, p_requests, p_to_store);
BEGIN
    IF p_to_store THEN
        answer := answer || jsonb_build_object('quota', (SELECT to_jsonb(u) FROM usage_and_quota() AS u));
    END IF;
    RETURN answer;
END
$$;
CREATE TABLE public.namespace_usage (
    namespace text NOT NULL,
    shard integer NOT NULL,
    memories bigint DEFAULT 0 NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL,
    day date NOT NULL,
    texts bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
CREATE FUNCTION public.count_usage(p_namespace text, p_memories bigint, p_bytes bigint, p_texts bigint) RETURNS void
    LANGUAGE sql
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 INSERT INTO public.namespace_usage AS u (namespace, shard, memories, bytes, day, texts)
   VALUES (count_usage.p_namespace, (pg_backend_pid() % 64), count_usage.p_memories, count_usage.p_bytes, ((now() AT TIME ZONE 'UTC'::text))::date, count_usage.p_texts) ON CONFLICT(namespace, shard) DO UPDATE SET memories = (u.memories + excluded.memories), bytes = (u.bytes + excluded.bytes), day = excluded.day, texts = (
         CASE
             WHEN (u.day = excluded.day) THEN u.texts
             ELSE (0)::bigint
         END + excluded.texts);
END;
CREATE FUNCTION public.count_chunks(p_texts bigint) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 SELECT public.count_usage(current_setting('mnemosyne.namespace'::text), (0)::bigint, (0)::bigint, GREATEST(p_texts, (0)::bigint)) AS count_usage;
END;
CREATE FUNCTION public.count_deleted() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    PERFORM count_usage(one.namespace, -one.memories, -one.bytes, 0)
    FROM (
        SELECT namespace, count(*) AS memories, CAST(sum(memory_bytes(content, title, tags, metadata)) AS bigint) AS bytes
        FROM deleted GROUP BY namespace
    ) AS one;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.count_stored() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    PERFORM count_usage(one.namespace, one.memories, one.bytes, one.memories), refresh_words(one.namespace)
    FROM (
        SELECT namespace, count(*) AS memories, CAST(sum(memory_bytes(content, title, tags, metadata)) AS bigint) AS bytes
        FROM stored GROUP BY namespace
    ) AS one;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.count_updated() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    PERFORM count_usage(NEW.namespace, 0, memory_bytes(NEW.content, NEW.title, NEW.tags, NEW.metadata)
        - memory_bytes(OLD.content, OLD.title, OLD.tags, OLD.metadata), 0);
    RETURN NULL;
END
$$;
CREATE FUNCTION public.filters_of(p_filters jsonb) RETURNS public.memory_filters
    LANGUAGE sql STABLE
    AS $$
SELECT jsonb_populate_record(CAST(NULL AS memory_filters), p_filters)
$$;
CREATE TABLE public.api_keys (
    id text NOT NULL,
    name text NOT NULL,
    namespace text NOT NULL,
    scopes text[] NOT NULL,
    secret_hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    CONSTRAINT api_keys_namespace_check CHECK ((namespace <> ''::text)),
    CONSTRAINT api_keys_scopes_check CHECK (((scopes <@ ARRAY['read'::text, 'write'::text, 'admin'::text]) AND (scopes <> '{}'::text[]))),
    CONSTRAINT api_keys_secret_hash_check CHECK ((length(secret_hash) = 32))
);
CREATE FUNCTION public.find_api_key(p_id text) RETURNS SETOF public.api_keys
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 SELECT api_keys.id,
     api_keys.name,
     api_keys.namespace,
     api_keys.scopes,
     api_keys.secret_hash,
     api_keys.created_at,
     api_keys.expires_at,
     api_keys.revoked_at
    FROM public.api_keys
   WHERE (api_keys.id = find_api_key.p_id);
END;
CREATE FUNCTION public.fit_rows_to_pages(p_dimension integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
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
CREATE FUNCTION public.limit_of(own bigint, everybody bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN NULLIF(COALESCE(own, everybody), '9223372036854775807'::bigint);
CREATE FUNCTION public.list_memories(p_namespace text, p_filters jsonb, p_cursor_timestamp timestamp with time zone, p_cursor_id uuid, p_limit integer) RETURNS TABLE(id uuid, "timestamp" timestamp with time zone, title text, tags text[], superseded_by uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    filters memory_filters := filters_of(p_filters);
BEGIN
    PERFORM require_own(p_namespace);
    RETURN QUERY
    SELECT m.id, m."timestamp", m.title, m.tags, m.superseded_by
    FROM memories m
    WHERE m.namespace = p_namespace AND passes(m, filters)
        AND (p_cursor_id IS NULL OR (m."timestamp", m.id) < (p_cursor_timestamp, p_cursor_id))
    ORDER BY m."timestamp" DESC, m.id DESC
    LIMIT p_limit;
END
$$;
CREATE FUNCTION public.list_memories(p_namespace text, p_filters public.memory_filters, p_beyond_timestamp timestamp with time zone, p_beyond_id uuid, p_limit integer) RETURNS TABLE(id uuid, "timestamp" timestamp with time zone, title text, tags text[], superseded_by uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    PERFORM require_own(p_namespace);
    RETURN QUERY
    SELECT m.id, m."timestamp", m.title, m.tags, m.superseded_by
    FROM memories m
    WHERE m.namespace = p_namespace AND passes(m, p_filters)
        AND (p_beyond_id IS NULL OR (m."timestamp", m.id) < (p_beyond_timestamp, p_beyond_id))
    ORDER BY m."timestamp" DESC, m.id DESC
    LIMIT p_limit;
END
$$;
CREATE FUNCTION public.memory_bytes(content text, title text, tags text[], metadata jsonb) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (((octet_length(content) + octet_length(title)) + octet_length(array_to_string(tags, ''::text))) + octet_length((metadata)::text));
CREATE FUNCTION public.memory_quality(rating_count integer, rating_sum integer, fetches bigint) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN LEAST(1.0, (((1.0 + (((rating_sum + rating_count))::numeric / 2.0)) / (2.0 + (rating_count)::numeric)) + (0.2 * LEAST(1.0, (ln((1.0 + (fetches)::numeric)) / ln(101.0))))));
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
    superseded_by uuid,
    rating_count integer DEFAULT 0 NOT NULL,
    rating_sum integer DEFAULT 0 NOT NULL,
    fetches bigint DEFAULT 0 NOT NULL,
    search_text tsvector GENERATED ALWAYS AS (to_tsvector('english'::regconfig,
CASE
    WHEN (POSITION((title) IN (translate(content, '	
'::text, '   '::text))) > 0) THEN content
    ELSE ((title || ' '::text) || content)
END)) STORED NOT NULL,
    CONSTRAINT memories_check CHECK (((array_position(tags, NULL::text) IS NULL) AND (array_position(tag_keys, NULL::text) IS NULL))),
    CONSTRAINT memories_content_hash_check CHECK (((octet_length(content_hash) = 64) AND (ltrim(content_hash, '0123456789abcdef'::text) = ''::text)))
)
WITH (fillfactor='66', toast_tuple_target='2688', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.memories ALTER COLUMN embedding SET STORAGE PLAIN;
ALTER TABLE ONLY public.memories ALTER COLUMN search_text SET STATISTICS 200;
CREATE FUNCTION public.memory_record(m public.memories) RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
SELECT jsonb_build_object(
    'id', m.id,
    'content', m.content,
    'timestamp', m."timestamp",
    'title', m.title,
    'tags', m.tags,
    'metadata', m.metadata,
    'content_hash', m.content_hash,
    'embedding_model', m.embedding_model,
    'created_at', m.created_at,
    'last_seen_at', m.last_seen_at,
    'superseded_by', m.superseded_by,
    'quality', memory_quality(m.rating_count, m.rating_sum, m.fetches)
)
$$;
CREATE FUNCTION public.passes(m public.memories, f public.memory_filters) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN ((((f).after IS NULL) OR ((m)."timestamp" >= (f).after)) AND (((f).before IS NULL) OR ((m)."timestamp" < (f).before)) AND (((f).any_tags IS NULL) OR ((m).tag_keys && (f).any_tags)) AND (((f).all_tags IS NULL) OR ((m).tag_keys @> (f).all_tags)) AND ((f).include_superseded OR ((m).superseded_by IS NULL)));
CREATE FUNCTION public.refresh_words(p_namespace text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    sample CONSTANT integer := 3000;
    sample_bytes CONSTANT integer := 2000000;
    kept CONSTANT integer := 5000;
    now_ bigint := (SELECT coalesce(sum(u.memories), 0) FROM namespace_usage u WHERE u.namespace = p_namespace);
    before bigint := (SELECT w.memories FROM namespace_words w WHERE w.namespace = p_namespace);
BEGIN
    IF abs(now_ - before) < greatest(1, before / 10)
        OR NOT pg_try_advisory_xact_lock(hashtextextended('words ' || p_namespace, 0))
    THEN
        RETURN;
    END IF;
    WITH newest AS MATERIALIZED (
        SELECT m.search_text, m."timestamp", m.id FROM memories m WHERE m.namespace = p_namespace
        ORDER BY m."timestamp" DESC, m.id DESC LIMIT sample
    ), sampled AS MATERIALIZED (
        -- As they are stored, so that none is unpacked to be measured; of one long memory at least.
        SELECT measured.search_text FROM (
            SELECT newest.search_text, sum(pg_column_size(search_text)) OVER (
                ORDER BY "timestamp" DESC, id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS newer FROM newest
        ) AS measured
        WHERE coalesce(measured.newer, 0) <= sample_bytes
    ), counted AS (
        SELECT lexeme, count(*) AS n FROM sampled, unnest(tsvector_to_array(sampled.search_text)) AS lexeme
        GROUP BY lexeme ORDER BY n DESC, lexeme LIMIT kept
    ), size AS (
        SELECT count(*) AS n FROM sampled
    )
    INSERT INTO namespace_words AS w (namespace, memories, sampled, words, shares)
    SELECT p_namespace, now_, size.n, array(SELECT lexeme FROM counted ORDER BY n DESC, lexeme),
        array(SELECT CAST(c.n AS real) / size.n FROM counted c ORDER BY c.n DESC, c.lexeme)
    FROM size
    ON CONFLICT (namespace) DO UPDATE
    SET memories = EXCLUDED.memories, sampled = EXCLUDED.sampled, words = EXCLUDED.words, shares = EXCLUDED.shares;
END
$$;
CREATE FUNCTION public.require_own(p_namespace text) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    IF p_namespace IS DISTINCT FROM nullif(current_setting('mnemosyne.namespace', true), '') THEN
        RAISE insufficient_privilege USING MESSAGE = 'this session is not for that namespace';
    END IF;
END
$$;
CREATE FUNCTION public.search_memories(p_namespace text, p_mode text, p_query text, p_vector text, p_model text, p_filters jsonb, p_limit integer, p_quality_weight double precision, p_lexical_weight double precision, p_characters integer) RETURNS json
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    filters memory_filters := filters_of(p_filters);
    -- Up to this many, comparing every vector is as fast as walking the index, and exact.
    exact_up_to CONSTANT integer := 10000;
    -- Up to this many, looking through one's own is faster than asking the index, which holds everybody's words.
    own_up_to CONSTANT integer := 2000;
    -- Words so common that together they would match more than this only add to the score of what others found.
    lexical_rows CONSTANT integer := 5000;
    -- Of each list: three times what is asked for, so that fusion and quality have something to choose from.
    candidates integer := greatest(3 * p_limit, 100);
    query_vector halfvec := CAST(p_vector AS halfvec);
    estimated bigint := (SELECT coalesce(sum(u.memories), 0) FROM namespace_usage u WHERE u.namespace = p_namespace);
    passing bigint;
    strategy text;
    terms tsquery[];
    shares double precision[];
    weights double precision[];
    generating tsquery;
    walked_ids uuid[];
    walked_distances double precision[];
    chunk_ids uuid[];
    chunk_distances double precision[];
    chunk_memories integer;
    chunk_limit integer;
    vector_ids uuid[] := '{}';
    vector_scores double precision[] := '{}';
    lexical_ids uuid[] := '{}';
    lexical_scores double precision[] := '{}';
    hits json;
    considered integer;
BEGIN
    PERFORM require_own(p_namespace);
    -- Holds off a move to another space until this search has ended.
    LOCK TABLE memories IN ACCESS SHARE MODE;
    IF p_vector IS NOT NULL AND (p_model, vector_dims(query_vector)) IS DISTINCT FROM (
        SELECT ROW (s.model, a.atttypmod) FROM embedding_space s, pg_attribute a
        WHERE a.attrelid = CAST('memories' AS regclass) AND a.attname = 'embedding'
    ) THEN
        RETURN NULL;
    END IF;
    -- Counted, and no further than it matters: the planner's estimate would be of everybody's memories.
    IF estimated > exact_up_to AND query_vector IS NOT NULL THEN
        SELECT count(*) INTO passing FROM (
            SELECT FROM memories m WHERE m.namespace = p_namespace AND passes(m, filters) LIMIT exact_up_to + 1
        ) AS some_;
        estimated := CASE WHEN passing > exact_up_to THEN estimated ELSE passing END;
    END IF;
    IF p_query IS NULL OR p_mode = 'exact' THEN
        strategy := CASE WHEN p_query IS NULL THEN 'newest' ELSE 'substring' END;
        SELECT array_agg(found.id), array_agg(1.0) INTO vector_ids, vector_scores FROM (
            SELECT m.id FROM memories m
            WHERE m.namespace = p_namespace AND passes(m, filters)
                AND (p_query IS NULL OR m.content ILIKE '%' || replace(replace(replace(
                    p_query, '\', '\\'), '%', '\%'), '_', '\_') || '%')
            ORDER BY m."timestamp" DESC, m.id DESC
            LIMIT CASE WHEN p_quality_weight > 0 THEN candidates ELSE p_limit END
        ) AS found;
    END IF;
    IF p_query IS NOT NULL AND p_mode <> 'exact' AND query_vector IS NOT NULL THEN
        IF estimated > exact_up_to THEN
            -- The index is walked until enough of what it yields passes the filters.
            strategy := 'hnsw';
            SELECT array_agg(walked.id), array_agg(walked.distance) INTO walked_ids, walked_distances FROM (
                SELECT m.id, m.embedding <=> query_vector AS distance FROM memories m
                WHERE m.namespace = p_namespace AND passes(m, filters)
                ORDER BY m.embedding <=> query_vector
                LIMIT candidates
            ) AS walked;
            -- The chunks of one long memory may be nearer than all others': walk on, four times as far each time and 64
            -- times at most, until enough memories are met.
            chunk_limit := candidates;
            LOOP
                SELECT array_agg(walked.memory_id), array_agg(walked.distance), count(DISTINCT walked.memory_id)
                INTO chunk_ids, chunk_distances, chunk_memories FROM (
                    SELECT c.memory_id, c.embedding <=> query_vector AS distance FROM memory_chunks c
                    WHERE c.namespace = p_namespace
                        AND EXISTS (SELECT FROM memories m WHERE m.id = c.memory_id AND passes(m, filters))
                    ORDER BY c.embedding <=> query_vector
                    LIMIT chunk_limit
                ) AS walked;
                EXIT WHEN chunk_memories >= p_limit OR coalesce(cardinality(chunk_ids), 0) < chunk_limit
                    OR chunk_limit >= 64 * candidates;
                chunk_limit := 4 * chunk_limit;
            END LOOP;
            SELECT array_agg(found.id), array_agg(1.0 - found.distance) INTO vector_ids, vector_scores FROM (
                SELECT both_.id, min(both_.distance) AS distance
                FROM (
                    SELECT * FROM unnest(walked_ids, walked_distances)
                    UNION ALL
                    SELECT * FROM unnest(chunk_ids, chunk_distances)
                ) AS both_ (id, distance)
                GROUP BY both_.id ORDER BY 2, 1 LIMIT candidates
            ) AS found;
        END IF;
        -- A walk that ends early has spent itself on the memories of others, which lie nearer.
        IF estimated <= exact_up_to OR coalesce(cardinality(walked_ids), 0) < candidates THEN
            -- `+ 0` keeps the index out of it: every vector that passes the filters is compared.
            strategy := 'exact';
            SELECT array_agg(found.id), array_agg(1.0 - found.distance) INTO vector_ids, vector_scores FROM (
                SELECT both_.id, min(both_.distance) AS distance FROM (
                    SELECT m.id, (m.embedding <=> query_vector) + 0 AS distance FROM memories m
                    WHERE m.namespace = p_namespace AND passes(m, filters)
                    UNION ALL
                    SELECT m.id, (c.embedding <=> query_vector) + 0 AS distance
                    FROM memory_chunks c JOIN memories m ON m.id = c.memory_id
                    WHERE m.namespace = p_namespace AND c.namespace = p_namespace AND passes(m, filters)
                ) AS both_
                GROUP BY both_.id ORDER BY 2, 1 LIMIT candidates
            ) AS found;
        END IF;
    END IF;
    IF p_query IS NOT NULL AND (p_mode = 'hybrid' OR (p_mode = 'semantic' AND query_vector IS NULL)) THEN
        strategy := concat_ws('+', strategy, 'fulltext');
        SELECT array_agg(t.term), array_agg(t.share), array_agg(t.weight) INTO terms, shares, weights
        FROM search_terms(p_namespace, p_query) AS t;
        SELECT CAST(string_agg(CAST(t.term AS text), ' | ') AS tsquery) INTO generating FROM (
            SELECT s.term, sum(s.share) OVER (ORDER BY s.share, s.term) - s.share AS rarer_share
            FROM unnest(terms, shares) AS s (term, share)
        ) AS t
        WHERE t.rarer_share * estimated <= lexical_rows;
        SELECT array_agg(found.id), array_agg(found.rank) INTO lexical_ids, lexical_scores FROM (
            SELECT m.id, (
                SELECT sum(t.weight * ts_rank(m.search_text, t.term, 1)) FROM unnest(terms, weights) AS t (term, weight)
            ) AS rank
            FROM memories m
            WHERE m.namespace = p_namespace AND passes(m, filters) AND CASE WHEN estimated <= own_up_to
                THEN m.search_text @@ generating IS TRUE ELSE m.search_text @@ generating END
            ORDER BY rank DESC, m.id
            LIMIT candidates
        ) AS found;
    END IF;
    -- Score-normalised convex fusion over the union of both lists (Bruch, Gai, Ingber 2023), then quality. A list
    -- that is not asked for has weight 0, and alone a list keeps its own scores.
    WITH listed AS (
        SELECT coalesce(n.id, w.id) AS id, n.score AS vector_score, w.score AS lexical_score
        FROM unnest(vector_ids, vector_scores) AS n (id, score)
        FULL JOIN unnest(lexical_ids, lexical_scores) AS w (id, score) ON w.id = n.id
    ), completed AS (
        SELECT listed.id, m."timestamp", memory_quality(m.rating_count, m.rating_sum, m.fetches) AS quality,
               coalesce(listed.vector_score, greatest(1.0 - (m.embedding <=> query_vector), 1.0 - (
                   SELECT min(c.embedding <=> query_vector) FROM memory_chunks c WHERE c.memory_id = listed.id
               ))) AS vector_score,
               coalesce(listed.lexical_score, (
                   SELECT sum(t.weight * ts_rank(m.search_text, t.term, 1))
                   FROM unnest(terms, weights) AS t (term, weight)
               ), 0) AS lexical_score
        FROM listed JOIN memories m ON m.id = listed.id
    ), bounds AS (
        SELECT min(c.vector_score) AS vector_min, nullif(max(c.vector_score) - min(c.vector_score), 0) AS vector_span,
               min(c.lexical_score) AS lexical_min, nullif(max(c.lexical_score) - min(c.lexical_score), 0) AS lexical_span
        FROM completed c
    ), fused AS (
        SELECT c.id, c."timestamp", c.quality, c.vector_score, CASE
            WHEN p_query IS NULL THEN 0.0
            WHEN strategy LIKE '%+fulltext' THEN
                (1 - p_lexical_weight) * coalesce((c.vector_score - b.vector_min) / b.vector_span, 1.0)
                + p_lexical_weight * coalesce((c.lexical_score - b.lexical_min) / b.lexical_span, CASE WHEN c.lexical_score > 0 THEN 1.0 ELSE 0.0 END)
            WHEN strategy = 'fulltext' THEN coalesce(c.lexical_score / (b.lexical_min + b.lexical_span), 1.0)
            ELSE least(1.0, greatest(0.0, c.vector_score))
        END AS relevance
        FROM completed c, bounds b
    ), scored AS (
        SELECT f.*, (1 - p_quality_weight) * f.relevance + p_quality_weight * f.quality AS score, count(*) OVER () AS n
        FROM fused f
        -- Opposite meanings are all of relevance 0: nearness orders them still.
        ORDER BY score DESC, f.vector_score DESC NULLS LAST, f."timestamp" DESC, f.id DESC
        LIMIT p_limit
    ), measured AS (
        SELECT m.id, char_length(m.content) AS content_length,
            char_length(m.content) + char_length(CAST(m.metadata AS text)) AS length
        FROM scored s JOIN memories m ON m.id = s.id
    ), shared AS (
        SELECT d.length, (p_characters - (sum(d.length) OVER shorter - d.length))
            / (count(*) OVER () - row_number() OVER shorter + 1) AS each_
        FROM measured d WINDOW shorter AS (ORDER BY d.length, d.id ROWS UNBOUNDED PRECEDING)
    ), allowed AS (
        -- The share of the first that does not fit is that of all longer ones too.
        SELECT (SELECT s.each_ FROM shared s WHERE s.length > s.each_ ORDER BY s.length LIMIT 1) AS each_
    )
    SELECT json_agg(memory_record(m) || jsonb_build_object(
        'content', CASE WHEN d.length > a.each_ THEN left(m.content, CAST(greatest(0, a.each_ - CASE
            WHEN d.length - d.content_length <= a.each_ / 2 THEN d.length - d.content_length ELSE 0
            END) AS integer)) ELSE m.content END,
        'metadata', CASE WHEN d.length > a.each_ AND d.length - d.content_length > a.each_ / 2 THEN NULL ELSE m.metadata END,
        'length', d.content_length,
        'relevance', CASE WHEN p_query IS NOT NULL THEN s.relevance END, 'score', s.score
    ) ORDER BY s.score DESC, s.vector_score DESC NULLS LAST, s."timestamp" DESC, s.id DESC), max(s.n)
    INTO hits, considered
    FROM scored s JOIN memories m ON m.id = s.id JOIN measured d ON d.id = s.id CROSS JOIN allowed a;
    RETURN json_build_object('strategy', strategy, 'considered', coalesce(considered, 0), 'hits', coalesce(hits, '[]'));
END
$$;
CREATE FUNCTION public.search_memories(p_namespace text, p_mode text, p_query text, p_vector text, p_model text, p_filters public.memory_filters, p_limit integer, p_quality_weight double precision, p_lexical_weight double precision, p_characters integer) RETURNS json
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    -- Up to this many, comparing every vector is as fast as walking the index, and exact.
    exact_up_to CONSTANT integer := 10000;
    -- Up to this many, looking through one's own is faster than asking the index, which holds everybody's words.
    own_up_to CONSTANT integer := 2000;
    -- Words so common that together they would match more than this only add to the score of what others found.
    lexical_rows CONSTANT integer := 5000;
    candidates integer := greatest(3 * p_limit, 100);
    vector_ halfvec := CAST(p_vector AS halfvec);
    estimated bigint := (SELECT coalesce(sum(u.memories), 0) FROM namespace_usage u WHERE u.namespace = p_namespace);
    passing bigint;
    strategy text;
    terms tsquery[];
    shares double precision[];
    weights double precision[];
    generating tsquery;
    walked_ids uuid[];
    walked_distances double precision[];
    chunk_ids uuid[];
    chunk_distances double precision[];
    chunk_memories integer;
    chunk_limit integer;
    near_ids uuid[] := '{}';
    near double precision[] := '{}';
    word_ids uuid[] := '{}';
    words double precision[] := '{}';
    hits json;
    considered integer;
BEGIN
    PERFORM require_own(p_namespace);
    -- Holds off a move to another space until this search has ended.
    LOCK TABLE memories IN ACCESS SHARE MODE;
    IF p_vector IS NOT NULL AND (p_model, vector_dims(vector_)) IS DISTINCT FROM (
        SELECT ROW (s.model, a.atttypmod) FROM embedding_space s, pg_attribute a
        WHERE a.attrelid = CAST('memories' AS regclass) AND a.attname = 'embedding'
    ) THEN
        RETURN NULL;
    END IF;
    -- Counted, and no further than it matters: the planner's estimate would be of everybody's memories.
    IF estimated > exact_up_to AND vector_ IS NOT NULL THEN
        SELECT count(*) INTO passing FROM (
            SELECT FROM memories m WHERE m.namespace = p_namespace AND passes(m, p_filters) LIMIT exact_up_to + 1
        ) AS some_;
        estimated := CASE WHEN passing > exact_up_to THEN estimated ELSE passing END;
    END IF;
    IF p_query IS NULL OR p_mode = 'exact' THEN
        strategy := CASE WHEN p_query IS NULL THEN 'newest' ELSE 'substring' END;
        SELECT array_agg(found.id), array_agg(1.0) INTO near_ids, near FROM (
            SELECT m.id FROM memories m
            WHERE m.namespace = p_namespace AND passes(m, p_filters)
                AND (p_query IS NULL OR m.content ILIKE '%' || replace(replace(replace(
                    p_query, '\', '\\'), '%', '\%'), '_', '\_') || '%')
            ORDER BY m."timestamp" DESC, m.id DESC
            LIMIT CASE WHEN p_quality_weight > 0 THEN candidates ELSE p_limit END
        ) AS found;
    END IF;
    IF p_query IS NOT NULL AND p_mode <> 'exact' AND vector_ IS NOT NULL THEN
        IF estimated > exact_up_to THEN
            -- The index is walked until enough of what it yields passes the filters.
            strategy := 'hnsw';
            SELECT array_agg(walked.id), array_agg(walked.distance) INTO walked_ids, walked_distances FROM (
                SELECT m.id, m.embedding <=> vector_ AS distance FROM memories m
                WHERE m.namespace = p_namespace AND passes(m, p_filters)
                ORDER BY m.embedding <=> vector_
                LIMIT candidates
            ) AS walked;
            -- The chunks of one long memory may be nearer than all others': walk on until enough memories are met.
            chunk_limit := candidates;
            LOOP
                SELECT array_agg(walked.memory_id), array_agg(walked.distance), count(DISTINCT walked.memory_id)
                INTO chunk_ids, chunk_distances, chunk_memories FROM (
                    SELECT c.memory_id, c.embedding <=> vector_ AS distance FROM memory_chunks c
                    WHERE c.namespace = p_namespace
                        AND EXISTS (SELECT FROM memories m WHERE m.id = c.memory_id AND passes(m, p_filters))
                    ORDER BY c.embedding <=> vector_
                    LIMIT chunk_limit
                ) AS walked;
                EXIT WHEN chunk_memories >= p_limit OR coalesce(cardinality(chunk_ids), 0) < chunk_limit
                    OR chunk_limit >= 64 * candidates;
                chunk_limit := 4 * chunk_limit;
            END LOOP;
            SELECT array_agg(found.id), array_agg(1.0 - found.distance) INTO near_ids, near FROM (
                SELECT both_.id, min(both_.distance) AS distance
                FROM (
                    SELECT * FROM unnest(walked_ids, walked_distances)
                    UNION ALL
                    SELECT * FROM unnest(chunk_ids, chunk_distances)
                ) AS both_ (id, distance)
                GROUP BY both_.id ORDER BY 2, 1 LIMIT candidates
            ) AS found;
        END IF;
        -- A walk that ends early has spent itself on the memories of others, which lie nearer.
        IF estimated <= exact_up_to OR coalesce(cardinality(walked_ids), 0) < candidates THEN
            -- `+ 0` keeps the index out of it: every vector that passes the filters is compared.
            strategy := 'exact';
            SELECT array_agg(found.id), array_agg(1.0 - found.distance) INTO near_ids, near FROM (
                SELECT both_.id, min(both_.distance) AS distance FROM (
                    SELECT m.id, (m.embedding <=> vector_) + 0 AS distance FROM memories m
                    WHERE m.namespace = p_namespace AND passes(m, p_filters)
                    UNION ALL
                    SELECT m.id, (c.embedding <=> vector_) + 0 AS distance
                    FROM memory_chunks c JOIN memories m ON m.id = c.memory_id
                    WHERE m.namespace = p_namespace AND c.namespace = p_namespace AND passes(m, p_filters)
                ) AS both_
                GROUP BY both_.id ORDER BY 2, 1 LIMIT candidates
            ) AS found;
        END IF;
    END IF;
    IF p_query IS NOT NULL AND (p_mode = 'hybrid' OR (p_mode = 'semantic' AND vector_ IS NULL)) THEN
        strategy := concat_ws('+', strategy, 'fulltext');
        SELECT array_agg(t.term), array_agg(t.share), array_agg(t.weight) INTO terms, shares, weights
        FROM search_terms(p_namespace, p_query) AS t;
        SELECT CAST(string_agg(CAST(t.term AS text), ' | ') AS tsquery) INTO generating FROM (
            SELECT s.term, sum(s.share) OVER (ORDER BY s.share, s.term) - s.share AS rarer_share
            FROM unnest(terms, shares) AS s (term, share)
        ) AS t
        WHERE t.rarer_share * estimated <= lexical_rows;
        SELECT array_agg(found.id), array_agg(found.rank) INTO word_ids, words FROM (
            SELECT m.id, (
                SELECT sum(t.weight * ts_rank(m.search_text, t.term, 1)) FROM unnest(terms, weights) AS t (term, weight)
            ) AS rank
            FROM memories m
            WHERE m.namespace = p_namespace AND passes(m, p_filters) AND CASE WHEN estimated <= own_up_to
                THEN m.search_text @@ generating IS TRUE ELSE m.search_text @@ generating END
            ORDER BY rank DESC, m.id
            LIMIT candidates
        ) AS found;
    END IF;
    -- Score-normalised convex fusion over the union of both lists (Bruch, Gai, Ingber 2023), then quality. A list
    -- that is not asked for has weight 0, and alone a list keeps its own scores.
    WITH listed AS (
        SELECT coalesce(n.id, w.id) AS id, n.score AS near, w.score AS words
        FROM unnest(near_ids, near) AS n (id, score)
        FULL JOIN unnest(word_ids, words) AS w (id, score) ON w.id = n.id
    ), completed AS (
        SELECT listed.id, m."timestamp", memory_quality(m.rating_count, m.rating_sum, m.fetches) AS quality,
               coalesce(listed.near, greatest(1.0 - (m.embedding <=> vector_), 1.0 - (
                   SELECT min(c.embedding <=> vector_) FROM memory_chunks c WHERE c.memory_id = listed.id
               ))) AS near,
               coalesce(listed.words, (
                   SELECT sum(t.weight * ts_rank(m.search_text, t.term, 1))
                   FROM unnest(terms, weights) AS t (term, weight)
               ), 0) AS words
        FROM listed JOIN memories m ON m.id = listed.id
    ), bounds AS (
        SELECT min(c.near) AS near_min, nullif(max(c.near) - min(c.near), 0) AS near_span,
               min(c.words) AS words_min, nullif(max(c.words) - min(c.words), 0) AS words_span
        FROM completed c
    ), fused AS (
        SELECT c.id, c."timestamp", c.quality, c.near, CASE
            WHEN p_query IS NULL THEN 0.0
            WHEN strategy LIKE '%+fulltext' THEN
                (1 - p_lexical_weight) * coalesce((c.near - b.near_min) / b.near_span, 1.0)
                + p_lexical_weight * coalesce((c.words - b.words_min) / b.words_span, CASE WHEN c.words > 0 THEN 1.0 ELSE 0.0 END)
            WHEN strategy = 'fulltext' THEN coalesce(c.words / (b.words_min + b.words_span), 1.0)
            ELSE least(1.0, greatest(0.0, c.near))
        END AS relevance
        FROM completed c, bounds b
    ), scored AS (
        SELECT f.*, (1 - p_quality_weight) * f.relevance + p_quality_weight * f.quality AS score, count(*) OVER () AS n
        FROM fused f
        -- Opposite meanings are all of relevance 0: nearness orders them still.
        ORDER BY score DESC, f.near DESC NULLS LAST, f."timestamp" DESC, f.id DESC
        LIMIT p_limit
    ), measured AS (
        SELECT m.id, char_length(m.content) AS content_length,
            char_length(m.content) + char_length(CAST(m.metadata AS text)) AS length
        FROM scored s JOIN memories m ON m.id = s.id
    ), shared AS (
        SELECT d.length, (p_characters - (sum(d.length) OVER shorter - d.length))
            / (count(*) OVER () - row_number() OVER shorter + 1) AS each_
        FROM measured d WINDOW shorter AS (ORDER BY d.length, d.id ROWS UNBOUNDED PRECEDING)
    ), allowed AS (
        -- The share of the first that does not fit is that of all longer ones too.
        SELECT (SELECT s.each_ FROM shared s WHERE s.length > s.each_ ORDER BY s.length LIMIT 1) AS each_
    )
    SELECT json_agg(json_build_object(
        'id', m.id, 'timestamp', m."timestamp", 'title', m.title, 'tags', m.tags,
        'content', CASE WHEN d.length > a.each_ THEN left(m.content, CAST(greatest(0, a.each_ - CASE
            WHEN d.length - d.content_length <= a.each_ / 2 THEN d.length - d.content_length ELSE 0
            END) AS integer)) ELSE m.content END,
        'metadata', CASE WHEN d.length > a.each_ AND d.length - d.content_length > a.each_ / 2 THEN NULL ELSE m.metadata END,
        'length', d.content_length,
        'superseded_by', m.superseded_by, 'quality', s.quality,
        'relevance', CASE WHEN p_query IS NOT NULL THEN s.relevance END, 'score', s.score
    ) ORDER BY s.score DESC, s.near DESC NULLS LAST, s."timestamp" DESC, s.id DESC), max(s.n)
    INTO hits, considered
    FROM scored s JOIN memories m ON m.id = s.id JOIN measured d ON d.id = s.id CROSS JOIN allowed a;
    RETURN json_build_object('strategy', strategy, 'considered', coalesce(considered, 0), 'hits', coalesce(hits, '[]'));
END
$$;
CREATE TABLE public.namespace_words (
    namespace text NOT NULL,
    memories bigint NOT NULL,
    sampled integer NOT NULL,
    words text[] NOT NULL,
    shares real[] NOT NULL
);
CREATE FUNCTION public.search_terms(p_namespace text, p_query text) RETURNS TABLE(term tsquery, share double precision, weight double precision)
    LANGUAGE sql STABLE
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 WITH own AS MATERIALIZED (
          SELECT namespace_words.words,
             namespace_words.shares,
             namespace_words.sampled
            FROM public.namespace_words
           WHERE (namespace_words.namespace = search_terms.p_namespace)
         ), asked AS MATERIALIZED (
          SELECT query.lexeme
            FROM unnest(to_tsvector('english'::regconfig, search_terms.p_query)) query(lexeme, positions, weights)
         ), weighed AS (
          SELECT (((''''::text || replace(replace(asked.lexeme, '\'::text, '\\'::text), ''''::text, ''''''::text)) || ''''::text))::tsquery AS term,
             COALESCE((( SELECT own.shares[array_position(own.words, asked.lexeme)] AS shares
                    FROM own))::double precision, (( SELECT (0.5 / (GREATEST(own.sampled, 1))::numeric)
                    FROM own))::double precision, (0.001)::double precision) AS share
            FROM asked
         )
  SELECT weighed.term,
     weighed.share,
     sqrt(ln(((1.0)::double precision + ((1.0)::double precision / GREATEST(weighed.share, (0.00001)::double precision))))) AS sqrt
    FROM weighed
   ORDER BY weighed.share, weighed.term
  LIMIT 30;
END;
CREATE TABLE public.quotas (
    namespace text NOT NULL,
    memories bigint,
    bytes bigint,
    texts_a_day bigint,
    CONSTRAINT quotas_bytes_check CHECK ((bytes >= 0)),
    CONSTRAINT quotas_memories_check CHECK ((memories >= 0)),
    CONSTRAINT quotas_texts_a_day_check CHECK ((texts_a_day >= 0))
);
CREATE FUNCTION public.usage_and_quota() RETURNS TABLE(memories bigint, bytes bigint, texts_today bigint, memories_limit bigint, bytes_limit bigint, texts_limit bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 SELECT used.memories,
     used.bytes,
     used.texts,
     public.limit_of(own.memories, everybody.memories) AS limit_of,
     public.limit_of(own.bytes, everybody.bytes) AS limit_of,
     public.limit_of(own.texts_a_day, everybody.texts_a_day) AS limit_of
    FROM ((( SELECT (COALESCE(sum(u.memories), (0)::numeric))::bigint AS memories,
             (COALESCE(sum(u.bytes), (0)::numeric))::bigint AS bytes,
             (COALESCE(sum(u.texts) FILTER (WHERE (u.day = ((now() AT TIME ZONE 'UTC'::text))::date)), (0)::numeric))::bigint AS texts
            FROM public.namespace_usage u
           WHERE (u.namespace = current_setting('mnemosyne.namespace'::text, true))) used
      LEFT JOIN public.quotas own ON ((own.namespace = current_setting('mnemosyne.namespace'::text, true))))
      LEFT JOIN public.quotas everybody ON ((everybody.namespace = ''::text)));
END;
CREATE TABLE public.dead_letters (
    namespace text NOT NULL,
    message_id text NOT NULL,
    data bytea NOT NULL,
    attributes jsonb NOT NULL,
    cause text NOT NULL,
    dead_lettered_at timestamp with time zone DEFAULT now() NOT NULL,
    lost boolean DEFAULT false NOT NULL
);
CREATE TABLE public.embedding_space (
    only_row boolean DEFAULT true NOT NULL,
    model text NOT NULL,
    previous_model text,
    previous_dimension integer,
    next_model text,
    next_dimension integer,
    provider text NOT NULL,
    previous_provider text,
    next_provider text,
    CONSTRAINT embedding_space_only_row_check CHECK (only_row)
);
CREATE TABLE public.ingest_requests (
    namespace text NOT NULL,
    request_id uuid NOT NULL,
    state text NOT NULL,
    memory_id uuid,
    attempts integer DEFAULT 0 NOT NULL,
    error text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    source text,
    key text,
    announced_at timestamp with time zone,
    content_hash bytea,
    CONSTRAINT ingest_requests_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'stored'::text, 'duplicate'::text, 'failed'::text, 'dead_lettered'::text])))
)
WITH (fillfactor='70');
CREATE TABLE public.memory_chunks (
    memory_id uuid NOT NULL,
    chunk_index integer NOT NULL,
    namespace text NOT NULL,
    embedding public.halfvec(768) NOT NULL,
    CONSTRAINT memory_chunks_chunk_index_check CHECK ((chunk_index > 0))
)
WITH (toast_tuple_target='8160');
ALTER TABLE ONLY public.memory_chunks ALTER COLUMN embedding SET STORAGE PLAIN;
CREATE TABLE public.memory_ratings (
    memory_id uuid NOT NULL,
    namespace text NOT NULL,
    rating smallint NOT NULL,
    reason text,
    rated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT memory_ratings_rating_check CHECK (((rating >= '-1'::integer) AND (rating <= 1)))
);
CREATE TABLE public.object_imports (
    namespace text NOT NULL,
    source text NOT NULL,
    memories bigint DEFAULT 0 NOT NULL,
    left_out jsonb DEFAULT '{}'::jsonb NOT NULL,
    error text,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    read_at timestamp with time zone,
    reported_at timestamp with time zone
);
CREATE TABLE public.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.schema_repeatables (
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.dead_letters
    ADD CONSTRAINT dead_letters_pkey PRIMARY KEY (namespace, message_id);
ALTER TABLE ONLY public.embedding_space
    ADD CONSTRAINT embedding_space_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY public.ingest_requests
    ADD CONSTRAINT ingest_requests_pkey PRIMARY KEY (namespace, request_id);
ALTER TABLE ONLY public.memories
    ADD CONSTRAINT memories_namespace_content_hash_key UNIQUE (namespace, content_hash);
ALTER TABLE ONLY public.memories
    ADD CONSTRAINT memories_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_chunks
    ADD CONSTRAINT memory_chunks_pkey PRIMARY KEY (memory_id, chunk_index);
ALTER TABLE ONLY public.namespace_usage
    ADD CONSTRAINT namespace_usage_pkey PRIMARY KEY (namespace, shard);
ALTER TABLE ONLY public.namespace_words
    ADD CONSTRAINT namespace_words_pkey PRIMARY KEY (namespace);
ALTER TABLE ONLY public.object_imports
    ADD CONSTRAINT object_imports_pkey PRIMARY KEY (namespace, source);
ALTER TABLE ONLY public.quotas
    ADD CONSTRAINT quotas_pkey PRIMARY KEY (namespace);
ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.schema_repeatables
    ADD CONSTRAINT schema_repeatables_pkey PRIMARY KEY (name);
CREATE INDEX ingest_requests_source ON public.ingest_requests USING btree (namespace, md5(source), key) WHERE (source IS NOT NULL);
CREATE INDEX ingest_requests_updated ON public.ingest_requests USING btree (namespace, updated_at, request_id);
CREATE INDEX memories_embedding ON public.memories USING hnsw (embedding public.halfvec_cosine_ops) WITH (m='16', ef_construction='200');
CREATE INDEX memories_newest ON public.memories USING btree (namespace, "timestamp" DESC, id DESC);
CREATE INDEX memories_search_text ON public.memories USING gin (search_text);
CREATE INDEX memories_superseded ON public.memories USING btree (superseded_by) WHERE (superseded_by IS NOT NULL);
CREATE INDEX memories_tags ON public.memories USING gin (tag_keys);
CREATE INDEX memory_chunks_embedding ON public.memory_chunks USING hnsw (embedding public.halfvec_cosine_ops) WITH (m='16', ef_construction='200');
CREATE INDEX memory_ratings_memory ON public.memory_ratings USING btree (memory_id);
CREATE TRIGGER count_deleted AFTER DELETE ON public.memories REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION public.count_deleted();
CREATE TRIGGER count_stored AFTER INSERT ON public.memories REFERENCING NEW TABLE AS stored FOR EACH STATEMENT EXECUTE FUNCTION public.count_stored();
CREATE TRIGGER count_updated AFTER UPDATE OF title, tags, metadata ON public.memories FOR EACH ROW EXECUTE FUNCTION public.count_updated();
ALTER TABLE ONLY public.memories
    ADD CONSTRAINT memories_superseded_by_fkey FOREIGN KEY (superseded_by) REFERENCES public.memories(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.memory_chunks
    ADD CONSTRAINT memory_chunks_memory_id_fkey FOREIGN KEY (memory_id) REFERENCES public.memories(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.memory_ratings
    ADD CONSTRAINT memory_ratings_memory_id_fkey FOREIGN KEY (memory_id) REFERENCES public.memories(id) ON DELETE CASCADE;
ALTER TABLE public.api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.dead_letters ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.ingest_requests ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.memory_chunks ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.memory_ratings ENABLE ROW LEVEL SECURITY;
CREATE POLICY namespace_isolation ON public.dead_letters TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter, mnemosyne_import_object USING ((namespace = current_setting('mnemosyne.namespace'::text, true)));
CREATE POLICY namespace_isolation ON public.ingest_requests TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter, mnemosyne_import_object USING ((namespace = current_setting('mnemosyne.namespace'::text, true)));
CREATE POLICY namespace_isolation ON public.memories TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter, mnemosyne_import_object USING ((namespace = current_setting('mnemosyne.namespace'::text, true)));
CREATE POLICY namespace_isolation ON public.memory_chunks TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter, mnemosyne_import_object USING ((namespace = current_setting('mnemosyne.namespace'::text, true)));
CREATE POLICY namespace_isolation ON public.memory_ratings TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter, mnemosyne_import_object USING ((namespace = current_setting('mnemosyne.namespace'::text, true)));
CREATE POLICY namespace_isolation ON public.namespace_usage TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter, mnemosyne_import_object USING ((namespace = current_setting('mnemosyne.namespace'::text, true)));
CREATE POLICY namespace_isolation ON public.object_imports TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter, mnemosyne_import_object USING ((namespace = current_setting('mnemosyne.namespace'::text, true)));
CREATE POLICY namespace_isolation ON public.quotas TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter, mnemosyne_import_object USING ((namespace = ANY (ARRAY[''::text, current_setting('mnemosyne.namespace'::text, true)])));
ALTER TABLE public.namespace_usage ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.namespace_words ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.object_imports ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.quotas ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON FUNCTION public.claim_requests(p_namespace text, p_requests jsonb, p_to_store boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION public.claim_requests(p_namespace text, p_requests jsonb, p_to_store boolean) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.claim_requests(p_namespace text, p_requests jsonb, p_to_store boolean) TO mnemosyne_ingest;
REVOKE ALL ON FUNCTION public.claim_within_quota(p_namespace text, p_requests jsonb, p_to_store boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION public.claim_within_quota(p_namespace text, p_requests jsonb, p_to_store boolean) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.claim_within_quota(p_namespace text, p_requests jsonb, p_to_store boolean) TO mnemosyne_ingest;
GRANT SELECT ON TABLE public.namespace_usage TO mnemosyne_runtime;
GRANT SELECT ON TABLE public.namespace_usage TO mnemosyne_mcp;
GRANT SELECT ON TABLE public.namespace_usage TO mnemosyne_ingest;
REVOKE ALL ON FUNCTION public.count_usage(p_namespace text, p_memories bigint, p_bytes bigint, p_texts bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.count_chunks(p_texts bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION public.count_chunks(p_texts bigint) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.count_chunks(p_texts bigint) TO mnemosyne_ingest;
REVOKE ALL ON FUNCTION public.count_deleted() FROM PUBLIC;
REVOKE ALL ON FUNCTION public.count_stored() FROM PUBLIC;
REVOKE ALL ON FUNCTION public.count_updated() FROM PUBLIC;
REVOKE ALL ON FUNCTION public.filters_of(p_filters jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.find_api_key(p_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.find_api_key(p_id text) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.find_api_key(p_id text) TO mnemosyne_mcp;
REVOKE ALL ON FUNCTION public.fit_rows_to_pages(p_dimension integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.limit_of(own bigint, everybody bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.list_memories(p_namespace text, p_filters jsonb, p_cursor_timestamp timestamp with time zone, p_cursor_id uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.list_memories(p_namespace text, p_filters jsonb, p_cursor_timestamp timestamp with time zone, p_cursor_id uuid, p_limit integer) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.list_memories(p_namespace text, p_filters jsonb, p_cursor_timestamp timestamp with time zone, p_cursor_id uuid, p_limit integer) TO mnemosyne_mcp;
REVOKE ALL ON FUNCTION public.list_memories(p_namespace text, p_filters public.memory_filters, p_beyond_timestamp timestamp with time zone, p_beyond_id uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.list_memories(p_namespace text, p_filters public.memory_filters, p_beyond_timestamp timestamp with time zone, p_beyond_id uuid, p_limit integer) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.list_memories(p_namespace text, p_filters public.memory_filters, p_beyond_timestamp timestamp with time zone, p_beyond_id uuid, p_limit integer) TO mnemosyne_mcp;
REVOKE ALL ON FUNCTION public.memory_bytes(content text, title text, tags text[], metadata jsonb) FROM PUBLIC;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.memories TO mnemosyne_runtime;
GRANT SELECT,DELETE ON TABLE public.memories TO mnemosyne_mcp;
GRANT INSERT ON TABLE public.memories TO mnemosyne_ingest;
GRANT SELECT(id) ON TABLE public.memories TO mnemosyne_ingest;
GRANT SELECT(namespace) ON TABLE public.memories TO mnemosyne_ingest;
GRANT UPDATE(title) ON TABLE public.memories TO mnemosyne_mcp;
GRANT UPDATE(tags) ON TABLE public.memories TO mnemosyne_mcp;
GRANT UPDATE(tag_keys) ON TABLE public.memories TO mnemosyne_mcp;
GRANT UPDATE(metadata) ON TABLE public.memories TO mnemosyne_mcp;
GRANT SELECT(content_hash) ON TABLE public.memories TO mnemosyne_ingest;
GRANT SELECT(last_seen_at),UPDATE(last_seen_at) ON TABLE public.memories TO mnemosyne_ingest;
GRANT UPDATE(superseded_by) ON TABLE public.memories TO mnemosyne_mcp;
GRANT SELECT(superseded_by) ON TABLE public.memories TO mnemosyne_ingest;
GRANT UPDATE(rating_count) ON TABLE public.memories TO mnemosyne_mcp;
GRANT UPDATE(rating_sum) ON TABLE public.memories TO mnemosyne_mcp;
GRANT UPDATE(fetches) ON TABLE public.memories TO mnemosyne_mcp;
REVOKE ALL ON FUNCTION public.memory_record(m public.memories) FROM PUBLIC;
GRANT ALL ON FUNCTION public.memory_record(m public.memories) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.memory_record(m public.memories) TO mnemosyne_mcp;
REVOKE ALL ON FUNCTION public.passes(m public.memories, f public.memory_filters) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.refresh_words(p_namespace text) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.require_own(p_namespace text) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.search_memories(p_namespace text, p_mode text, p_query text, p_vector text, p_model text, p_filters jsonb, p_limit integer, p_quality_weight double precision, p_lexical_weight double precision, p_characters integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.search_memories(p_namespace text, p_mode text, p_query text, p_vector text, p_model text, p_filters jsonb, p_limit integer, p_quality_weight double precision, p_lexical_weight double precision, p_characters integer) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.search_memories(p_namespace text, p_mode text, p_query text, p_vector text, p_model text, p_filters jsonb, p_limit integer, p_quality_weight double precision, p_lexical_weight double precision, p_characters integer) TO mnemosyne_mcp;
REVOKE ALL ON FUNCTION public.search_memories(p_namespace text, p_mode text, p_query text, p_vector text, p_model text, p_filters public.memory_filters, p_limit integer, p_quality_weight double precision, p_lexical_weight double precision, p_characters integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.search_memories(p_namespace text, p_mode text, p_query text, p_vector text, p_model text, p_filters public.memory_filters, p_limit integer, p_quality_weight double precision, p_lexical_weight double precision, p_characters integer) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.search_memories(p_namespace text, p_mode text, p_query text, p_vector text, p_model text, p_filters public.memory_filters, p_limit integer, p_quality_weight double precision, p_lexical_weight double precision, p_characters integer) TO mnemosyne_mcp;
REVOKE ALL ON FUNCTION public.search_terms(p_namespace text, p_query text) FROM PUBLIC;
GRANT SELECT ON TABLE public.quotas TO mnemosyne_runtime;
GRANT SELECT ON TABLE public.quotas TO mnemosyne_mcp;
GRANT SELECT ON TABLE public.quotas TO mnemosyne_ingest;
REVOKE ALL ON FUNCTION public.usage_and_quota() FROM PUBLIC;
GRANT ALL ON FUNCTION public.usage_and_quota() TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.usage_and_quota() TO mnemosyne_mcp;
GRANT ALL ON FUNCTION public.usage_and_quota() TO mnemosyne_ingest;
GRANT SELECT,INSERT,DELETE ON TABLE public.dead_letters TO mnemosyne_runtime;
GRANT SELECT ON TABLE public.dead_letters TO mnemosyne_mcp;
GRANT SELECT,INSERT ON TABLE public.dead_letters TO mnemosyne_ingest;
GRANT SELECT,INSERT ON TABLE public.dead_letters TO mnemosyne_dead_letter;
GRANT SELECT,INSERT ON TABLE public.dead_letters TO mnemosyne_import_object;
GRANT UPDATE(lost) ON TABLE public.dead_letters TO mnemosyne_runtime;
GRANT UPDATE(lost) ON TABLE public.dead_letters TO mnemosyne_ingest;
GRANT UPDATE(lost) ON TABLE public.dead_letters TO mnemosyne_dead_letter;
GRANT UPDATE(lost) ON TABLE public.dead_letters TO mnemosyne_import_object;
GRANT SELECT ON TABLE public.embedding_space TO mnemosyne_runtime;
GRANT SELECT ON TABLE public.embedding_space TO mnemosyne_mcp;
GRANT SELECT ON TABLE public.embedding_space TO mnemosyne_ingest;
GRANT SELECT ON TABLE public.embedding_space TO mnemosyne_dead_letter;
GRANT SELECT ON TABLE public.embedding_space TO mnemosyne_import_object;
GRANT SELECT,INSERT,UPDATE ON TABLE public.ingest_requests TO mnemosyne_runtime;
GRANT SELECT ON TABLE public.ingest_requests TO mnemosyne_mcp;
GRANT SELECT,INSERT,UPDATE ON TABLE public.ingest_requests TO mnemosyne_ingest;
GRANT SELECT,INSERT,UPDATE ON TABLE public.ingest_requests TO mnemosyne_dead_letter;
GRANT SELECT,INSERT,UPDATE ON TABLE public.ingest_requests TO mnemosyne_import_object;
GRANT SELECT,INSERT ON TABLE public.memory_chunks TO mnemosyne_runtime;
GRANT INSERT ON TABLE public.memory_chunks TO mnemosyne_ingest;
GRANT SELECT,INSERT ON TABLE public.memory_ratings TO mnemosyne_runtime;
GRANT SELECT,INSERT ON TABLE public.memory_ratings TO mnemosyne_mcp;
GRANT SELECT,INSERT,UPDATE ON TABLE public.object_imports TO mnemosyne_runtime;
GRANT SELECT,INSERT,UPDATE ON TABLE public.object_imports TO mnemosyne_import_object;
GRANT SELECT ON TABLE public.schema_migrations TO mnemosyne_runtime;
GRANT SELECT ON TABLE public.schema_migrations TO mnemosyne_mcp;
GRANT SELECT ON TABLE public.schema_migrations TO mnemosyne_ingest;
GRANT SELECT ON TABLE public.schema_migrations TO mnemosyne_dead_letter;
GRANT SELECT ON TABLE public.schema_migrations TO mnemosyne_import_object;
GRANT SELECT ON TABLE public.schema_repeatables TO mnemosyne_runtime;
GRANT SELECT ON TABLE public.schema_repeatables TO mnemosyne_mcp;
GRANT SELECT ON TABLE public.schema_repeatables TO mnemosyne_ingest;
GRANT SELECT ON TABLE public.schema_repeatables TO mnemosyne_dead_letter;
GRANT SELECT ON TABLE public.schema_repeatables TO mnemosyne_import_object;
