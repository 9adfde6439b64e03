-- What each namespace holds and may hold, and how often its words occur: counted as it changes, never by looking.

-- A namespace's sum over its rows is what it holds. There are several, so that those who store at the same time do not
-- wait for one another: each backend counts in the row of its number's remainder.
CREATE TABLE namespace_usage (
    namespace text NOT NULL,
    shard     integer NOT NULL,
    memories  bigint NOT NULL DEFAULT 0,
    bytes     bigint NOT NULL DEFAULT 0,  -- of contents, titles, tags and metadata, in UTF-8
    day       date NOT NULL,              -- in UTC
    texts     bigint NOT NULL DEFAULT 0,  -- embedded on that day; a long memory is several
    PRIMARY KEY (namespace, shard)
)
WITH (fillfactor = 50);

-- What a namespace may hold. Null is as the row of the namespace '' says, which is everybody's, and there: any number.
CREATE TABLE quotas (
    namespace   text PRIMARY KEY,
    memories    bigint CHECK (memories >= 0),
    bytes       bigint CHECK (bytes >= 0),
    texts_a_day bigint CHECK (texts_a_day >= 0)
);
INSERT INTO quotas (namespace, memories, bytes, texts_a_day) VALUES ('', 1000000, 20000000000, 200000);

-- The words of each namespace's newest memories, and the share of those in which each stands.
CREATE TABLE namespace_words (
    namespace text PRIMARY KEY,
    memories  bigint NOT NULL,   -- how many there were
    sampled   integer NOT NULL,  -- how many of them were looked at
    words     text[] NOT NULL,
    shares    real[] NOT NULL
);

ALTER TABLE namespace_usage ENABLE ROW LEVEL SECURITY;
ALTER TABLE quotas ENABLE ROW LEVEL SECURITY;
ALTER TABLE namespace_words ENABLE ROW LEVEL SECURITY;
CREATE POLICY namespace_isolation ON namespace_usage TO mnemosyne_runtime
    USING (namespace = current_setting('mnemosyne.namespace', true));
CREATE POLICY namespace_isolation ON quotas TO mnemosyne_runtime
    USING (namespace IN ('', current_setting('mnemosyne.namespace', true)));
GRANT SELECT ON namespace_usage, quotas TO mnemosyne_runtime;

CREATE FUNCTION memory_bytes(content text, title text, tags text[], metadata jsonb) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN octet_length(content) + octet_length(title) + octet_length(array_to_string(tags, ''))
    + octet_length(CAST(metadata AS text));

CREATE FUNCTION count_usage(p_namespace text, p_memories bigint, p_bytes bigint, p_texts bigint) RETURNS void
LANGUAGE sql SET search_path = public, pg_temp
BEGIN ATOMIC
    INSERT INTO namespace_usage AS u (namespace, shard, memories, bytes, day, texts)
    VALUES (p_namespace, pg_backend_pid() % 64, p_memories, p_bytes, CAST(now() AT TIME ZONE 'UTC' AS date), p_texts)
    ON CONFLICT (namespace, shard) DO UPDATE
    SET memories = u.memories + EXCLUDED.memories, bytes = u.bytes + EXCLUDED.bytes, day = EXCLUDED.day,
        texts = CASE WHEN u.day = EXCLUDED.day THEN u.texts ELSE 0 END + EXCLUDED.texts;
END;

-- Look at the namespace's words anew, once it has grown or shrunk by a tenth and something is stored: on average each
-- memory is looked at ten times, those of a namespace of more than 3,000 less, and at no time more than two megabytes of
-- words. Words that only deleted memories had are forgotten then.
CREATE FUNCTION refresh_words(p_namespace text) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
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

-- Under the owner's rights: whoever stores may not write its own count.
CREATE FUNCTION count_stored() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
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

CREATE FUNCTION count_deleted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
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

CREATE FUNCTION count_updated() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM count_usage(NEW.namespace, 0, memory_bytes(NEW.content, NEW.title, NEW.tags, NEW.metadata)
        - memory_bytes(OLD.content, OLD.title, OLD.tags, OLD.metadata), 0);
    RETURN NULL;
END
$$;

CREATE TRIGGER count_stored AFTER INSERT ON memories REFERENCING NEW TABLE AS stored
    FOR EACH STATEMENT EXECUTE FUNCTION count_stored();
CREATE TRIGGER count_deleted AFTER DELETE ON memories REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION count_deleted();
CREATE TRIGGER count_updated AFTER UPDATE OF title, tags, metadata ON memories
    FOR EACH ROW EXECUTE FUNCTION count_updated();

-- After the triggers, which keep writers out until this has ended.
INSERT INTO namespace_usage (namespace, shard, memories, bytes, day)
SELECT namespace, 0, count(*), sum(memory_bytes(content, title, tags, metadata)), CAST(now() AT TIME ZONE 'UTC' AS date)
FROM memories GROUP BY namespace;
SELECT refresh_words(namespace) FROM namespace_usage;

-- The chunks of long memories beside their first: texts that were embedded too.
CREATE FUNCTION count_chunks(p_texts bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
    SELECT count_usage(current_setting('mnemosyne.namespace'), 0, 0, greatest(p_texts, 0));
END;

-- What the session's namespace holds, and what it may hold at most: null is any number.
CREATE FUNCTION usage_and_quota() RETURNS TABLE (
    memories bigint, bytes bigint, texts_today bigint,
    memories_limit bigint, bytes_limit bigint, texts_limit bigint
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
    SELECT used.memories, used.bytes, used.texts, coalesce(own.memories, everybody.memories),
        coalesce(own.bytes, everybody.bytes), coalesce(own.texts_a_day, everybody.texts_a_day)
    FROM (
        SELECT CAST(coalesce(sum(u.memories), 0) AS bigint) AS memories, CAST(coalesce(sum(u.bytes), 0) AS bigint) AS bytes,
            CAST(coalesce(sum(u.texts) FILTER (WHERE u.day = CAST(now() AT TIME ZONE 'UTC' AS date)), 0) AS bigint) AS texts
        FROM namespace_usage u WHERE u.namespace = current_setting('mnemosyne.namespace', true)
    ) AS used
    LEFT JOIN quotas own ON own.namespace = current_setting('mnemosyne.namespace', true)
    LEFT JOIN quotas everybody ON everybody.namespace = '';
END;

-- As claim_requests; whoever goes on to store is told beside it what the namespace holds and may hold.
CREATE FUNCTION claim_within_quota(p_namespace text, p_requests jsonb, p_to_store boolean) RETURNS jsonb
LANGUAGE plpgsql SET search_path = public, pg_temp
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

REVOKE ALL ON FUNCTION memory_bytes, count_usage, refresh_words, count_stored, count_deleted, count_updated, count_chunks,
    usage_and_quota, claim_within_quota FROM PUBLIC;
GRANT EXECUTE ON FUNCTION count_chunks, usage_and_quota, claim_within_quota TO mnemosyne_runtime;
