-- Return the API key with the id p_id, or no row if no key has this id. The function has SECURITY DEFINER, because the
-- roles of the services have no right to read the table api_keys.
CREATE OR REPLACE FUNCTION find_api_key(p_id text) RETURNS SETOF api_keys
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
    SELECT * FROM api_keys WHERE id = p_id;
END;

GRANT EXECUTE ON FUNCTION find_api_key(text) TO mnemosyne_runtime, mnemosyne_mcp;
