-- A memory's tags, each with 32 bits of the namespace before it: the index that holds everybody's tags is asked for one's
-- own alone, whoever uses the same ones. Of functions of the language itself, for it is evaluated for every memory stored.
CREATE FUNCTION own_tags(p_namespace text, p_tag_keys text[]) RETURNS text[]
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
REVOKE ALL ON FUNCTION own_tags FROM PUBLIC;
-- Whoever writes a memory writes what the index has of it.
GRANT EXECUTE ON FUNCTION own_tags TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest;

-- Keeps writers out until this has ended, and lets readers go on. No list of what is not yet in its place: every search
-- with a tag would read it whole. https://www.postgresql.org/docs/current/gin.html#GIN-FAST-UPDATE
CREATE INDEX memories_own_tags ON memories USING gin (own_tags(namespace, tag_keys)) WITH (fastupdate = off);
DROP INDEX memories_tags;
ALTER INDEX memories_own_tags RENAME TO memories_tags;
ALTER TYPE memory_filters ADD ATTRIBUTE own_any text[], ADD ATTRIBUTE own_all text[], ADD ATTRIBUTE not_session text;
