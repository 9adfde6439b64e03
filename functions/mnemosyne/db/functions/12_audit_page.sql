-- Return one page of the events of the audit trail that belong to one namespace, the latest first. The roles of the
-- services have no right to read the table audit_events, so the services call this function.
--
-- The events are not earlier than p_after, and earlier than p_before. p_person names the caller who caused the events,
-- by a principal (such as "key:" and the id of an API key), an e-mail address, a subject at the identity provider, or
-- the name of an API key. A parameter that is null restricts nothing.
--
-- The cursor is the last event of the previous page: its time is p_cursor_at, and its id is p_cursor_id. The id is
-- necessary, because several events may have the same time.
--
-- The column `name` of the result depends on the credential of the caller: it is the name of the API key, or the
-- address of the person who gave the OAuth grant. `name` is null for other kinds of credentials, and after the key or
-- grant has been deleted.
CREATE OR REPLACE FUNCTION audit_page(p_namespace text, p_after timestamptz, p_before timestamptz, p_person text,
    p_action text, p_cursor_at timestamptz, p_cursor_id bigint, p_limit integer)
RETURNS TABLE (id bigint, at timestamptz, principal text, credential text, client text, namespace text, action text,
    outcome text, ids text[], count integer, name text, client_name text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    principals text[] := ARRAY(
        SELECT prefix || who.name FROM unnest(ARRAY['oauth:', 'oidc:', 'iam:', 'google:', 'local:', '']) AS prefix, (
            SELECT p_person UNION SELECT lower(p_person)
            UNION SELECT g.subject FROM oauth_grants g
            WHERE g.namespace = p_namespace AND lower(g.person) = lower(p_person)
        ) AS who (name)
        UNION SELECT 'key:' || k.id FROM api_keys k
        WHERE k.namespace = p_namespace AND lower(k.name) = lower(p_person)
    );
BEGIN
    PERFORM require_session_namespace(p_namespace);
    RETURN QUERY
    SELECT e.id, e.at, e.principal, e.credential, e.client, e.namespace, e.action, e.outcome, e.ids, e.count,
        coalesce(k.name, g.person), g.client_name
    FROM (
        SELECT * FROM audit_events a
        WHERE a.namespace = p_namespace
            AND (p_after IS NULL OR a.at >= p_after)
            AND (p_before IS NULL OR a.at < p_before)
            AND (p_person IS NULL OR a.principal = ANY (principals))
            AND (p_action IS NULL OR a.action = p_action)
            AND (p_cursor_at IS NULL OR (a.at, a.id) < (p_cursor_at, p_cursor_id))
        ORDER BY a.at DESC, a.id DESC
        LIMIT p_limit
    ) AS e
    LEFT JOIN api_keys k ON 'key:' || k.id = e.credential AND k.namespace = p_namespace
    LEFT JOIN oauth_grants g ON 'grant:' || g.id = e.credential AND g.namespace = p_namespace
    ORDER BY e.at DESC, e.id DESC;
END
$$;

GRANT EXECUTE ON FUNCTION audit_page(text, timestamptz, timestamptz, text, text, timestamptz, bigint, integer)
    TO mnemosyne_runtime, mnemosyne_mcp;
