-- Return the tags of a memory after a change: without the tags that have the keys p_removed_keys, and with the tags
-- p_added at the end. A key is a case-folded tag. If the memory already has an added tag, the tag keeps its present
-- spelling and place.
CREATE OR REPLACE FUNCTION changed_tags(
    p_tags text[], p_keys text[], p_added text[], p_added_keys text[], p_removed_keys text[]
) RETURNS TABLE (tags text[], tag_keys text[])
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    WITH kept AS (
        SELECT tag.written, tag.key, tag.place FROM unnest(p_tags, p_keys) WITH ORDINALITY AS tag (written, key, place)
        WHERE tag.key <> ALL (p_removed_keys)
    ), united AS (
        SELECT * FROM kept
        UNION ALL SELECT tag.written, tag.key, 1000 + tag.place
        FROM unnest(p_added, p_added_keys) WITH ORDINALITY AS tag (written, key, place)
        WHERE tag.key NOT IN (SELECT kept.key FROM kept)
    )
    SELECT coalesce(array_agg(united.written ORDER BY united.place), '{}'),
        coalesce(array_agg(united.key ORDER BY united.place), '{}')
    FROM united
$$;

-- Rename a tag in at most p_limit memories of a namespace, or remove the tag if p_new_tag is null. p_key is the
-- case-folded tag to rename, and p_new_key is the case-folded p_new_tag. Return the number of changed memories and the
-- number of memories that still need the change.
CREATE OR REPLACE FUNCTION change_tag(p_namespace text, p_key text, p_new_tag text, p_new_key text, p_limit integer)
RETURNS TABLE (changed bigint, remaining bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    added text[] := CASE WHEN p_new_tag IS NULL THEN '{}' ELSE ARRAY[p_new_tag] END;
    added_keys text[] := CASE WHEN p_new_tag IS NULL THEN '{}' ELSE ARRAY[p_new_key] END;
BEGIN
    PERFORM require_session_namespace(p_namespace);
    -- The new tags are computed from the locked rows, so that tags of a concurrent change are kept.
    WITH chosen AS MATERIALIZED (
        SELECT m.id, m.tags, m.tag_keys FROM memories m
        WHERE m.namespace = p_namespace AND namespaced_tags(m.namespace, m.tag_keys) @> namespaced_tags(p_namespace, ARRAY[p_key])
            AND is_unexpired(m.expires_at) AND m.tag_keys @> ARRAY[p_key] AND (p_key IS DISTINCT FROM p_new_key OR p_new_tag <> ALL (m.tags))
        ORDER BY m.id LIMIT p_limit FOR UPDATE
    ), updated AS (
        UPDATE memories m SET tags = new.tags, tag_keys = new.tag_keys
        FROM chosen
        CROSS JOIN LATERAL changed_tags(chosen.tags, chosen.tag_keys, added, added_keys, ARRAY[p_key]) AS new
        WHERE m.id = chosen.id
        RETURNING m.id
    )
    SELECT count(*) FROM updated INTO changed;
    SELECT count(*) FROM memories m
    WHERE m.namespace = p_namespace AND namespaced_tags(m.namespace, m.tag_keys) @> namespaced_tags(p_namespace, ARRAY[p_key])
        AND is_unexpired(m.expires_at) AND m.tag_keys @> ARRAY[p_key]
        AND (p_key IS DISTINCT FROM p_new_key OR p_new_tag <> ALL (m.tags))
    INTO remaining;
    RETURN NEXT;
END
$$;

GRANT EXECUTE ON FUNCTION changed_tags(text[], text[], text[], text[], text[]), change_tag(text, text, text, text, integer)
    TO mnemosyne_runtime, mnemosyne_mcp;
