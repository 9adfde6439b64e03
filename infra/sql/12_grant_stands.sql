-- Whether what a person has let a client do still holds. That much of the authorization server's `mcp` may know.
CREATE OR REPLACE FUNCTION grant_stands(p_id uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
    SELECT EXISTS (SELECT FROM oauth_grants WHERE id = p_id AND revoked_at IS NULL AND expires_at > now());
END;

REVOKE ALL ON FUNCTION grant_stands FROM PUBLIC;
GRANT EXECUTE ON FUNCTION grant_stands TO mnemosyne_runtime, mnemosyne_mcp;
