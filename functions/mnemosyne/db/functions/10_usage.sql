-- Return the size of a memory in bytes of UTF-8: content, title, tags and metadata. This size counts towards the quota.
CREATE OR REPLACE FUNCTION memory_bytes(content text, title text, tags text[], metadata jsonb) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN octet_length(content) + octet_length(title) + octet_length(array_to_string(tags, ''))
    + octet_length(CAST(metadata AS text));

-- Add numbers to the usage of a namespace: memories, bytes, and texts embedded today (UTC). A number may be negative.
--
-- The column `texts` has the number of texts embedded on the day in the column `day`. `day` is never set back to an
-- earlier day: if a transaction began before midnight, but the row already has the new day, the texts of this
-- transaction count for the new day.
CREATE OR REPLACE FUNCTION count_usage(p_namespace text, p_memories bigint, p_bytes bigint, p_texts bigint) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    INSERT INTO namespace_usage AS u (namespace, shard, memories, bytes, day, texts)
    VALUES (p_namespace, pg_backend_pid() % 64, p_memories, p_bytes, CAST(now() AT TIME ZONE 'UTC' AS date), p_texts)
    ON CONFLICT (namespace, shard) DO UPDATE
    SET memories = u.memories + EXCLUDED.memories, bytes = u.bytes + EXCLUDED.bytes, day = greatest(u.day, EXCLUDED.day),
        texts = CASE WHEN u.day < EXCLUDED.day THEN 0 ELSE u.texts END + EXCLUDED.texts;
END
$$;

-- Compute the word statistics of a namespace again if the number of its memories has changed by at least a tenth since
-- the last computation. The statistics say which share of the memories contains a word; the table namespace_words
-- stores them. A trigger calls this function at each insert of memories.
--
-- The statistics come from a sample: the newest 3,000 memories, or fewer if the keys of their words take more than two
-- megabytes. The key of a word is a hash of the word. The statistics have only the 5,000 most frequent words of the
-- sample, ordered by their keys.
--
-- Each computation reads the whole sample. While a namespace grows to 3,000 memories, each memory is therefore read
-- about ten times on average.
CREATE OR REPLACE FUNCTION refresh_words(p_namespace text) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    sample CONSTANT integer := 3000;
    sample_bytes CONSTANT integer := 2000000;
    max_words CONSTANT integer := 5000;
    current_memories bigint := (SELECT coalesce(sum(u.memories), 0) FROM namespace_usage u WHERE u.namespace = p_namespace);
    previous_memories bigint := (SELECT w.memories FROM namespace_words w WHERE w.namespace = p_namespace);
