-- The schema as all migrations together leave it, for reading. Made by `make schema`; a test proves it is true.

CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
COMMENT ON EXTENSION vector IS 'vector data type and ivfflat and hnsw access methods';
CREATE TYPE public.candidate AS (
	id uuid,
	"timestamp" timestamp with time zone,
	session text,
	quality double precision,
	vector_score double precision,
	lexical_score double precision,
	timely double precision,
	said double precision,
	neighbours double precision,
	redundancy double precision,
	relevance double precision
);
CREATE TYPE public.memory_filters AS (
	after timestamp with time zone,
	before timestamp with time zone,
	any_tags text[],
	all_tags text[],
	include_superseded boolean,
	session text,
	metadata jsonpath,
	metadata_keys integer[],
	own_any text[],
	own_all text[],
	not_session text
);
CREATE TYPE public.question AS (
	vector public.halfvec,
	terms public.sparsevec,
	mean_length double precision,
	lexical_weight double precision,
	words text[],
	preferred tstzmultirange
);
CREATE FUNCTION public.add_context(candidates public.candidate[], filters public.memory_filters, bounds double precision[], asked public.question) RETURNS SETOF public.candidate
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    best uuid[];
    joined uuid[];
BEGIN
    SELECT array_agg(b.id) INTO best FROM (
        SELECT u.id FROM unnest(candidates) AS u ORDER BY u.relevance DESC, u.id LIMIT 100
    ) AS b;
    -- OFFSET 0 keeps the planner from reading all memories to join them: it takes the few neighbours for a thousand.
    SELECT array_agg(DISTINCT n.neighbour) INTO joined
    FROM session_neighbours(best[:10], 1) AS n
    CROSS JOIN LATERAL (SELECT passes(m, filters) AS passes FROM memories m WHERE m.id = n.neighbour OFFSET 0) AS m
    WHERE n.neighbour NOT IN (SELECT u.id FROM unnest(candidates) AS u) AND m.passes;
    RETURN QUERY
    WITH around AS MATERIALIZED (
        SELECT n.id, n.neighbour, CASE n.place WHEN -1 THEN 0.45 WHEN -2 THEN 0.25 WHEN 1 THEN 0.1 ELSE 0.05 END AS weight
        FROM session_neighbours(best || joined, 2) AS n
    ), met AS (
        SELECT c AS one, own_score(c, asked.lexical_weight, bounds) AS own, c.id = ANY (joined) IS TRUE AS is_candidate
        FROM complete_candidates(ARRAY(
            SELECT a.neighbour FROM around a UNION SELECT unnest(joined) EXCEPT SELECT u.id FROM unnest(candidates) AS u
        ), NULL, NULL, asked) AS c
    ), scored AS MATERIALIZED (
        SELECT u.id, u.session, u AS one, u.relevance AS own, true AS is_candidate FROM unnest(candidates) AS u
        UNION ALL
        SELECT (m.one).id, (m.one).session, m.one, m.own, m.is_candidate FROM met m
    ), beside AS (
        SELECT a.id, sum(a.weight * n.own) AS score FROM around a JOIN scored n ON n.id = a.neighbour GROUP BY a.id
    )
    SELECT s.id, (s.one).timestamp, s.session, (s.one).quality, (s.one).vector_score, (s.one).lexical_score,
        (s.one).timely, (s.one).said, s.neighbours,
        (s.one).redundancy, s.own + s.neighbours
    FROM (
        SELECT a.*, coalesce(b.score + 0.3 * max(a.own) OVER (PARTITION BY a.session), 0) AS neighbours
        FROM scored a LEFT JOIN beside b ON b.id = a.id
    ) AS s
    WHERE s.is_candidate;
END
$$;
CREATE FUNCTION public.all_containing(p_namespace text, filters public.memory_filters, p_text text, p_limit integer) RETURNS TABLE(id uuid)
    LANGUAGE plpgsql STABLE
    SET enable_indexscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    trigrams bigint[] := content_trigrams(p_namespace, left(lower(p_text), 200));
BEGIN
    RETURN QUERY
    SELECT m.id FROM memories m
    WHERE content_trigrams(m.namespace, m.content) @> trigrams AND m.namespace || '' = p_namespace
        AND contains(m, p_text) AND passes(m, filters)
    ORDER BY m."timestamp" DESC, m.id DESC
    LIMIT p_limit;
END
$$;
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
CREATE FUNCTION public.collect_metadata_keys() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    NEW.metadata_keys := metadata_keys(NEW.namespace, NEW.metadata);
    RETURN NEW;
END
$$;
CREATE FUNCTION public.collect_words() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO memory_words (memory_id, keys, weights)
    SELECT one.id, term_keys(one.namespace, words), term_weights(one.namespace, words)
    FROM stored AS one CROSS JOIN LATERAL words_of(searched_text(one.title, one.tags, one.content)) AS words;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.collect_words_anew() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    words tsvector := words_of(searched_text(NEW.title, NEW.tags, NEW.content));
BEGIN
    UPDATE memory_words SET keys = term_keys(NEW.namespace, words), weights = term_weights(NEW.namespace, words)
    WHERE memory_id = NEW.id;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.complete_candidates(p_ids uuid[], p_vector_scores double precision[], p_lexical_scores double precision[], asked public.question) RETURNS SETOF public.candidate
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    p_vector halfvec := asked.vector;
    p_terms sparsevec := asked.terms;
BEGIN
    RETURN QUERY
    SELECT m.id, m."timestamp", m.session, memory_quality(m.rating_count, m.rating_sum, m.fetches),
        -- `+ 0` keeps the index of all chunks out of it.
        coalesce(listed.vector_score, greatest(1.0 - (m.embedding <=> p_vector), 1.0 - (
            SELECT min((c.embedding <=> p_vector) + 0) FROM memory_chunks c WHERE c.memory_id = m.id
        ))),
        coalesce(listed.lexical_score, CASE WHEN p_terms IS NOT NULL THEN (
            SELECT lexical_score(w, p_terms, asked.mean_length) FROM memory_words w WHERE w.memory_id = m.id
        ) END, 0),
        CASE WHEN m."timestamp" <@ asked.preferred THEN CAST(0.2 AS double precision) ELSE 0 END,
        CASE WHEN is_said_by(m.content, asked.words) THEN CAST(0.2 AS double precision) ELSE 0 END,
        CAST(0 AS double precision), CAST(0 AS double precision), CAST(NULL AS double precision)
    FROM (
        SELECT u.id, max(u.vector_score) AS vector_score, max(u.lexical_score) AS lexical_score
        FROM unnest(p_ids, p_vector_scores, p_lexical_scores) AS u (id, vector_score, lexical_score)
        GROUP BY u.id
    ) AS listed JOIN memories m ON m.id = listed.id;
