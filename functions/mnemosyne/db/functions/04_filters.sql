-- What narrows the set that is searched or listed; null is any. Stated once, and put into each statement by the planner.
CREATE OR REPLACE FUNCTION passes(m memories, f memory_filters) RETURNS boolean
LANGUAGE sql STABLE
RETURN ((f).after IS NULL OR (m)."timestamp" >= (f).after)
    AND ((f).before IS NULL OR (m)."timestamp" < (f).before)
    AND ((f).any_tags IS NULL OR ((m).tag_keys && (f).any_tags
        AND own_tags((m).namespace, (m).tag_keys) && (f).own_any))
    AND ((f).all_tags IS NULL OR ((m).tag_keys @> (f).all_tags
        AND own_tags((m).namespace, (m).tag_keys) @> (f).own_all))
    AND ((f).session IS NULL OR (m).session = (f).session)
    AND ((f).not_session IS NULL OR (m).session IS DISTINCT FROM (f).not_session)
    AND ((f).metadata IS NULL OR (((f).metadata_keys IS NULL OR (m).metadata_keys && (f).metadata_keys)
        AND jsonb_path_exists((m).metadata, (f).metadata, '{}', true)))
    AND ((f).include_superseded OR (m).superseded_by IS NULL)
    AND ((f).folded IS NULL OR (m).id = ANY ((f).shown) OR statement_key(m) <> ALL ((f).folded) IS NOT FALSE);

-- The filters as they come, by name: one that is not known here is left out, one that is missing is any. Tags and terms of
-- metadata become the session's namespace's keys, these with the one of metadata that have too many.
CREATE OR REPLACE FUNCTION filters_of(p_filters jsonb) RETURNS memory_filters
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

-- These functions see every row, because row-level security would keep full text and tags off their indexes: they work
-- for the session's own namespace and refuse any other.
CREATE OR REPLACE FUNCTION require_own(p_namespace text) RETURNS void
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF p_namespace IS DISTINCT FROM nullif(current_setting('mnemosyne.namespace', true), '') THEN
        RAISE insufficient_privilege USING MESSAGE = 'this session is not for that namespace';
    END IF;
END
$$;

REVOKE ALL ON FUNCTION passes, filters_of, require_own FROM PUBLIC;
