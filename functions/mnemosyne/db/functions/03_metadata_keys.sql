-- Compute the index keys of a memory's metadata (the column memories.metadata_keys). Each path in the metadata, such as
-- project.name, gives one key, and each path together with its value gives another key. A key is a hash that includes
-- the namespace. A change to these SQL functions needs a migration that fills memories.metadata_keys again.

-- Return the canonical text of a JSON value. The number 3, the number 3.0 and the string "3" have the same text. The
-- result is null for an object, an array or null.
CREATE OR REPLACE FUNCTION metadata_text(p_value jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE jsonb_typeof(p_value)
    WHEN 'number' THEN CAST(trim_scale(CAST(p_value AS numeric)) AS text)
    WHEN 'string' THEN p_value #>> '{}' WHEN 'boolean' THEN p_value #>> '{}' END;

-- Return the index keys of metadata. The elements of an array have the path of the array.
--
-- Metadata that would have more than 500 index keys get a single key instead: a hash of the word 'metadata' and the
-- namespace. So all such metadata of a namespace have the same key. Every filter by metadata also looks up this key,
-- and then checks the metadata of each memory that it finds.
CREATE OR REPLACE FUNCTION metadata_keys(p_namespace text, p_metadata jsonb) RETURNS integer[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH RECURSIVE node (path, value) AS (
        SELECT CAST('' AS text), p_metadata
        UNION ALL
        SELECT node.path || coalesce('.' || replace(child.key, '.', '\.'), ''), child.value
        FROM node CROSS JOIN LATERAL (
            SELECT o.key, o.value
            FROM jsonb_each(CASE jsonb_typeof(node.value) WHEN 'object' THEN node.value ELSE '{}' END) AS o
            UNION ALL
            SELECT NULL, a.value
            FROM jsonb_array_elements(CASE jsonb_typeof(node.value) WHEN 'array' THEN node.value ELSE '[]' END) AS a (value)
        ) AS child
    ), term AS (
        SELECT path AS term FROM node WHERE path <> ''
        UNION SELECT path || '=' || metadata_text(value) FROM node WHERE metadata_text(value) IS NOT NULL
        LIMIT 501
    ), keys AS (
        SELECT array_agg(DISTINCT term_key(p_namespace, 'metadata ' || term)) AS keys, count(*) AS n FROM term
    )
    SELECT CASE WHEN n > 500 THEN ARRAY[term_key(p_namespace, 'metadata')] ELSE coalesce(keys.keys, '{}') END FROM keys;
END;

-- Trigger function: set metadata_keys of an inserted or updated memory.
CREATE OR REPLACE FUNCTION collect_metadata_keys() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    NEW.metadata_keys := metadata_keys(NEW.namespace, NEW.metadata);
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER collect_metadata_keys BEFORE INSERT ON memories
    FOR EACH ROW WHEN (NEW.metadata <> '{}') EXECUTE FUNCTION collect_metadata_keys();
CREATE OR REPLACE TRIGGER collect_changed_metadata_keys BEFORE UPDATE OF metadata ON memories
    FOR EACH ROW EXECUTE FUNCTION collect_metadata_keys();
