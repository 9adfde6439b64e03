-- Insert events into the audit trail, set the time of the last use of credentials, and delete old events. The function
-- returns nothing.
--
-- p_events is an array of objects with the columns of audit_events. If an object has is_repeated, an earlier call may
-- have inserted the event. Such an event is inserted only if the table does not have it.
--
-- p_used maps a credential ("key:" or "grant:" and an id) to the time of its use. The stored time of the last use
-- changes only if the new time is more than one minute later.
--
-- A call deletes up to 1,000 events that are older than the retention (audit_retention.days), so no scheduled job is
-- necessary. The services have no other way to delete events, and only the owner of the schema can change the
-- retention. Therefore a service cannot delete an event that is younger than the retention.
CREATE OR REPLACE FUNCTION record_audit(p_events jsonb, p_used jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO audit_events (at, principal, credential, client, namespace, action, outcome, ids, count)
    SELECT e.at, e.principal, e.credential, e.client, e.namespace, e.action, e.outcome, e.ids, e.count
    FROM jsonb_to_recordset(p_events) AS e (at timestamptz, principal text, credential text, client text,
        namespace text, action text, outcome text, ids text[], count integer, is_repeated boolean)
    WHERE e.is_repeated IS NOT TRUE OR NOT EXISTS (
        SELECT FROM audit_events o
        WHERE o.at = e.at AND (o.principal, o.credential, o.client, o.namespace, o.action, o.outcome, o.ids, o.count)
            = (e.principal, e.credential, e.client, e.namespace, e.action, e.outcome, e.ids, e.count)
    );
    -- Lock the rows in the order of their ids. Otherwise two calls at the same time could deadlock.
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

GRANT EXECUTE ON FUNCTION record_audit(jsonb, jsonb) TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_auth;
