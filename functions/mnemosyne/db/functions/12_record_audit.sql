-- Record events of the audit trail, and when credentials were used last. p_events has the columns of audit_events, and
-- p_used pairs of credential and time. A last use is updated at most once a minute.
--
-- Each call also deletes up to 1,000 events that are older than the retention, which only the owner can set. So the
-- trail needs no scheduled job, and a function cannot delete a younger event.
CREATE OR REPLACE FUNCTION record_audit(p_events jsonb, p_used jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO audit_events (at, principal, credential, client, namespace, action, outcome, ids, count)
    SELECT e.at, e.principal, e.credential, e.client, e.namespace, e.action, e.outcome, e.ids, e.count
    FROM jsonb_to_recordset(p_events) AS e (at timestamptz, principal text, credential text, client text,
        namespace text, action text, outcome text, ids text[], count integer);
    -- Rows are locked in the order of their ids, so that two calls cannot wait for each other.
    PERFORM FROM api_keys k JOIN jsonb_each(p_used) AS u ON u.key = 'key:' || k.id ORDER BY k.id FOR NO KEY UPDATE OF k;
    UPDATE api_keys k SET last_used_at = CAST(u.value #>> '{}' AS timestamptz)
    FROM jsonb_each(p_used) AS u
    WHERE u.key = 'key:' || k.id
        AND coalesce(k.last_used_at, '-infinity') < CAST(u.value #>> '{}' AS timestamptz) - interval '1 minute';
    PERFORM FROM oauth_grants g JOIN jsonb_each(p_used) AS u ON u.key = 'grant:' || g.id ORDER BY g.id
        FOR NO KEY UPDATE OF g;
    UPDATE oauth_grants g SET last_used_at = CAST(u.value #>> '{}' AS timestamptz)
    FROM jsonb_each(p_used) AS u
    WHERE u.key = 'grant:' || g.id
        AND coalesce(g.last_used_at, '-infinity') < CAST(u.value #>> '{}' AS timestamptz) - interval '1 minute';
    DELETE FROM audit_events e USING (
        SELECT o.at, o.id FROM audit_events o
        WHERE o.at < now() - (SELECT make_interval(days => r.days) FROM audit_retention r)
        ORDER BY o.at, o.id LIMIT 1000
    ) AS old
    WHERE e.at = old.at AND e.id = old.id;
END
$$;

REVOKE ALL ON FUNCTION record_audit FROM PUBLIC;
GRANT EXECUTE ON FUNCTION record_audit TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_auth;
