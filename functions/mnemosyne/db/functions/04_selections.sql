-- Selections of memories. A selection says which memories are deleted by a forgetting (a deletion of many memories, see
-- 15_forgetting.sql) or kept by a legal hold (see 05_holds.sql). A selection is {"ids": [memory id, …]}, {"all": true},
-- or {"filters": {…}} with the fields of the type `memory_filters`. Superseded and expired memories can be selected,
-- too.

-- Return the filters of the selection p_selection as the type memory_filters. Tags are converted to index keys, which
-- include the namespace p_namespace. The selection must not be a list of ids.
CREATE OR REPLACE FUNCTION selection_filters(p_selection jsonb, p_namespace text) RETURNS memory_filters
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    filters memory_filters;
BEGIN
    filters := jsonb_populate_record(CAST(NULL AS memory_filters), coalesce(p_selection -> 'filters', '{}'));
    filters.include_superseded := true;
    filters.own_any := CASE WHEN filters.any_tags IS NOT NULL THEN namespaced_tags(p_namespace, filters.any_tags) END;
    filters.own_all := CASE WHEN filters.all_tags IS NOT NULL THEN namespaced_tags(p_namespace, filters.all_tags) END;
    RETURN filters;
END
$$;

-- Whether a selection selects the memory m. The function does not compare namespaces, so the caller must pass a
-- selection of the memory's namespace.
CREATE OR REPLACE FUNCTION selects(p_selection jsonb, m memories) RETURNS boolean
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF p_selection ? 'ids' THEN
        RETURN p_selection -> 'ids' ? CAST(m.id AS text);
    END IF;
    RETURN matches_conditions(m, selection_filters(p_selection, m.namespace));
END
$$;

-- Return the ids of the memories of the namespace that a selection selects.
CREATE OR REPLACE FUNCTION selected_ids(p_namespace text, p_selection jsonb) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    filters memory_filters;
BEGIN
    IF p_selection ? 'ids' THEN
        RETURN QUERY SELECT m.id FROM memories m
            WHERE m.namespace = p_namespace
                AND m.id = ANY (ARRAY(SELECT CAST(jsonb_array_elements_text(p_selection -> 'ids') AS uuid)));
    ELSIF p_selection ? 'all' THEN
        RETURN QUERY SELECT m.id FROM memories m WHERE m.namespace = p_namespace;
    ELSE
        filters := selection_filters(p_selection, p_namespace);
        RETURN QUERY SELECT m.id FROM memories m WHERE m.namespace = p_namespace AND matches_conditions(m, filters);
    END IF;
END
$$;