BEGIN
    IF abs(current_memories - previous_memories) < greatest(1, previous_memories / 10)
        OR NOT pg_try_advisory_xact_lock(hashtextextended('words ' || p_namespace, 0))
    THEN
        RETURN;
    END IF;
    WITH newest AS MATERIALIZED (
        SELECT w.keys, w.language, m."timestamp", m.id FROM memories m JOIN memory_words w ON w.memory_id = m.id
        WHERE m.namespace = p_namespace
        ORDER BY m."timestamp" DESC, m.id DESC LIMIT sample
    ), sampled AS MATERIALIZED (
        -- pg_column_size() returns the size of the stored, possibly compressed value, without decompressing it. The
        -- sample has at least one memory, even if the keys of the words of this memory take more than `sample_bytes`.
        SELECT measured.keys, measured.language FROM (
            SELECT newest.keys, newest.language, sum(pg_column_size(keys)) OVER (
                ORDER BY "timestamp" DESC, id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS newer FROM newest
        ) AS measured
        WHERE coalesce(measured.newer, 0) <= sample_bytes
    ), counted AS (
        SELECT key, count(*) AS n FROM sampled, unnest(sampled.keys) AS key
        GROUP BY key ORDER BY n DESC, key LIMIT max_words
    ), size AS (
        SELECT count(*) AS n, avg(cardinality(keys)) AS mean_length FROM sampled
    )
    INSERT INTO namespace_words AS w (namespace, memories, sampled, mean_length, keys, shares, languages)
    SELECT p_namespace, current_memories, size.n, greatest(coalesce(size.mean_length, 0), 1),
        array(SELECT key FROM counted ORDER BY key),
        array(SELECT CAST(c.n AS real) / size.n FROM counted c ORDER BY c.key),
        (SELECT coalesce(jsonb_object_agg(s.language, s.n), '{}') FROM (
            SELECT language, count(*) AS n FROM sampled WHERE language IS NOT NULL GROUP BY language
        ) AS s)
    FROM size
    ON CONFLICT (namespace) DO UPDATE
    SET memories = EXCLUDED.memories, sampled = EXCLUDED.sampled, mean_length = EXCLUDED.mean_length,
        keys = EXCLUDED.keys, shares = EXCLUDED.shares, languages = EXCLUDED.languages;
END
$$;

-- Trigger function: add inserted memories to the usage of their namespaces, and refresh the word statistics. The
-- function has SECURITY DEFINER, because the roles that store memories have no right to write namespace_usage.
CREATE OR REPLACE FUNCTION count_stored() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM count_usage(stored_sums.namespace, stored_sums.memories, stored_sums.bytes, stored_sums.memories),
        refresh_words(stored_sums.namespace)
    FROM (
        SELECT namespace, count(*) AS memories, CAST(sum(memory_bytes(content, title, tags, metadata)) AS bigint) AS bytes
        FROM stored GROUP BY namespace
    ) AS stored_sums;
    RETURN NULL;
END
$$;

-- Trigger function: subtract deleted memories from the usage of their namespaces.
CREATE OR REPLACE FUNCTION count_deleted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM count_usage(stored_sums.namespace, -stored_sums.memories, -stored_sums.bytes, 0)
    FROM (
        SELECT namespace, count(*) AS memories, CAST(sum(memory_bytes(content, title, tags, metadata)) AS bigint) AS bytes
        FROM deleted GROUP BY namespace
    ) AS stored_sums;
    RETURN NULL;
END
$$;

-- Trigger function: when an update changes the size of a memory, add the difference to the usage of its namespace.
CREATE OR REPLACE FUNCTION count_updated() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM count_usage(NEW.namespace, 0, memory_bytes(NEW.content, NEW.title, NEW.tags, NEW.metadata)
        - memory_bytes(OLD.content, OLD.title, OLD.tags, OLD.metadata), 0);
    RETURN NULL;
END
$$;

-- Add p_texts to the number of texts that the session's namespace has embedded today. Each chunk of a long memory is
-- embedded as one text. p_texts is the number of all chunks except the first chunk of each memory, because the trigger
-- count_stored counts the first chunks.
CREATE OR REPLACE FUNCTION count_chunks(p_texts bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
    SELECT count_usage(current_setting('mnemosyne.namespace'), 0, 0, greatest(p_texts, 0));
END;

-- Return the limit that applies to a namespace: own_limit, or default_limit if own_limit is null. A null result means
-- that there is no limit. If own_limit is the largest bigint, the namespace has no limit, whatever the default limit
-- is.
CREATE OR REPLACE FUNCTION effective_limit(own_limit bigint, default_limit bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN nullif(coalesce(own_limit, default_limit), 9223372036854775807);

-- Return the usage and the limits of the session's namespace. Expired memories do not count in `memories`, but count in
-- `bytes` until their rows are removed. A null limit means that there is no limit.
CREATE OR REPLACE FUNCTION usage_and_quota() RETURNS TABLE (
    memories bigint, bytes bigint, texts_today bigint,
    memories_limit bigint, bytes_limit bigint, texts_limit bigint
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
    SELECT used.memories - (
            SELECT count(*) FROM memories m
            WHERE m.expires_at <= now() AND m.namespace = current_setting('mnemosyne.namespace', true)
        ), used.bytes, used.texts, effective_limit(own.memories, defaults.memories),
        effective_limit(own.bytes, defaults.bytes), effective_limit(own.texts_a_day, defaults.texts_a_day)
    FROM (
        SELECT CAST(coalesce(sum(u.memories), 0) AS bigint) AS memories, CAST(coalesce(sum(u.bytes), 0) AS bigint) AS bytes,
            CAST(coalesce(sum(u.texts) FILTER (WHERE u.day = CAST(now() AT TIME ZONE 'UTC' AS date)), 0) AS bigint) AS texts
        FROM namespace_usage u WHERE u.namespace = current_setting('mnemosyne.namespace', true)
    ) AS used
    LEFT JOIN quotas own ON own.namespace = current_setting('mnemosyne.namespace', true)
    LEFT JOIN quotas defaults ON defaults.namespace = '';
END;

-- Count how many memories of a namespace are in each language, and detect the language of the text p_text. Only a
-- sample of the memories is counted: the memories from which the word statistics of the namespace were computed (see
-- refresh_words). `sampled` is the number of memories in the sample, and `languages` maps each language to the number
-- of memories of the sample in this language. `text_in` is the language of p_text.
CREATE OR REPLACE FUNCTION memory_languages(
    p_namespace text, p_text text, OUT sampled integer, OUT languages jsonb, OUT text_in text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    SELECT w.sampled, w.languages INTO sampled, languages FROM namespace_words w WHERE w.namespace = p_namespace;
    text_in := text_language(p_text);
END
$$;

-- Count how many memories of all namespaces together are in each language. Only a sample of each namespace is counted:
-- the memories from which its word statistics were computed (see refresh_words). `sampled` is the number of memories in
-- all samples, and `languages` maps each language to the number of memories of the samples in this language. Only the
-- role of operators, mnemosyne_runtime, has the right to call this function.
CREATE OR REPLACE FUNCTION all_languages(OUT sampled bigint, OUT languages jsonb)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
    SELECT (SELECT coalesce(sum(w.sampled), 0) FROM namespace_words w), coalesce(jsonb_object_agg(l.language, l.n), '{}')
    FROM (
        SELECT e.key AS language, sum(CAST(e.value AS integer)) AS n
        FROM namespace_words w CROSS JOIN LATERAL jsonb_each_text(w.languages) AS e GROUP BY e.key
    ) AS l;
END;

CREATE OR REPLACE TRIGGER count_stored AFTER INSERT ON memories REFERENCING NEW TABLE AS stored
    FOR EACH STATEMENT EXECUTE FUNCTION count_stored();
CREATE OR REPLACE TRIGGER count_deleted AFTER DELETE ON memories REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION count_deleted();
CREATE OR REPLACE TRIGGER count_updated AFTER UPDATE OF title, tags, metadata ON memories
    FOR EACH ROW EXECUTE FUNCTION count_updated();

GRANT EXECUTE ON FUNCTION memory_languages(text, text) TO mnemosyne_runtime, mnemosyne_mcp;
GRANT EXECUTE ON FUNCTION all_languages() TO mnemosyne_runtime;
GRANT EXECUTE ON FUNCTION count_chunks(bigint) TO mnemosyne_runtime, mnemosyne_ingest, mnemosyne_dead_letter;
GRANT EXECUTE ON FUNCTION usage_and_quota() TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter;
