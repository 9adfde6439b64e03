-- Who may operate a namespace puts back what was given up there.

ALTER TABLE api_keys DROP CONSTRAINT IF EXISTS api_keys_scopes_check;
ALTER TABLE api_keys ADD CONSTRAINT api_keys_scopes_check
    CHECK (scopes <@ ARRAY['read', 'write', 'operate', 'admin'] AND scopes <> '{}');
ALTER TABLE oauth_grants DROP CONSTRAINT IF EXISTS oauth_grants_scopes_check;
ALTER TABLE oauth_grants ADD CONSTRAINT oauth_grants_scopes_check
    CHECK (scopes <@ ARRAY['read', 'write', 'operate', 'admin'] AND scopes <> '{}');

CREATE INDEX dead_letters_newest ON dead_letters (namespace, dead_lettered_at, message_id);
