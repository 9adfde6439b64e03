-- Return the OAuth grant with the id p_id, or no row if the grant is not valid. A grant is the permission that a person
-- gave to a client. It is valid if it is neither revoked nor expired, and if neither the person nor the client is
-- blocked. The service `mcp` calls this function, because its role has no right to read the tables of the authorization
-- server.
CREATE OR REPLACE FUNCTION standing_grant(p_id uuid)
RETURNS TABLE (
    subject text, namespace text, client_id text, client_name text, scopes text[], expires_at timestamptz,
    last_used_at timestamptz
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
    SELECT g.subject, g.namespace, g.client_id, g.client_name, g.scopes, g.expires_at, g.last_used_at
    FROM oauth_grants g
    WHERE g.id = p_id AND g.revoked_at IS NULL AND g.expires_at > now()
        AND NOT person_is_blocked(g.subject, ARRAY[g.person]) AND NOT client_is_blocked(g.client_id);
END;

GRANT EXECUTE ON FUNCTION standing_grant(uuid) TO mnemosyne_runtime, mnemosyne_mcp;
