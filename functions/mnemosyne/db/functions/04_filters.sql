-- Whether a memory matches the filters. The expiry of the memory is not checked. A null filter matches all memories.
-- The planner inlines this function.
CREATE OR REPLACE FUNCTION matches_conditions(m memories, f memory_filters) RETURNS boolean
LANGUAGE sql STABLE
RETURN ((f).after IS NULL OR (m)."timestamp" >= (f).after)
    AND ((f).before IS NULL OR (m)."timestamp" < (f).before)
    AND ((f).any_tags IS NULL OR ((m).tag_keys && (f).any_tags
        AND namespaced_tags((m).namespace, (m).tag_keys) && (f).own_any))
    AND ((f).all_tags IS NULL OR ((m).tag_keys @> (f).all_tags
        AND namespaced_tags((m).namespace, (m).tag_keys) @> (f).own_all))
    AND ((f).session IS NULL OR (m).session = (f).session)
    AND ((f).not_session IS NULL OR (m).session IS DISTINCT FROM (f).not_session)
    AND ((f).metadata IS NULL OR (((f).metadata_keys IS NULL OR (m).metadata_keys && (f).metadata_keys)
        AND jsonb_path_exists((m).metadata, (f).metadata, '{}', true)))
    AND ((f).include_superseded OR (m).superseded_by IS NULL)
    AND ((f).folded IS NULL OR (m).id = ANY ((f).shown) OR statement_key(m) <> ALL ((f).folded) IS NOT FALSE);

-- Whether a memory matches the filters of a search or a list, and has not expired by now. With the filter `as_of`, the
-- memory must also have been visible at the time in `as_of`, and the other filters apply to its state at that time, not
-- to its present state. The planner inlines this function.
CREATE OR REPLACE FUNCTION matches_filters(m memories, f memory_filters) RETURNS boolean
LANGUAGE sql STABLE
RETURN CASE WHEN (f).as_of IS NULL THEN matches_conditions(m, f)
        WHEN (m).created_at > (f).as_of THEN false
        WHEN (m).changed_at > (f).as_of THEN matched_as_of(m, f)
        ELSE matches_conditions(m, f) END
    AND is_unexpired((m).expires_at);

-- Convert the filters in the JSON object p_filters to the type memory_filters. Unknown names are ignored. A missing
-- filter matches all memories.
--
-- Tags, and the paths and values for which a filter by metadata looks (`metadata_terms`), are converted to index keys.
-- The keys include the namespace of the database session.
--
-- Metadata that would have more than 500 index keys have one key instead: a hash of the word 'metadata' (see
-- metadata_keys). So each filter by metadata also looks up this key.
CREATE OR REPLACE FUNCTION parse_filters(p_filters jsonb) RETURNS memory_filters
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    session_namespace CONSTANT text := current_setting('mnemosyne.namespace', true);
    filters memory_filters;
BEGIN
    -- A search with `as_of` needs the metadata that memories had at that time. The index of metadata keys has only the
    -- keys of the present metadata, so such a search does not use the index.
    IF jsonb_typeof(p_filters -> 'metadata_terms') = 'array' AND p_filters ->> 'as_of' IS NULL THEN
        p_filters := p_filters || jsonb_build_object('metadata_keys', (
            SELECT jsonb_agg(term_key(session_namespace, term.key)) FROM (
                SELECT 'metadata ' || t FROM jsonb_array_elements_text(p_filters -> 'metadata_terms') AS t
                UNION SELECT 'metadata'
            ) AS term (key)));
    END IF;
    filters := jsonb_populate_record(CAST(NULL AS memory_filters), p_filters);
    filters.own_any := CASE WHEN filters.any_tags IS NOT NULL THEN namespaced_tags(session_namespace, filters.any_tags) END;
    filters.own_all := CASE WHEN filters.all_tags IS NOT NULL THEN namespaced_tags(session_namespace, filters.all_tags) END;
    RETURN filters;
END
$$;

-- Raise insufficient_privilege if p_namespace is not the namespace of the database session. The setting
-- mnemosyne.namespace has the session's namespace.
--
-- An SQL function with SECURITY DEFINER runs with the rights of the tables' owner, to whom row-level security does not
-- apply. Therefore each such function with the parameter p_namespace calls this check. Searches use functions with
-- SECURITY DEFINER, because with row-level security the planner would not use the indexes of words and tags.
CREATE OR REPLACE FUNCTION require_session_namespace(p_namespace text) RETURNS void
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF p_namespace IS DISTINCT FROM nullif(current_setting('mnemosyne.namespace', true), '') THEN
        RAISE insufficient_privilege USING MESSAGE = 'this session is not for that namespace';
    END IF;
END
$$;
