-- Copy the memories of the earlier Go server into `memories`, and drop the table of that server. The migration
-- 0001_baseline.sql has moved the table to the schema mnemosyne_adopted. If this schema has no such table, this file
-- does nothing.
DO $$
DECLARE
    dimension integer;
    unusable bigint;
    expected bigint;
    vector_index text := pg_get_indexdef(CAST('memories_embedding' AS regclass));
BEGIN
    IF to_regclass('mnemosyne_adopted.memories') IS NULL THEN
        RETURN;
    END IF;
    SELECT max(vector_dims(embedding)), count(*) FILTER (WHERE embedding IS NULL OR content IS NULL OR "timestamp" IS NULL),
        count(*)
        INTO dimension, unusable, expected
        FROM mnemosyne_adopted.memories;
    IF dimension <> CAST(current_setting('mnemosyne.embedding_dimension') AS integer) THEN
        RAISE EXCEPTION 'the memories to adopt have embeddings of dimension %, the settings say %: set MNEMOSYNE_EMBEDDING_DIMENSION to %, and change it with `mnemosyne reembed` afterwards',
            dimension, current_setting('mnemosyne.embedding_dimension'), dimension;
    END IF;
    IF unusable > 0 THEN
        RAISE EXCEPTION '% of the memories to adopt lack a content, a timestamp or an embedding: complete or delete them first', unusable;
    END IF;
    -- Drop the HNSW index, and build it again at the end. Building the index once takes less time than inserting each
    -- row into it.
    DROP INDEX memories_embedding;
    -- The earlier server computed the content hash from the date and the content. Replace it by the hash of the content
    -- alone, so that a repeated content is recognised. Content hashes are unique, so only the first row of each content
    -- gets the new hash, and later rows with the same content keep the old hash.
    INSERT INTO memories (
        id, namespace, "timestamp", content, title, tags, tag_keys, content_hash, embedding_model, embedding,
        created_at, last_seen_at, changed_at
    )
    SELECT
        CASE WHEN CAST(old.id AS text) ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
            THEN CAST(CAST(old.id AS text) AS uuid) ELSE gen_random_uuid() END,
        'default', CAST(old."timestamp" AS timestamptz), old.content,
        -- Read the title and the tags from the content in the same way as the present server.
        regexp_replace(coalesce(
            nullif(left(btrim((regexp_match(old.content, '(?n)^[ \t]*TITLE:(.*)$'))[1], E' \t\r'), 500), ''),
            left(old.content, 50)
        ), '[\u0001-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]', ' ', 'g'),
        tags.written, (SELECT coalesce(array_agg(replace(normalize(lower(tag), NFC), 'ß', 'ss') ORDER BY place), '{}')
            FROM unnest(tags.written) WITH ORDINALITY AS t (tag, place)),
        CASE WHEN row_number() OVER (PARTITION BY old.content ORDER BY old."timestamp", CAST(old.id AS text)) = 1
            THEN encode(sha256(convert_to(old.content, 'UTF8')), 'hex')
            WHEN old.content_hash ~ '^[0-9a-f]{64}$' THEN old.content_hash
            ELSE encode(sha256(convert_to(concat_ws(' ', 'adopted', old.id, old.content), 'UTF8')), 'hex') END,
        current_setting('mnemosyne.embedding_model'), CAST(old.embedding AS halfvec),
        coalesce(CAST(old.last_seen_at AS timestamptz), now()), coalesce(CAST(old.last_seen_at AS timestamptz), now()), now()
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
        RAISE EXCEPTION 'of % memories to adopt, % were copied', expected, (SELECT count(*) FROM memories);
    END IF;
    -- Refuse searches with `as_of` for the time before this migration, because titles, tags and metadata of that
    -- time are not known.
    PERFORM note_incomplete_period('default', '-infinity', now());
    EXECUTE vector_index;
    -- The texts of these memories were not embedded today, so they do not count for today's quota.
    UPDATE namespace_usage SET texts = 0;
    DROP TABLE mnemosyne_adopted.memories;
    DROP SCHEMA mnemosyne_adopted;
END
$$;