END
$$;
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
    session text,
    metadata_keys integer[] DEFAULT '{}'::integer[] NOT NULL,
    CONSTRAINT memories_check CHECK (((array_position(tags, NULL::text) IS NULL) AND (array_position(tag_keys, NULL::text) IS NULL))),
    CONSTRAINT memories_content_hash_check CHECK (((octet_length(content_hash) = 64) AND (ltrim(content_hash, '0123456789abcdef'::text) = ''::text)))
)
WITH (fillfactor='66', toast_tuple_target='2688', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.memories ALTER COLUMN embedding SET STORAGE PLAIN;
CREATE FUNCTION public.contains(m public.memories, p_text text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    RETURN (POSITION((lower(p_text)) IN (lower((m).content))) > 0);
CREATE FUNCTION public.content_trigrams(p_namespace text, p_content text) RETURNS bigint[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
DECLARE
    bytes bytea := convert_to(lower(p_content), 'UTF8');
    own bigint := CAST(CAST('x' || left(md5(p_namespace), 8) AS bit(32)) AS bigint) << 24;
BEGIN
    RETURN (
        SELECT array_agg(once.trigram) FROM (
            SELECT DISTINCT own | (get_byte(bytes, i) << 16) | (get_byte(bytes, i + 1) << 8) | get_byte(bytes, i + 2)
                AS trigram
            FROM generate_series(0, length(bytes) - 3) AS i
        ) AS once
    );
END
$$;
CREATE FUNCTION public.searched_text(p_title text, p_content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (POSITION((p_title) IN (translate(p_content, '
	
'::text, '   '::text))) > 0) THEN p_content ELSE ((p_title || ' '::text) || p_content) END;
CREATE FUNCTION public.words_of(p_text text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN to_tsvector('english'::regconfig, regexp_replace(regexp_replace(CASE WHEN (octet_length(p_text) = char_length(p_text)) THEN p_text ELSE regexp_replace(p_text, '([\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3041-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF])'::text, ' \1 '::text, 'g'::text) END, '(\w)[/@](?=\w)|(\w)[-+](?=\d)|([[:alpha:]]{2})\.(?=[[:alpha:]]{2})'::text, '\1\2\3 '::text, 'g'::text), '(\d),(?=\d{3}(?!\d))'::text, '\1'::text, 'g'::text));
CREATE FUNCTION public.content_words(p_title text, p_content text) RETURNS text[]
    LANGUAGE sql IMMUTABLE
    RETURN tsvector_to_array(public.words_of(public.searched_text(p_title, p_content)));
CREATE FUNCTION public.count_usage(p_namespace text, p_memories bigint, p_bytes bigint, p_texts bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO namespace_usage AS u (namespace, shard, memories, bytes, day, texts)
    VALUES (p_namespace, pg_backend_pid() % 64, p_memories, p_bytes, CAST(now() AT TIME ZONE 'UTC' AS date), p_texts)
    ON CONFLICT (namespace, shard) DO UPDATE
    SET memories = u.memories + EXCLUDED.memories, bytes = u.bytes + EXCLUDED.bytes, day = EXCLUDED.day,
        texts = CASE WHEN u.day = EXCLUDED.day THEN u.texts ELSE 0 END + EXCLUDED.texts;
END
$$;
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
CREATE FUNCTION public.count_passing(p_namespace text, filters public.memory_filters, p_limit integer) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    keyed boolean := narrows_by_keys(filters);
    tags_alone boolean := keyed AND ROW (filters.after, filters.before, filters.session, filters.not_session,
        filters.metadata) IS NULL;
BEGIN
    IF tags_alone AND filters.own_all IS NULL THEN
        RETURN (SELECT count(*) FROM (
            SELECT FROM memories m WHERE own_tags(m.namespace, m.tag_keys) && filters.own_any LIMIT p_limit + 1
        ) AS some_);
    ELSIF tags_alone AND filters.own_any IS NULL THEN
        RETURN (SELECT count(*) FROM (
            SELECT FROM memories m WHERE own_tags(m.namespace, m.tag_keys) @> filters.own_all LIMIT p_limit + 1
        ) AS some_);
    END IF;
    RETURN (SELECT count(*) FROM (
        SELECT FROM memories m
        WHERE CASE WHEN keyed THEN m.namespace || '' ELSE m.namespace END = p_namespace AND passes(m, filters)
        LIMIT p_limit + 1
    ) AS some_);
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
CREATE FUNCTION public.cut_record(m public.memories, p_query text, p_share integer) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    of_metadata integer := char_length(CAST(m.metadata AS text));
    shown integer;
    found text;
BEGIN
    IF char_length(m.content) + of_metadata <= p_share THEN
        RETURN '{}';
    END IF;
    IF of_metadata > p_share / 2 THEN
        of_metadata := NULL;
    END IF;
    shown := greatest(0, p_share - coalesce(of_metadata, 0));
    IF shown >= 500 THEN
        found := snippet(m.content, p_query, shown - 240);
    END IF;
    RETURN jsonb_build_object('content', left(m.content, shown - coalesce(char_length(found), 0)), 'snippet', found)
        || CAST(CASE WHEN of_metadata IS NULL THEN '{"metadata": null}' ELSE '{}' END AS jsonb);
END
$$;
CREATE FUNCTION public.delete_dead_letter(p_namespace text, p_message_id text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    IF p_namespace IS DISTINCT FROM current_setting('mnemosyne.namespace', true) THEN
        RAISE insufficient_privilege USING MESSAGE = 'this session is not for that namespace';
    END IF;
    DELETE FROM dead_letters WHERE namespace = p_namespace AND message_id = p_message_id;
END
$$;
CREATE FUNCTION public.describe_candidates(p_ids uuid[], p_vector_scores double precision[], p_relevances double precision[]) RETURNS public.candidate[]
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN ARRAY(
        SELECT CAST(ROW (m.id, m."timestamp", m.session, memory_quality(m.rating_count, m.rating_sum, m.fetches),
            u.vector_score, NULL, NULL, NULL, NULL, NULL, coalesce(u.relevance, least(1.0, greatest(0.0, u.vector_score)))) AS candidate)
        FROM unnest(p_ids, p_vector_scores, p_relevances) AS u (id, vector_score, relevance) JOIN memories m ON m.id = u.id);
END
$$;
CREATE FUNCTION public.diversify(candidates public.candidate[]) RETURNS public.candidate[]
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    ids uuid[];
    relevances double precision[];
    nearness double precision[];
    nearest double precision[];
    alone boolean[];
    chosen boolean[];
    n integer;
    best integer;
BEGIN
    SELECT array_agg(b.id), array_agg(b.relevance), array_agg(b.session IS NULL), count(*) INTO ids, relevances, alone, n
    FROM (
        SELECT u.id, u.relevance, u.session FROM unnest(candidates) AS u ORDER BY u.relevance DESC, u.id DESC LIMIT 20
    ) AS b;
    IF n < 2 THEN
        RETURN candidates;
    END IF;
    WITH vectors AS MATERIALIZED (
        SELECT p.place, l2_normalize(m.embedding) AS vector
        FROM unnest(ids) WITH ORDINALITY AS p (id, place) JOIN memories m ON m.id = p.id
    )
    SELECT array_agg(greatest(0.0, - (a.vector <#> b.vector)) ORDER BY a.place, b.place) INTO nearness
    FROM vectors a CROSS JOIN vectors b;
    nearest := array_fill(CAST(0 AS double precision), ARRAY[n]);
    chosen := array_fill(false, ARRAY[n]);
    FOR place IN 1..least(10, n) LOOP
        best := NULL;
        FOR one IN 1..n LOOP
            IF NOT chosen[one] AND (best IS NULL
                OR relevances[one] - nearest[one] / 9 > relevances[best] - nearest[best] / 9) THEN
                best := one;
            END IF;
        END LOOP;
        chosen[best] := true;
        FOR one IN 1..n LOOP
            IF NOT chosen[one] AND NOT alone[one] THEN
                nearest[one] := greatest(nearest[one], nearness[(best - 1) * n + one]);
            END IF;
        END LOOP;
    END LOOP;
    RETURN ARRAY(
        SELECT CAST(ROW (u.id, u.timestamp, u.session, u.quality, u.vector_score, u.lexical_score, u.timely, u.said,
            u.neighbours, u.near, greatest(0.0, u.relevance - u.near / 9)) AS candidate)
        FROM (
            SELECT c.*, CASE WHEN c.session IS NULL THEN 0.0 ELSE coalesce(r.near, 1.0) END AS near
            FROM unnest(candidates) AS c LEFT JOIN unnest(ids, nearest) AS r (id, near) ON r.id = c.id
        ) AS u);
END
$$;
CREATE FUNCTION public.filters_of(p_filters jsonb) RETURNS public.memory_filters
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    own CONSTANT text := current_setting('mnemosyne.namespace', true);
    filters memory_filters;
BEGIN
    IF jsonb_typeof(p_filters -> 'metadata_terms') = 'array' THEN
        p_filters := p_filters || jsonb_build_object('metadata_keys', (
            SELECT jsonb_agg(term_key(own, term.key)) FROM (
                SELECT 'metadata ' || t FROM jsonb_array_elements_text(p_filters -> 'metadata_terms') AS t
                UNION SELECT 'metadata'
            ) AS term (key)));
    END IF;
    filters := jsonb_populate_record(CAST(NULL AS memory_filters), p_filters);
    filters.own_any := CASE WHEN filters.any_tags IS NOT NULL THEN own_tags(own, filters.any_tags) END;
    filters.own_all := CASE WHEN filters.all_tags IS NOT NULL THEN own_tags(own, filters.all_tags) END;
    RETURN filters;
END
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
    CONSTRAINT api_keys_scopes_check CHECK (((scopes <@ ARRAY['read'::text, 'write'::text, 'operate'::text, 'admin'::text]) AND (scopes <> '{}'::text[]))),
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
CREATE FUNCTION public.fuse_candidates(p_ids uuid[], p_vector_scores double precision[], p_lexical_scores double precision[], filters public.memory_filters, asked public.question) RETURNS public.candidate[]
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    candidates candidate[];
    bounds double precision[];
    has_sessions boolean;
BEGIN
    SELECT array_agg(c), bool_or(c.session IS NOT NULL),
        ARRAY[min(c.vector_score), nullif(max(c.vector_score) - min(c.vector_score), 0), min(c.lexical_score),
            nullif(max(c.lexical_score) - min(c.lexical_score), 0)]
    INTO candidates, has_sessions, bounds
    FROM complete_candidates(p_ids, p_vector_scores, p_lexical_scores, asked) AS c;
    IF NOT has_sessions THEN
        RETURN ARRAY(
            SELECT CAST(ROW (u.id, u.timestamp, u.session, u.quality, u.vector_score, u.lexical_score, u.timely, u.said,
                u.neighbours, u.redundancy, u.score / greatest(1.0, max(u.score) OVER ())) AS candidate)
            FROM (SELECT c.*, own_score(c, asked.lexical_weight, bounds) + c.said AS score FROM unnest(candidates) AS c) AS u);
    END IF;
    candidates := ARRAY(
        SELECT CAST(ROW (u.id, u.timestamp, u.session, u.quality, u.vector_score, u.lexical_score, u.timely, u.said,
            u.neighbours, u.redundancy, own_score(u, asked.lexical_weight, bounds)) AS candidate) FROM unnest(candidates) AS u);
    RETURN diversify(ARRAY(
        SELECT CAST(ROW (u.id, u.timestamp, u.session, u.quality, u.vector_score, u.lexical_score, u.timely, u.said,
            u.neighbours, u.redundancy, (u.relevance + u.said) / greatest(1.0, max(u.relevance + u.said) OVER ())) AS candidate)
        FROM add_context(candidates, filters, bounds, asked) AS u));
END
$$;
CREATE TABLE public.oauth_grants (
    id uuid NOT NULL,
    subject text NOT NULL,
    person text NOT NULL,
    namespace text NOT NULL,
    client_id text NOT NULL,
    scopes text[] NOT NULL,
    resource text NOT NULL,
    granted_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    revoked_for text,
    CONSTRAINT oauth_grants_namespace_check CHECK ((namespace <> ''::text)),
    CONSTRAINT oauth_grants_scopes_check CHECK (((scopes <@ ARRAY['read'::text, 'write'::text, 'operate'::text, 'admin'::text]) AND (scopes <> '{}'::text[])))
);
CREATE FUNCTION public.grant_stands(p_id uuid) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 SELECT (EXISTS ( SELECT
            FROM public.oauth_grants
           WHERE ((oauth_grants.id = grant_stands.p_id) AND (oauth_grants.revoked_at IS NULL) AND (oauth_grants.expires_at > now())))) AS "exists";
END;
CREATE FUNCTION public.plain_words(p_text text) RETURNS text[]
    LANGUAGE sql IMMUTABLE
    RETURN array_remove(regexp_split_to_array(lower(p_text), '\W+'::text), ''::text);
CREATE FUNCTION public.is_said_by(p_content text, p_words text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN (POSITION((': '::text) IN ("left"(p_content, 42))) > 1) THEN (public.plain_words(split_part("left"(p_content, 42), ': '::text, 1)) && p_words) ELSE false END;
CREATE TABLE public.memory_words (
    memory_id uuid NOT NULL,
    keys integer[] NOT NULL,
    weights public.sparsevec NOT NULL
);
CREATE FUNCTION public.lexical_score(w public.memory_words, p_terms public.sparsevec, p_mean_length double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE
    RETURN (((- ((w).weights OPERATOR(public.<#>) p_terms)) * (2.2)::double precision) / ((1.72)::double precision + ((0.48)::double precision * LEAST((4.0)::double precision, ((cardinality((w).keys))::double precision / p_mean_length)))));
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
CREATE FUNCTION public.mark_queued(p_namespace text, p_request_ids uuid[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    PERFORM require_own(p_namespace);
    UPDATE ingest_requests
    SET state = 'queued', updated_at = clock_timestamp(), announced_at = NULL
    WHERE namespace = p_namespace AND request_id = ANY (p_request_ids) AND state = 'dead_lettered';
END
$$;
CREATE FUNCTION public.match_keys(p_keys integer[], p_terms public.sparsevec, p_mean_length double precision, p_rows integer) RETURNS TABLE(memory_id uuid, lexical_score double precision)
    LANGUAGE plpgsql STABLE
    SET enable_indexscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    RETURN QUERY
    SELECT w.memory_id, lexical_score(w, p_terms, p_mean_length) FROM memory_words w WHERE w.keys && p_keys LIMIT p_rows;
END
$$;
CREATE FUNCTION public.match_memories(p_namespace text, filters public.memory_filters, p_keys integer[], p_terms public.sparsevec, p_mean_length double precision, p_limit integer, p_rows integer) RETURNS TABLE(id uuid, lexical_score double precision)
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    RETURN QUERY
    SELECT k.memory_id, k.lexical_score
    FROM (
        SELECT * FROM match_keys(p_keys, p_terms, p_mean_length, p_rows) AS found
        ORDER BY found.lexical_score DESC, found.memory_id DESC
    ) AS k
    CROSS JOIN LATERAL (
        SELECT FROM memories m
        WHERE m.id = k.memory_id AND m.namespace || '' = p_namespace AND passes(m, filters) OFFSET 0
    ) AS one
    ORDER BY k.lexical_score DESC, k.memory_id DESC
    LIMIT p_limit;
END
$$;
CREATE FUNCTION public.match_newest(p_namespace text, filters public.memory_filters, p_terms public.sparsevec, p_mean_length double precision, p_limit integer, p_rows integer) RETURNS TABLE(id uuid, lexical_score double precision)
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
BEGIN
    RETURN QUERY
    SELECT s.id, s.score FROM (
        SELECT n.id, n."timestamp", lexical_score(w, p_terms, p_mean_length) AS score
        FROM (
            SELECT m.id, m."timestamp" FROM memories m WHERE m.namespace = p_namespace AND passes(m, filters)
            ORDER BY m."timestamp" DESC, m.id DESC
            LIMIT p_rows
        ) AS n JOIN memory_words w ON w.memory_id = n.id
    ) AS s
    WHERE s.score > 0
    ORDER BY s.score DESC, s."timestamp" DESC, s.id DESC
    LIMIT p_limit;
END
$$;
CREATE FUNCTION public.match_substring(p_namespace text, filters public.memory_filters, p_text text, p_limit integer, p_passing bigint) RETURNS uuid[]
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    few CONSTANT integer := 1000;
    ids uuid[];
BEGIN
    IF octet_length(lower(p_text)) < 3 OR p_passing <= few THEN
        RETURN ARRAY(SELECT n.id FROM newest_memories(p_namespace, filters, p_text, p_limit) AS n);
    END IF;
    ids := ARRAY(SELECT n.id FROM newest_containing(p_namespace, filters, p_text, p_limit, few) AS n);
    IF cardinality(ids) < p_limit THEN
        ids := ARRAY(SELECT a.id FROM all_containing(p_namespace, filters, p_text, p_limit) AS a);
    END IF;
    RETURN ids;
END
$$;
CREATE FUNCTION public.matched_words(p_query text, p_words tsvector) RETURNS text[]
    LANGUAGE sql IMMUTABLE
    RETURN ARRAY(SELECT DISTINCT w.word FROM unnest(public.plain_words(matched_words.p_query)) w(word) WHERE (tsvector_to_array(public.words_of(w.word)) && tsvector_to_array(matched_words.p_words)) ORDER BY w.word LIMIT 100);
CREATE FUNCTION public.memory_bytes(content text, title text, tags text[], metadata jsonb) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (((octet_length(content) + octet_length(title)) + octet_length(array_to_string(tags, ''::text))) + octet_length((metadata)::text));
CREATE FUNCTION public.memory_facets(p_namespace text, p_filters jsonb, p_limit integer) RETURNS TABLE(tag text, memories bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    filters memory_filters := filters_of(p_filters);
BEGIN
    PERFORM require_own(p_namespace);
    RETURN QUERY
    SELECT min(one.written), count(*)
    FROM (
        SELECT m.tags, m.tag_keys FROM memories m
        WHERE m.namespace = p_namespace AND passes(m, filters)
        ORDER BY m."timestamp" DESC, m.id DESC LIMIT 5000
    ) AS newest, unnest(newest.tags, newest.tag_keys) AS one (written, key)
    GROUP BY one.key
    ORDER BY count(*) DESC, one.key
    LIMIT p_limit;
END
$$;
CREATE FUNCTION public.memory_quality(rating_count integer, rating_sum integer, fetches bigint) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN LEAST(1.0, (((1.0 + (((rating_sum + rating_count))::numeric / 2.0)) / (2.0 + (rating_count)::numeric)) + (0.2 * LEAST(1.0, (ln((1.0 + (fetches)::numeric)) / ln(101.0))))));
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
    'session', m.session,
    'content_hash', m.content_hash,
    'embedding_model', m.embedding_model,
    'created_at', m.created_at,
    'last_seen_at', m.last_seen_at,
    'superseded_by', m.superseded_by,
    'quality', memory_quality(m.rating_count, m.rating_sum, m.fetches)
)
$$;
CREATE FUNCTION public.memory_timeline(p_namespace text, p_filters jsonb, p_per text, p_timezone text) RETURNS TABLE(per text, start date, memories bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    filters memory_filters := filters_of(p_filters);
    counted constant integer := 1000;
    earliest constant timestamp := '0001-01-01';
    latest constant timestamp := '9999-12-31';
    first timestamptz;
    last timestamptz;
BEGIN
    PERFORM require_own(p_namespace);
    SELECT min(m."timestamp"), max(m."timestamp") INTO first, last
    FROM memories m WHERE m.namespace = p_namespace
        AND m."timestamp" >= coalesce(filters.after, '-infinity') AND m."timestamp" < coalesce(filters.before, 'infinity');
    per := coalesce(p_per, (
        SELECT finest.name FROM (VALUES ('day', 400), ('week', 2800), ('month', 12000)) AS finest (name, days)
        WHERE last - first < make_interval(days => finest.days) ORDER BY finest.days LIMIT 1), 'year');
    -- Filters by time alone are met by the index on time: no memory is read.
    IF jsonb_strip_nulls(p_filters) - ARRAY['after', 'before', 'include_superseded'] = '{}' AND filters.include_superseded THEN
        RETURN QUERY
        SELECT per, CAST(greatest(least(date_trunc(per, m."timestamp" AT TIME ZONE p_timezone), latest), earliest) AS date) AS bucket, count(*)
        FROM memories m WHERE m.namespace = p_namespace
            AND m."timestamp" >= coalesce(filters.after, '-infinity')
            AND m."timestamp" < coalesce(filters.before, 'infinity')
        GROUP BY bucket ORDER BY bucket DESC LIMIT counted;
    ELSE
        RETURN QUERY
        SELECT per, CAST(greatest(least(date_trunc(per, m."timestamp" AT TIME ZONE p_timezone), latest), earliest) AS date) AS bucket, count(*)
        FROM memories m WHERE m.namespace = p_namespace AND passes(m, filters)
        GROUP BY bucket ORDER BY bucket DESC LIMIT counted;
    END IF;
END
$$;
CREATE FUNCTION public.metadata_text(p_value jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE jsonb_typeof(p_value) WHEN 'number'::text THEN (trim_scale((p_value)::numeric))::text WHEN 'string'::text THEN (p_value #>> '{}'::text[]) WHEN 'boolean'::text THEN (p_value #>> '{}'::text[]) ELSE NULL::text END;
CREATE FUNCTION public.term_key(p_namespace text, p_lexeme text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (1 + (((('x'::text || "left"(md5(((p_namespace || ' '::text) || p_lexeme)), 8)))::bit(32))::integer & 536870911));
CREATE FUNCTION public.metadata_keys(p_namespace text, p_metadata jsonb) RETURNS integer[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 WITH RECURSIVE node(path, value) AS (
          SELECT ''::text AS text,
             metadata_keys.p_metadata AS p_metadata
         UNION ALL
          SELECT (node.path || COALESCE(('.'::text || replace(child.key, '.'::text, '\.'::text)), ''::text)),
             child.value
            FROM (node
              CROSS JOIN LATERAL ( SELECT o.key,
                     o.value
                    FROM jsonb_each(
                         CASE jsonb_typeof(node.value)
                             WHEN 'object'::text THEN node.value
                             ELSE '{}'::jsonb
                         END) o(key, value)
                 UNION ALL
                  SELECT NULL::text,
                     a.value
                    FROM jsonb_array_elements(
                         CASE jsonb_typeof(node.value)
                             WHEN 'array'::text THEN node.value
                             ELSE '[]'::jsonb
                         END) a(value)) child)
         ), term AS (
          SELECT node.path AS term
            FROM node
           WHERE (node.path <> ''::text)
         UNION
          SELECT ((node.path || '='::text) || public.metadata_text(node.value))
            FROM node
           WHERE (public.metadata_text(node.value) IS NOT NULL)
  LIMIT 501
         ), keys AS (
          SELECT array_agg(DISTINCT public.term_key(metadata_keys.p_namespace, ('metadata '::text || term.term))) AS keys,
             count(*) AS n
            FROM term
         )
  SELECT
         CASE
             WHEN (keys.n > 500) THEN ARRAY[public.term_key(metadata_keys.p_namespace, 'metadata'::text)]
             ELSE COALESCE(keys.keys, '{}'::integer[])
         END AS "coalesce"
    FROM keys;
END;
CREATE FUNCTION public.narrows_by_keys(filters public.memory_filters) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    RETURN filters.own_any IS NOT NULL OR filters.own_all IS NOT NULL OR filters.metadata_keys IS NOT NULL;
END
$$;
CREATE FUNCTION public.newest_containing(p_namespace text, filters public.memory_filters, p_text text, p_limit integer, p_rows integer) RETURNS TABLE(id uuid)
    LANGUAGE plpgsql STABLE
    SET enable_sort TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    RETURN QUERY
    SELECT (n.one).id FROM (
        SELECT m AS one FROM memories m WHERE m.namespace = p_namespace
        ORDER BY m."timestamp" DESC, m.id DESC
        LIMIT p_rows
    ) AS n
    WHERE contains(n.one, p_text) AND passes(n.one, filters)
    LIMIT p_limit;
END
$$;
CREATE FUNCTION public.newest_memories(p_namespace text, filters public.memory_filters, p_text text, p_limit integer) RETURNS TABLE(id uuid)
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
BEGIN
    RETURN QUERY
    SELECT m.id FROM memories m
    WHERE m.namespace = p_namespace AND passes(m, filters)
        AND (p_text IS NULL OR contains(m, p_text))
    ORDER BY m."timestamp" DESC, m.id DESC
    LIMIT p_limit;
END
$$;
CREATE FUNCTION public.normalised(p_score double precision, p_least double precision, p_span double precision, p_flat boolean) RETURNS double precision
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN (p_span IS NOT NULL) THEN GREATEST((0.0)::double precision, ((p_score - p_least) / p_span)) WHEN p_flat THEN (1.0)::double precision ELSE (0.0)::double precision END;
CREATE FUNCTION public.own_score(c public.candidate, p_lexical_weight double precision, bounds double precision[]) RETURNS double precision
    LANGUAGE sql IMMUTABLE
    RETURN (((c).timely + (((1)::double precision - p_lexical_weight) * public.normalised((c).vector_score, (bounds)[1], (bounds)[2], ((c).vector_score >= (bounds)[1])))) + (p_lexical_weight * public.normalised((c).lexical_score, (bounds)[3], (bounds)[4], ((c).lexical_score > (0)::double precision))));
CREATE FUNCTION public.own_tags(p_namespace text, p_tag_keys text[]) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
DECLARE
    own text := left(md5(p_namespace), 8);
BEGIN
    -- A tag that has the separator in it becomes two here, and is compared as a whole beside this.
    RETURN CASE WHEN cardinality(p_tag_keys) > 0
        THEN string_to_array(own || array_to_string(p_tag_keys, E'\x1f' || own), E'\x1f') ELSE '{}' END;
END
$$;
CREATE FUNCTION public.passes(m public.memories, f public.memory_filters) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN ((((f).after IS NULL) OR ((m)."timestamp" >= (f).after)) AND (((f).before IS NULL) OR ((m)."timestamp" < (f).before)) AND (((f).any_tags IS NULL) OR (((m).tag_keys && (f).any_tags) AND (public.own_tags((m).namespace, (m).tag_keys) && (f).own_any))) AND (((f).all_tags IS NULL) OR (((m).tag_keys @> (f).all_tags) AND (public.own_tags((m).namespace, (m).tag_keys) @> (f).own_all))) AND (((f).session IS NULL) OR ((m).session = (f).session)) AND (((f).not_session IS NULL) OR ((m).session IS DISTINCT FROM (f).not_session)) AND (((f).metadata IS NULL) OR ((((f).metadata_keys IS NULL) OR ((m).metadata_keys && (f).metadata_keys)) AND jsonb_path_exists((m).metadata, (f).metadata, '{}'::jsonb, true))) AND ((f).include_superseded OR ((m).superseded_by IS NULL)));
CREATE FUNCTION public.rank_candidates(candidates public.candidate[], p_strategy text, p_limit integer, p_quality_weight double precision, p_characters integer, p_query text, p_explain boolean) RETURNS json
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    best candidate[] := ARRAY(
        SELECT c FROM unnest(candidates) AS c
        -- Opposite meanings are all of relevance 0: nearness orders them still.
        ORDER BY (1 - p_quality_weight) * c.relevance + p_quality_weight * c.quality DESC,
            c.vector_score DESC NULLS LAST, c."timestamp" DESC, c.id DESC
        LIMIT p_limit
    );
    each_ integer := CASE WHEN p_characters IS NOT NULL
        THEN shared_characters(ARRAY(SELECT b.id FROM unnest(best) AS b), p_characters) END;
BEGIN
    RETURN (
        SELECT json_build_object('strategy', p_strategy, 'considered', coalesce(cardinality(candidates), 0), 'hits', coalesce(
            json_agg(memory_record(m) || jsonb_build_object(
                'length', char_length(m.content),
                'snippet', NULL,
                'why', CASE WHEN p_explain THEN json_build_object(
                    'matched_words', matched_words(p_query, words_of(searched_text(m.title, m.tags, m.content))),
                    'vector_score', b.vector_score, 'lexical_score', b.lexical_score, 'neighbours', b.neighbours,
                    'time', b.timely, 'speaker', b.said, 'redundancy', b.redundancy) END,
                'relevance', CASE WHEN p_strategy <> 'newest' THEN b.relevance END,
                'score', (1 - p_quality_weight) * b.relevance + p_quality_weight * b.quality
            ) || CASE WHEN each_ IS NULL THEN '{}' ELSE cut_record(m, p_query, each_) END ORDER BY b.place), '[]'))
        FROM unnest(best) WITH ORDINALITY AS b (
            id, "timestamp", session, quality, vector_score, lexical_score, timely, said, neighbours, redundancy, relevance,
            place
        ) JOIN memories m ON m.id = b.id
    );
END
$$;
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
        SELECT w.keys, m."timestamp", m.id FROM memories m JOIN memory_words w ON w.memory_id = m.id
        WHERE m.namespace = p_namespace
        ORDER BY m."timestamp" DESC, m.id DESC LIMIT sample
    ), sampled AS MATERIALIZED (
        -- As they are stored, so that none is unpacked to be measured; of one long memory at least.
        SELECT measured.keys FROM (
            SELECT newest.keys, sum(pg_column_size(keys)) OVER (
                ORDER BY "timestamp" DESC, id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS newer FROM newest
        ) AS measured
        WHERE coalesce(measured.newer, 0) <= sample_bytes
    ), counted AS (
        SELECT key, count(*) AS n FROM sampled, unnest(sampled.keys) AS key
        GROUP BY key ORDER BY n DESC, key LIMIT kept
    ), size AS (
        SELECT count(*) AS n, avg(cardinality(keys)) AS mean_length FROM sampled
    )
    INSERT INTO namespace_words AS w (namespace, memories, sampled, mean_length, keys, shares)
    SELECT p_namespace, now_, size.n, greatest(coalesce(size.mean_length, 0), 1),
        array(SELECT key FROM counted ORDER BY n DESC, key),
        array(SELECT CAST(c.n AS real) / size.n FROM counted c ORDER BY c.n DESC, c.key)
    FROM size
    ON CONFLICT (namespace) DO UPDATE
    SET memories = EXCLUDED.memories, sampled = EXCLUDED.sampled, mean_length = EXCLUDED.mean_length,
        keys = EXCLUDED.keys, shares = EXCLUDED.shares;
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
CREATE FUNCTION public.rerank_memories(p_namespace text, p_ids uuid[], p_relevances double precision[], p_query text, p_limit integer, p_quality_weight double precision, p_characters integer) RETURNS json
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    ids uuid[];
    places double precision[];
    relevances double precision[];
BEGIN
    PERFORM require_own(p_namespace);
    SELECT array_agg(g.id), array_agg(CAST(- g.place AS double precision)), array_agg(g.relevance)
    INTO ids, places, relevances
    FROM unnest(p_ids, p_relevances) WITH ORDINALITY AS g (id, relevance, place)
    JOIN memories m ON m.id = g.id AND m.namespace = p_namespace;
    RETURN rank_candidates(describe_candidates(ids, places, relevances), 'reranked', p_limit, p_quality_weight, p_characters,
        p_query, false);
END
$$;
CREATE FUNCTION public.scan_memories(p_namespace text, filters public.memory_filters, p_vector public.halfvec, p_limit integer) RETURNS TABLE(id uuid, vector_score double precision)
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    chunked boolean := EXISTS (SELECT FROM memory_chunks c WHERE c.namespace = p_namespace);
    keyed boolean := narrows_by_keys(filters);
BEGIN
    RETURN QUERY
    SELECT s.id, s.score FROM (
        -- `+ 0` keeps the index out of it.
        SELECT m.id, m."timestamp", CASE WHEN chunked
                THEN 1.0 - least(m.embedding <=> p_vector, (
                    SELECT min((c.embedding <=> p_vector) + 0) FROM memory_chunks c WHERE c.memory_id = m.id))
                ELSE 1.0 - ((m.embedding <=> p_vector) + 0) END AS score
        FROM memories m
        WHERE CASE WHEN keyed THEN m.namespace || '' ELSE m.namespace END = p_namespace AND passes(m, filters)
    ) AS s
    ORDER BY s.score DESC, s."timestamp" DESC, s.id DESC
    LIMIT p_limit;
END
$$;
CREATE FUNCTION public.search_memories(p_namespace text, p_mode text, p_query text, p_vector text, p_model text, p_filters jsonb, p_limit integer, p_quality_weight double precision, p_lexical_weight double precision, p_characters integer) RETURNS json
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    filters memory_filters := filters_of(p_filters);
    own bigint := (SELECT coalesce(sum(u.memories), 0) FROM namespace_usage u WHERE u.namespace = p_namespace);
    -- Of each list: three times what is asked for where fusion or quality may choose from it.
    by_words boolean := p_query IS NOT NULL AND (p_mode = 'hybrid' OR (p_mode = 'semantic' AND p_vector IS NULL));
    candidates integer := CASE WHEN by_words OR p_quality_weight > 0 THEN greatest(3 * p_limit, 100) ELSE p_limit END;
    query_vector halfvec := CAST(p_vector AS halfvec);
    -- Everybody's memories, that share the index: as of the last VACUUM.
    everybody double precision := (SELECT greatest(own, c.reltuples) FROM pg_class c WHERE c.oid = CAST('memories' AS regclass));
    -- One session that is left out narrows nothing.
    filtered boolean := jsonb_strip_nulls(p_filters) - CAST('{explain,preferred,not_session}' AS text[])
        <> '{"include_superseded": false}';
    -- More than 1,000 numbers make a row of more than 2,000 bytes, which keeps them out of line.
    out_of_line boolean := coalesce(vector_dims(query_vector) > 1000, false);
    -- Up to this many, comparing all that pass is as fast as asking the index, and exact. The index yields candidates *
    -- everybody / passing until enough of them pass, each at the cost of about 25 compared (256 dimensions: 9 to 45
    -- microseconds and 0.6 to 1.4), of 8 out of line (3,072: 42 to 104 and 7.4), or of 6 that lie here and there, as what has
    -- a tag does. Beside a filter all that pass are counted first, so that it is no more than 10,000 there.
    exact_up_to integer := greatest(2000, least(CASE WHEN filtered OR out_of_line THEN 10000 ELSE 40000 END,
        sqrt(CASE WHEN filtered THEN 6.0 WHEN out_of_line THEN 8.0 ELSE 25.0 END * candidates * everybody)));
    -- Words so common that with the rarer ones they match more than this only add to the score of what others found.
    lexical_rows CONSTANT integer := 2000;
    passing bigint := own;
    explain boolean := coalesce(CAST(p_filters ->> 'explain' AS boolean), false);
    strategy text;
    keys integer[];
    terms sparsevec;
    mean_length double precision;
    ids uuid[];
    vector_scores double precision[];
    lexical_scores double precision[];
    found_all candidate[];
    found integer;
    narrow boolean;
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
    IF p_query IS NOT NULL AND filtered THEN
        passing := least(own, count_passing(p_namespace, filters, exact_up_to));
    END IF;
    IF p_query IS NULL OR p_mode = 'exact' THEN
        ids := CASE WHEN p_query IS NULL
            THEN ARRAY(SELECT n.id FROM newest_memories(p_namespace, filters, NULL, candidates) AS n)
            ELSE match_substring(p_namespace, filters, p_query, candidates, passing) END;
        strategy := CASE WHEN p_query IS NULL THEN 'newest' ELSE 'substring' END;
        RETURN rank_candidates(describe_candidates(ids, NULL, array_fill(CAST(CASE strategy WHEN 'newest' THEN 0 ELSE 1 END
            AS double precision), ARRAY[cardinality(ids)])), strategy, p_limit, p_quality_weight, p_characters, p_query, explain);
    END IF;
    IF by_words THEN
        SELECT array_agg(t.key) FILTER (WHERE t.together * own <= lexical_rows),
            terms_vector(array_agg(t.key), array_agg(t.weight))
        INTO keys, terms FROM (
            SELECT s.*, sum(s.share) OVER (ORDER BY s.share, s.key) AS together
            FROM search_terms(p_namespace, p_query) AS s
        ) AS t;
        SELECT w.mean_length INTO mean_length FROM namespace_words w WHERE w.namespace = p_namespace;
        mean_length := coalesce(mean_length, 16);
    END IF;
    strategy := CASE WHEN query_vector IS NOT NULL THEN CASE WHEN passing > exact_up_to THEN 'hnsw' ELSE 'exact' END END;
    IF strategy = 'hnsw' THEN
        -- Of the true ten nearest among 410,000, 200 find .97, 400 find .985 to .99 at half as much again.
        PERFORM set_config('hnsw.ef_search',
            CASE WHEN everybody < 50000 THEN '200' WHEN everybody < 500000 THEN '400' ELSE '600' END, true);
        SELECT array_agg(w.id), array_agg(w.vector_score), count(*) INTO ids, vector_scores, found
        FROM walk_memories(p_namespace, filters, query_vector, candidates) AS w;
        -- A walk that ends early has spent itself on the memories of others, which lie nearer.
        IF found < candidates THEN
            strategy := 'exact';
        ELSIF EXISTS (SELECT FROM memory_chunks c WHERE c.namespace = p_namespace) THEN
            SELECT array_agg(b.id), array_agg(b.score) INTO ids, vector_scores FROM (
                SELECT u.id, max(u.score) AS score FROM (
                    SELECT * FROM unnest(ids, vector_scores) AS w (id, score)
                    UNION ALL SELECT * FROM walk_chunks(p_namespace, filters, query_vector, candidates, p_limit)
                ) AS u GROUP BY u.id ORDER BY 2 DESC, 1 LIMIT candidates
            ) AS b;
        END IF;
    END IF;
    IF strategy = 'exact' THEN
        SELECT array_agg(s.id), array_agg(s.vector_score) INTO ids, vector_scores
        FROM scan_memories(p_namespace, filters, query_vector, candidates) AS s;
    END IF;
    IF by_words THEN
        -- Few that pass of many are looked through; so are the newest where even the rarest word is common.
        narrow := passing < least(own, 2000);
        SELECT ids || array_agg(w.id), vector_scores || array_agg(CAST(NULL AS double precision)),
            array_fill(CAST(NULL AS double precision), ARRAY[coalesce(cardinality(ids), 0)]) || array_agg(w.lexical_score)
        INTO ids, vector_scores, lexical_scores
        FROM (
            SELECT * FROM match_memories(p_namespace, filters, keys, terms, mean_length, candidates, 2 * lexical_rows)
            WHERE NOT narrow AND keys IS NOT NULL
            UNION ALL
            SELECT * FROM match_newest(p_namespace, filters, terms, mean_length, candidates, 2 * lexical_rows)
            WHERE narrow OR keys IS NULL
        ) AS w;
    END IF;
    IF by_words AND query_vector IS NOT NULL THEN
        found_all := fuse_candidates(ids, vector_scores, lexical_scores, filters, CAST(ROW (query_vector, terms, mean_length,
            p_lexical_weight, plain_words(p_query), CAST(p_filters ->> 'preferred' AS tstzmultirange)) AS question));
    ELSE
        found_all := describe_candidates(ids, vector_scores, CASE WHEN by_words THEN ARRAY(
            SELECT u.score / max(u.score) OVER () FROM unnest(lexical_scores) WITH ORDINALITY AS u (score, place)
            ORDER BY u.place) END);
    END IF;
    RETURN rank_candidates(found_all, concat_ws('+', strategy, CASE WHEN by_words THEN 'fulltext' END), p_limit,
        p_quality_weight, p_characters, p_query, explain);
END
$$;
CREATE FUNCTION public.search_terms(p_namespace text, p_query text) RETURNS TABLE(key integer, share double precision, weight double precision)
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    own namespace_words;
BEGIN
    SELECT w.* INTO own FROM namespace_words w WHERE w.namespace = p_namespace;
    RETURN QUERY
    WITH asked AS (
        SELECT DISTINCT query.key FROM unnest(term_keys(p_namespace, words_of(p_query))) AS query (key)
    ), weighed AS MATERIALIZED (
        SELECT asked.key, coalesce(
            CAST(own.shares[array_position(own.keys, asked.key)] AS double precision),
            0.5 / greatest(own.sampled, 1),
            0.001
        ) AS share
        FROM asked
    )
    SELECT w.key, w.share, sqrt(ln(1.0 + 1.0 / greatest(w.share, 0.00001))) FROM weighed w ORDER BY w.share, w.key
    LIMIT 30;  -- a whole page pasted as a query: its rarest words tell what it is about
END
$$;
CREATE FUNCTION public.searched_text(p_title text, p_tags text[], p_content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN concat_ws(' '::text, public.searched_text(p_title, p_content), NULLIF(array_to_string(p_tags, ' '::text), ''::text));
CREATE FUNCTION public.session_neighbours(p_ids uuid[], p_reach integer) RETURNS TABLE(id uuid, neighbour uuid, place bigint)
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN QUERY
    SELECT m.id, n.id, n.place FROM memories m CROSS JOIN LATERAL (
        (SELECT b.id, - row_number() OVER (ORDER BY b."timestamp" DESC, b.id DESC) AS place FROM memories b
        WHERE b.namespace = m.namespace AND b.session = m.session AND (b."timestamp", b.id) < (m."timestamp", m.id)
        ORDER BY b."timestamp" DESC, b.id DESC LIMIT p_reach)
        UNION ALL
        (SELECT a.id, row_number() OVER (ORDER BY a."timestamp", a.id) FROM memories a
        WHERE a.namespace = m.namespace AND a.session = m.session AND (a."timestamp", a.id) > (m."timestamp", m.id)
        ORDER BY a."timestamp", a.id LIMIT p_reach)
    ) AS n
    WHERE m.id = ANY (p_ids) AND m.session IS NOT NULL;
END
$$;
CREATE FUNCTION public.shared_characters(p_ids uuid[], p_characters integer) RETURNS integer
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    lengths integer[] := ARRAY(
        SELECT char_length(m.content) + char_length(CAST(m.metadata AS text)) AS length FROM memories m
        WHERE m.id = ANY (p_ids) ORDER BY length
    );
    rest integer := p_characters;
BEGIN
    FOR n IN 1 .. cardinality(lengths) LOOP
        IF lengths[n] > rest / (cardinality(lengths) - n + 1) THEN
            RETURN rest / (cardinality(lengths) - n + 1);
        END IF;
        rest := rest - lengths[n];
    END LOOP;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.similar_memories(p_namespace text, p_id uuid) RETURNS TABLE(id uuid, "timestamp" timestamp with time zone, title text, tags text[], superseded_by uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    nearest CONSTANT integer := 8;
    filters memory_filters := filters_of('{"include_superseded": false}');
    own bigint := (SELECT coalesce(sum(u.memories), 0) FROM namespace_usage u WHERE u.namespace = p_namespace);
    vector halfvec;
    said text[];
    turning text[];
BEGIN
    PERFORM require_own(p_namespace);
    SELECT m.embedding, content_words(m.title, m.content), turning_words(m.content) INTO vector, said, turning
    FROM memories m WHERE m.namespace = p_namespace AND m.id = p_id;
    RETURN QUERY
    SELECT m.id, m."timestamp", m.title, m.tags, m.superseded_by
    FROM (
        SELECT * FROM scan_memories(p_namespace, filters, vector, nearest) WHERE own <= 2000
        UNION ALL SELECT * FROM walk_memories(p_namespace, filters, vector, nearest) WHERE own > 2000
    ) AS near
    JOIN memories m ON m.id = near.id CROSS JOIN LATERAL content_words(m.title, m.content) AS words
    WHERE vector IS NOT NULL AND near.id <> p_id AND (words <@ said OR words @> said)
        AND least(cardinality(words), cardinality(said)) >= greatest(3, 0.75 * greatest(cardinality(words), cardinality(said)))
        AND turning_words(m.content) = turning
    ORDER BY near.vector_score DESC, near.id LIMIT 3;
END
$$;
CREATE FUNCTION public.snippet(p_content text, p_query text, p_shown integer) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN (SELECT CASE WHEN (f.place > snippet.p_shown) THEN substr(snippet.p_content, (f.place - 80), 240) ELSE NULL::text END AS "case" FROM (SELECT w.lexeme, regexp_instr(snippet.p_content, ('\m'::text || regexp_replace(regexp_replace(w.lexeme, '(\W)'::text, '\\\1'::text, 'g'::text), 'i$'::text, '[iy]'::text)), 1, 1, 0, 'i'::text) AS place FROM unnest(tsvector_to_array(public.words_of(snippet.p_query))) w(lexeme) ORDER BY (length(w.lexeme)) DESC, w.lexeme LIMIT 10) f WHERE (f.place > 0) ORDER BY (length(f.lexeme)) DESC, f.lexeme LIMIT 1);
CREATE FUNCTION public.term_keys(p_namespace text, p_words tsvector) RETURNS integer[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
BEGIN
    RETURN ARRAY(SELECT term_key(p_namespace, lexeme) FROM unnest(tsvector_to_array(p_words)) AS lexeme);
END
$$;
CREATE FUNCTION public.term_weights(p_namespace text, p_words tsvector) RETURNS public.sparsevec
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
BEGIN
    RETURN (
        SELECT CAST(
            '{' || coalesce(string_agg(counted.key || ':' || CAST(2.2 * n / (n + 1.2) AS real), ','), '') || '}/536870912'
            AS sparsevec)
        FROM (
            SELECT term_key(p_namespace, lexeme) AS key, max(cardinality(positions)) AS n
            FROM unnest(p_words) GROUP BY 1 ORDER BY n DESC, key LIMIT 16000
        ) AS counted
    );
END
$$;
CREATE FUNCTION public.terms_vector(p_keys integer[], p_weights double precision[]) RETURNS public.sparsevec
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    RETURN (
        SELECT CAST('{' || coalesce(string_agg(t.key || ':' || CAST(t.weight AS real), ','), '') || '}/536870912' AS sparsevec)
        FROM unnest(p_keys, p_weights) AS t (key, weight)
    );
END
$$;
CREATE FUNCTION public.turning_words(p_text text) RETURNS text[]
    LANGUAGE sql IMMUTABLE
    RETURN ARRAY(SELECT unnest(public.plain_words(turning_words.p_text)) AS unnest INTERSECT SELECT unnest('{not,no,nor,never,none,t,without,off,on,up,down,out,before,after,above,below,under,over,more,less,until,since}'::text[]) AS unnest ORDER BY 1);
CREATE TABLE public.namespace_usage (
    namespace text NOT NULL,
    shard integer NOT NULL,
    memories bigint DEFAULT 0 NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL,
    day date NOT NULL,
    texts bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
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
CREATE FUNCTION public.walk_chunks(p_namespace text, filters public.memory_filters, p_vector public.halfvec, p_limit integer, p_memories integer) RETURNS TABLE(id uuid, vector_score double precision)
    LANGUAGE plpgsql STABLE
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    ids uuid[];
    scores double precision[];
    met integer;
    walked integer := p_limit;
BEGIN
    LOOP
        SELECT array_agg(w.memory_id), array_agg(w.score), count(DISTINCT w.memory_id) INTO ids, scores, met FROM (
            SELECT c.memory_id, 1.0 - (c.embedding <=> p_vector) AS score FROM memory_chunks c
            WHERE c.namespace = p_namespace
                AND EXISTS (SELECT FROM memories m WHERE m.id = c.memory_id AND passes(m, filters))
            ORDER BY c.embedding <=> p_vector
            LIMIT walked
        ) AS w;
        EXIT WHEN met >= p_memories OR coalesce(cardinality(ids), 0) < walked OR walked >= 64 * p_limit;
        walked := 4 * walked;
    END LOOP;
    RETURN QUERY SELECT u.id, max(u.score) FROM unnest(ids, scores) AS u (id, score) GROUP BY u.id;
END
$$;
CREATE FUNCTION public.walk_memories(p_namespace text, filters public.memory_filters, p_vector public.halfvec, p_limit integer) RETURNS TABLE(id uuid, vector_score double precision)
    LANGUAGE plpgsql STABLE
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    RETURN QUERY
    SELECT m.id, 1.0 - (m.embedding <=> p_vector) FROM memories m
    WHERE m.namespace = p_namespace AND passes(m, filters)
    ORDER BY m.embedding <=> p_vector
    LIMIT p_limit;
END
$$;
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
CREATE TABLE public.namespace_words (
    namespace text NOT NULL,
    memories bigint NOT NULL,
    sampled integer NOT NULL,
    mean_length real NOT NULL,
    keys integer[] NOT NULL,
    shares real[] NOT NULL,
    CONSTRAINT namespace_words_check CHECK ((cardinality(keys) = cardinality(shares)))
);
CREATE TABLE public.oauth_clients (
    id text NOT NULL,
    metadata jsonb NOT NULL,
    read_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
CREATE TABLE public.oauth_codes (
    hash bytea NOT NULL,
    grant_id uuid NOT NULL,
    redirect_uri text NOT NULL,
    code_challenge text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT oauth_codes_hash_check CHECK ((length(hash) = 32))
);
CREATE TABLE public.oauth_consents (
    subject text NOT NULL,
    client_id text NOT NULL,
    scopes text[] NOT NULL,
    resource text NOT NULL,
    given_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.oauth_refresh_tokens (
    hash bytea NOT NULL,
    grant_id uuid NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT oauth_refresh_tokens_hash_check CHECK ((length(hash) = 32))
);
CREATE TABLE public.oauth_requests (
    cookie_hash bytea NOT NULL,
    parameters jsonb NOT NULL,
    status text DEFAULT 'started'::text NOT NULL,
    log_in_hash bytea,
    attempts integer DEFAULT 0 NOT NULL,
    person jsonb,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT oauth_requests_cookie_hash_check CHECK ((length(cookie_hash) = 32)),
    CONSTRAINT oauth_requests_log_in_hash_check CHECK ((length(log_in_hash) = 32)),
    CONSTRAINT oauth_requests_status_check CHECK ((status = ANY (ARRAY['started'::text, 'logged_in'::text, 'decided'::text])))
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
ALTER TABLE ONLY public.memory_words
    ADD CONSTRAINT memory_words_pkey PRIMARY KEY (memory_id);
ALTER TABLE ONLY public.namespace_usage
    ADD CONSTRAINT namespace_usage_pkey PRIMARY KEY (namespace, shard);
ALTER TABLE ONLY public.namespace_words
    ADD CONSTRAINT namespace_words_pkey PRIMARY KEY (namespace);
ALTER TABLE ONLY public.oauth_clients
    ADD CONSTRAINT oauth_clients_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth_codes
    ADD CONSTRAINT oauth_codes_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.oauth_consents
    ADD CONSTRAINT oauth_consents_pkey PRIMARY KEY (subject, client_id, resource);
ALTER TABLE ONLY public.oauth_grants
    ADD CONSTRAINT oauth_grants_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth_refresh_tokens
    ADD CONSTRAINT oauth_refresh_tokens_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.oauth_requests
    ADD CONSTRAINT oauth_requests_pkey PRIMARY KEY (cookie_hash);
ALTER TABLE ONLY public.object_imports
    ADD CONSTRAINT object_imports_pkey PRIMARY KEY (namespace, source);
ALTER TABLE ONLY public.quotas
    ADD CONSTRAINT quotas_pkey PRIMARY KEY (namespace);
ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.schema_repeatables
    ADD CONSTRAINT schema_repeatables_pkey PRIMARY KEY (name);
CREATE INDEX dead_letters_newest ON public.dead_letters USING btree (namespace, dead_lettered_at, message_id);
CREATE INDEX ingest_requests_open ON public.ingest_requests USING btree (namespace, state) WHERE (state = ANY (ARRAY['queued'::text, 'dead_lettered'::text]));
CREATE INDEX ingest_requests_source ON public.ingest_requests USING btree (namespace, md5(source), key) WHERE (source IS NOT NULL);
CREATE INDEX ingest_requests_updated ON public.ingest_requests USING btree (namespace, updated_at, request_id);
CREATE INDEX memories_embedding ON public.memories USING hnsw (embedding public.halfvec_cosine_ops) WITH (m='16', ef_construction='200');
CREATE INDEX memories_metadata ON public.memories USING gin (metadata_keys) WITH (fastupdate=off);
CREATE INDEX memories_newest ON public.memories USING btree (namespace, "timestamp" DESC, id DESC);
CREATE INDEX memories_session ON public.memories USING btree (namespace, session, "timestamp", id) WHERE (session IS NOT NULL);
CREATE INDEX memories_superseded ON public.memories USING btree (superseded_by) WHERE (superseded_by IS NOT NULL);
CREATE INDEX memories_tags ON public.memories USING gin (public.own_tags(namespace, tag_keys)) WITH (fastupdate=off);
CREATE INDEX memories_trigrams ON public.memories USING gin (public.content_trigrams(namespace, content)) WITH (fastupdate=off);
CREATE INDEX memory_chunks_embedding ON public.memory_chunks USING hnsw (embedding public.halfvec_cosine_ops) WITH (m='16', ef_construction='200');
CREATE INDEX memory_ratings_memory ON public.memory_ratings USING btree (memory_id);
CREATE INDEX memory_words_keys ON public.memory_words USING gin (keys) WITH (fastupdate=off);
CREATE INDEX oauth_clients_expire ON public.oauth_clients USING btree (expires_at);
CREATE INDEX oauth_codes_of_grant ON public.oauth_codes USING btree (grant_id);
CREATE INDEX oauth_grants_expire ON public.oauth_grants USING btree (expires_at);
CREATE INDEX oauth_grants_of_person ON public.oauth_grants USING btree (subject, client_id);
CREATE INDEX oauth_refresh_tokens_of_grant ON public.oauth_refresh_tokens USING btree (grant_id);
CREATE INDEX oauth_requests_expire ON public.oauth_requests USING btree (expires_at);
CREATE TRIGGER collect_metadata_keys BEFORE INSERT ON public.memories FOR EACH ROW WHEN ((new.metadata <> '{}'::jsonb)) EXECUTE FUNCTION public.collect_metadata_keys();
CREATE TRIGGER collect_metadata_keys_anew BEFORE UPDATE OF metadata ON public.memories FOR EACH ROW EXECUTE FUNCTION public.collect_metadata_keys();
CREATE TRIGGER collect_words AFTER INSERT ON public.memories REFERENCING NEW TABLE AS stored FOR EACH STATEMENT EXECUTE FUNCTION public.collect_words();
CREATE TRIGGER collect_words_anew AFTER UPDATE OF title, tags, content ON public.memories FOR EACH ROW EXECUTE FUNCTION public.collect_words_anew();
CREATE TRIGGER count_deleted AFTER DELETE ON public.memories REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION public.count_deleted();
CREATE TRIGGER count_stored AFTER INSERT ON public.memories REFERENCING NEW TABLE AS stored FOR EACH STATEMENT EXECUTE FUNCTION public.count_stored();
CREATE TRIGGER count_updated AFTER UPDATE OF title, tags, metadata ON public.memories FOR EACH ROW EXECUTE FUNCTION public.count_updated();
ALTER TABLE ONLY public.memories
    ADD CONSTRAINT memories_superseded_by_fkey FOREIGN KEY (superseded_by) REFERENCES public.memories(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.memory_chunks
    ADD CONSTRAINT memory_chunks_memory_id_fkey FOREIGN KEY (memory_id) REFERENCES public.memories(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.memory_ratings
    ADD CONSTRAINT memory_ratings_memory_id_fkey FOREIGN KEY (memory_id) REFERENCES public.memories(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.memory_words
    ADD CONSTRAINT memory_words_memory_id_fkey FOREIGN KEY (memory_id) REFERENCES public.memories(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.oauth_codes
    ADD CONSTRAINT oauth_codes_grant_id_fkey FOREIGN KEY (grant_id) REFERENCES public.oauth_grants(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.oauth_refresh_tokens
    ADD CONSTRAINT oauth_refresh_tokens_grant_id_fkey FOREIGN KEY (grant_id) REFERENCES public.oauth_grants(id) ON DELETE CASCADE;
ALTER TABLE public.api_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY authorization_server ON public.oauth_clients TO mnemosyne_auth USING (true);
CREATE POLICY authorization_server ON public.oauth_codes TO mnemosyne_auth USING (true);
CREATE POLICY authorization_server ON public.oauth_consents TO mnemosyne_auth USING (true);
CREATE POLICY authorization_server ON public.oauth_grants TO mnemosyne_auth USING (true);
CREATE POLICY authorization_server ON public.oauth_refresh_tokens TO mnemosyne_auth USING (true);
CREATE POLICY authorization_server ON public.oauth_requests TO mnemosyne_auth USING (true);
ALTER TABLE public.dead_letters ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.ingest_requests ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.memory_chunks ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.memory_ratings ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.memory_words ENABLE ROW LEVEL SECURITY;
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
ALTER TABLE public.oauth_clients ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.oauth_codes ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.oauth_consents ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.oauth_grants ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.oauth_refresh_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.oauth_requests ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.object_imports ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.quotas ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON FUNCTION public.add_context(candidates public.candidate[], filters public.memory_filters, bounds double precision[], asked public.question) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.all_containing(p_namespace text, filters public.memory_filters, p_text text, p_limit integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.claim_requests(p_namespace text, p_requests jsonb, p_to_store boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION public.claim_requests(p_namespace text, p_requests jsonb, p_to_store boolean) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.claim_requests(p_namespace text, p_requests jsonb, p_to_store boolean) TO mnemosyne_ingest;
REVOKE ALL ON FUNCTION public.claim_within_quota(p_namespace text, p_requests jsonb, p_to_store boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION public.claim_within_quota(p_namespace text, p_requests jsonb, p_to_store boolean) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.claim_within_quota(p_namespace text, p_requests jsonb, p_to_store boolean) TO mnemosyne_ingest;
REVOKE ALL ON FUNCTION public.collect_metadata_keys() FROM PUBLIC;
REVOKE ALL ON FUNCTION public.collect_words() FROM PUBLIC;
REVOKE ALL ON FUNCTION public.collect_words_anew() FROM PUBLIC;
REVOKE ALL ON FUNCTION public.complete_candidates(p_ids uuid[], p_vector_scores double precision[], p_lexical_scores double precision[], asked public.question) FROM PUBLIC;
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
REVOKE ALL ON FUNCTION public.contains(m public.memories, p_text text) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.content_trigrams(p_namespace text, p_content text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.content_trigrams(p_namespace text, p_content text) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.content_trigrams(p_namespace text, p_content text) TO mnemosyne_mcp;
GRANT ALL ON FUNCTION public.content_trigrams(p_namespace text, p_content text) TO mnemosyne_ingest;
REVOKE ALL ON FUNCTION public.searched_text(p_title text, p_content text) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.words_of(p_text text) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.content_words(p_title text, p_content text) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.count_usage(p_namespace text, p_memories bigint, p_bytes bigint, p_texts bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.count_chunks(p_texts bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION public.count_chunks(p_texts bigint) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.count_chunks(p_texts bigint) TO mnemosyne_ingest;
REVOKE ALL ON FUNCTION public.count_deleted() FROM PUBLIC;
REVOKE ALL ON FUNCTION public.count_passing(p_namespace text, filters public.memory_filters, p_limit integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.count_stored() FROM PUBLIC;
REVOKE ALL ON FUNCTION public.count_updated() FROM PUBLIC;
REVOKE ALL ON FUNCTION public.cut_record(m public.memories, p_query text, p_share integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.delete_dead_letter(p_namespace text, p_message_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.delete_dead_letter(p_namespace text, p_message_id text) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.delete_dead_letter(p_namespace text, p_message_id text) TO mnemosyne_mcp;
REVOKE ALL ON FUNCTION public.describe_candidates(p_ids uuid[], p_vector_scores double precision[], p_relevances double precision[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.diversify(candidates public.candidate[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.filters_of(p_filters jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.find_api_key(p_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.find_api_key(p_id text) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.find_api_key(p_id text) TO mnemosyne_mcp;
REVOKE ALL ON FUNCTION public.fit_rows_to_pages(p_dimension integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.fuse_candidates(p_ids uuid[], p_vector_scores double precision[], p_lexical_scores double precision[], filters public.memory_filters, asked public.question) FROM PUBLIC;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.oauth_grants TO mnemosyne_auth;
REVOKE ALL ON FUNCTION public.grant_stands(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.grant_stands(p_id uuid) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.grant_stands(p_id uuid) TO mnemosyne_mcp;
REVOKE ALL ON FUNCTION public.plain_words(p_text text) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.is_said_by(p_content text, p_words text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.lexical_score(w public.memory_words, p_terms public.sparsevec, p_mean_length double precision) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.limit_of(own bigint, everybody bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.list_memories(p_namespace text, p_filters jsonb, p_cursor_timestamp timestamp with time zone, p_cursor_id uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.list_memories(p_namespace text, p_filters jsonb, p_cursor_timestamp timestamp with time zone, p_cursor_id uuid, p_limit integer) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.list_memories(p_namespace text, p_filters jsonb, p_cursor_timestamp timestamp with time zone, p_cursor_id uuid, p_limit integer) TO mnemosyne_mcp;
REVOKE ALL ON FUNCTION public.mark_queued(p_namespace text, p_request_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mark_queued(p_namespace text, p_request_ids uuid[]) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.mark_queued(p_namespace text, p_request_ids uuid[]) TO mnemosyne_mcp;
REVOKE ALL ON FUNCTION public.match_keys(p_keys integer[], p_terms public.sparsevec, p_mean_length double precision, p_rows integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.match_memories(p_namespace text, filters public.memory_filters, p_keys integer[], p_terms public.sparsevec, p_mean_length double precision, p_limit integer, p_rows integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.match_newest(p_namespace text, filters public.memory_filters, p_terms public.sparsevec, p_mean_length double precision, p_limit integer, p_rows integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.match_substring(p_namespace text, filters public.memory_filters, p_text text, p_limit integer, p_passing bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.matched_words(p_query text, p_words tsvector) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.memory_bytes(content text, title text, tags text[], metadata jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.memory_facets(p_namespace text, p_filters jsonb, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.memory_facets(p_namespace text, p_filters jsonb, p_limit integer) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.memory_facets(p_namespace text, p_filters jsonb, p_limit integer) TO mnemosyne_mcp;
REVOKE ALL ON FUNCTION public.memory_record(m public.memories) FROM PUBLIC;
GRANT ALL ON FUNCTION public.memory_record(m public.memories) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.memory_record(m public.memories) TO mnemosyne_mcp;
REVOKE ALL ON FUNCTION public.memory_timeline(p_namespace text, p_filters jsonb, p_per text, p_timezone text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.memory_timeline(p_namespace text, p_filters jsonb, p_per text, p_timezone text) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.memory_timeline(p_namespace text, p_filters jsonb, p_per text, p_timezone text) TO mnemosyne_mcp;
REVOKE ALL ON FUNCTION public.metadata_text(p_value jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.term_key(p_namespace text, p_lexeme text) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.metadata_keys(p_namespace text, p_metadata jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.narrows_by_keys(filters public.memory_filters) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.newest_containing(p_namespace text, filters public.memory_filters, p_text text, p_limit integer, p_rows integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.newest_memories(p_namespace text, filters public.memory_filters, p_text text, p_limit integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.normalised(p_score double precision, p_least double precision, p_span double precision, p_flat boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.own_score(c public.candidate, p_lexical_weight double precision, bounds double precision[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.own_tags(p_namespace text, p_tag_keys text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.own_tags(p_namespace text, p_tag_keys text[]) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.own_tags(p_namespace text, p_tag_keys text[]) TO mnemosyne_mcp;
GRANT ALL ON FUNCTION public.own_tags(p_namespace text, p_tag_keys text[]) TO mnemosyne_ingest;
REVOKE ALL ON FUNCTION public.passes(m public.memories, f public.memory_filters) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.rank_candidates(candidates public.candidate[], p_strategy text, p_limit integer, p_quality_weight double precision, p_characters integer, p_query text, p_explain boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.refresh_words(p_namespace text) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.require_own(p_namespace text) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.rerank_memories(p_namespace text, p_ids uuid[], p_relevances double precision[], p_query text, p_limit integer, p_quality_weight double precision, p_characters integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.rerank_memories(p_namespace text, p_ids uuid[], p_relevances double precision[], p_query text, p_limit integer, p_quality_weight double precision, p_characters integer) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.rerank_memories(p_namespace text, p_ids uuid[], p_relevances double precision[], p_query text, p_limit integer, p_quality_weight double precision, p_characters integer) TO mnemosyne_mcp;
REVOKE ALL ON FUNCTION public.scan_memories(p_namespace text, filters public.memory_filters, p_vector public.halfvec, p_limit integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.search_memories(p_namespace text, p_mode text, p_query text, p_vector text, p_model text, p_filters jsonb, p_limit integer, p_quality_weight double precision, p_lexical_weight double precision, p_characters integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.search_memories(p_namespace text, p_mode text, p_query text, p_vector text, p_model text, p_filters jsonb, p_limit integer, p_quality_weight double precision, p_lexical_weight double precision, p_characters integer) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.search_memories(p_namespace text, p_mode text, p_query text, p_vector text, p_model text, p_filters jsonb, p_limit integer, p_quality_weight double precision, p_lexical_weight double precision, p_characters integer) TO mnemosyne_mcp;
REVOKE ALL ON FUNCTION public.search_terms(p_namespace text, p_query text) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.searched_text(p_title text, p_tags text[], p_content text) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.session_neighbours(p_ids uuid[], p_reach integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.shared_characters(p_ids uuid[], p_characters integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.similar_memories(p_namespace text, p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.similar_memories(p_namespace text, p_id uuid) TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.similar_memories(p_namespace text, p_id uuid) TO mnemosyne_mcp;
REVOKE ALL ON FUNCTION public.snippet(p_content text, p_query text, p_shown integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.term_keys(p_namespace text, p_words tsvector) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.term_weights(p_namespace text, p_words tsvector) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.terms_vector(p_keys integer[], p_weights double precision[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.turning_words(p_text text) FROM PUBLIC;
GRANT SELECT ON TABLE public.namespace_usage TO mnemosyne_runtime;
GRANT SELECT ON TABLE public.namespace_usage TO mnemosyne_mcp;
GRANT SELECT ON TABLE public.namespace_usage TO mnemosyne_ingest;
GRANT SELECT ON TABLE public.quotas TO mnemosyne_runtime;
GRANT SELECT ON TABLE public.quotas TO mnemosyne_mcp;
GRANT SELECT ON TABLE public.quotas TO mnemosyne_ingest;
REVOKE ALL ON FUNCTION public.usage_and_quota() FROM PUBLIC;
GRANT ALL ON FUNCTION public.usage_and_quota() TO mnemosyne_runtime;
GRANT ALL ON FUNCTION public.usage_and_quota() TO mnemosyne_mcp;
GRANT ALL ON FUNCTION public.usage_and_quota() TO mnemosyne_ingest;
REVOKE ALL ON FUNCTION public.walk_chunks(p_namespace text, filters public.memory_filters, p_vector public.halfvec, p_limit integer, p_memories integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.walk_memories(p_namespace text, filters public.memory_filters, p_vector public.halfvec, p_limit integer) FROM PUBLIC;
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
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.oauth_clients TO mnemosyne_auth;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.oauth_codes TO mnemosyne_auth;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.oauth_consents TO mnemosyne_auth;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.oauth_refresh_tokens TO mnemosyne_auth;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.oauth_requests TO mnemosyne_auth;
GRANT SELECT,INSERT,UPDATE ON TABLE public.object_imports TO mnemosyne_runtime;
GRANT SELECT,INSERT,UPDATE ON TABLE public.object_imports TO mnemosyne_import_object;
GRANT SELECT ON TABLE public.schema_migrations TO mnemosyne_runtime;
GRANT SELECT ON TABLE public.schema_migrations TO mnemosyne_mcp;
GRANT SELECT ON TABLE public.schema_migrations TO mnemosyne_ingest;
GRANT SELECT ON TABLE public.schema_migrations TO mnemosyne_dead_letter;
GRANT SELECT ON TABLE public.schema_migrations TO mnemosyne_import_object;
GRANT SELECT ON TABLE public.schema_migrations TO mnemosyne_auth;
GRANT SELECT ON TABLE public.schema_repeatables TO mnemosyne_runtime;
GRANT SELECT ON TABLE public.schema_repeatables TO mnemosyne_mcp;
GRANT SELECT ON TABLE public.schema_repeatables TO mnemosyne_ingest;
GRANT SELECT ON TABLE public.schema_repeatables TO mnemosyne_dead_letter;
GRANT SELECT ON TABLE public.schema_repeatables TO mnemosyne_import_object;
