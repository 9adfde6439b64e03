-- Who may operate a namespace puts back what was given up there, by `mcp`: it lets requests wait again, and drops the dead
-- letter that is on the queue once more. It settles no request.

ALTER TABLE api_keys DROP CONSTRAINT IF EXISTS api_keys_scopes_check;
ALTER TABLE api_keys ADD CONSTRAINT api_keys_scopes_check
    CHECK (scopes <@ ARRAY['read', 'write', 'operate', 'admin'] AND scopes <> '{}');
ALTER TABLE oauth_grants DROP CONSTRAINT IF EXISTS oauth_grants_scopes_check;
ALTER TABLE oauth_grants ADD CONSTRAINT oauth_grants_scopes_check
    CHECK (scopes <@ ARRAY['read', 'write', 'operate', 'admin'] AND scopes <> '{}');

GRANT UPDATE (state, updated_at, announced_at) ON ingest_requests TO mnemosyne_mcp;
GRANT DELETE ON dead_letters TO mnemosyne_mcp;

CREATE INDEX dead_letters_newest ON dead_letters (namespace, dead_lettered_at, message_id);
